// One matrix product of any type, for kernels that compute many: a function per type with one
// signature, an estimate of its cost, and a run that can be cancelled between blocks of rows. All
// of it may be called on any thread.
#ifndef LEAT_OPS_MATRIX_PRODUCT_CPU_H_
#define LEAT_OPS_MATRIX_PRODUCT_CPU_H_

#include <stdbool.h>

#include "device/cpu/gemm.h"
#include "device/cpu/row_step.h"
#include "kernel/kernel.h"

// C = op(A) op(B). |pool| shares the work; NULL: the calling thread does all of it.
typedef void (*leat_multiply_fn_t)(const leat_gemm_shape_t* shape, const void* a, const void* b,
                                   void* c, leat_thread_pool_t* pool);
// The product of type |dtype|. |deterministic| asks for the same bits on any number of threads and
// any instruction set.
leat_multiply_fn_t leat_multiply_of(int dtype, bool deterministic);

// The number of rows that are computed between two looks at the step's cancellation: about a tenth
// of a second of work, but not so few that packing B again for each block would cost much. m when
// that is the whole product.
int64_t leat_product_block_rows(const leat_gemm_shape_t* shape);
// The product of |rows| rows of op(A) from row |begin| on. Its A lies |*out_a_bytes| behind A, and
// its C |begin| rows behind C.
leat_gemm_shape_t leat_product_block(const leat_gemm_shape_t* shape, int64_t begin, int64_t rows,
                                     size_t item_bytes, size_t* out_a_bytes);
// C = op(A) op(B) by |multiply| on the step's pool; elements have |item_bytes|. When the step ends
// meanwhile the rest is not computed, as in leat_kernel_parallel_for.
void leat_product_run(const leat_kernel_context_t* c, leat_multiply_fn_t multiply,
                      const leat_gemm_shape_t* shape, size_t item_bytes, const void* a,
                      const void* b, void* product);
// Computes C as leat_product_run does, and has |step|, unless it is NULL, change its rows; C is
// then dense. |first| is the number of C's first row in the matrix that |step| knows.
void leat_product_run_step(const leat_kernel_context_t* c, leat_multiply_fn_t multiply,
                           const leat_gemm_shape_t* shape, size_t item_bytes, const void* a,
                           const void* b, void* product, const leat_row_step_t* step,
                           int64_t first);

// The estimated time of a product on one thread. Of a batch of products that take less than
// LEAT_PRODUCT_WHOLE_POOL_NS each, every product is computed by one thread.
double leat_product_ns(const leat_gemm_shape_t* shape);
#define LEAT_PRODUCT_WHOLE_POOL_NS 200e3

#endif  // LEAT_OPS_MATRIX_PRODUCT_CPU_H_
