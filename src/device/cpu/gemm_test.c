// The matrix product against three loops: shapes around the borders of tiles and blocks, all
// transposes, gaps between rows, things added, every instruction set of this machine. A pool must
// give the same bits as a single thread, since a step's result may not depend on the number of
// cores. Integers wrap around, NaN survives a product with 0, and complex and 16-bit types have
// cases of their own. The tests of float and double are in an .inc file that is included for each
// type, and so do those of the integers. Instruction sets that this machine lacks are not tested,
// and the matrix unit has a test of its own (gemm_split_test.c).
#include "device/cpu/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "device/cpu/gemm_kernels.h"
#include "device/cpu/half.h"
#include "device/cpu/pool_test.h"

static const int64_t shapes[][3] = {
    {1, 1, 1},    {1, 7, 5},     {1, 1500, 37}, {7, 1, 5},      {37, 1, 2500},  {2, 2, 2},
    {3, 5, 0},    {0, 5, 3},     {5, 0, 3},     {12, 32, 256},  {13, 33, 257},  {11, 31, 255},
    {6, 16, 8},   {5, 15, 7},    {36, 48, 20},  {37, 49, 21},   {100, 10, 300}, {241, 65, 19},
    {64, 64, 64}, {25, 2050, 9}, {3, 100, 600}, {250, 70, 520}, {17, 4, 1},     {1, 64, 1030},
    {7, 66, 419}, {20, 65, 900}, {24, 64, 256},
};

static uint64_t pick_bits(void) { return (uint64_t)mrand48() * 0x9e3779b97f4a7c15; }
static double pick(void) { return drand48() * 2 - 1; }

// Sizes of the stored matrices with gaps between rows.
static leat_gemm_shape_t make_shape(const int64_t* mnk, int op_a, int op_b, int64_t gap) {
  leat_gemm_shape_t shape =
      leat_gemm_shape_dense((leat_gemm_op_t)op_a, (leat_gemm_op_t)op_b, mnk[0], mnk[1], mnk[2]);
  shape.lda += gap;
  shape.ldb += gap;
  shape.ldc += gap;
  return shape;
}
static size_t count_a(const leat_gemm_shape_t* s) {
  return (size_t)((s->op_a == LEAT_GEMM_PLAIN ? s->m : s->k) * s->lda) + 1;
}
static size_t count_b(const leat_gemm_shape_t* s) {
  return (size_t)((s->op_b == LEAT_GEMM_PLAIN ? s->k : s->n) * s->ldb) + 1;
}
static size_t count_c(const leat_gemm_shape_t* s) { return (size_t)(s->m * s->ldc) + 1; }

#define TYPE float
#define SUFFIX(name) name##_f32
#define OURS leat_gemm_f32_portable
#define WORKSPACE_BYTES leat_gemm_f32_workspace_bytes
#define TOLERANCE 3e-7
#include "device/cpu/gemm_test_reals.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#define OURS leat_gemm_f64
#define WORKSPACE_BYTES leat_gemm_f64_workspace_bytes
#define TOLERANCE 1e-15
#include "device/cpu/gemm_test_reals.inc"

static void test_every_instruction_set(void** state) {
  (void)state;
  run_kernels_f32(&leat_gemm_kernels_base);
  run_kernels_f64(&leat_gemm_kernels_base);
#if defined(__x86_64__)
  if (leat_cpu_isa() >= LEAT_ISA_AVX2) {
    run_kernels_f32(&leat_gemm_kernels_avx2);
    run_kernels_f64(&leat_gemm_kernels_avx2);
  }
  if (leat_cpu_isa() >= LEAT_ISA_AVX512) {
    run_kernels_f32(&leat_gemm_kernels_avx512);
    run_kernels_f64(&leat_gemm_kernels_avx512);
  }
#endif
}

static void test_nan_is_not_hidden(void** state) {
  (void)state;
  float a[20 * 20] = {0}, b[20 * 20] = {0}, c[20 * 20];
  b[3 * 20 + 4] = INFINITY;
  for (int64_t m = 1; m <= 20; m += 19) {
    const leat_gemm_shape_t s = leat_gemm_shape_dense(0, 0, m, 20, 20);
    leat_gemm_f32(&s, a, b, NULL, c, NULL, NULL);
    for (int i = 0; i < m * 20; ++i) assert_int_equal(!!isnan(c[i]), i % 20 == 4);
  }
}

#define TYPE int8_t
#define WIDE uint32_t
#define SUFFIX(name) name##_i8
#include "device/cpu/gemm_test_integers.inc"

#define TYPE int16_t
#define WIDE uint32_t
#define SUFFIX(name) name##_i16
#include "device/cpu/gemm_test_integers.inc"

#define TYPE int32_t
#define WIDE uint32_t
#define SUFFIX(name) name##_i32
#include "device/cpu/gemm_test_integers.inc"

#define TYPE int64_t
#define WIDE uint64_t
#define SUFFIX(name) name##_i64
#include "device/cpu/gemm_test_integers.inc"

