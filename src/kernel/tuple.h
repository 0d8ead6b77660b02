// Tuples of tensors, which queues, stages and barriers hold as their elements, and the way of
// tuples into and out of batches. A batch of n elements is one tensor per component with n as its
// first dimension:
//
//   rows     [2, 3]  [2, 3]  [2, 3]       three elements, one component
//   batch    [3, 2, 3]                    the same as a batch
//
// All memory is the host's or of the source that is given. What a function returns is the caller's
// to release; a function that fails returns nothing to release.
#ifndef LEAT_KERNEL_TUPLE_H_
#define LEAT_KERNEL_TUPLE_H_

#include "kernel/kernel.h"
#include "tensor/tensor.h"

// Up to so many components lie inside of a tuple, which costs no allocation.
#define LEAT_TUPLE_FEW 3
// A tuple. It may be moved in memory. Its number of components is known to its owner.
typedef struct leat_tuple_s {
  leat_tensor_t* many;  // all components, if there are more than |few| holds; else NULL
  leat_tensor_t few[LEAT_TUPLE_FEW];
} leat_tuple_t;

// Room for |count| components, each "no tensor". RESOURCE_EXHAUSTED without memory, and then the
// tuple may still be deinitialized.
LEAT_MUST_USE leat_status_t leat_tuple_initialize(int count, leat_tuple_t* out_tuple);
// Releases the components; |count| is that of the initialization.
void leat_tuple_deinitialize(leat_tuple_t* tuple, int count);
// The components as an array. The address changes when the tuple is moved.
static inline leat_tensor_t* leat_tuple_items(leat_tuple_t* tuple) {
  return tuple->many ? tuple->many : tuple->few;
}
// Releases |count| tensors and leaves each "no tensor".
static inline void leat_tensors_release(leat_tensor_t* tensors, int64_t count) {
  for (int64_t i = 0; i < count; ++i) leat_tensor_release(&tensors[i]);
}
// Keeps kernel inputs [first, first + count) as a tuple (leat_kernel_keep_input).
LEAT_MUST_USE leat_status_t leat_tuple_keep_inputs(leat_kernel_context_t* c, int first, int count,
                                                   leat_tuple_t* out_tuple);

// Row |index| of |batch| [n, shape...] as a tensor of its own, copied. |index| must be below n.
LEAT_MUST_USE leat_status_t leat_tuple_row(leat_buffer_source_t* memory, const leat_tensor_t* batch,
                                           int64_t index, leat_tensor_t* out_row);
// Copies |count| tensors of |shape|, |stride| apart in |rows|, into one: [count, shape...]. The
// callers have checked that each has that type and shape.
LEAT_MUST_USE leat_status_t leat_tuple_batch(leat_buffer_source_t* memory, int dtype,
                                             const leat_shape_t* shape, const leat_tensor_t* rows,
                                             int64_t count, int stride, leat_tensor_t* out_batch);
// Joins tensors whose dimensions differ where |shape| is unknown: each is padded with zeros at its
// ends to the largest.
LEAT_MUST_USE leat_status_t leat_tuple_padded_batch(leat_buffer_source_t* memory, int dtype,
                                                    leat_partial_shape_t shape,
                                                    const leat_tensor_t* rows, int64_t count,
                                                    int stride, leat_tensor_t* out_batch);
// The shape of a batch of |count| elements of |shape|.
LEAT_MUST_USE leat_status_t leat_batch_shape(int64_t count, const leat_shape_t* shape,
                                             leat_shape_t* out_shape);
// The shape of a row of a batch (rank >= 1).
LEAT_MUST_USE leat_status_t leat_row_shape(const leat_shape_t* batch, leat_shape_t* out_shape);

#endif  // LEAT_KERNEL_TUPLE_H_
