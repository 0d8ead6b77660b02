// Scattering by index tuples on the CPU, for the kernels of tensors and of variables.
#ifndef LEAT_OPS_INDEX_SCATTER_ND_CPU_H_
#define LEAT_OPS_INDEX_SCATTER_ND_CPU_H_

#include "device/cpu/combine.h"
#include "ops/index/nd_index_cpu.h"

// State of a kernel, made from the op's name and attribute "bad_indices_policy".
typedef struct leat_scatter_nd_s {
  leat_combine_t how;
  leat_bad_indices_t policy;
} leat_scatter_nd_t;
LEAT_MUST_USE leat_status_t leat_scatter_nd_create(leat_kernel_creation_t* creation, void* state);
// Checks the shapes (INVALID_ARGUMENT) and puts |updates| into |whole|, whose bytes are its own.
LEAT_MUST_USE leat_status_t leat_scatter_nd_apply(const leat_kernel_context_t* c,
                                                  const leat_tensor_t* indices,
                                                  const leat_tensor_t* updates,
                                                  leat_tensor_t* whole);

#endif  // LEAT_OPS_INDEX_SCATTER_ND_CPU_H_
