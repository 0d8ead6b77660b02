// Programs are chains of element-wise ops that the optimizer runs as one kernel. What programs
// broadcast must have the bits that nodes alone give: constants of which a part is read, tiles,
// products of a column and a row. Each function builds one such graph and a session runs it twice,
// optimized and not, over six sizes, two types and shapes that are known or not. Infinities, NaN
// and zeros of both signs are among what is fed, because reordering would show there. Shapes that
// do not fit must stay errors, even though the part of a constant that is read would fit any number
// of rows.
#include <math.h>
#include <string.h>

#include "session/scene.h"

typedef struct extent_s {
  int64_t rows, columns;
} extent_t;

static const extent_t kSizes[] = {{64, 80}, {300, 17}, {1, 5000}, {5000, 1}, {37, 129}, {2, 3}};

// Numbers in steps of 1/16, with infinities, NaNs and zeros of both signs strewn among them.
static leat_tensor_t draw(int type, int64_t rows, int64_t columns, unsigned seed) {
  static const double kSpecial[] = {INFINITY, -INFINITY, NAN, -0.0, 0, 0, -0.0};
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(2, (int64_t[]){rows, columns}, &shape));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), type, &shape, &tensor));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const unsigned kind = seed >> 8;
    const double item = kind % 31 < LEAT_ARRAY_SIZE(kSpecial) ? kSpecial[kind % 31]
                                                               : (double)(kind % 2001) / 16 - 60;
    if (type == LEAT_DTYPE_FLOAT) leat_tensor_data(&tensor, float)[i] = (float)item;
    if (type == LEAT_DTYPE_DOUBLE) leat_tensor_data(&tensor, double)[i] = item;
  }
  return tensor;
}

typedef struct test_s {
  scene_t s;
  int type;
  extent_t size;
  leat_output_t x, column, row;  // fed
} test_t;

static leat_output_t feed(test_t* t, const char* name, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return scene_output(&t->s, "Placeholder", name, "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", t->type),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims}))));
}

