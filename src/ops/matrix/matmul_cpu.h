// What MatMul's kernels have in common.
#ifndef LEAT_OPS_MATRIX_MATMUL_CPU_H_
#define LEAT_OPS_MATRIX_MATMUL_CPU_H_

#include "device/cpu/gemm.h"
#include "kernel/kernel.h"

typedef struct leat_matmul_s {
  leat_gemm_op_t op_a, op_b;
  bool broadcasts;  // batch dimensions
  int dtype;        // of the product
} leat_matmul_t;

// |state| is a leat_matmul_t.
LEAT_MUST_USE leat_status_t leat_matmul_create(leat_kernel_creation_t* c, void* state);
// The product of inputs 0 and 1, matrices. INVALID_ARGUMENT where their sizes do not fit.
LEAT_MUST_USE leat_status_t leat_matmul_find(const leat_kernel_context_t* c,
                                             const leat_matmul_t* matmul,
                                             leat_gemm_shape_t* out_product);
// |sum| = |a| |b| + |addend|, the D of gemm.h.
void leat_matmul_add(const leat_kernel_context_t* c, const leat_gemm_shape_t* product,
                     const void* a, const void* b, const void* addend, leat_tensor_t* sum);
// A new tensor: the product of inputs 0 and 1, of |shape|, and |y|, one repeated along the other.
LEAT_MUST_USE leat_status_t leat_matmul_add_repeated(leat_kernel_context_t* c,
                                                     const leat_gemm_shape_t* product,
                                                     const leat_shape_t* shape,
                                                     const leat_tensor_t* y,
                                                     leat_tensor_t* out_sum);

#endif  // LEAT_OPS_MATRIX_MATMUL_CPU_H_
