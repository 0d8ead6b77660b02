// Matrix products of the types without a packed kernel: half, bfloat16, integers and complex
// numbers.
//
// half and bfloat16 are converted to float a tile at a time, multiplied by the float kernel, and
// rounded once, so that sums stay in float over the whole depth. Integers and complex numbers run
// plain loops, blocked so that a strip of STRIP_DEPTH x STRIP_COLUMNS of B stays in the cache while
// all rows of A meet it. A and B are read through strides, so that one loop serves all transposes.
// Threads share the rows (or tiles) of C; each element is summed by one thread in the order of the
// depth, so that the bits do not depend on the number of threads.
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "device/cpu/gemm.h"
#include "device/cpu/half.h"
#include "device/cpu/vector_math.h"

typedef struct generic_s {
  leat_gemm_shape_t shape;
  const void* a;
  const void* b;
  void* c;
  bool accumulate;
} generic_t;

#define STRIP_COLUMNS 128
#define STRIP_DEPTH 32

// Integers are computed as unsigned, which wraps; narrow types are widened first, because C would
// promote them to int, whose overflow is undefined.
#define LOAD_C(x) (x)
#define LOAD_A(x) (x)
#define LOAD_B(x) (x)
#define ZERO 0
#define ADD(sum, a, b) ((sum) + (a) * (b))

#define FN(name) name##_i8
#define ELEMENT uint8_t
#define SUM uint32_t
#define STORE_C(x) (uint8_t)(x)
#include "device/cpu/gemm_generic_rows.inc"

#define FN(name) name##_i16
#define ELEMENT uint16_t
#define SUM uint32_t
#define STORE_C(x) (uint16_t)(x)
#include "device/cpu/gemm_generic_rows.inc"

#define FN(name) name##_i32
#define ELEMENT uint32_t
#define SUM uint32_t
#define STORE_C(x) (x)
#include "device/cpu/gemm_generic_rows.inc"

#define FN(name) name##_i64
#define ELEMENT uint64_t
#define SUM uint64_t
#define STORE_C(x) (x)
#include "device/cpu/gemm_generic_rows.inc"
#undef LOAD_A
#undef LOAD_B
#undef ZERO
#undef ADD

#define DEFINE_COMPLEX(name, real_t)                                                 \
  typedef struct name##_s {                                                          \
    real_t re, im;                                                                   \
  } name##_t;                                                                        \
  static inline name##_t add_##name(name##_t sum, name##_t a, name##_t b) {          \
    sum.re += a.re * b.re - a.im * b.im;                                             \
    sum.im += a.re * b.im + a.im * b.re;                                             \
    return sum;                                                                      \
  }                                                                                  \
  static inline name##_t conjugate_##name(leat_gemm_op_t op, name##_t value) {       \
    if (op == LEAT_GEMM_ADJOINT) value.im = -value.im;                               \
    return value;                                                                    \
  }
DEFINE_COMPLEX(c64, float)
DEFINE_COMPLEX(c128, double)

#define FN(name) name##_c64
#define ELEMENT c64_t
#define SUM c64_t
#define STORE_C(x) (x)
#define ZERO ((c64_t){0, 0})
#define LOAD_A(x) conjugate_c64(shape->op_a, x)
#define LOAD_B(x) conjugate_c64(shape->op_b, x)
#define ADD(sum, a, b) add_c64(sum, a, b)
#include "device/cpu/gemm_generic_rows.inc"
#undef LOAD_A
#undef LOAD_B
#undef ZERO
#undef ADD

#define FN(name) name##_c128
#define ELEMENT c128_t
#define SUM c128_t
#define STORE_C(x) (x)
#define ZERO ((c128_t){0, 0})
#define LOAD_A(x) conjugate_c128(shape->op_a, x)
#define LOAD_B(x) conjugate_c128(shape->op_b, x)
#define ADD(sum, a, b) add_c128(sum, a, b)
#include "device/cpu/gemm_generic_rows.inc"

// The sizes of a tile of C, and of the depth of the float copies of A and B, for 16-bit floats.
#define HALF_TILE 64
#define HALF_DEPTH 128

typedef void (*widen_fn_t)(const uint16_t* x, float* y, int64_t n);
typedef void (*narrow_fn_t)(const float* x, uint16_t* y, int64_t n);

