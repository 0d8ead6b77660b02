// Products on the matrix unit (gemm_split.h) against sums in double, beside the plain kernel's
// error: shapes around the borders of strips, panels, blocks and depths, all transposes, gaps
// between rows, what is added; integers exactly; numbers that do not suit the unit; the same bits
// with a pool as without. The kernel is called directly, with a workspace of exactly the size that
// it asks for and a guard behind it. An error is measured in units of the rounding of the sum of
// magnitudes, because a sum that cancels may have any error relative to itself. On a machine
// without such a unit every case is skipped; the plain kernels are tested in gemm_test.c.
#include "device/cpu/gemm_split.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cpu/pool_test.h"

typedef struct operands_s {
  leat_gemm_shape_t shape;
  float *a, *b, *c, *d;
  size_t a_count, b_count, c_count;
} operands_t;

static void need_matrix_unit(void) {
  if (!leat_gemm_split_kernels()) skip();
}

static float pick(void) { return (float)(drand48() * 2 - 1); }
static float pick_integer(void) { return (float)(lrand48() % 201 - 100); }

static operands_t make(int64_t m, int64_t n, int64_t k, int ops, int64_t gap, float (*next)(void)) {
  operands_t o = {.shape = leat_gemm_shape_dense(ops & 1, ops >> 1 & 1, m, n, k)};
  o.shape.lda += gap;
  o.shape.ldb += gap;
  o.shape.ldc += gap;
  o.shape.ldd += 2 * gap;
  o.a_count = (size_t)((o.shape.op_a ? k : m) * o.shape.lda);
  o.b_count = (size_t)((o.shape.op_b ? n : k) * o.shape.ldb);
  o.c_count = (size_t)(m * o.shape.ldc);
  o.a = malloc(o.a_count * sizeof(float));
  o.b = malloc(o.b_count * sizeof(float));
  o.c = malloc(o.c_count * sizeof(float));
  o.d = malloc((size_t)(m * o.shape.ldd) * sizeof(float));
  for (size_t i = 0; i < o.a_count; ++i) o.a[i] = next();
  for (size_t i = 0; i < o.b_count; ++i) o.b[i] = next();
  for (size_t i = 0; i < o.c_count; ++i) o.c[i] = next();
  for (int64_t i = 0; i < m * o.shape.ldd; ++i) o.d[i] = next();
  return o;
}

static void release(operands_t* o) {
  free(o->a);
  free(o->b);
  free(o->c);
  free(o->d);
}

static float* a_at(const operands_t* o, int64_t i, int64_t p) {
  return &o->a[o->shape.op_a ? p * o->shape.lda + i : i * o->shape.lda + p];
}
static float* b_at(const operands_t* o, int64_t p, int64_t j) {
  return &o->b[o->shape.op_b ? j * o->shape.ldb + p : p * o->shape.ldb + j];
}

// The product on the unit alone, into |c|; what lies past the workspace must stay.
static void run(const operands_t* o, const float* d, float* c) {
  const leat_gemm_kernels_t* kernels = leat_gemm_split_kernels();
  const leat_gemm_shape_t* s = &o->shape;
  const size_t bytes = kernels->blocking_f32.packed_bytes(s->m, s->n, s->k);
  char* workspace = NULL;
  assert_int_equal(posix_memalign((void**)&workspace, 64, bytes + 64), 0);
  memset(workspace + bytes, 0x5a, 64);
  kernels->block_f32(s, o->a, o->b, d, c, workspace);
  for (int i = 0; i < 64; ++i) assert_int_equal(workspace[bytes + (size_t)i], 0x5a);
  free(workspace);
}

