// What the kernels of MatMul and those of sums of products (product_sum_cpu.c) share. All functions
// run on the kernel's thread and may start parallel work on the step's pool.
#ifndef LEAT_OPS_MATRIX_MATMUL_CPU_H_
#define LEAT_OPS_MATRIX_MATMUL_CPU_H_

#include "device/cpu/gemm.h"
#include "kernel/kernel.h"

// The state of a product's kernel. |op_a| and |op_b| say whether a factor is transposed, or
// transposed and conjugated (the adjoint).
typedef struct leat_matmul_s {
  leat_gemm_op_t op_a, op_b;
  bool broadcasts;  // whether batch dimensions may differ and broadcast
  int dtype;        // the type of the product
} leat_matmul_t;

// Fills |state|, a leat_matmul_t, from the attributes transpose_a, transpose_b and T.
LEAT_MUST_USE leat_status_t leat_matmul_create(leat_kernel_creation_t* c, void* state);
// Finds the sizes of the product of inputs 0 and 1, which must be matrices: leading dimensions are
// set for dense rows. INVALID_ARGUMENT where the inner sizes differ.
LEAT_MUST_USE leat_status_t leat_matmul_find(const leat_kernel_context_t* c,
                                             const leat_matmul_t* matmul,
                                             leat_gemm_shape_t* out_product);
// Computes |sum| = |a| |b| + |addend|; |addend| is the D of gemm.h, with rows |product->ldd| apart,
// and may be NULL or the sum's own bytes.
void leat_matmul_add(const leat_kernel_context_t* c, const leat_gemm_shape_t* product,
                     const void* a, const void* b, const void* addend, leat_tensor_t* sum);
// Computes a new tensor: the product of inputs 0 and 1, which has |shape|, plus |y|, each broadcast
// to the other. The caller releases |out_sum|.
LEAT_MUST_USE leat_status_t leat_matmul_add_repeated(leat_kernel_context_t* c,
                                                     const leat_gemm_shape_t* product,
                                                     const leat_shape_t* shape,
                                                     const leat_tensor_t* y,
                                                     leat_tensor_t* out_sum);

#endif  // LEAT_OPS_MATRIX_MATMUL_CPU_H_
