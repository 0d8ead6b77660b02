// Shapes at their limits: rank 254, 2^62 elements, sizes of zero, broadcasting in pairs. A small
// shape lies in the struct itself and a larger one in memory that is shared, so that each rank
// around this border is tried, and retaining and releasing too. Overflow must be refused with
// TensorFlow's rule, by which a size of zero counts only for what follows it. Shapes that are known
// in part have a test of their own (partial_shape_test.c).
#include "tensor/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/observer.h"

#define BIG (INT64_C(1) << 62)
#define DIMS(...) LEAT_ARRAY_SIZE(((int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__}

static void expect_code(leat_status_t status, leat_status_code_t code) {
  assert_int_equal(leat_status_code(status), code);
  leat_status_free(status);
}

static leat_shape_t make(size_t rank, const int64_t* dims) {
  leat_shape_t shape;
  assert_null(leat_shape_create((int)rank, dims, &shape));
  return shape;
}

static void small_shapes_lie_inline(void** state) {
  (void)state;
  leat_shape_t shape = make(DIMS(2, 3, 4));
  assert_int_equal(shape.rank, 3);
  assert_int_equal(shape.element_count, 24);
  assert_int_equal(leat_shape_dim(&shape, 1), 3);
  assert_int_equal(leat_shape_product(&shape, 0, 3), 24);
  assert_int_equal(leat_shape_product(&shape, 1, 3), 12);
  assert_int_equal(leat_shape_product(&shape, 2, 2), 1);
  leat_shape_t scalar;
  assert_null(leat_shape_create(0, NULL, &scalar));
  assert_int_equal(scalar.element_count, 1);
  leat_shape_t expected = leat_shape_scalar();
  assert_true(leat_shape_equal(&scalar, &expected));
  leat_shape_t vector = leat_shape_vector(7);
  leat_shape_t made = make(DIMS(7));
  assert_true(leat_shape_equal(&vector, &made));
  assert_false(leat_shape_equal(&vector, &scalar));
}

static void rank_goes_to_254(void** state) {
  (void)state;
  int64_t dims[255];
  for (int i = 0; i < 255; ++i) dims[i] = 1;
  dims[253] = 5;
  leat_shape_t shape = make(254, dims);
  assert_int_equal(leat_shape_dim(&shape, 253), 5);
  assert_int_equal(shape.element_count, 5);
  leat_shape_t copy = leat_shape_retain(&shape);
  leat_shape_release(&shape);
  assert_int_equal(leat_shape_dims(&copy)[253], 5);
  leat_shape_t same = make(254, dims);
  assert_true(leat_shape_equal(&copy, &same));
  dims[100] = 2;
  leat_shape_t other = make(254, dims);
  assert_false(leat_shape_equal(&copy, &other));
  leat_shape_release(&copy);
  leat_shape_release(&same);
  leat_shape_release(&other);
  leat_shape_t refused;
  expect_code(leat_shape_create(255, dims, &refused), LEAT_INVALID_ARGUMENT);
  expect_code(leat_shape_create(-1, dims, &refused), LEAT_INVALID_ARGUMENT);
  assert_int_equal(refused.rank, 0);
}

static void every_rank_around_the_inline_limit_keeps_its_dims(void** state) {
  (void)state;
  int64_t dims[12];
  for (int rank = 0; rank <= 12; ++rank) {
    for (int i = 0; i < rank; ++i) dims[i] = i + 1;
    leat_shape_t shape = make((size_t)rank, dims);
    for (int i = 0; i < rank; ++i) assert_int_equal(leat_shape_dim(&shape, i), i + 1);
    leat_shape_release(&shape);
  }
}

static void element_counts_over_int64_are_refused(void** state) {
  (void)state;
  leat_shape_t shape = make(DIMS(BIG));
  assert_int_equal(shape.element_count, BIG);
  expect_code(leat_shape_create(DIMS(BIG, 2), &shape), LEAT_INVALID_ARGUMENT);
  expect_code(leat_shape_create(DIMS(INT64_MAX, INT64_MAX), &shape), LEAT_INVALID_ARGUMENT);
  shape = make(DIMS(INT64_MAX, 1));
  assert_int_equal(shape.element_count, INT64_MAX);
  expect_code(leat_shape_create(DIMS(2, -1), &shape), LEAT_INVALID_ARGUMENT);
  expect_code(leat_shape_create(DIMS(INT64_MIN), &shape), LEAT_INVALID_ARGUMENT);
}

// As TensorFlow: the product is taken from the left.
static void a_zero_silences_only_what_follows(void** state) {
  (void)state;
  leat_shape_t shape = make(DIMS(0, BIG, 4));
  assert_int_equal(shape.element_count, 0);
  assert_int_equal(leat_shape_product(&shape, 1, 3), INT64_MAX);
  assert_int_equal(leat_shape_product(&shape, 0, 3), 0);
  expect_code(leat_shape_create(DIMS(BIG, 4, 0), &shape), LEAT_INVALID_ARGUMENT);
  shape = make(DIMS(3, 0));
  assert_int_equal(shape.element_count, 0);
}

