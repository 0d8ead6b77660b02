// Scattering by index tuples on the CPU, for the kernels of tensors and of variables. The state of
// such a kernel begins with leat_scatter_nd_t, since leat_scatter_nd_apply reads it.
#ifndef LEAT_OPS_INDEX_SCATTER_ND_CPU_H_
#define LEAT_OPS_INDEX_SCATTER_ND_CPU_H_

#include "device/cpu/combine.h"
#include "ops/index/nd_index_cpu.h"

// The state of a kernel, made from the op's name and attribute "bad_indices_policy".
typedef struct leat_scatter_nd_s {
  leat_combine_t how;
  leat_bad_indices_t policy;
} leat_scatter_nd_t;
LEAT_MUST_USE leat_status_t leat_scatter_nd_create(leat_kernel_creation_t* creation, void* state);
// Checks the shapes and puts |updates| into |whole|, whose bytes nobody else may read. It runs on
// the calling thread and applies updates in their order. INVALID_ARGUMENT for shapes that do not
// fit and for a tuple out of range, when some updates may be in |whole| already; UNIMPLEMENTED
// where the type has no such operation.
LEAT_MUST_USE leat_status_t leat_scatter_nd_apply(const leat_kernel_context_t* c,
                                                  const leat_tensor_t* indices,
                                                  const leat_tensor_t* updates,
                                                  leat_tensor_t* whole);

#endif  // LEAT_OPS_INDEX_SCATTER_ND_CPU_H_
