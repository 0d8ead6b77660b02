// Selections in kernels: read from inputs, and taken.
#ifndef LEAT_OPS_INDEX_SELECTION_CPU_H_
#define LEAT_OPS_INDEX_SELECTION_CPU_H_

#include "ops/array/strided_cpu.h"
#include "ops/index/selection.h"

LEAT_MUST_USE leat_status_t leat_selection_masks_read(const leat_kernel_creation_t* creation,
                                                      leat_selection_masks_t* out_masks);
// From inputs |first|, |first| + 1 and |first| + 2 of a kernel, for a tensor of |shape|.
LEAT_MUST_USE leat_status_t leat_selection_read(const leat_kernel_context_t* c, int first,
                                                leat_selection_masks_t masks,
                                                const leat_shape_t* shape,
                                                leat_selection_t* out_selection);
// Is all selected together in memory (and not empty)? Its first element's index then.
bool leat_selection_is_contiguous(const leat_selection_t* selection, const leat_shape_t* shape,
                                  int64_t* out_first);
// Index of the first element selected in a dense tensor of |shape|, and the steps in elements by
// dimension of the input.
int64_t leat_selection_steps(const leat_selection_t* selection, const leat_shape_t* shape,
                             int64_t* out_steps);
// Output 0 becomes what is selected of |input|, which is an input of the kernel; |shape| is the
// result's.
LEAT_MUST_USE leat_status_t leat_selection_take(leat_kernel_context_t* c,
                                                const leat_tensor_t* input,
                                                const leat_selection_t* selection,
                                                const leat_shape_t* shape);

#endif  // LEAT_OPS_INDEX_SELECTION_CPU_H_
