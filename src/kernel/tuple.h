// Tuples of tensors, which are what queues, stages and barriers hold, and their way into and out of
// batches.
#ifndef LEAT_KERNEL_TUPLE_H_
#define LEAT_KERNEL_TUPLE_H_

#include "kernel/kernel.h"
#include "tensor/tensor.h"

// A tuple that may be moved in memory; up to LEAT_TUPLE_FEW components lie inside.
#define LEAT_TUPLE_FEW 3
typedef struct leat_tuple_s {
  leat_tensor_t* many;  // of the system's allocator
  leat_tensor_t few[LEAT_TUPLE_FEW];
} leat_tuple_t;

// Room for |count| components, each "no tensor".
LEAT_MUST_USE leat_status_t leat_tuple_initialize(int count, leat_tuple_t* out_tuple);
void leat_tuple_deinitialize(leat_tuple_t* tuple, int count);
static inline leat_tensor_t* leat_tuple_items(leat_tuple_t* tuple) {
  return tuple->many ? tuple->many : tuple->few;
}
static inline void leat_tensors_release(leat_tensor_t* tensors, int64_t count) {
  for (int64_t i = 0; i < count; ++i) leat_tensor_release(&tensors[i]);
}
// Kernel inputs [first, first + count) as values that are kept (leat_kernel_keep_input).
LEAT_MUST_USE leat_status_t leat_tuple_keep_inputs(leat_kernel_context_t* c, int first, int count,
                                                   leat_tuple_t* out_tuple);

// Row |index| of |batch| as a tensor of its own.
LEAT_MUST_USE leat_status_t leat_tuple_row(leat_buffer_source_t* memory, const leat_tensor_t* batch,
                                           int64_t index, leat_tensor_t* out_row);
// [count, shape...]: |rows| (|stride| tensors apart), all of |shape|.
LEAT_MUST_USE leat_status_t leat_tuple_batch(leat_buffer_source_t* memory, int dtype,
                                             const leat_shape_t* shape, const leat_tensor_t* rows,
                                             int64_t count, int stride, leat_tensor_t* out_batch);
// The same for rows that differ where |shape| is unknown: padded with zeros at the end to the
// largest.
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
