// Gathering on the CPU, for the kernels of tensors and of variables.
#ifndef LEAT_OPS_INDEX_GATHER_CPU_H_
#define LEAT_OPS_INDEX_GATHER_CPU_H_

#include "ops/index/nd_index_cpu.h"

// Output 0 becomes the slices of |params| along |axis| that |indices| names, by batches over the
// first |batch_dims| dimensions of both. INVALID_ARGUMENT where TensorFlow's is.
LEAT_MUST_USE leat_status_t leat_gather_take(leat_kernel_context_t* c, const leat_tensor_t* params,
                                             const leat_tensor_t* indices, int axis,
                                             int64_t batch_dims);
// Output 0 becomes the elements or slices of |params| that the tuples of |indices| name.
LEAT_MUST_USE leat_status_t leat_gather_nd_take(leat_kernel_context_t* c,
                                                const leat_tensor_t* params,
                                                const leat_tensor_t* indices,
                                                leat_bad_indices_t policy);

#endif  // LEAT_OPS_INDEX_GATHER_CPU_H_
