// The matrix product of each type, behind one signature (product_cpu.h), and its cutting into
// blocks of rows for cancellation. Integer types of one size share a product, because wrapping
// products do not depend on the sign. A block takes about a tenth of a second, so that a step which
// is cancelled ends soon; a product of ordinary size is one block and pays nothing for that. Float
// has a second, portable product for steps that ask for deterministic results.
#include "ops/matrix/product_cpu.h"

#include "base/checked.h"
#include "kernel/step_check.h"
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

#define PART_PRODUCTS 2e9
#define PART_LEAST_ROWS 256

int64_t leat_product_block_rows(const leat_gemm_shape_t* shape) {
  double rows = PART_PRODUCTS / ((double)shape->n * (double)shape->k + 1);
  return rows < (double)shape->m ? LEAT_MIN(shape->m, LEAT_MAX((int64_t)rows, PART_LEAST_ROWS))
                                 : shape->m;
}

leat_gemm_shape_t leat_product_block(const leat_gemm_shape_t* shape, int64_t begin, int64_t rows,
                                     size_t item_bytes, size_t* out_a_bytes) {
  leat_gemm_shape_t block = *shape;
  block.m = LEAT_MIN(rows, shape->m - begin);
  *out_a_bytes = (size_t)(begin * (shape->op_a == LEAT_GEMM_PLAIN ? shape->lda : 1)) * item_bytes;
  return block;
}

void leat_product_run_step(const leat_kernel_context_t* c, leat_multiply_fn_t multiply,
                           const leat_gemm_shape_t* shape, size_t item_bytes, const void* a,
                           const void* b, void* product, const leat_row_step_t* step,
                           int64_t first) {
  const int64_t rows = leat_product_block_rows(shape);
  for (int64_t begin = 0; begin < shape->m; begin += rows) {
    size_t a_bytes;
    leat_gemm_shape_t block = leat_product_block(shape, begin, rows, item_bytes, &a_bytes);
    if (begin > 0 && leat_step_is_over(c->services, true)) return;
    const char* block_a = (const char*)a + a_bytes;
    char* block_c = (char*)product + (size_t)(begin * shape->ldc) * item_bytes;
    if (step) {
      leat_row_step_multiply(step, multiply, &block, item_bytes, block_a, b, block_c,
                             first + begin, c->services->deterministic, c->services->pool);
    } else {
      multiply(&block, block_a, b, block_c, c->services->pool);
    }
  }
}

void leat_product_run(const leat_kernel_context_t* c, leat_multiply_fn_t multiply,
                      const leat_gemm_shape_t* shape, size_t item_bytes, const void* a,
                      const void* b, void* product) {
  leat_product_run_step(c, multiply, shape, item_bytes, a, b, product, NULL, 0);
}
