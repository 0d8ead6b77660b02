// The resource behind TensorArray: slots that are written once and read, mostly once. Its gradient
// is an array of the same length, one for each source, whose slots add up what is written and read
// as zeros where nothing was.
#ifndef LEAT_OPS_LIST_TENSOR_SLOTS_CPU_H_
#define LEAT_OPS_LIST_TENSOR_SLOTS_CPU_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

typedef struct leat_slots_options_s {
  int dtype;
  leat_partial_shape_t element_shape;
  bool dynamic_size;
  bool clear_after_read;
  bool identical_element_shapes;
} leat_slots_options_t;

typedef struct leat_slots_s leat_slots_t;
extern const leat_resource_kind_t leat_slots_kind;

LEAT_MUST_USE leat_status_t leat_slots_create(const leat_slots_options_t* options, int64_t size,
                                              leat_slots_t** out_slots);
// The gradient of |slots| for |source|, retained; made on first need, which fixes the size of
// |slots|. |prepended| (may be NULL): sizes that its elements have before the slots'.
LEAT_MUST_USE leat_status_t leat_slots_gradient(leat_slots_t* slots, leat_string_view_t source,
                                                const leat_shape_t* prepended,
                                                leat_slots_t** out_gradient);
int leat_slots_dtype(const leat_slots_t* slots);  // never changes

// ---- Thread-safe, each in one piece -------------------------------------------------------------

// |values| are moved from, also on failure.
LEAT_MUST_USE leat_status_t leat_slots_write(leat_slots_t* slots, const leat_kernel_context_t* c,
                                             const int32_t* indices, int64_t count,
                                             leat_tensor_t* values);
// |out_values| are the caller's; none on failure.
LEAT_MUST_USE leat_status_t leat_slots_read(leat_slots_t* slots, const leat_kernel_context_t* c,
                                            const int32_t* indices, int64_t count,
                                            leat_tensor_t* out_values);
LEAT_MUST_USE leat_status_t leat_slots_size(leat_slots_t* slots, int64_t* out_size,
                                            bool* out_dynamic);
// How many a whole read takes: the size, or for a gradient what a whole write marked.
LEAT_MUST_USE leat_status_t leat_slots_whole_size(leat_slots_t* slots, int64_t* out_size);
LEAT_MUST_USE leat_status_t leat_slots_mark_size(leat_slots_t* slots, int64_t size);
// Narrows what is known of the elements' shape.
LEAT_MUST_USE leat_status_t leat_slots_merge_shape(leat_slots_t* slots, leat_partial_shape_t shape);
void leat_slots_close(leat_slots_t* slots);

#endif  // LEAT_OPS_LIST_TENSOR_SLOTS_CPU_H_
