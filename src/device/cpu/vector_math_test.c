// Every function against long double over the whole range of float (a sweep of bit patterns, and
// dense where it is hard), with the bound that the header promises; every instruction set of this
// machine against the baseline, bit for bit; the edges; the 16-bit conversions, all of them. The
// reference is the C library's function of long double, whose error is far below the bounds.
// Instruction sets that this machine lacks are not tested. In double the functions are compared
// with the reference at a hundred points only. Kernels that call these loops are tested in
// src/ops/math.
#include "device/cpu/vector_math.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/cpu/half.h"

#define BATCH 8192

typedef struct case_s {
  const char* name;
  size_t offset_f32, offset_f64;
  long double (*reference)(long double x);
  double bound;  // units in the last place
} case_t;

static long double sigmoid_reference(long double x) { return 1 / (1 + expl(-x)); }
static long double softplus_reference(long double x) {
  return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}
static long double rsqrt_reference(long double x) { return 1 / sqrtl(x); }

#define CASE(name, reference, bound)                                                             \
  {#name, offsetof(leat_vector_math_t, name##_f32), offsetof(leat_vector_math_t, name##_f64),    \
   reference, bound}
static const case_t cases[] = {
    CASE(exp, expl, 1.0),          CASE(expm1, expm1l, 0.6),
    CASE(log, logl, 1.0),          CASE(log1p, log1pl, 1.0),
    CASE(tanh, tanhl, 2.0),        CASE(sigmoid, sigmoid_reference, 2.0),
    CASE(softplus, softplus_reference, 0.6),
    CASE(erf, erfl, 2.0),          CASE(erfc, erfcl, 0.6),
    CASE(sin, sinl, 2.0),          CASE(cos, cosl, 2.0),
    CASE(sqrt, sqrtl, 0.5),        CASE(rsqrt, rsqrt_reference, 1.5),
};

typedef void (*fn_f32_t)(const float* x, float* y, int64_t n);
typedef void (*fn_f64_t)(const double* x, double* y, int64_t n);
static fn_f32_t find_f32(const leat_vector_math_t* table, const case_t* c) {
  fn_f32_t fn;
  memcpy(&fn, (const char*)table + c->offset_f32, sizeof fn);
  return fn;
}
static fn_f64_t find_f64(const leat_vector_math_t* table, const case_t* c) {
  fn_f64_t fn;
  memcpy(&fn, (const char*)table + c->offset_f64, sizeof fn);
  return fn;
}

static int list_tables(const leat_vector_math_t** out_tables) {
  int count = 0;
  out_tables[count++] = &leat_vector_math_base;
#if defined(__x86_64__)
  if (leat_cpu_isa() >= LEAT_ISA_AVX2) out_tables[count++] = &leat_vector_math_avx2;
  if (leat_cpu_isa() >= LEAT_ISA_AVX512) out_tables[count++] = &leat_vector_math_avx512;
#endif
  return count;
}

// Of a float result, in the spacing of floats around the exact value.
static double count_ulps(float got, long double exact) {
  if (isnan(exact)) return isnan(got) ? 0 : 1e9;
  if (isnan(got)) return 1e9;
  const long double limit = 0x1.ffffffp127L;  // half a place above the largest float
  if (fabsl(exact) >= limit) {
    if (isinf(got) && (got > 0) == (exact > 0)) return 0;
    return fabsf(got) == 0x1.fffffep127f && !isinf(exact) ? 1 : 1e9;
  }
  if (isinf(got)) return fabsl(exact) > 0x1.fffffcp127L ? 1 : 1e9;
  int exponent = 0;
  frexpl(exact, &exponent);
  if (exponent < -125) exponent = -125;
  return (double)(fabsl((long double)got - exact) / ldexpl(1, exponent - 24));
}

static float bits_to_float(uint32_t bits) { return leat_float_from_bits(bits); }