// Converts |rows| x |columns| elements to dense floats.
static void widen(widen_fn_t fn, const uint16_t* from, int64_t ld, int64_t rows, int64_t columns,
                  float* to) {
  for (int64_t i = 0; i < rows; ++i) fn(from + i * ld, to + i * columns, columns);
}

// Computes the tile of C at (i, j).
static void run_half_tile(const generic_t* product, widen_fn_t widen_fn, narrow_fn_t narrow_fn,
                          int64_t i, int64_t j) {
  const leat_gemm_shape_t* whole = &product->shape;
  float a[HALF_TILE * HALF_DEPTH], b[HALF_TILE * HALF_DEPTH], c[HALF_TILE * HALF_TILE];
  leat_gemm_shape_t block = *whole;
  block.m = LEAT_MIN(whole->m - i, HALF_TILE);
  block.n = LEAT_MIN(whole->n - j, HALF_TILE);
  block.ldc = block.n;
  uint16_t* to = (uint16_t*)product->c + i * whole->ldc + j;
  memset(c, 0, sizeof c);
  if (product->accumulate) widen(widen_fn, to, whole->ldc, block.m, block.n, c);
  for (int64_t p = 0; p < whole->k; p += HALF_DEPTH) {
    block.k = LEAT_MIN(whole->k - p, HALF_DEPTH);
    const uint16_t* from_a = product->a;
    const uint16_t* from_b = product->b;
    if (block.op_a == LEAT_GEMM_PLAIN) {
      widen(widen_fn, from_a + i * whole->lda + p, whole->lda, block.m, block.k, a);
      block.lda = block.k;
    } else {
      widen(widen_fn, from_a + p * whole->lda + i, whole->lda, block.k, block.m, a);
      block.lda = block.m;
    }
    if (block.op_b == LEAT_GEMM_PLAIN) {
      widen(widen_fn, from_b + p * whole->ldb + j, whole->ldb, block.k, block.n, b);
      block.ldb = block.n;
    } else {
      widen(widen_fn, from_b + j * whole->ldb + p, whole->ldb, block.n, block.k, b);
      block.ldb = block.k;
    }
    leat_gemm_f32_portable(&block, a, b, c, c, NULL, NULL);
  }
  for (int64_t r = 0; r < block.m; ++r) narrow_fn(c + r * block.n, to + r * whole->ldc, block.n);
}

// The items of the parallel loop are tiles of C.
#define DEFINE_HALF(name, to_float, from_float)                                                  \
  static void run_tiles_##name(void* data, int64_t begin, int64_t end) {                         \
    const generic_t* product = data;                                                             \
    const int64_t tiles = (product->shape.n + HALF_TILE - 1) / HALF_TILE;                        \
    const leat_vector_math_t* math = leat_vector_math();                                         \
    for (int64_t t = begin; t < end; ++t) {                                                      \
      run_half_tile(product, math->to_float, math->from_float, t / tiles * HALF_TILE,            \
                    t % tiles * HALF_TILE);                                                      \
    }                                                                                            \
  }                                                                                              \
  static void run_##name(const generic_t* product, leat_thread_pool_t* pool) {                   \
    const leat_gemm_shape_t* shape = &product->shape;                                            \
    const int64_t tiles = ((shape->n + HALF_TILE - 1) / HALF_TILE) *                             \
                          ((shape->m + HALF_TILE - 1) / HALF_TILE);                              \
    const double tile_ns = HALF_TILE * HALF_TILE * 0.03 * (double)shape->k;                      \
    leat_thread_pool_parallel_for(pool, 0, tiles, tile_ns, run_tiles_##name, (void*)product);    \
  }
DEFINE_HALF(f16, half_to_float, half_from_float)
DEFINE_HALF(bf16, bfloat16_to_float, bfloat16_from_float)

#define DEFINE_ENTRY(name, type)                                                             \
  void leat_gemm_##name(const leat_gemm_shape_t* shape, const type* a, const type* b,        \
                        bool accumulate, type* c, leat_thread_pool_t* pool) {                \
    const generic_t product = {*shape, a, b, c, accumulate};                                 \
    if (shape->m > 0 && shape->n > 0) run_##name(&product, pool);                            \
  }
LEAT_GEMM_GENERIC_TYPES(DEFINE_ENTRY)
