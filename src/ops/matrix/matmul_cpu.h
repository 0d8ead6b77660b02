// What the kernels of MatMul and BatchMatMul share with those of sums of products
// (product_sum_cpu.c) and of fused products (fused_matmul_cpu.c). All functions run on the kernel's
// thread and may start parallel work on the step's pool.
#ifndef LEAT_OPS_MATRIX_MATMUL_CPU_H_
#define LEAT_OPS_MATRIX_MATMUL_CPU_H_

#include "device/cpu/gemm.h"
#include "kernel/kernel.h"
#include "ops/matrix/product_cpu.h"

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

// A batch of |count| products of one size. |shapes| and |data| are those of the two inputs, which
// must outlive the run.
typedef struct leat_matmul_batch_s {
  leat_gemm_shape_t product;
  leat_multiply_fn_t multiply;
  int64_t count;
  const leat_shape_t* output;
  const leat_shape_t* shapes[2];
  const char* data[2];
  int64_t matrix_bytes[2];
  char* result;
  int64_t result_bytes;
  size_t item_bytes;
  const leat_row_step_t* step;
} leat_matmul_batch_t;

// Fills |state|, a leat_matmul_t whose batches broadcast, from the attributes adj_x, adj_y and T.
LEAT_MUST_USE leat_status_t leat_matmul_create_batch(leat_kernel_creation_t* c, void* state);
// Finds the products of the batches |a| and |b|, of the product's type and of rank 2 at least, and
// allocates output 0 for them. INVALID_ARGUMENT where shapes do not go together. An output without
// elements has |out_batch->count| 0.
LEAT_MUST_USE leat_status_t leat_matmul_begin_batch(leat_kernel_context_t* c,
                                                    const leat_matmul_t* matmul,
                                                    const leat_tensor_t* a, const leat_tensor_t* b,
                                                    leat_matmul_batch_t* out_batch,
                                                    leat_tensor_t** out_output);
// Computes the products and applies |step|, which may be NULL, to their rows, numbered through the
// whole batch.
void leat_matmul_run_batch(const leat_kernel_context_t* c, leat_matmul_batch_t* batch,
                           const leat_row_step_t* step);

#endif  // LEAT_OPS_MATRIX_MATMUL_CPU_H_