// |value| everywhere but for the first item of each row.
static leat_output_t constant(test_t* t, int64_t rows, int64_t columns, double first,
                              double value) {
  leat_tensor_t tensor = draw(t->type, rows, columns, 1);
  for (int64_t i = 0; i < tensor.shape.element_count; ++i) {
    const double item = i % columns ? value : first;
    if (t->type == LEAT_DTYPE_FLOAT) leat_tensor_data(&tensor, float)[i] = (float)item;
    if (t->type == LEAT_DTYPE_DOUBLE) leat_tensor_data(&tensor, double)[i] = item;
  }
  leat_output_t output = leat_build_constant(&t->s.b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

static leat_output_t binary(test_t* t, const char* op, leat_output_t x, leat_output_t y) {
  return scene_output(&t->s, op, "", "", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}

static leat_output_t product(test_t* t, leat_output_t column, leat_output_t row, bool transposed) {
  return scene_output(&t->s, "MatMul", "", "", LEAT_INPUTS(column, row),
                      LEAT_ATTRS(LEAT_BOOL("transpose_b", transposed)));
}

static leat_output_t constants(test_t* t) {
  const int64_t m = t->size.rows, n = t->size.columns;
  leat_output_t zeros = constant(t, m, n, -0.0, -0.0);
  leat_output_t relu = scene_output(&t->s, "Select", "", "",
                                    LEAT_INPUTS(binary(t, "Less", zeros, t->x), t->x, zeros),
                                    LEAT_NO_ATTRS);
  leat_output_t negative = scene_unary(&t->s, "Neg", -1, constant(t, m, n, 3, 3));
  const leat_output_t terms[] = {negative, relu, constant(t, m, n, 1, -0.0)};
  leat_output_t sum = scene_output(&t->s, "AddN", "", "", (leat_outputs_t){terms, 3},
                                   LEAT_NO_ATTRS);
  return binary(t, "Maximum", sum, zeros);
}

static leat_output_t tiles(test_t* t) {
  const int32_t along[] = {1, (int32_t)t->size.columns}, down[] = {(int32_t)t->size.rows, 1};
  leat_output_t columns = binary(t, "Tile", t->column, leat_build_int32_vector(&t->s.b, along, 2));
  leat_output_t rows = binary(t, "Tile", t->row, leat_build_int32_vector(&t->s.b, down, 2));
  return binary(t, "Mul", binary(t, "Sub", columns, rows), t->x);
}

// As the gradients of means are.
static leat_output_t quotients(test_t* t) {
  const int32_t along[] = {1, (int32_t)t->size.columns};
  leat_output_t columns = binary(t, "Tile", t->column, leat_build_int32_vector(&t->s.b, along, 2));
  leat_output_t mean = binary(t, "RealDiv", columns, leat_build_scalar(&t->s.b, t->type, 3));
  leat_output_t twice = binary(t, "Mul", constant(t, t->size.rows, t->size.columns, 2, 2), mean);
  leat_output_t signs = scene_unary(&t->s, "Neg", -1, twice);
  return binary(t, "AddV2", binary(t, "Mul", twice, t->x), binary(t, "Mul", signs, t->row));
}

static leat_output_t products(test_t* t) {
  return binary(t, "Mul", product(t, t->column, t->row, false), t->x);
}

static leat_output_t products_with_ones(test_t* t) {
  leat_output_t ones = constant(t, t->size.columns, 1, 1, 1);
  return binary(t, "RealDiv", t->x, product(t, t->column, ones, true));
}

static leat_output_t products_with_a_number(test_t* t) {
  leat_output_t number = constant(t, t->size.rows, 1, -2, -2);
  return scene_unary(&t->s, "Neg", -1, product(t, number, t->row, false));
}

typedef leat_output_t (*build_fn_t)(test_t* t);

static leat_tensor_t run(build_fn_t build, int type, extent_t size, bool is_known, bool optimize) {
  test_t t = {.type = type, .size = size};
  leat_tensor_t value;
  scene_open(&t.s);
  t.s.options.optimize = optimize;
  t.x = feed(&t, "x", is_known ? size.rows : -1, size.columns);
  t.column = feed(&t, "column", is_known ? size.rows : -1, 1);
  t.row = feed(&t, "row", 1, size.columns);
  leat_output_t y = build(&t);
  LEAT_EXPECT_OK(t.s.b.status);
  leat_tensor_t fed[] = {draw(type, size.rows, size.columns, 7), draw(type, size.rows, 1, 8),
                         draw(type, 1, size.columns, 9)};
  LEAT_EXPECT_OK(scene_run(&t.s, LEAT_INPUTS(t.x, t.column, t.row), fed, LEAT_INPUTS(y), &value,
                           NULL, 0));
  scene_close(&t.s);
  return value;
}

static void programs_have_the_bits_of_nodes(void** state) {
  static const build_fn_t kBuilds[] = {constants,          tiles,
                                       quotients,          products,
                                       products_with_ones, products_with_a_number};
  static const int kTypes[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_DOUBLE};
  (void)state;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kBuilds) * LEAT_ARRAY_SIZE(kSizes) * 4; ++i) {
    const build_fn_t build = kBuilds[i / 4 / LEAT_ARRAY_SIZE(kSizes)];
    const extent_t size = kSizes[i / 4 % LEAT_ARRAY_SIZE(kSizes)];
    leat_tensor_t expected = run(build, kTypes[i & 1], size, i & 2, false);
    leat_tensor_t got = run(build, kTypes[i & 1], size, i & 2, true);
    assert_true(leat_shape_equal(&expected.shape, &got.shape));
    assert_memory_equal(expected.data, got.data, leat_tensor_size_bytes(&expected));
    leat_tensor_release(&expected);
    leat_tensor_release(&got);
  }
}

// A part of the constant would let any number of rows through.
static void shapes_that_do_not_fit_are_errors_still(void** state) {
  (void)state;
  for (int optimize = 0; optimize < 2; ++optimize) {
    test_t t = {.type = LEAT_DTYPE_FLOAT};
    leat_tensor_t fed = draw(LEAT_DTYPE_FLOAT, 63, 80, 1), value;
    scene_open(&t.s);
    t.s.options.optimize = optimize;
    leat_output_t x = feed(&t, "x", -1, 80);
    leat_output_t twos = constant(&t, 64, 80, 2, 2);
    leat_output_t y = scene_unary(&t.s, "Exp", -1, binary(&t, "Mul", x, twos));
    scene_expect(scene_run(&t.s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(y), &value, NULL, 0),
                 LEAT_INVALID_ARGUMENT, "shape");
    scene_close(&t.s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_have_the_bits_of_nodes),
                                     cmocka_unit_test(shapes_that_do_not_fit_are_errors_still)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
