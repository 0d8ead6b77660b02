// One matrix product of any type, for kernels that make many.
#ifndef LEAT_OPS_MATRIX_PRODUCT_CPU_H_
#define LEAT_OPS_MATRIX_PRODUCT_CPU_H_

#include <stdbool.h>

#include "device/cpu/gemm.h"

// C = op(A) op(B); |pool| may be NULL.
typedef void (*leat_multiply_fn_t)(const leat_gemm_shape_t* shape, const void* a, const void* b,
                                   void* c, leat_thread_pool_t* pool);
// Of numbers of type |dtype|; |deterministic|: the same bits for any number of threads.
leat_multiply_fn_t leat_multiply_of(int dtype, bool deterministic);

// An estimate. Below LEAT_PRODUCT_WHOLE_POOL_NS a product of a batch is one thread's.
double leat_product_ns(const leat_gemm_shape_t* shape);
#define LEAT_PRODUCT_WHOLE_POOL_NS 200e3

#endif  // LEAT_OPS_MATRIX_PRODUCT_CPU_H_
