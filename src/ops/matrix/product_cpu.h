// One matrix product of any type, for kernels that make many.
#ifndef LEAT_OPS_MATRIX_PRODUCT_CPU_H_
#define LEAT_OPS_MATRIX_PRODUCT_CPU_H_

#include <stdbool.h>

#include "device/cpu/gemm.h"
#include "kernel/kernel.h"

// C = op(A) op(B); |pool| may be NULL.
typedef void (*leat_multiply_fn_t)(const leat_gemm_shape_t* shape, const void* a, const void* b,
                                   void* c, leat_thread_pool_t* pool);
// Of numbers of type |dtype|; |deterministic|: the same bits for any number of threads.
leat_multiply_fn_t leat_multiply_of(int dtype, bool deterministic);

// How many rows of a product are computed between two looks whether the step is to end: a tenth of
// a second's, but never so few that packing B again for each part would cost. m where that is all.
int64_t leat_product_part_rows(const leat_gemm_shape_t* shape);
// The product of |rows| rows of op(A), from row |begin| on, which lies |*out_a_bytes| behind A. Its
// part of C begins |begin| rows behind C.
leat_gemm_shape_t leat_product_part(const leat_gemm_shape_t* shape, int64_t begin, int64_t rows,
                                    size_t item_bytes, size_t* out_a_bytes);
// C = op(A) op(B) with |multiply| on the step's pool, of elements of |item_bytes|. The rest is left
// out when the step is to end, as in leat_kernel_parallel_for.
void leat_product_run(const leat_kernel_context_t* c, leat_multiply_fn_t multiply,
                      const leat_gemm_shape_t* shape, size_t item_bytes, const void* a,
                      const void* b, void* product);

// An estimate. Below LEAT_PRODUCT_WHOLE_POOL_NS a product of a batch is one thread's.
double leat_product_ns(const leat_gemm_shape_t* shape);
#define LEAT_PRODUCT_WHOLE_POOL_NS 200e3

#endif  // LEAT_OPS_MATRIX_PRODUCT_CPU_H_
