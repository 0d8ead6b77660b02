// The matrix product of each type.
#include "ops/matrix/product_cpu.h"

#include "tensor/dtype.h"

static void multiply_f32(const leat_gemm_shape_t* shape, const void* a, const void* b, void* c,
                         leat_thread_pool_t* pool) {
  leat_gemm_f32(shape, a, b, NULL, c, NULL, pool);
}
static void multiply_f32_portable(const leat_gemm_shape_t* shape, const void* a, const void* b,
                                  void* c, leat_thread_pool_t* pool) {
  leat_gemm_f32_portable(shape, a, b, NULL, c, NULL, pool);
}
static void multiply_f64(const leat_gemm_shape_t* shape, const void* a, const void* b, void* c,
                         leat_thread_pool_t* pool) {
  leat_gemm_f64(shape, a, b, NULL, c, NULL, pool);
}
#define GENERIC_MULTIPLY(name, type)                                                           \
  static void multiply_##name(const leat_gemm_shape_t* shape, const void* a, const void* b,    \
                              void* c, leat_thread_pool_t* pool) {                             \
    leat_gemm_##name(shape, a, b, false, c, pool);                                             \
  }
LEAT_GEMM_GENERIC_TYPES(GENERIC_MULTIPLY)

leat_multiply_fn_t leat_multiply_of(int dtype, bool deterministic) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return deterministic ? multiply_f32_portable : multiply_f32;
    case LEAT_DTYPE_DOUBLE: return multiply_f64;
    case LEAT_DTYPE_HALF: return multiply_f16;
    case LEAT_DTYPE_BFLOAT16: return multiply_bf16;
    case LEAT_DTYPE_COMPLEX64: return multiply_c64;
    case LEAT_DTYPE_COMPLEX128: return multiply_c128;
    default: break;
  }
  switch (leat_dtype_size(dtype)) {
    case 1: return multiply_i8;
    case 2: return multiply_i16;
    case 4: return multiply_i32;
    default: return multiply_i64;
  }
}

double leat_product_ns(const leat_gemm_shape_t* shape) {
  return 20 + (double)shape->m * (double)shape->n * (double)shape->k * 0.03;
}