static void test_complex(void** state) {
  enum { M = 19, N = 150, K = 40 };
  for (int op_a = 0; op_a < 3; ++op_a) {
    for (int op_b = 0; op_b < 3; ++op_b) {
      const int64_t mnk[] = {M, N, K};
      const leat_gemm_shape_t s = make_shape(mnk, op_a, op_b, 0);
      static double a[M * K * 2], b[K * N * 2], c[M * N * 2];
      static float af[M * K * 2], bf[K * N * 2], cf[M * N * 2];
      for (int i = 0; i < M * K * 2; ++i) a[i] = af[i] = (float)pick();
      for (int i = 0; i < K * N * 2; ++i) b[i] = bf[i] = (float)pick();
      for (int i = 0; i < M * N * 2; ++i) c[i] = cf[i] = 1;
      leat_gemm_c128(&s, a, b, true, c, *state);
      leat_gemm_c64(&s, af, bf, true, cf, *state);
      for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
          double re = 1, im = 1;
          for (int p = 0; p < K; ++p) {
            const double* x = a + 2 * (op_a ? p * M + i : i * K + p);
            const double* y = b + 2 * (op_b ? j * K + p : p * N + j);
            const double xi = op_a == 2 ? -x[1] : x[1], yi = op_b == 2 ? -y[1] : y[1];
            re += x[0] * y[0] - xi * yi;
            im += x[0] * yi + xi * y[0];
          }
          assert_true(fabs(c[2 * (i * N + j)] - re) < 1e-12);
          assert_true(fabs(c[2 * (i * N + j) + 1] - im) < 1e-12);
          assert_true(fabs(cf[2 * (i * N + j)] - re) < 1e-4);
          assert_true(fabs(cf[2 * (i * N + j) + 1] - im) < 1e-4);
        }
      }
    }
  }
}

// Sums stay in float: the only rounding to 16 bits is of the result.
static void test_sixteen_bits(void** state) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(shapes); ++i) {
    for (int variant = 0; variant < 4; ++variant) {
      const leat_gemm_shape_t s = make_shape(shapes[i], variant & 1, variant >> 1, 2);
      uint16_t* a = malloc(count_a(&s) * 4);
      uint16_t* b = malloc(count_b(&s) * 4);
      uint16_t* c = malloc(count_c(&s) * 4);
      for (size_t t = 0; t < count_a(&s); ++t) {
        const float value = (float)pick();
        a[t] = leat_half_from_float(value);
        a[t + count_a(&s)] = leat_bfloat16_from_float(value);
      }
      for (size_t t = 0; t < count_b(&s); ++t) {
        const float value = (float)pick();
        b[t] = leat_half_from_float(value);
        b[t + count_b(&s)] = leat_bfloat16_from_float(value);
      }
      for (size_t t = 0; t < count_c(&s); ++t) c[t] = leat_half_from_float(0.5f);
      for (size_t t = 0; t < count_c(&s); ++t) c[t + count_c(&s)] = leat_bfloat16_from_float(0.5f);
      leat_gemm_f16(&s, a, b, true, c, *state);
      leat_gemm_bf16(&s, a + count_a(&s), b + count_b(&s), true, c + count_c(&s), *state);
      for (int64_t r = 0; r < s.m; r += 2) {
        for (int64_t q = 0; q < s.n; ++q) {
          double half = 0.5, brain = 0.5;
          for (int64_t p = 0; p < s.k; ++p) {
            const uint16_t* x = a + (s.op_a ? p * s.lda + r : r * s.lda + p);
            const uint16_t* y = b + (s.op_b ? q * s.ldb + p : p * s.ldb + q);
            half += (double)leat_half_to_float(*x) * leat_half_to_float(*y);
            brain += (double)leat_bfloat16_to_float(x[count_a(&s)]) *
                     leat_bfloat16_to_float(y[count_b(&s)]);
          }
          const uint16_t* got = c + r * s.ldc + q;
          assert_true(fabs(leat_half_to_float(*got) - half) <= fabs(half) * 0x1p-11 + 1e-4);
          assert_true(fabs(leat_bfloat16_to_float(got[count_c(&s)]) - brain) <=
                      fabs(brain) * 0x1p-8 + 1e-4);
        }
      }
      free(a);
      free(b);
      free(c);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f32),          cmocka_unit_test(test_f64),
      cmocka_unit_test(test_pool_f32),     cmocka_unit_test(test_pool_f64),
      cmocka_unit_test(test_every_instruction_set),
      cmocka_unit_test(test_nan_is_not_hidden),
      cmocka_unit_test(test_i8),           cmocka_unit_test(test_i16),
      cmocka_unit_test(test_i32),          cmocka_unit_test(test_i64),
      cmocka_unit_test(test_complex),      cmocka_unit_test(test_sixteen_bits),
  };
  return cmocka_run_group_tests(tests, pool_test_set_up, pool_test_tear_down);
}
