// Rows of a table that are looked up together, worked on apart and changed together again, as the
// gradient of a sampled loss does. The optimizer may split the look-up and the update into pieces
// (the pass "concat_sinking"). Whatever it makes of it, a row that is named twice is changed twice,
// and all rows are read before the first is changed; row 7 is in both halves for that reason. Three
// steps are compared with the same computation in C, by reference and by handle, in all ways in
// which a session can run. The limit of fusion is lowered, since a table of twenty rows would not
// be worth the pass.
#include "session/scene.h"

enum { ROWS = 20, WIDTH = 4, FIRST = 2, SECOND = 3, STEPS = 3 };

static const int32_t kFirst[FIRST] = {3, 7}, kSecond[SECOND] = {7, 19, 0};

typedef struct table_s {
  leat_output_t variable, value;
  leat_output_t rows[2];  // fed
  int32_t initialize;
} table_t;

static leat_output_t ints(scene_t* s, int rows, int columns, const int32_t* values) {
  return leat_build_binary(&s->b, "Reshape", leat_build_int32_vector(&s->b, values, rows * columns),
                           leat_build_int32_vector(&s->b, (const int32_t[]){rows, columns}, 2));
}

static leat_output_t first_numbers(scene_t* s) {
  float numbers[ROWS * WIDTH];
  for (int i = 0; i < ROWS * WIDTH; ++i) numbers[i] = (float)i / 8;
  return leat_build_binary(&s->b, "Reshape", scene_floats(s, ROWS * WIDTH, numbers),
                           leat_build_int32_vector(&s->b, (const int32_t[]){ROWS, WIDTH}, 2));
}

static leat_output_t row_numbers(scene_t* s, int64_t count) {
  return scene_output(s, "Placeholder", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_INT32),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &count}))));
}

static table_t make_table(scene_t* s, bool by_handle) {
  const leat_attrs_t attrs =
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                 LEAT_SHAPE("shape", ((leat_partial_shape_t){2, (const int64_t[]){ROWS, WIDTH}})));
  const leat_attrs_t type = LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT));
  table_t t = {.rows = {row_numbers(s, FIRST), row_numbers(s, SECOND)}};
  if (by_handle) {
    t.variable = scene_output(s, "VarHandleOp", "", "", LEAT_NO_INPUTS, attrs);
    t.initialize = scene_node(s, "AssignVariableOp", "", "",
                              LEAT_INPUTS(t.variable, first_numbers(s)), type);
    t.value = scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(t.variable), type);
  } else {
    t.variable = scene_output(s, "VariableV2", "", "", LEAT_NO_INPUTS, attrs);
    t.initialize = scene_binary(s, "Assign", -1, t.variable, first_numbers(s)).node;
    t.value = scene_unary(s, "Identity", -1, t.variable);
  }
  return t;
}

static leat_output_t gather(scene_t* s, const table_t* t, leat_output_t rows, bool by_handle) {
  if (by_handle) {
    return scene_output(s, "ResourceGather", "", "", LEAT_INPUTS(t->variable, rows),
                        LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  }
  leat_output_t axis = leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 0);
  return scene_output(s, "GatherV2", "", "", LEAT_INPUTS(t->value, rows, axis), LEAT_NO_ATTRS);
}

// Rows from |begin| on times |factor|, and zeros in the place of the others.
static leat_output_t change(scene_t* s, leat_output_t rows, int begin, int count, float factor) {
  leat_builder_t* b = &s->b;
  leat_output_t slice =
      leat_build(b, "Slice",
                 LEAT_INPUTS(rows, leat_build_int32_vector(b, (const int32_t[]){begin, 0}, 2),
                             leat_build_int32_vector(b, (const int32_t[]){count, -1}, 2)),
                 LEAT_NO_ATTRS);
  leat_output_t product = leat_build_binary(b, "Mul", slice, scene_float(s, factor));
  const int32_t paddings[] = {begin, FIRST + SECOND - begin - count, 0, 0};
  return leat_build_binary(b, "Pad", product, ints(s, 2, 2, paddings));
}

// The step of two lookups in one table: the rows are joined, and their changes come in two terms,
// as the gradients of two slices would.
static int32_t make_step(scene_t* s, const table_t* t, bool by_handle) {
  leat_builder_t* b = &s->b;
  leat_output_t rows =
      leat_build(b, "ConcatV2",
                 LEAT_INPUTS(t->rows[0], t->rows[1], leat_build_scalar(b, LEAT_DTYPE_INT32, 0)),
                 LEAT_NO_ATTRS);
  leat_output_t joined = gather(s, t, rows, by_handle);
  leat_output_t terms[] = {change(s, joined, 0, FIRST, 0.3f), change(s, joined, FIRST, SECOND, 7)};
  leat_output_t changes =
      scene_output(s, "AddN", "", "", (leat_outputs_t){terms, 2}, LEAT_NO_ATTRS);
  const int32_t step =
      scene_node(s, by_handle ? "ResourceScatterSub" : "ScatterSub", "", "",
                 LEAT_INPUTS(t->variable, rows, changes),
                 by_handle ? LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)) : LEAT_NO_ATTRS);
  LEAT_EXPECT_OK(b->status);
  return step;
}

static void expect_step(float table[ROWS][WIDTH]) {
  float changes[FIRST + SECOND][WIDTH];
  for (int i = 0; i < FIRST + SECOND; ++i) {
    for (int k = 0; k < WIDTH; ++k) {
      changes[i][k] = i < FIRST ? table[kFirst[i]][k] * 0.3f : table[kSecond[i - FIRST]][k] * 7;
    }
  }
  for (int i = 0; i < FIRST + SECOND; ++i) {
    for (int k = 0; k < WIDTH; ++k) {
      table[i < FIRST ? kFirst[i] : kSecond[i - FIRST]][k] -= changes[i][k];
    }
  }
}

static void run_step(scene_t* s, const table_t* t, int32_t step) {
  leat_tensor_t fed[2];
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, kFirst, FIRST, &fed[0]));
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, kSecond, SECOND, &fed[1]));
  LEAT_EXPECT_OK(scene_run(s, (leat_outputs_t){t->rows, 2}, fed, LEAT_NO_INPUTS, NULL, &step, 1));
}

static void run(scene_t* s, bool by_handle) {
  float expected[ROWS][WIDTH];
  s->options.optimizer.fusion_limit_elements = 1;
  const table_t t = make_table(s, by_handle);
  const int32_t step = make_step(s, &t, by_handle);
  for (int i = 0; i < ROWS * WIDTH; ++i) expected[i / WIDTH][i % WIDTH] = (float)i / 8;
  LEAT_EXPECT_OK(scene_target(s, t.initialize));
  for (int i = 0; i < STEPS; ++i) {
    leat_tensor_t value;
    run_step(s, &t, step);
    LEAT_EXPECT_OK(scene_fetch(s, t.value, &value));
    expect_step(expected);
    assert_int_equal(value.shape.element_count, ROWS * WIDTH);
    assert_memory_equal(value.data, expected, sizeof expected);
    leat_tensor_release(&value);
  }
}

static void by_reference(scene_t* s) { run(s, false); }
static void by_handle(scene_t* s) { run(s, true); }

static void rows_are_changed_once_they_are_read(void** state) {
  scene_run_all_ways(by_reference);
  scene_run_all_ways(by_handle);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_changed_once_they_are_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
