// Tensors that a session keeps from one step to a later one, under handles (GetSessionHandle): the
// text "<node>;<id>;<device>". A program that feeds the result of one step into the next saves the
// copies to and from its own memory with it. The worker makes one store and lends it to its kernels
// (leat_step_services_t.session_tensors). Ids count from 0 and are never used again. Thread-safe;
// nothing blocks for long.
#ifndef LEAT_KERNEL_SESSION_TENSORS_H_
#define LEAT_KERNEL_SESSION_TENSORS_H_

#include "tensor/tensor.h"

typedef struct leat_session_tensors_s leat_session_tensors_t;
LEAT_MUST_USE leat_status_t leat_session_tensors_create(leat_allocator_t* allocator,
                                                        leat_session_tensors_t** out_tensors);
// Releases all tensors that nobody deleted. NULL is allowed. No step may be running.
void leat_session_tensors_free(leat_session_tensors_t* tensors);

// Keeps |tensor|, which is shared, so its memory must not be the step's. Appends the text of its
// handle to |out_handle|.
LEAT_MUST_USE leat_status_t leat_session_tensors_add(leat_session_tensors_t* tensors,
                                                     leat_string_view_t node,
                                                     leat_string_view_t device,
                                                     const leat_tensor_t* tensor,
                                                     leat_string_builder_t* out_handle);
// Shares the tensor that |handle| names, which the caller releases; INVALID_ARGUMENT when there is
// none.
LEAT_MUST_USE leat_status_t leat_session_tensors_get(leat_session_tensors_t* tensors,
                                                     leat_string_view_t handle,
                                                     leat_tensor_t* out_tensor);
// Forgets a tensor; who shares it keeps it. INVALID_ARGUMENT when there is none.
LEAT_MUST_USE leat_status_t leat_session_tensors_remove(leat_session_tensors_t* tensors,
                                                        leat_string_view_t handle);

#endif  // LEAT_KERNEL_SESSION_TENSORS_H_
