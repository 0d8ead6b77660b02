// A matrix product whose rows are processed further (a bias, an activation) while they are still in
// the cache. The step used here changes each element depending on its row's number and counts its
// calls. The tests see by that whether it was applied exactly once to each row, under the right
// number, and after all of the row's products had been added. The number of products that were made
// is compared too: it says into how many blocks of rows the work was cut, and that nothing is cut
// where the caller forbids it or where the thread pool does better with the whole.
#include "device/cpu/row_step.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "base/sync.h"
#include "device/cpu/pool_test.h"

#define FIRST 1000  // the step's number of the first row

typedef struct recorder_s {
  int64_t columns;
  _Atomic int* calls;     // for each row
  _Atomic int products;   // how often rows were multiplied
} recorder_t;
static recorder_t recorder;

static void multiply(const leat_gemm_shape_t* shape, const void* a, const void* b, void* c,
                     leat_thread_pool_t* pool) {
  ++recorder.products;
  leat_gemm_f64(shape, a, b, NULL, c, NULL, pool);
}

// Makes x of row r the number 2 x + r.
static void double_rows(void* data, void* rows, int64_t first, int64_t count, bool has_bias) {
  recorder_t* r = data;
  double* x = rows;
  assert_false(has_bias);
  for (int64_t row = first; row < first + count; ++row) {
    ++r->calls[row - FIRST];
    for (int64_t j = 0; j < r->columns; ++j, ++x) *x = 2 * *x + (double)row;
  }
}

static double* make_numbers(int64_t count) {
  double* numbers = calloc((size_t)count + 1, sizeof(double));
  for (int64_t i = 0; i < count; ++i) numbers[i] = (double)(lrand48() % 21 - 10);
  return numbers;
}

// Multiplies, doubles each row and adds its number on the way; every row must have been given to
// the step exactly once, and |products| is how many pieces the multiplication must have had.
static void check(int64_t m, int64_t n, int64_t k, bool transposed, bool is_whole, int products,
                  leat_thread_pool_t* pool) {
  const leat_gemm_shape_t shape = leat_gemm_shape_dense(
      transposed ? LEAT_GEMM_TRANSPOSE : LEAT_GEMM_PLAIN, LEAT_GEMM_PLAIN, m, n, k);
  double *a = make_numbers(m * k), *b = make_numbers(k * n), *c = make_numbers(m * n);
  recorder = (recorder_t){.columns = n, .calls = calloc((size_t)m + 1, sizeof(_Atomic int))};
  const leat_row_step_t step = {.apply = double_rows, .data = &recorder};
  leat_row_step_multiply(&step, multiply, &shape, sizeof(double), a, b, c, FIRST, is_whole, pool);
  assert_int_equal(recorder.products, products);
  for (int64_t i = 0; i < m; ++i) {
    assert_int_equal(recorder.calls[i], n > 0);
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a[transposed ? p * m + i : i * k + p] * b[p * n + j];
      assert_true(c[i * n + j] == 2 * sum + (double)(FIRST + i));
    }
  }
  free(recorder.calls);
  free(a);
  free(b);
  free(c);
}

static void test_blocks(void** state) {
  check(1, 3, 2, false, false, 1, NULL);
  check(5, 17, 0, false, false, 1, NULL);
  check(0, 4, 3, false, false, 0, NULL);
  check(4, 0, 3, false, false, 0, NULL);
  // A block has 256 rows, although 218 rows of 300 doubles would fill it.
  check(700, 300, 3, false, false, 3, NULL);
  check(700, 300, 3, true, false, 3, NULL);
  check(700, 300, 3, true, true, 1, NULL);
  check(1500, 300, 3, false, false, 6, *state);
  check(1500, 300, 3, true, false, 6, *state);
  // Fewer blocks than threads: the pool shares the whole product.
  check(700, 300, 3, false, false, 1, *state);
  check(257, 2000, 2, true, false, 2, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks)};
  return cmocka_run_group_tests(tests, pool_test_set_up, pool_test_tear_down);
}
