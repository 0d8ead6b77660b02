// The harness must see mistakes: ops that are wrong in one way each, and what it says of them. The
// ops are declared here, in pairs of a right and a wrong one: a shape, a value, an input
// overwritten, a result that depends on alignment, a gradient, a gradient of a gradient. Each is
// given to the harness's checks as a case, and the message is compared. Without this test a harness
// that accepted everything would make every test of an op pass.
#include "op_harness/op_harness.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "op_harness/checks.h"
#include "op_harness/value.h"

// ---- Double: y = 2 x, right, and wrong in several ways ------------------------------------------

static leat_status_t wrong_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 7, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define TWICE(op_name, shape_function) \
  {.name = op_name, .inputs = "x: T", .outputs = "y: T", .attrs = "T: type", \
   .shape = shape_function}
static const leat_op_row_t kOps[] = {
    TWICE("Right", leat_shape_unchanged),
    TWICE("WrongShape", wrong_shape),
    TWICE("WrongValue", leat_shape_unchanged),
    TWICE("WritesInput", leat_shape_unchanged),
    TWICE("ReadsLate", leat_shape_unchanged),
    TWICE("NeedsAlignment", leat_shape_unchanged),
    {.name = "Refuses",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type",
     .shape = leat_shape_unchanged,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0))},
    {.name = "Increments",
     .inputs = "ref: Ref(T)",
     .outputs = "output: Ref(T)",
     .attrs = "T: type"},
    {.name = 0},
};

static leat_status_t twice(leat_kernel_context_t* c, double factor) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &x->shape, &y));
  for (int64_t i = 0; i < x->shape.element_count; ++i) {
    leat_case_set_number(y, i, factor * leat_case_number(x, i));
  }
  return leat_ok_status();
}

static leat_status_t right(leat_kernel_context_t* c) { return twice(c, 2); }
static leat_status_t wrong_value(leat_kernel_context_t* c) { return twice(c, 2.01); }

static leat_status_t writes_input(leat_kernel_context_t* c) {
  LEAT_RETURN_IF_ERROR(twice(c, 2));
  leat_tensor_t x = *leat_kernel_input(c, 0);
  leat_case_set_number(&x, 0, 99);
  return leat_ok_status();
}

// Writes the first element before it reads it for the others: wrong in place only.
static leat_status_t reads_late(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &x->shape, &y));
  for (int64_t i = 0; i < x->shape.element_count; ++i) {
    double first = leat_case_number(x, 0);
    leat_case_set_number(y, i, i ? 2 * leat_case_number(x, i) + 0 * first : 2 * first);
    if (i && leat_case_number(x, 0) != first) break;
    if (i == 0 && y->data == x->data) leat_case_set_number(y, 0, 4 * first);
  }
  return leat_ok_status();
}

static leat_status_t needs_alignment(leat_kernel_context_t* c) {
  bool aligned = (uintptr_t)leat_kernel_input(c, 0)->data % LEAT_BUFFER_ALIGNMENT == 0;
  return twice(c, aligned ? 2 : 3);
}

static leat_status_t increments(leat_kernel_context_t* c) {
  leat_cell_t* cell = leat_kernel_input_ref(c, 0);
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = leat_cell_make_exclusive(cell, c->services->memory);
  for (int64_t i = 0; !status && i < cell->tensor.shape.element_count; ++i) {
    leat_case_set_number(&cell->tensor, i, leat_case_number(&cell->tensor, i) + 1);
  }
  leat_mutex_unlock(&cell->mutex);
  leat_kernel_pass_ref(c, 0, 0);
  return status;
}

static const leat_kernel_row_t kKernels[] = {
    {.op = "Right", .device_type = "CPU", .compute = right},
    {.op = "WrongShape", .device_type = "CPU", .compute = right},
    {.op = "WrongValue", .device_type = "CPU", .compute = wrong_value},
    {.op = "WritesInput", .device_type = "CPU", .compute = writes_input},
    {.op = "ReadsLate", .device_type = "CPU", .compute = reads_late},
    {.op = "NeedsAlignment", .device_type = "CPU", .compute = needs_alignment},
    {.op = "Refuses", .device_type = "CPU", .compute = right},
    {.op = "Increments", .device_type = "CPU", .compute = increments},
    {.op = 0},
};

