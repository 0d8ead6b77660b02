// The gradient of ResourceGather, with and without batch dimensions. It is a gradient of rows:
// values and the numbers of the rows they belong to, which for a batch have to be counted through
// the whole variable. A session runs the gather of a [2, 2] array of indices, and the gradient is
// made dense and compared with sums that are added up in the case itself; the i-th incoming
// gradient is i + 1, so that a value in the wrong row shows. A batch of single rows is there
// because rows and rows in a batch then have the same size. The gathers themselves are among the
// cases of scatter_test.c.
#include "gradient/gradient.h"
#include "session/scene.h"

typedef struct case_s {
  int64_t batch_dims;
  int64_t sizes[3];    // of the variable
  int32_t indices[4];  // [2, 2]
  int start_count;     // how many numbers are taken; the gradient of the i-th is i + 1
  int32_t start_sizes[3];
  int count;
  float wanted[12];  // the gradient of the variable
} case_t;

static leat_output_t with_sizes(scene_t* s, leat_output_t x, const int32_t* sizes, int rank) {
  return leat_build_binary(&s->b, "Reshape", x, leat_build_int32_vector(&s->b, sizes, rank));
}

static void expect_gradient(const case_t* c) {
  static const int32_t kTwoByTwo[] = {2, 2};
  static const float kStart[] = {1, 2, 3, 4, 5, 6, 7, 8};
  scene_t s;
  scene_open(&s);
  leat_attr_t dtype = LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT);
  leat_output_t variable = scene_output(
      &s, "VarHandleOp", "v", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(dtype, LEAT_SHAPE("shape", ((leat_partial_shape_t){3, c->sizes}))));
  leat_output_t values = scene_floats(&s, c->count, c->wanted);
  const int32_t sizes[] = {(int32_t)c->sizes[0], (int32_t)c->sizes[1], (int32_t)c->sizes[2]};
  leat_output_t value = with_sizes(&s, values, sizes, 3);
  LEAT_EXPECT_OK(scene_target(&s, scene_node(&s, "AssignVariableOp", "", "",
                                             LEAT_INPUTS(variable, value), LEAT_NO_ATTRS)));
  leat_output_t places =
      with_sizes(&s, leat_build_int32_vector(&s.b, c->indices, 4), kTwoByTwo, 2);
  leat_output_t taken = scene_output(&s, "ResourceGather", "", "", LEAT_INPUTS(variable, places),
                                     LEAT_ATTRS(dtype, LEAT_INT("batch_dims", c->batch_dims)));
  leat_output_t start =
      with_sizes(&s, scene_floats(&s, c->start_count, kStart), c->start_sizes, 3);
  leat_gradient_value_t gradient;
  leat_gradient_spec_t spec = {.ys = &taken, .y_count = 1, .xs = &variable, .x_count = 1,
                               .grad_ys = &start, .prefix = LEAT_SV("gradients")};
  LEAT_EXPECT_OK(leat_add_gradients(s.graph, &spec, &gradient));
  leat_tensor_t got;
  LEAT_EXPECT_OK(scene_fetch(&s, leat_gradient_value_to_dense(&s.b, gradient), &got));
  assert_int_equal(got.shape.rank, 3);
  assert_int_equal(got.shape.element_count, c->count);
  for (int i = 0; i < c->count; ++i) {
    assert_true(leat_tensor_data(&got, const float)[i] == c->wanted[i]);
  }
  leat_tensor_release(&got);
  scene_close(&s);
}

static void an_index_names_a_row_of_the_variable(void** state) {
  expect_gradient(&(case_t){0, {3, 1, 1}, {2, 0, 2, 2}, 4, {2, 2, 1}, 3, {2, 0, 8}});
}

static void an_index_names_a_row_of_its_batch(void** state) {
  expect_gradient(&(case_t){1, {2, 3, 2}, {2, 2, 0, 1}, 8, {2, 2, 2}, 12,
                            {0, 0, 0, 0, 4, 6, 5, 6, 7, 8, 0, 0}});
}

// One row a batch: numbers of rows and of rows in a batch do not tell each other apart by size.
static void a_batch_of_single_rows(void** state) {
  expect_gradient(&(case_t){1, {2, 1, 1}, {0, 0, 0, 0}, 4, {2, 2, 1}, 2, {3, 7}});
}

static void two_dimensions_of_batches(void** state) {
  expect_gradient(&(case_t){2, {2, 2, 3}, {1, 0, 2, 1}, 4, {2, 2, 1}, 12,
                            {0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 0}});
}

// A variable that is known to be of another type is refused while the graph is built.
static void the_type_is_the_variables(void** state) {
  static const char* const kOps[] = {"ResourceGather", "ResourceGatherNd"};
  static const int32_t kFirst[] = {0};
  static const int64_t kTwo[] = {2};
  scene_t s;
  scene_open(&s);
  leat_output_t variable = scene_output(
      &s, "VarHandleOp", "v", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                 LEAT_SHAPE("shape", ((leat_partial_shape_t){1, kTwo}))));
  for (int i = 0; i < 2; ++i) {
    leat_build(&s.b, kOps[i], LEAT_INPUTS(variable, leat_build_int32_vector(&s.b, kFirst, 1)),
               LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_DOUBLE)));
    scene_expect(s.b.status, LEAT_INVALID_ARGUMENT, "dtype is double, must be the variable's");
    s.b.status = leat_ok_status();
  }
  // The rank of a variable that is known is known.
  leat_output_t sizes = scene_output(&s, "VariableShape", "", "", LEAT_INPUTS(variable),
                                     LEAT_NO_ATTRS);
  leat_partial_shape_t known = leat_graph_output_shape(s.graph, sizes);
  assert_true(known.rank == 1 && known.dims[0] == 1);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_index_names_a_row_of_the_variable),
      cmocka_unit_test(an_index_names_a_row_of_its_batch),
      cmocka_unit_test(a_batch_of_single_rows),
      cmocka_unit_test(two_dimensions_of_batches),
      cmocka_unit_test(the_type_is_the_variables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
