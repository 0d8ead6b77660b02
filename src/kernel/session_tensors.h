// Tensors that a session keeps from one step to a later one, under handles (GetSessionHandle): the
// text "<node>;<id>;<device>". The worker makes one store and lends it to its kernels
// (leat_step_services_t.session_tensors). Ids count from 0 and are never used again. Thread-safe;
// nothing blocks for long.
#ifndef LEAT_KERNEL_SESSION_TENSORS_H_
#define LEAT_KERNEL_SESSION_TENSORS_H_

#include "tensor/tensor.h"

typedef struct leat_session_tensors_s leat_session_tensors_t;
LEAT_MUST_USE leat_status_t leat_session_tensors_create(leat_allocator_t* allocator,
                                                        leat_session_tensors_t** out_tensors);
void leat_session_tensors_free(leat_session_tensors_t* tensors);  // NULL is allowed

// Keeps |tensor|, which is shared, so its memory must not be the step's. Appends the text of its
// handle to |out_handle|.
LEAT_MUST_USE leat_status_t leat_session_tensors_add(leat_session_tensors_t* tensors,
                                                     leat_string_view_t node,
                                                     leat_string_view_t device,
                                                     const leat_tensor_t* tensor,
                                                     leat_string_builder_t* out_handle);
// Shares the tensor that |handle| names; INVALID_ARGUMENT when there is none.
LEAT_MUST_USE leat_status_t leat_session_tensors_get(leat_session_tensors_t* tensors,
                                                     leat_string_view_t handle,
                                                     leat_tensor_t* out_tensor);
// Forgets a tensor; INVALID_ARGUMENT when there is none.
LEAT_MUST_USE leat_status_t leat_session_tensors_remove(leat_session_tensors_t* tensors,
                                                        leat_string_view_t handle);

#endif  // LEAT_KERNEL_SESSION_TENSORS_H_
