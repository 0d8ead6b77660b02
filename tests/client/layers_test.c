// Each formula of leat/graph.h (arithmetic, matrices, pooling and convolution, losses, dropout)
// against values worked out by hand. These functions build several operations at once, so the tests
// do not look at the graph but run it. Inputs are constants chosen to give round results:
// logarithms of 2 and 3 under a softmax, a filter of ones under a convolution. Dropout is random
// and is judged by how many of 4000 elements remain and by their scale.
#include <math.h>
#include <stdlib.h>

#include "capi/kit.h"
#include "leat/graph.h"

typedef struct fixture_s {
  TF_Graph* graph;
  leat_scope_t* scope;
} fixture_t;
static fixture_t f;

static int set_up(void** state) {
  f.graph = TF_NewGraph();
  f.scope = leat_scope_create(f.graph);
  return 0;
}

static int tear_down(void** state) {
  leat_scope_free(f.scope);
  TF_DeleteGraph(f.graph);
  return 0;
}

static TF_Output vector(int64_t count, const float* values) {
  return leat_constant_floats(f.scope, 1, &count, values);
}

static TF_Tensor* run(TF_Output output) {
  kit_ok(leat_scope_status(f.scope));
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* tensor = kit_run(session, (TF_Output){NULL, 0}, NULL, output);
  kit_close(session);
  return tensor;
}

static void expect_floats(TF_Output output, int count, const float* values) {
  TF_Tensor* tensor = run(output);
  assert_int_equal(TF_TensorType(tensor), TF_FLOAT);
  assert_int_equal(TF_TensorElementCount(tensor), count);
  for (int i = 0; i < count; ++i) {
    assert_float_equal(((float*)TF_TensorData(tensor))[i], values[i], 1e-5);
  }
  TF_DeleteTensor(tensor);
}

static void expect_shape(TF_Output output, int rank, const int64_t* dims) {
  TF_Tensor* tensor = run(output);
  assert_int_equal(TF_NumDims(tensor), rank);
  for (int i = 0; i < rank; ++i) assert_int_equal(TF_Dim(tensor, i), dims[i]);
  TF_DeleteTensor(tensor);
}

static void test_constants(void** state) {
  double values[] = {1.5, -2};
  int64_t dims[] = {2, 1};
  TF_Output doubles = leat_constant(f.scope, TF_DOUBLE, 2, dims, values);
  expect_shape(doubles, 2, dims);
  expect_floats(leat_cast(f.scope, doubles, TF_FLOAT), 2, (float[]){1.5f, -2});
  TF_Tensor* text = run(leat_constant_string(f.scope, "a long text that is not stored inline"));
  assert_string_equal(TF_TString_GetDataPointer(TF_TensorData(text)),
                      "a long text that is not stored inline");
  TF_DeleteTensor(text);
  expect_shape(leat_constant_ints(f.scope, 3, (int32_t[]){1, 2, 3}), 1, (int64_t[]){3});
  expect_shape(leat_constant_floats(f.scope, 1, (int64_t[]){0}, NULL), 1, (int64_t[]){0});
}

static void test_arithmetic(void** state) {
  TF_Output x = vector(2, (float[]){6, -3}), y = vector(2, (float[]){2, 4});
  expect_floats(leat_add(f.scope, x, y), 2, (float[]){8, 1});
  expect_floats(leat_subtract(f.scope, x, y), 2, (float[]){4, -7});
  expect_floats(leat_multiply(f.scope, x, y), 2, (float[]){12, -12});
  expect_floats(leat_divide(f.scope, x, y), 2, (float[]){3, -0.75f});
  expect_floats(leat_relu(f.scope, x), 2, (float[]){6, 0});
  expect_floats(leat_mean(f.scope, x), 1, (float[]){1.5f});
  expect_floats(leat_mean(f.scope, leat_constant_float(f.scope, 7)), 1, (float[]){7});
}

static void test_matrices(void** state) {
  TF_Output a = leat_constant_floats(f.scope, 2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4});
  expect_floats(leat_matmul(f.scope, a, a), 4, (float[]){7, 10, 15, 22});
  expect_floats(leat_bias_add(f.scope, a, vector(2, (float[]){10, 20})), 4,
                (float[]){11, 22, 13, 24});
  expect_shape(leat_reshape(f.scope, a, 3, (int64_t[]){1, -1, 2}), 3, (int64_t[]){1, 2, 2});
  TF_Output p = leat_softmax(f.scope, vector(2, (float[]){0, logf(3)}));
  expect_floats(p, 2, (float[]){0.25f, 0.75f});
}

static void test_pictures(void** state) {
  float pixels[16];
  for (int i = 0; i < 16; ++i) pixels[i] = (float)i;
  TF_Output picture = leat_constant_floats(f.scope, 4, (int64_t[]){1, 4, 4, 1}, pixels);
  expect_floats(leat_max_pool(f.scope, picture, 2), 4, (float[]){5, 7, 13, 15});
  TF_Output sum = leat_constant_floats(f.scope, 4, (int64_t[]){2, 2, 1, 1}, (float[]){1, 1, 1, 1});
  expect_floats(leat_conv2d(f.scope, picture, sum, 2, "VALID"), 4, (float[]){10, 18, 42, 50});
  expect_shape(leat_conv2d(f.scope, picture, sum, 1, "SAME"), 4, (int64_t[]){1, 4, 4, 1});
  expect_shape(leat_conv2d(f.scope, picture, sum, 3, "SAME"), 4, (int64_t[]){1, 2, 2, 1});
}

static void test_classification(void** state) {
  TF_Output logits = leat_constant_floats(f.scope, 2, (int64_t[]){2, 3},
                                          (float[]){0, 0, logf(2), 0, logf(2), 0});
  TF_Output labels = leat_constant_ints(f.scope, 2, (int32_t[]){2, 0});
  float loss = (logf(2) + logf(4)) / 2;  // of probabilities 1/2 and 1/4
  expect_floats(leat_sparse_softmax_cross_entropy(f.scope, logits, labels), 1, &loss);
  TF_Tensor* best = run(leat_argmax(f.scope, logits));
  assert_int_equal(TF_TensorType(best), TF_INT64);
  assert_int_equal(((int64_t*)TF_TensorData(best))[0], 2);
  assert_int_equal(((int64_t*)TF_TensorData(best))[1], 1);
  TF_DeleteTensor(best);
  expect_floats(leat_accuracy(f.scope, logits, labels), 1, (float[]){0.5f});
  expect_floats(leat_accuracy(f.scope, logits, leat_cast(f.scope, labels, TF_INT64)), 1,
                (float[]){0.5f});
}

static void test_dropout(void** state) {
  enum { kCount = 4000 };
  static float ones[kCount];
  for (int i = 0; i < kCount; ++i) ones[i] = 1;
  TF_Output x = vector(kCount, ones);
  TF_Output dropped = leat_dropout(f.scope, x, leat_constant_float(f.scope, 0.8f), 5);
  TF_Tensor* tensor = run(dropped);
  int kept = 0;
  for (int i = 0; i < kCount; ++i) {
    float value = ((float*)TF_TensorData(tensor))[i];
    assert_true(value == 0 || fabsf(value - 1.25f) < 1e-6f);
    kept += value != 0;
  }
  TF_DeleteTensor(tensor);
  assert_true(abs(kept - 3200) < 120);
  // With 1 it is the identity.
  expect_floats(leat_dropout(f.scope, x, leat_constant_float(f.scope, 1), 5), kCount, ones);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_constants), TEST(test_arithmetic),     TEST(test_matrices),
      TEST(test_pictures),  TEST(test_classification), TEST(test_dropout),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