static void print_is_cut_where_room_ends(void** state) {
  (void)state;
  leat_shape_t shape = make(DIMS(2, 3));
  assert_string_equal(LEAT_SHAPE_TEXT(&shape), "[2,3]");
  leat_shape_t scalar = leat_shape_scalar();
  assert_string_equal(LEAT_SHAPE_TEXT(&scalar), "[]");
  int64_t dims[200];
  for (int i = 0; i < 200; ++i) dims[i] = 1;
  leat_shape_t many = make(200, dims);
  char text[40];
  for (size_t size = 1; size <= sizeof(text); ++size) {
    memset(text, '#', sizeof(text));
    leat_shape_print(&many, text, size);
    assert_true(strlen(text) < size);
    if (size >= 6) assert_string_equal(text + strlen(text) - 4, "...]");
  }
  leat_shape_release(&many);
}

typedef struct broadcast_case_s {
  int a_rank, b_rank, rank;  // rank -1: they do not fit
  int64_t a[4], b[4], expected[4];
} broadcast_case_t;

static void shapes_broadcast_as_in_numpy(void** state) {
  (void)state;
  static const broadcast_case_t cases[] = {
      {0, 0, 0, {0}, {0}, {0}},
      {0, 2, 2, {0}, {2, 3}, {2, 3}},
      {1, 2, 2, {3}, {2, 3}, {2, 3}},
      {2, 2, 2, {2, 1}, {1, 3}, {2, 3}},
      {3, 2, 3, {4, 1, 5}, {3, 1}, {4, 3, 5}},
      {1, 1, 1, {1}, {0}, {0}},
      {1, 1, -1, {2}, {0}, {0}},
      {1, 1, -1, {2}, {3}, {0}},
      {2, 1, -1, {2, 3}, {2}, {0}},
      {4, 4, 4, {1, 2, 1, 4}, {3, 1, 5, 1}, {3, 2, 5, 4}},
      {2, 2, -1, {BIG, 1}, {1, 4}, {0}},  // too many elements
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    const broadcast_case_t* c = &cases[i];
    leat_shape_t a = make((size_t)c->a_rank, c->a);
    leat_shape_t b = make((size_t)c->b_rank, c->b);
    for (int turn = 0; turn < 2; ++turn) {
      leat_shape_t result;
      leat_status_t status = leat_shape_broadcast(turn ? &b : &a, turn ? &a : &b, &result);
      if (c->rank < 0) {
        expect_code(status, LEAT_INVALID_ARGUMENT);
      } else {
        assert_null(status);
        leat_shape_t expected = make((size_t)c->rank, c->expected);
        assert_true(leat_shape_equal(&result, &expected));
      }
    }
  }
}

static void ranks_beyond_inline_broadcast(void** state) {
  (void)state;
  int64_t dims[254];
  for (int i = 0; i < 254; ++i) dims[i] = 1;
  dims[0] = 3;
  leat_shape_t a = make(254, dims);
  leat_shape_t b = make(DIMS(7));
  leat_shape_t result;
  assert_null(leat_shape_broadcast(&a, &b, &result));
  assert_int_equal(result.rank, 254);
  assert_int_equal(leat_shape_dim(&result, 0), 3);
  assert_int_equal(leat_shape_dim(&result, 253), 7);
  leat_shape_release(&result);
  leat_shape_release(&a);
}

static leat_status_t refuse(void* data, size_t size_bytes) {
  (void)data;
  (void)size_bytes;
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "refused by the test");
}

static void no_memory_leaves_a_scalar(void** state) {
  (void)state;
  int64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  leat_observer_t observer = {.on_allocation = refuse};
  leat_observer_install(&observer);
  leat_shape_t shape;
  leat_status_t status = leat_shape_create(9, dims, &shape);
  leat_observer_install(NULL);
  expect_code(status, LEAT_RESOURCE_EXHAUSTED);
  leat_shape_release(&shape);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_shapes_lie_inline),
      cmocka_unit_test(rank_goes_to_254),
      cmocka_unit_test(every_rank_around_the_inline_limit_keeps_its_dims),
      cmocka_unit_test(element_counts_over_int64_are_refused),
      cmocka_unit_test(a_zero_silences_only_what_follows),
      cmocka_unit_test(print_is_cut_where_room_ends),
      cmocka_unit_test(shapes_broadcast_as_in_numpy),
      cmocka_unit_test(ranks_beyond_inline_broadcast),
      cmocka_unit_test(no_memory_leaves_a_scalar),
  };
  return cmocka_run_group_tests_name("tensor.shape", tests, NULL, NULL);
}
