// Outputs by their sizes, for kernels that have no shape at hand.
#ifndef LEAT_OPS_ARRAY_SIZED_OUTPUT_CPU_H_
#define LEAT_OPS_ARRAY_SIZED_OUTPUT_CPU_H_

#include "kernel/kernel.h"

// Allocates output |index| [dims[0], ..., dims[rank - 1]]. INVALID_ARGUMENT for sizes that make no
// shape.
LEAT_MUST_USE leat_status_t leat_sized_output(leat_kernel_context_t* c, int index, int rank,
                                              const int64_t* dims, leat_tensor_t** out_tensor);

#endif  // LEAT_OPS_ARRAY_SIZED_OUTPUT_CPU_H_
