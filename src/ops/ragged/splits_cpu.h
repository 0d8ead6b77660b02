// Row splits of a ragged tensor: row i of a tensor are the values [splits[i], splits[i + 1]), which
// may be ragged again. Nested splits are those of all ragged dimensions, the outermost first; the
// values of the innermost are a dense tensor, the flat values.
//
// Splits come from anybody. The functions run on the calling thread, and INVALID_ARGUMENT says what
// is wrong.
#ifndef LEAT_OPS_RAGGED_SPLITS_CPU_H_
#define LEAT_OPS_RAGGED_SPLITS_CPU_H_

#include "kernel/kernel.h"

// The number of rows; |splits| must have an element at least.
static inline int64_t leat_splits_rows(const leat_tensor_t* splits) {
  return splits->shape.element_count - 1;
}
// Checks the splits in inputs [first, first + count) and that input first + count, the flat values,
// has a first dimension: each are a vector of at least one number, none below 0 or below the one
// before it, and the last one at most the number of rows of the next splits, or of flat values. If
// |is_exact|, the first is 0 and the last exactly that number.
LEAT_MUST_USE leat_status_t leat_splits_check(const leat_kernel_context_t* c, int first, int count,
                                              bool is_exact);
// Checks the splits in input |index| alone: a vector that begins with 0 and is sorted.
LEAT_MUST_USE leat_status_t leat_splits_check_order(const leat_kernel_context_t* c, int index);
// Sets element |index| of splits of type int32 or int64. INVALID_ARGUMENT when |value| does not
// fit.
LEAT_MUST_USE leat_status_t leat_splits_set(const leat_kernel_context_t* c, leat_tensor_t* splits,
                                            int64_t index, int64_t value);
// Sets outputs 0, 1, ... to the splits of all dimensions of |shape| but the last, in which all rows
// are as long as the next dimension says. |shape| may be a scalar's.
LEAT_MUST_USE leat_status_t leat_splits_write_uniform(leat_kernel_context_t* c,
                                                      const leat_shape_t* shape);

#endif  // LEAT_OPS_RAGGED_SPLITS_CPU_H_
