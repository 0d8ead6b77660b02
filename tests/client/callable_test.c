// Prepared callables (leat_callable_t): feeds used in place, results in the caller's buffers,
// tensors, errors, many threads. Each test prepares a call of a small graph and runs it with memory
// of its own, at odd addresses, too small, or of the wrong type, and looks at what was written and
// what was left alone. The caller's memory must be his own again when the call has returned,
// whatever the graph keeps. What the graph computes is not the point here.
#include <pthread.h>
#include <stdlib.h>

#include "client/model_kit.h"
#include "leat/callable.h"

static TF_Output x, y, total;  // [?, 3]; x * x; the sum of a vector

static int set_up(void** state) {
  model_kit_set_up(state);
  x = leat_placeholder(kit.scope, "x", TF_FLOAT, 2, (int64_t[]){-1, 3});
  y = leat_multiply(kit.scope, x, x);
  total = leat_mean(kit.scope, y);
  model_kit_run(leat_group(kit.scope, NULL, NULL, 0));  // opens the session
  return 0;
}

static leat_array_t rows_of_three(int64_t rows, float* data) {
  return (leat_array_t){TF_FLOAT, 2, {rows, 3}, data, (size_t)rows * 3 * sizeof(float)};
}

static leat_callable_t* create(TF_Output fetch) {
  leat_callable_t* f =
      leat_callable_create(kit.session, &x, 1, &fetch, 1, NULL, 0, kit.status);
  kit_ok(kit.status);
  assert_non_null(f);
  return f;
}

static void test_arrays(void** state) {
  leat_callable_t* f = create(y);
  for (int64_t rows = 0; rows <= 4; ++rows) {
    float in[13], out[12];
    // An address that is only a float's.
    for (int i = 0; i < 12; ++i) in[i + 1] = (float)i;
    leat_array_t feed = rows_of_three(rows, in + 1);
    leat_array_t fetch = {.data = out, .size_bytes = sizeof out};
    leat_callable_run(f, &feed, &fetch, kit.status);
    kit_ok(kit.status);
    assert_int_equal(fetch.dtype, TF_FLOAT);
    assert_int_equal(fetch.rank, 2);
    assert_int_equal(fetch.dims[0], rows);
    assert_int_equal(fetch.dims[1], 3);
    for (int i = 0; i < 3 * rows; ++i) assert_true(out[i] == (float)(i * i));
    for (int i = 0; i < 12; ++i) assert_true(in[i + 1] == (float)i);
  }
  leat_callable_free(f);
}

static void test_tensors(void** state) {
  leat_callable_t* f = create(total);
  TF_Tensor* fed = kit_tensor(TF_FLOAT, 2, (int64_t[]){1, 3}, (float[]){1, 2, 4}, 12);
  TF_Tensor* fetched = NULL;
  leat_callable_run_tensors(f, &fed, &fetched, kit.status);
  kit_ok(kit.status);
  assert_true(kit_float_of(fetched) == 7);
  TF_DeleteTensor(fetched);
  TF_DeleteTensor(fed);
  leat_callable_free(f);
}

// The value passes through untouched: the fetch is a copy of the caller's own memory.
static void test_passed_through(void** state) {
  leat_callable_t* f =
      create((TF_Output){leat_operation(kit.scope, "Identity", NULL, &x, 1, NULL, 0), 0});
  float in[3] = {1, 2, 3}, out[3] = {0};
  leat_array_t feed = rows_of_three(1, in), fetch = rows_of_three(1, out);
  leat_callable_run(f, &feed, &fetch, kit.status);
  kit_ok(kit.status);
  assert_memory_equal(in, out, sizeof in);
  leat_callable_free(f);
}

// What a variable keeps of a feed is a copy: the caller's memory is his again.
static void test_kept_feed(void** state) {
  TF_Output w = model_kit_variable("w", TF_FLOAT, 3, (double[]){0, 0, 0});
  TF_Output value = leat_placeholder(kit.scope, "value", TF_FLOAT, 1, (int64_t[]){3});
  TF_Output pair[] = {leat_variable_at(kit.scope, 0), value};
  const TF_Operation* assign = leat_operation(kit.scope, "Assign", NULL, pair, 2, NULL, 0);
  kit_ok(leat_scope_status(kit.scope));
  leat_callable_t* f =
      leat_callable_create(kit.session, &value, 1, NULL, 0, &assign, 1, kit.status);
  kit_ok(kit.status);
  // Aligned, so that nothing but the rule makes a copy.
  float* in = aligned_alloc(64, 64);
  for (int i = 0; i < 3; ++i) in[i] = (float)i + 1;
  leat_array_t feed = {TF_FLOAT, 1, {3}, in, 12};
  leat_callable_run(f, &feed, NULL, kit.status);
  kit_ok(kit.status);
  for (int i = 0; i < 3; ++i) in[i] = -1;
  free(in);
  double values[3];
  model_kit_read(w, values, 3);
  assert_true(values[0] == 1 && values[1] == 2 && values[2] == 3);
  leat_callable_free(f);
}

static void expect_run_error(leat_callable_t* f, leat_array_t feed, leat_array_t fetch,
                             TF_Code code, const char* text) {
  leat_callable_run(f, &feed, &fetch, kit.status);
  kit_expect_text(kit.status, code, text);
}