// ---- Products with gradients, right and wrong ---------------------------------------------------

static void build_gradients(leat_gradient_t* g, const char* op, int of_a, int of_b) {
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_output_t inputs[] = {leat_gradient_input(g, 0), leat_gradient_input(g, 1)};
  leat_gradient_set_input(g, 0, leat_build_binary(&g->builder, op, dy, inputs[of_a]));
  leat_gradient_set_input(g, 1, leat_build_binary(&g->builder, op, dy, inputs[of_b]));
}
static leat_status_t right_gradient(leat_gradient_t* g) {
  build_gradients(g, "Product", 1, 0);
  return g->builder.status;
}
static leat_status_t wrong_gradient(leat_gradient_t* g) {
  build_gradients(g, "Product", 1, 1);
  return g->builder.status;
}
// Its gradient is right; the gradient's own is not.
static leat_status_t wrong_second(leat_gradient_t* g) {
  build_gradients(g, "WrongFirst", 1, 0);
  return g->builder.status;
}

#define PRODUCT(op_name, gradient_function) \
  {.name = op_name, .inputs = "a: T; b: T", .outputs = "y: T", .attrs = "T: type", \
   .shape = leat_shape_merge_inputs, .gradient = gradient_function}
static const leat_op_row_t kProducts[] = {
    PRODUCT("Product", right_gradient),
    PRODUCT("WrongFirst", wrong_gradient),
    PRODUCT("WrongSecond", wrong_second),
    PRODUCT("NoGradient", NULL),
    PRODUCT("GradientForgotten", leat_gradient_none),
    {.name = 0},
};

static leat_status_t product(leat_kernel_context_t* c) {
  const leat_tensor_t *a = leat_kernel_input(c, 0), *b = leat_kernel_input(c, 1);
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(c, 3, 0, &a->shape, &y));
  for (int64_t i = 0; i < a->shape.element_count; ++i) {
    leat_case_set_number(y, i, leat_case_number(a, i) * leat_case_number(b, i));
  }
  return leat_ok_status();
}

static const leat_kernel_row_t kProductKernels[] = {
    {.op = "Product", .device_type = "CPU", .compute = product},
    {.op = "WrongFirst", .device_type = "CPU", .compute = product},
    {.op = "WrongSecond", .device_type = "CPU", .compute = product},
    {.op = "NoGradient", .device_type = "CPU", .compute = product},
    {.op = "GradientForgotten", .device_type = "CPU", .compute = product},
    {.op = 0},
};

// The walk sums with it; stands in while the math family is not in the build.
static leat_status_t sum(leat_kernel_context_t* c) {
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_output(c, 0, &leat_kernel_input(c, 0)->shape, &y));
  for (int64_t i = 0; i < y->shape.element_count; ++i) {
    double total = 0;
    for (int k = 0; k < leat_kernel_input_count(c); ++k) {
      total += leat_case_number(leat_kernel_input(c, k), i);
    }
    leat_case_set_number(y, i, total);
  }
  return leat_ok_status();
}
static const leat_op_row_t kSum[] = {{.name = "AddN",
                                      .inputs = "inputs: N * T",
                                      .outputs = "sum: T",
                                      .attrs = "N: int >= 1; T: type",
                                      .shape = leat_shape_merge_inputs},
                                     {.name = 0}};
static const leat_kernel_row_t kSumKernels[] = {
    {.op = "AddN", .device_type = "CPU", .compute = sum}, {.op = 0}};

static leat_fixture_t fixture;

static leat_status_t add_sum(void) {
  const leat_op_t* op = NULL;
  leat_status_t status = leat_op_registry_find(fixture.ops, LEAT_SV("AddN"), &op);
  if (!status) return status;
  leat_status_free(status);
  LEAT_RETURN_IF_ERROR(leat_op_registry_add(fixture.ops, kSum));
  return leat_kernel_registry_add(fixture.kernels, kSumKernels);
}

