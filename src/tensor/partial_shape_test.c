// A partial shape is what shape inference knows before a step runs: an unknown rank, or a rank with
// some unknown dimensions (-1). The cases check the four operations that inference is made of.
// Merging keeps what either side knows, gives the same result in both orders and refuses a
// contradiction; creation copies the caller's dimensions and refuses negative ones other than -1; a
// partial shape admits each full shape that does not contradict it; and only a shape without
// unknowns becomes full, unless its element count overflows. Shapes print as "[2,?]", which is
// compared here because error messages contain it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tensor/shape.h"

static leat_arena_t arena;

static leat_partial_shape_t make(int rank, const int64_t* dims) {
  return (leat_partial_shape_t){rank, dims};
}
#define PARTIAL(...) \
  make((int)LEAT_ARRAY_SIZE(((int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})

static void expect_code(leat_status_t status, leat_status_code_t code) {
  assert_int_equal(leat_status_code(status), code);
  leat_status_free(status);
}

static void expect_merge(leat_partial_shape_t a, leat_partial_shape_t b, const char* expected) {
  for (int turn = 0; turn < 2; ++turn) {
    leat_partial_shape_t merged;
    leat_status_t status =
        leat_partial_shape_merge(turn ? b : a, turn ? a : b, &arena, &merged);
    if (expected) {
      assert_null(status);
      assert_string_equal(LEAT_PARTIAL_SHAPE_TEXT(merged), expected);
    } else {
      expect_code(status, LEAT_INVALID_ARGUMENT);
      assert_int_equal(merged.rank, -1);
    }
  }
}

static void merging_keeps_what_either_knows(void** state) {
  (void)state;
  leat_partial_shape_t unknown = leat_partial_shape_unknown();
  expect_merge(unknown, unknown, "<unknown>");
  expect_merge(unknown, PARTIAL(2, -1), "[2,?]");
  expect_merge(unknown, leat_partial_shape_scalar(), "[]");
  expect_merge(PARTIAL(2, -1), PARTIAL(-1, 3), "[2,3]");
  expect_merge(PARTIAL(-1, -1), PARTIAL(-1, -1), "[?,?]");
  expect_merge(PARTIAL(0, -1), PARTIAL(0, -1), "[0,?]");
  expect_merge(PARTIAL(2), PARTIAL(3), NULL);
  expect_merge(PARTIAL(2), PARTIAL(2, 2), NULL);
  expect_merge(PARTIAL(0), PARTIAL(1), NULL);
  expect_merge(leat_partial_shape_scalar(), PARTIAL(1), NULL);
}

static void merging_takes_the_largest_rank(void** state) {
  (void)state;
  int64_t a[254], b[254];
  for (int i = 0; i < 254; ++i) {
    a[i] = i % 2 ? -1 : i;
    b[i] = i % 2 ? i : -1;
  }
  leat_partial_shape_t merged;
  assert_null(leat_partial_shape_merge(make(254, a), make(254, b), &arena, &merged));
  for (int i = 0; i < 254; ++i) assert_int_equal(merged.dims[i], i);
}

static void creation_checks_and_copies(void** state) {
  (void)state;
  int64_t dims[255] = {4, -1};
  leat_partial_shape_t shape;
  assert_null(leat_partial_shape_create(2, dims, &arena, &shape));
  dims[0] = 9;
  assert_int_equal(shape.dims[0], 4);
  assert_null(leat_partial_shape_create(-1, NULL, &arena, &shape));
  assert_int_equal(shape.rank, -1);
  assert_null(leat_partial_shape_create(0, NULL, &arena, &shape));
  assert_int_equal(shape.rank, 0);
  dims[1] = -2;
  expect_code(leat_partial_shape_create(2, dims, &arena, &shape), LEAT_INVALID_ARGUMENT);
  expect_code(leat_partial_shape_create(255, dims, &arena, &shape), LEAT_INVALID_ARGUMENT);
  expect_code(leat_partial_shape_create(-2, dims, &arena, &shape), LEAT_INVALID_ARGUMENT);
}

static void a_partial_shape_admits_what_it_does_not_exclude(void** state) {
  (void)state;
  const int64_t dims[] = {2, 3};
  leat_shape_t full;
  assert_null(leat_shape_create(2, dims, &full));
  assert_true(leat_partial_shape_admits(leat_partial_shape_unknown(), &full));
  assert_true(leat_partial_shape_admits(PARTIAL(-1, 3), &full));
  assert_true(leat_partial_shape_admits(PARTIAL(2, 3), &full));
  assert_false(leat_partial_shape_admits(PARTIAL(2, 4), &full));
  assert_false(leat_partial_shape_admits(PARTIAL(-1, -1, -1), &full));
  assert_false(leat_partial_shape_admits(leat_partial_shape_scalar(), &full));
  assert_true(leat_partial_shape_equal(leat_partial_shape_of(&full), PARTIAL(2, 3)));
  assert_false(leat_partial_shape_equal(leat_partial_shape_of(&full), PARTIAL(2, -1)));
  assert_false(leat_partial_shape_admits(PARTIAL(0, 3), &full));  // no elements is known, too
}

static void only_full_shapes_become_full(void** state) {
  (void)state;
  leat_shape_t full;
  assert_null(leat_partial_shape_to_full(PARTIAL(2, 0), &full));
  assert_int_equal(full.element_count, 0);
  assert_null(leat_partial_shape_to_full(leat_partial_shape_scalar(), &full));
  assert_int_equal(full.element_count, 1);
  expect_code(leat_partial_shape_to_full(PARTIAL(2, -1), &full), LEAT_INVALID_ARGUMENT);
  expect_code(leat_partial_shape_to_full(leat_partial_shape_unknown(), &full),
              LEAT_INVALID_ARGUMENT);
  expect_code(leat_partial_shape_to_full(PARTIAL(INT64_MAX, 2), &full), LEAT_INVALID_ARGUMENT);
}

static int setup(void** state) {
  (void)state;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  return 0;
}

static int teardown(void** state) {
  (void)state;
  leat_arena_deinitialize(&arena);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(merging_keeps_what_either_knows),
      cmocka_unit_test(merging_takes_the_largest_rank),
      cmocka_unit_test(creation_checks_and_copies),
      cmocka_unit_test(a_partial_shape_admits_what_it_does_not_exclude),
      cmocka_unit_test(only_full_shapes_become_full),
  };
  return cmocka_run_group_tests_name("tensor.partial_shape", tests, setup, teardown);
}
