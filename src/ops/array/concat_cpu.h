// The shape of a concatenation, for kernels that join values.
#ifndef LEAT_OPS_ARRAY_CONCAT_CPU_H_
#define LEAT_OPS_ARRAY_CONCAT_CPU_H_

#include "kernel/kernel.h"

// Gives the axis in input |axis_input| and the shape of inputs [first, first + count) joined along
// it, which the caller releases. INVALID_ARGUMENT for scalars, for an axis that is not there, and
// for values that differ in another dimension.
LEAT_MUST_USE leat_status_t leat_concat_shape(const leat_kernel_context_t* c, int first, int count,
                                              int axis_input, int* out_axis,
                                              leat_shape_t* out_shape);

#endif  // LEAT_OPS_ARRAY_CONCAT_CPU_H_