static int set_up(void** state) {
  leat_status_t status = leat_fixture_initialize(&fixture);
  if (!status) status = leat_op_registry_add(fixture.ops, kOps);
  if (!status) status = leat_kernel_registry_add(fixture.kernels, kKernels);
  if (!status) status = leat_op_registry_add(fixture.ops, kProducts);
  if (!status) status = leat_kernel_registry_add(fixture.kernels, kProductKernels);
  if (!status) status = add_sum();
  bool failed = status != NULL;
  leat_status_free(status);
  return failed;
}

static int tear_down(void** state) {
  leat_fixture_deinitialize(&fixture);
  return 0;
}

static void twice_reference(const leat_reference_t* r) {
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) r->out[0][i] = 2 * r->in[0][i];
}

// What the checks say of |c|: "" when they pass.
static const char* verdict(const leat_op_case_t* c, int dtype) {
  static char message[1024];
  leat_subject_t subject;
  LEAT_EXPECT_OK(leat_subject_initialize(&fixture, c, dtype, &subject));
  leat_status_t status = c->code ? leat_check_error(&subject) : leat_check_values(&subject);
  snprintf(message, sizeof(message), "%s", leat_status_message(status));
  leat_status_free(status);
  leat_subject_deinitialize(&subject);
  return message;
}

static const char* verdict_of(const char* op) {
  const leat_op_case_t c = {.op = op,
                            .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 3, 4)},
                            .reference = twice_reference};
  return verdict(&c, LEAT_DTYPE_FLOAT);
}

static void mistakes_are_seen(void** state) {
  assert_string_equal(verdict_of("Right"), "");
  assert_non_null(strstr(verdict_of("WrongShape"), "the shape function says [?,?,?,?,?,?,?]"));
  assert_non_null(strstr(verdict_of("WrongValue"), "number 0 is 2.0"));
  assert_non_null(strstr(verdict_of("WritesInput"), "borrowed inputs: input 0 was written"));
  assert_non_null(strstr(verdict_of("ReadsLate"), "with overwritable inputs"));
  assert_non_null(strstr(verdict_of("NeedsAlignment"), "with unaligned inputs"));
  assert_non_null(strstr(verdict_of("Absent"), "Absent"));
}

static void errors_are_judged(void** state) {
  leat_op_case_t c = {.op = "Refuses",
                      .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2)},
                      .code = LEAT_INVALID_ARGUMENT,
                      .message = "must be a matrix"};
  assert_string_equal(verdict(&c, LEAT_DTYPE_FLOAT), "");
  c.message = "a vector";
  assert_non_null(strstr(verdict(&c, LEAT_DTYPE_FLOAT), "must say 'a vector'"));
  c.message = NULL;
  c.code = LEAT_OUT_OF_RANGE;
  assert_non_null(strstr(verdict(&c, LEAT_DTYPE_FLOAT), "must be OUT_OF_RANGE"));
  c.op = "Right";
  assert_non_null(strstr(verdict(&c, LEAT_DTYPE_FLOAT), "it passed, must fail"));
}

static void every_type_is_converted(void** state) {
  const leat_op_case_t c = {
      .op = "Right",
      .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 2, 3, 60)},
      .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 2, 4, 6, 120)}};
  for (int dtype = 1; dtype < LEAT_DTYPE_COUNT; ++dtype) {
    if (!leat_dtype_in(dtype, LEAT_DTYPES_REAL)) continue;
    assert_string_equal(verdict(&c, dtype), "");
  }
  const leat_op_case_t complex = {
      .op = "Right",
      .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1), 1, 2)},
      .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1), 2, 0)}};
  assert_non_null(strstr(verdict(&complex, LEAT_DTYPE_COMPLEX128), "output 0 (complex128 [1])"));
}

static void variables_are_made_and_looked_at(void** state) {
  leat_op_case_t c = {.op = "Increments",
                      .inputs = {LEAT_REFERENCE_TO(FLOAT, LEAT_DIMS(2), 1, 2)},
                      .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 2, 3)},
                      .after = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 2, 3)}};
  assert_string_equal(verdict(&c, LEAT_DTYPE_FLOAT), "");
  c.after[0] = (leat_case_value_t)LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2);
  assert_non_null(strstr(verdict(&c, LEAT_DTYPE_FLOAT), "variable 0"));
}