// Errors in units of 2^-24 of the sum of magnitudes, where it is finite. An element that is not
// finite must be so in |c| as in the sum in double.
static double worst_error(const operands_t* o, const float* before, const float* d,
                          const float* c) {
  const leat_gemm_shape_t* s = &o->shape;
  double worst = 0;
  for (int64_t i = 0; i < s->m; ++i) {
    for (int64_t j = 0; j < s->ldc; ++j) {
      const float got = c[i * s->ldc + j];
      if (j >= s->n) {
        assert_memory_equal(&got, &before[i * s->ldc + j], sizeof(got));
        continue;
      }
      double sum = d ? d[i * s->ldd + j] : 0, magnitude = fabs(sum);
      for (int64_t p = 0; p < s->k; ++p) {
        const double product = (double)*a_at(o, i, p) * *b_at(o, p, j);
        sum += product;
        magnitude += fabs(product);
      }
      if (!(magnitude <= 3e38)) {
        assert_int_equal(!!isnan(got), !!isnan(sum));
        if (!isnan(sum)) assert_true(got == (float)sum);
        continue;
      }
      const double error = magnitude > 0 ? fabs(got - sum) / magnitude * 0x1p24 : fabs(got);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

static const int64_t shapes[][3] = {
    {1, 1, 1},       {16, 16, 16},  {17, 33, 31},    {32, 32, 32},   {33, 47, 65},
    {64, 96, 33},    {80, 49, 512}, {31, 129, 513},  {129, 31, 700}, {300, 40, 600},
    {40, 300, 1100}, {5, 70, 96},   {280, 300, 520},
};

static void test_shapes(void** state) {
  need_matrix_unit();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(shapes); ++i) {
    for (int variant = 0; variant < 16; ++variant) {  // 4 * (nothing, C, a row, a matrix)
      operands_t o =
          make(shapes[i][0], shapes[i][1], shapes[i][2], variant & 3, variant >> 2 & 1, pick);
      const int added = variant >> 2;
      float* before = malloc(o.c_count * sizeof(float));
      memcpy(before, o.c, o.c_count * sizeof(float));
      if (added == 1) o.shape.ldd = o.shape.ldc;
      if (added == 2) o.shape.ldd = 0;
      run(&o, added == 0 ? NULL : added == 1 ? o.c : o.d, o.c);
      const float* d = added == 0 ? NULL : added == 1 ? before : o.d;
      const double error = worst_error(&o, before, d, o.c);
      if (!(error < 8)) {
        fail_msg("%ldx%ldx%ld variant %d: %g", (long)o.shape.m, (long)o.shape.n, (long)o.shape.k,
                 variant, error);
      }
      free(before);
      release(&o);
    }
  }
}

// One rounding less than a chain of multiply-adds in every 32 products.
static void test_no_worse_than_plain(void** state) {
  need_matrix_unit();
  for (int ops = 0; ops < 4; ++ops) {
    operands_t o = make(64, 64, 500, ops, 0, pick);
    run(&o, NULL, o.c);
    const double split = worst_error(&o, NULL, NULL, o.c);
    leat_gemm_f32_portable(&o.shape, o.a, o.b, NULL, o.c, NULL, NULL);
    assert_true(split <= worst_error(&o, NULL, NULL, o.c));
    release(&o);
  }
}

static void test_integers_are_exact(void** state) {
  need_matrix_unit();
  operands_t o = make(96, 80, 900, 0, 0, pick_integer);
  o.a[3] = 65537;  // of two parts
  run(&o, NULL, o.c);
  assert_true(worst_error(&o, NULL, NULL, o.c) == 0);
  release(&o);
}

// A number in one place decides the path of the panels that hold it, and of no other.
static void test_unsuited_numbers(void** state) {
  need_matrix_unit();
  static const float numbers[] = {INFINITY, -INFINITY, NAN, 1e38f, -1e25f, 1e-45f, 0x1p-126f};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(numbers); ++i) {
    for (int ops = 0; ops < 4; ++ops) {
      operands_t o = make(100, 70, 530, ops, 0, pick);
      *a_at(&o, 40, 515) = numbers[i];
      *b_at(&o, 3, 65) = numbers[i];
      run(&o, o.d, o.c);
      assert_true(worst_error(&o, NULL, o.d, o.c) < 8);
      release(&o);
    }
  }
}

// Where all numbers are small the parts of one would be subnormal.
static void test_small_numbers(void** state) {
  need_matrix_unit();
  for (int zero = 0; zero < 2; ++zero) {
    operands_t o = make(64, 64, 64, 0, 0, pick);
    for (size_t i = 0; i < o.a_count; ++i) o.a[i] *= zero ? 0 : 0x1p-120f;
    for (size_t i = 0; i < o.b_count; ++i) o.b[i] *= 0x1p30f;
    run(&o, NULL, o.c);
    assert_true(worst_error(&o, NULL, NULL, o.c) < 20);
    release(&o);
  }
}

static void test_pool(void** state) {
  need_matrix_unit();
  static const int64_t large[][3] = {{400, 500, 600}, {64, 3000, 129}, {3000, 64, 129}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(large); ++i) {
    for (int ops = 0; ops < 4; ++ops) {
      operands_t o = make(large[i][0], large[i][1], large[i][2], ops, 0, pick);
      *a_at(&o, 50, 7) = 1e30f;
      *b_at(&o, 9, 60) = 1e-30f;
      float* other = malloc(o.c_count * sizeof(float));
      leat_gemm_f32(&o.shape, o.a, o.b, NULL, o.c, NULL, NULL);
      leat_gemm_f32(&o.shape, o.a, o.b, NULL, other, NULL, *state);
      assert_memory_equal(o.c, other, o.c_count * sizeof(float));
      run(&o, NULL, other);
      assert_memory_equal(o.c, other, o.c_count * sizeof(float));
      free(other);
      release(&o);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_no_worse_than_plain),
      cmocka_unit_test(test_integers_are_exact),
      cmocka_unit_test(test_unsuited_numbers),
      cmocka_unit_test(test_small_numbers),
      cmocka_unit_test(test_pool),
  };
  return cmocka_run_group_tests(tests, pool_test_set_up, pool_test_tear_down);
}