static void check_batch(const case_t* c, const float* x, int64_t n, double* inout_worst,
                        float* inout_where) {
  static float expected[BATCH], got[BATCH];
  const leat_vector_math_t* tables[3];
  const int count = list_tables(tables);
  find_f32(tables[0], c)(x, expected, n);
  for (int t = 1; t < count; ++t) {
    find_f32(tables[t], c)(x, got, n);
    for (int64_t i = 0; i < n; ++i) {
      if (isnan(expected[i]) && isnan(got[i])) continue;
      if (leat_float_bits(expected[i]) != leat_float_bits(got[i])) {
        fail_msg("%s(%a): baseline %a, set %d %a", c->name, x[i], expected[i], t, got[i]);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const double ulps = count_ulps(expected[i], c->reference(x[i]));
    if (ulps > *inout_worst) {
      *inout_worst = ulps;
      *inout_where = x[i];
    }
  }
}

static void test_accuracy(void** state) {
  (void)state;
  static float x[BATCH];
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    double worst = 0;
    float where = 0;
    uint32_t bits = 0;
    for (int batch = 0; batch < 40; ++batch) {  // all exponents and signs
      for (int i = 0; i < BATCH; ++i, bits += 13109) x[i] = bits_to_float(bits);
      check_batch(&cases[k], x, BATCH, &worst, &where);
    }
    for (int batch = 0; batch < 40; ++batch) {  // [-16, 16] evenly, then [-110, 110]
      const double reach = batch < 30 ? 16 : 110;
      for (int i = 0; i < BATCH; ++i) x[i] = (float)(reach * (drand48() * 2 - 1));
      check_batch(&cases[k], x, BATCH, &worst, &where);
    }
    printf("%-9s worst %.3f ulp at %a, bound %.1f\n", cases[k].name, worst, where, cases[k].bound);
    if (worst > cases[k].bound + 1e-3) {
      fail_msg("%s(%a): %.3f ulp, must be <= %.1f", cases[k].name, where, worst, cases[k].bound);
    }
  }
}

static void test_edges(void** state) {
  (void)state;
  const float x[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 0x1p-149f, -0x1p-149f, 0x1p-126f,
                     -0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f, 1.0f, -1.0f, 88.72283f,
                     88.72284f, -87.33655f, -103.97208f, -104.5f, 0.625f, 0x1p20f, 0x1.000002p20f,
                     0x1.8p100f, -0x1.fep126f, 10.05f, 10.06f, -10.06f};
  const int64_t n = sizeof x / sizeof x[0];
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    double worst = 0;
    float where = 0, y[sizeof x / sizeof x[0]];
    for (int64_t length = 1; length <= n; ++length) {
      check_batch(&cases[k], x + n - length, length, &worst, &where);
    }
    if (worst > cases[k].bound) fail_msg("%s(%a): %g ulp", cases[k].name, where, worst);
    find_f32(&leat_vector_math_base, &cases[k])(x, y, n);
    for (int i = 0; i < 2; ++i) {  // the sign of zero
      const long double exact = cases[k].reference(x[i]);
      if (exact == 0) assert_int_equal(!!signbit(y[i]), !!signbit(exact));
    }
  }
}

static void test_in_place_and_double(void** state) {
  (void)state;
  float x[100], y[100];
  double xd[100], yd[100];
  for (int i = 0; i < 100; ++i) xd[i] = x[i] = (float)(i * 0.07 - 2);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    float z[100];
    memcpy(z, x, sizeof x);
    find_f32(leat_vector_math(), &cases[k])(x, y, 100);
    find_f32(leat_vector_math(), &cases[k])(z, z, 100);
    for (int i = 0; i < 100; ++i) assert_true(y[i] == z[i] || (isnan(y[i]) && isnan(z[i])));
    find_f64(leat_vector_math(), &cases[k])(xd, yd, 100);
    for (int i = 0; i < 100; ++i) {
      const long double exact = cases[k].reference(xd[i]);
      if (isnan(exact)) assert_true(isnan(yd[i]));
      else if (!isinf(exact)) assert_true(fabsl(yd[i] - exact) <= 1e-15L * fmaxl(1, fabsl(exact)));
    }
  }
}