static const char* gradient_verdict(const char* op, leat_case_gradient_t order) {
  static char message[1024];
  leat_subject_t subject;
  const leat_op_case_t c = {.op = op,
                            .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 3), -1, 1),
                                       LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 3), 1, 2)},
                            .gradient = order};
  LEAT_EXPECT_OK(leat_subject_initialize(&fixture, &c, LEAT_DTYPE_DOUBLE, &subject));
  leat_status_t status = leat_check_gradient(&subject);
  snprintf(message, sizeof(message), "%s", leat_status_message(status));
  leat_status_free(status);
  leat_subject_deinitialize(&subject);
  return message;
}

static void gradients_are_judged(void** state) {
  assert_string_equal(gradient_verdict("Product", LEAT_GRADIENT_ONCE), "");
  assert_string_equal(gradient_verdict("WrongSecond", LEAT_GRADIENT_ONCE), "");
  assert_non_null(strstr(gradient_verdict("WrongFirst", LEAT_GRADIENT_ONCE),
                         "known shapes: gradient 1, number 0"));
  assert_non_null(strstr(gradient_verdict("NoGradient", LEAT_GRADIENT_ONCE), "NoGradient"));
  assert_non_null(strstr(gradient_verdict("GradientForgotten", LEAT_GRADIENT_ONCE),
                         "gradient 0, number 0 is 0, by differences"));
}

static void gradients_of_gradients_are_judged(void** state) {
  assert_string_equal(gradient_verdict("Product", LEAT_GRADIENT_TWICE), "");
  assert_non_null(strstr(gradient_verdict("WrongSecond", LEAT_GRADIENT_TWICE), "second order"));
}

static void small_floats_are_rounded_to_nearest(void** state) {
  static const struct {
    int dtype;
    double number;
    uint16_t bits;
  } cases[] = {
      {LEAT_DTYPE_HALF, 1, 0x3c00},          {LEAT_DTYPE_HALF, -2, 0xc000},
      {LEAT_DTYPE_HALF, 65504, 0x7bff},      {LEAT_DTYPE_HALF, 65520, 0x7c00},
      {LEAT_DTYPE_HALF, 0x1p-24, 0x0001},    {LEAT_DTYPE_HALF, 0x1p-14, 0x0400},
      {LEAT_DTYPE_HALF, 1 + 0x1p-11, 0x3c00}, {LEAT_DTYPE_HALF, 1 + 3 * 0x1p-11, 0x3c02},
      {LEAT_DTYPE_HALF, 2047.9, 0x6800},     {LEAT_DTYPE_BFLOAT16, 1, 0x3f80},
      {LEAT_DTYPE_BFLOAT16, 1 + 0x1p-8, 0x3f80}, {LEAT_DTYPE_BFLOAT16, -0.0, 0x8000},
  };
  leat_shape_t scalar = leat_shape_scalar();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    leat_tensor_t tensor;
    LEAT_EXPECT_OK(
        leat_tensor_allocate(leat_buffer_source_host(), cases[i].dtype, &scalar, &tensor));
    leat_case_set_number(&tensor, 0, cases[i].number);
    assert_int_equal(leat_tensor_data(&tensor, uint16_t)[0], cases[i].bits);
    double tolerance = 0x1p-8;
    assert_true(leat_case_number_is_close(leat_case_number(&tensor, 0), cases[i].number,
                                          tolerance) || cases[i].number > 65504);
    leat_tensor_release(&tensor);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mistakes_are_seen),
      cmocka_unit_test(errors_are_judged),
      cmocka_unit_test(every_type_is_converted),
      cmocka_unit_test(variables_are_made_and_looked_at),
      cmocka_unit_test(gradients_are_judged),
      cmocka_unit_test(gradients_of_gradients_are_judged),
      cmocka_unit_test(small_floats_are_rounded_to_nearest),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
