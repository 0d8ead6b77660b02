// Patterns of shapes as texts: what they are parsed into, which arguments the tensors of a node
// belong to where one repeats, and what is refused, with the place. What follows from a pattern for
// shapes is in kernel/shape_pattern_test.c.
#include "graph/op/shape_pattern.h"

#include "toy_graph/toy_ops.h"

static const leat_op_t* parse(leat_arena_t* arena, const leat_op_row_t* row) {
  leat_op_t* op = NULL;
  leat_arena_initialize(leat_allocator_system(), 0, arena);
  toy_ok(leat_op_parse(row, arena, &op));
  return op;
}

static void a_pattern_is_parsed(void** state) {
  leat_arena_t arena;
  const leat_op_row_t row = {.name = "P",
                             .attrs = "T: {float}",
                             .inputs = "a: T; free: T; b: T",
                             .outputs = "c: T; d: T",
                             .shapes = " b[...x, k ,3]a[ m,...,k] ->c[...x, _, m]d[] "};
  const leat_op_t* op = parse(&arena, &row);
  const leat_shape_pattern_t* p = op->shapes;
  assert_non_null(p);
  assert_int_equal(p->input_count, 2);
  assert_int_equal(p->name_count, 2);  // k, m
  assert_int_equal(p->group_count, 2);
  const leat_shape_item_t *b = &p->inputs[0], *a = &p->inputs[1];
  assert_int_equal(b->argument, 2);
  assert_int_equal(b->group_at, 0);
  assert_int_equal(b->dim_count, 2);
  assert_int_equal(b->dims[0], LEAT_PATTERN_NAME(0));
  assert_int_equal(b->dims[1], 3);
  assert_int_equal(a->argument, 0);
  assert_int_equal(a->group_at, 1);
  assert_int_equal(a->group, 1);
  assert_int_equal(a->dims[0], LEAT_PATTERN_NAME(1));
  assert_int_equal(a->dims[1], LEAT_PATTERN_NAME(0));
  assert_int_equal(p->output_count, 2);
  assert_int_equal(p->outputs[0].group, 0);
  assert_int_equal(p->outputs[0].dims[0], LEAT_PATTERN_ANY);
  assert_int_equal(p->outputs[1].dim_count, 0);
  assert_int_equal(p->outputs[1].group_at, -1);
  leat_arena_deinitialize(&arena);
}

static void expect_range(leat_argument_range_t range, int begin, int end) {
  assert_int_equal(range.begin, begin);
  assert_int_equal(range.end, end);
}

static void tensors_belong_to_arguments(void** state) {
  leat_arena_t arena;
  const leat_op_row_t row = {.name = "R",
                             .attrs = "N: int; T: {float}",
                             .inputs = "a: T; many: N * T; b: T; c: T",
                             .outputs = "x: T; y: T"};
  const leat_op_t* op = parse(&arena, &row);
  expect_range(leat_op_input_range(op, 0, 7), 0, 1);
  expect_range(leat_op_input_range(op, 1, 7), 1, 5);
  expect_range(leat_op_input_range(op, 2, 7), 5, 6);
  expect_range(leat_op_input_range(op, 3, 7), 6, 7);
  expect_range(leat_op_input_range(op, 1, 3), 1, 1);  // none of it
  expect_range(leat_op_input_range(op, 2, 3), 1, 2);
  expect_range(leat_op_output_range(op, 1, 2), 1, 2);
  leat_arena_deinitialize(&arena);
}

static void malformed_patterns_are_refused(void** state) {
  static const struct { const char *shapes, *rule; } kCases[] = {
      {"e[]", "the name must be an input's"},
      {"a[] -> a[]", "the name must be an output's"},
      {"a", "'[' must stand here"},
      {"a[", "a size, a name, '_' or '...' must stand here"},
      {"a[m", "',' or ']' must stand here"},
      {"a[m,]", "a size, a name, '_' or '...' must stand here"},
      {"a[m n]", "',' or ']' must stand here"},
      {"a[-1]", "a size must be 0 to 2^31 - 1"},
      {"a[2147483648]", "a size must be 0 to 2^31 - 1"},
      {"a[..., m, ...x]", "a shape has one group"},
      {"a[m] -> c[n]", "what an output has must stand in an input"},
      {"a[m] -> c[...]", "what an output has must stand in an input"},
      {"a[c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12]", "there are too many names"},
      {"a[_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_]", "there are too many dimensions"},
      {"; a[]", "the name must be an input's"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    leat_arena_t arena;
    leat_op_t* op = NULL;
    const leat_op_row_t row = {.name = "Bad", .attrs = "T: {float}", .inputs = "a: T; b: T",
                               .outputs = "c: T", .shapes = kCases[i].shapes};
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    toy_fails(leat_op_parse(&row, &arena, &op), LEAT_INVALID_ARGUMENT, kCases[i].rule);
    leat_arena_deinitialize(&arena);
  }
  leat_arena_t arena;
  leat_op_t* op = NULL;
  const leat_op_row_t row = {.name = "Bad", .attrs = "N: int; M: int; T: {float}",
                             .inputs = "a: N * T; b: M * T", .shapes = "a[]"};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  toy_fails(leat_op_parse(&row, &arena, &op), LEAT_INVALID_ARGUMENT, "two arguments that repeat");
  leat_arena_deinitialize(&arena);
}

static void errors_have_words_of_their_own(void** state) {
  leat_arena_t arena;
  leat_op_row_t row = {.name = "W", .attrs = "T: {float}", .inputs = "a: T; b: T",
                       .outputs = "c: T", .shapes = "a[n] b[n]",
                       .misfits = " a: a: not %;b : no rank %r | not a's size "};
  const leat_op_t* op = parse(&arena, &row);
  const leat_shape_item_t *a = &op->shapes->inputs[0], *b = &op->shapes->inputs[1];
  assert_true(leat_string_view_equals(a->rank_words, "a: not %"));
  assert_int_equal(a->size_words.size, 0);
  assert_true(leat_string_view_equals(b->rank_words, "no rank %r"));
  assert_true(leat_string_view_equals(b->size_words, "not a's size"));
  leat_arena_deinitialize(&arena);
  static const char* const kBad[] = {"c: words", "a", "a:", ":", "a: words;"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kBad); ++i) {
    leat_op_t* bad = NULL;
    row.misfits = kBad[i];
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    if (i < 4) {
      toy_fails(leat_op_parse(&row, &arena, &bad), LEAT_INVALID_ARGUMENT,
                "must be an input of the pattern 'a[n] b[n]'");
    } else {
      toy_ok(leat_op_parse(&row, &arena, &bad));  // the last entry may end with ';'
    }
    leat_arena_deinitialize(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pattern_is_parsed),
      cmocka_unit_test(tensors_belong_to_arguments),
      cmocka_unit_test(malformed_patterns_are_refused),
      cmocka_unit_test(errors_have_words_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
