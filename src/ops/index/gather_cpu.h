// Gathering on the CPU, for the kernels that take slices of a tensor and those that take them of a
// variable. The functions allocate output 0 of the kernel and run on the step's pool.
#ifndef LEAT_OPS_INDEX_GATHER_CPU_H_
#define LEAT_OPS_INDEX_GATHER_CPU_H_

#include "ops/index/nd_index_cpu.h"

// Output 0 becomes the slices of |params| along |axis| that |indices| names, for each index of the
// first |batch_dims| dimensions of both; a negative |batch_dims| counts from the rank of the
// indices. |params| must have a rank of at least 1. INVALID_ARGUMENT for an index out of range and
// for shapes that do not fit.
LEAT_MUST_USE leat_status_t leat_gather_take(leat_kernel_context_t* c, const leat_tensor_t* params,
                                             const leat_tensor_t* indices, int axis,
                                             int64_t batch_dims);
// Output 0 becomes the elements or slices of |params| that the tuples of |indices| name. A tuple
// out of range gives zeros where |policy| is to ignore it. INVALID_ARGUMENT for one otherwise, and
// for shapes that do not fit.
LEAT_MUST_USE leat_status_t leat_gather_nd_take(leat_kernel_context_t* c,
                                                const leat_tensor_t* params,
                                                const leat_tensor_t* indices,
                                                leat_bad_indices_t policy);

#endif  // LEAT_OPS_INDEX_GATHER_CPU_H_
