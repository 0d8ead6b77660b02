// Selections (selection.h) in kernels: reading one from inputs, and taking what it selects. All but
// the copying itself runs on the calling thread.
#ifndef LEAT_OPS_INDEX_SELECTION_CPU_H_
#define LEAT_OPS_INDEX_SELECTION_CPU_H_

#include "ops/array/strided_cpu.h"
#include "ops/index/selection.h"

// Reads the five mask attributes while a kernel is made.
LEAT_MUST_USE leat_status_t leat_selection_masks_read(const leat_kernel_creation_t* creation,
                                                      leat_selection_masks_t* out_masks);
// Reads begin, end and strides from inputs |first|, |first| + 1 and |first| + 2 of a kernel and
// resolves them for a tensor of |shape|. INVALID_ARGUMENT for anything that does not fit.
LEAT_MUST_USE leat_status_t leat_selection_read(const leat_kernel_context_t* c, int first,
                                                leat_selection_masks_t masks,
                                                const leat_shape_t* shape,
                                                leat_selection_t* out_selection);
// Says whether all that is selected lies together in memory, in order, and is not empty;
// |out_first| is then the index of its first element.
bool leat_selection_is_contiguous(const leat_selection_t* selection, const leat_shape_t* shape,
                                  int64_t* out_first);
// Returns the index of the first element that is selected of a dense tensor of |shape|; |out_steps|
// gets the step in elements for each dimension of the input.
int64_t leat_selection_steps(const leat_selection_t* selection, const leat_shape_t* shape,
                             int64_t* out_steps);
// Output 0 becomes what is selected of |input|, an input of the kernel, under |shape|, the
// result's.
LEAT_MUST_USE leat_status_t leat_selection_take(leat_kernel_context_t* c,
                                                const leat_tensor_t* input,
                                                const leat_selection_t* selection,
                                                const leat_shape_t* shape);

#endif  // LEAT_OPS_INDEX_SELECTION_CPU_H_