static void test_bad_runs(void** state) {
  leat_callable_t* f = create(y);
  float in[6] = {0}, out[3];
  leat_array_t feed = rows_of_three(1, in), fetch = rows_of_three(1, out);
  expect_run_error(f, rows_of_three(2, in), fetch, TF_OUT_OF_RANGE, "must have 24");
  leat_array_t bad = feed;
  bad.dtype = TF_INT32;
  expect_run_error(f, bad, fetch, TF_INVALID_ARGUMENT, "x");
  bad = feed;
  bad.size_bytes = 11;
  expect_run_error(f, bad, fetch, TF_INVALID_ARGUMENT, "has 11 bytes, must have 12");
  bad = feed;
  bad.dims[0] = -1;
  expect_run_error(f, bad, fetch, TF_INVALID_ARGUMENT, "");
  bad = feed;
  bad.rank = 9;
  expect_run_error(f, bad, fetch, TF_INVALID_ARGUMENT, "rank 9");
  bad = feed;
  bad.dtype = TF_STRING;
  expect_run_error(f, bad, fetch, TF_INVALID_ARGUMENT, "fixed size");
  expect_run_error(NULL, feed, fetch, TF_INVALID_ARGUMENT, "callable is NULL");
  // It still works.
  leat_callable_run(f, &feed, &fetch, kit.status);
  kit_ok(kit.status);
  leat_callable_free(f);
  leat_callable_free(NULL);
}

// Unlike TF_SessionRun, a callable may hand a feed back.
static void test_fetch_of_a_feed(void** state) {
  leat_callable_t* f = create(x);
  float in[3] = {1, 2, 3}, out[3] = {0};
  leat_array_t feed = rows_of_three(1, in), fetch = rows_of_three(1, out);
  leat_callable_run(f, &feed, &fetch, kit.status);
  kit_ok(kit.status);
  assert_memory_equal(in, out, sizeof in);
  leat_callable_free(f);
}

static void expect_create_error(const TF_Output* feeds, int feed_count, TF_Output fetch,
                                const TF_Operation* target, TF_Code code) {
  assert_null(leat_callable_create(kit.session, feeds, feed_count, &fetch, 1, &target,
                                   target != NULL, kit.status));
  kit_expect(kit.status, code);
}

static void test_bad_creation(void** state) {
  TF_Graph* other = TF_NewGraph();
  TF_Operation* alien = kit_no_op(other, "alien");
  TF_Output none = {NULL, 0}, past = {y.oper, 5}, twice[] = {x, x};
  expect_create_error(&x, 1, none, NULL, TF_INVALID_ARGUMENT);
  expect_create_error(&x, 1, past, NULL, TF_INVALID_ARGUMENT);
  expect_create_error(twice, 2, y, NULL, TF_INVALID_ARGUMENT);
  expect_create_error(&x, 1, y, alien, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(other);
}

enum { kThreads = 4, kRuns = 500 };

typedef struct worker_s {
  leat_callable_t* callable;
  int number;
  int wrong;
} worker_t;

static void* run_many(void* data) {
  worker_t* w = data;
  TF_Status* status = TF_NewStatus();
  for (int i = 0; i < kRuns; ++i) {
    float in[6], out[6];
    int rows = 1 + (i + w->number) % 2;
    for (int k = 0; k < 3 * rows; ++k) in[k] = (float)(w->number * 1000 + i + k);
    leat_array_t feed = rows_of_three(rows, in), fetch = {.data = out, .size_bytes = sizeof out};
    leat_callable_run(w->callable, &feed, &fetch, status);
    if (TF_GetCode(status) != TF_OK || fetch.dims[0] != rows) ++w->wrong;
    for (int k = 0; k < 3 * rows; ++k) w->wrong += out[k] != in[k] * in[k];
  }
  TF_DeleteStatus(status);
  return NULL;
}

static void test_threads(void** state) {
  leat_callable_t* f = create(y);
  pthread_t threads[kThreads];
  worker_t workers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    workers[i] = (worker_t){f, i, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, run_many, &workers[i]), 0);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) assert_int_equal(workers[i].wrong, 0);
  leat_callable_free(f);
}

// More feeds and fetches than the stack has room for.
static void test_many_edges(void** state) {
  enum { kMany = 40 };
  TF_Output feeds[kMany], fetches[kMany];
  float in[kMany], out[kMany];
  leat_array_t feed[kMany], fetch[kMany];
  for (int i = 0; i < kMany; ++i) {
    feeds[i] = leat_placeholder(kit.scope, "p", TF_FLOAT, 0, NULL);
    fetches[i] = leat_add(kit.scope, feeds[i], feeds[i]);
    in[i] = (float)i;
    feed[i] = (leat_array_t){TF_FLOAT, 0, {0}, &in[i], sizeof(float)};
    fetch[i] = (leat_array_t){.data = &out[i], .size_bytes = sizeof(float)};
  }
  kit_ok(leat_scope_status(kit.scope));
  leat_callable_t* f = leat_callable_create(kit.session, feeds, kMany, fetches, kMany, NULL, 0,
                                            kit.status);
  kit_ok(kit.status);
  leat_callable_run(f, feed, fetch, kit.status);
  kit_ok(kit.status);
  for (int i = 0; i < kMany; ++i) assert_true(out[i] == 2 * in[i]);
  leat_callable_free(f);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, model_kit_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_arrays),          TEST(test_tensors),   TEST(test_passed_through),
      TEST(test_fetch_of_a_feed), TEST(test_kept_feed), TEST(test_bad_runs),
      TEST(test_bad_creation),    TEST(test_threads),   TEST(test_many_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