static void test_exp_shifted_sum(void** state) {
  (void)state;
  static float x[10000], y[10000], expected[10000];
  for (int i = 0; i < 10000; ++i) x[i] = (float)(drand48() * 20);
  const int64_t lengths[] = {0, 1, 5, 16, 17, 1000, 4096, 4100, 10000};
  for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; ++l) {
    const leat_vector_math_t* tables[3];
    const int count = list_tables(tables);
    const int64_t n = lengths[l];
    const double sum = tables[0]->exp_shifted_sum_f32(x, 20.0f, expected, n);
    long double exact = 0;
    for (int64_t i = 0; i < n; ++i) {
      exact += expl((long double)(x[i] - 20.0f));
      assert_true(count_ulps(expected[i], expl((long double)(x[i] - 20.0f))) <= 1.1);
    }
    assert_true(fabsl(sum - exact) <= 1e-6L * exact);
    for (int t = 1; t < count; ++t) {
      assert_true(tables[t]->exp_shifted_sum_f32(x, 20.0f, y, n) == sum);
      assert_memory_equal(y, expected, (size_t)n * sizeof(float));
    }
  }
}

static long double half_reference(uint32_t bits) {
  const int exponent = bits >> 10 & 31;
  const long double fraction = (bits & 1023) / 1024.0L;
  const long double magnitude =
      exponent == 0 ? ldexpl(fraction, -14) : ldexpl(1 + fraction, exponent - 15);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// All halves widen exactly and come back; every midpoint of neighbours goes to the even one.
static void test_half(void** state) {
  (void)state;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = leat_half_to_float((uint16_t)bits);
    const uint16_t back = leat_half_from_float(value);
    if ((bits & 0x7fff) > 0x7c00) {
      assert_true(isnan(value));
      assert_int_equal(back, bits | 0x200);
      continue;
    }
    assert_int_equal(back, bits);
    if ((bits & 0x7fff) == 0x7c00) continue;
    assert_true(value == half_reference(bits));
    if (bits & 0x8000) continue;
    const float next = (float)half_reference(bits + 1);  // 65536 past the largest
    const float middle = (value + next) / 2;
    assert_int_equal(leat_half_from_float(middle), bits + (bits & 1));
    assert_int_equal(leat_half_from_float(nextafterf(middle, 0)), bits);
    assert_int_equal(leat_half_from_float(nextafterf(middle, 1e9f)), bits + 1);
  }
}

static void test_half_in_bulk(void** state) {
  (void)state;
  static uint16_t halves[65536 + 3], back[65536];
  static float floats[65536];
  const leat_vector_math_t* tables[3];
  const int count = list_tables(tables);
  for (uint32_t i = 0; i < 65536; ++i) halves[i] = (uint16_t)i;
  for (int t = 0; t < count; ++t) {
    for (int64_t n = 65536 - 33; n <= 65536; n += 11) {
      tables[t]->half_to_float(halves, floats, n);
      for (int64_t i = 0; i < n; ++i) {
        const float exact = leat_half_to_float(halves[i]);
        assert_int_equal(leat_float_bits(floats[i]), leat_float_bits(exact));
      }
      tables[t]->bfloat16_to_float(halves, floats, n);
      for (int64_t i = 0; i < n; ++i) assert_int_equal(leat_float_bits(floats[i]), i << 16);
    }
    for (uint32_t low = 0; low < 65536; low += 4369) {  // ties and both sides of them
      for (uint32_t i = 0; i < 65536; ++i) {
        floats[i] = bits_to_float(i << 16 | (low + (low > 32000 && low < 36000 ? 0 : i % 3)));
        if (low == 8 * 4369) floats[i] = bits_to_float(i << 16 | 0x8000);
      }
      tables[t]->half_from_float(floats, back, 65536);
      for (int i = 0; i < 65536; ++i) assert_int_equal(back[i], leat_half_from_float(floats[i]));
      tables[t]->bfloat16_from_float(floats, back, 65536);
      for (int i = 0; i < 65536; ++i) {
        assert_int_equal(back[i], leat_bfloat16_from_float(floats[i]));
        if (isnan(floats[i])) assert_true(isnan(leat_bfloat16_to_float(back[i])));
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accuracy),
      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_in_place_and_double),
      cmocka_unit_test(test_exp_shifted_sum),
      cmocka_unit_test(test_half),
      cmocka_unit_test(test_half_in_bulk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
