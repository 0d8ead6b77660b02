// White paper, section 4.1: gradient computation. Each test quotes the sentence of the paper that
// it tests, and adds gradients to small graphs through the public C API; the numbers are compared
// with derivatives worked out by hand. A counter on a node of the forward pass shows that gradients
// read its value and do not compute it again. The gradient of each op is tested with the op in
// src/ops, where it is compared with finite differences, and gradients of loops and conditions in
// section_4_4_gradient_test.c.
#include "paper/counter.h"

#include <math.h>

static TF_Graph* graph;
static TF_Status* status;

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

static TF_Operation* matrix(const char* name, int64_t rows, int64_t columns, const float* values) {
  const int64_t dims[] = {rows, columns};
  return kit_const(graph, name,
                   kit_tensor(TF_FLOAT, 2, dims, values, (size_t)(rows * columns) * sizeof(float)));
}

static TF_Operation* reduce_sum(const char* name, TF_Operation* x) {
  const int32_t axes[] = {0, 1};
  const int64_t dims[] = {2};
  TF_Operation* all = kit_const(graph, "axes", kit_tensor(TF_INT32, 1, dims, axes, 8));
  return kit_binary(graph, "Sum", name, x, all);
}

// "[db,dW,dx] = tf.gradients(C, [b,W,x])" for figure 1's graph.
static void paper_4_1__gradients_of_figure_1(void** state) {
  const float w_values[] = {1, -1, 2, 0.5f, -2, 1}, b_values[] = {1, -3}, x_values[] = {1, 2, 3};
  TF_Operation* w = matrix("W", 2, 3, w_values);
  TF_Operation* b = matrix("b", 2, 1, b_values);
  TF_Operation* x = matrix("x", 3, 1, x_values);
  TF_Operation* sum =
      kit_binary(graph, "AddV2", "sum", kit_binary(graph, "MatMul", "Wx", w, x), b);
  TF_Operation* c = reduce_sum("C", kit_unary(graph, "Relu", "relu", sum));
  TF_Output y = kit_out(c, 0), xs[] = {kit_out(b, 0), kit_out(w, 0), kit_out(x, 0)}, grads[3];
  TF_AddGradients(graph, &y, 1, xs, 3, NULL, status, grads);
  kit_ok(status);
  // Only the first row passes the ReLU.
  static const float expected[3][6] = {{1, 0}, {1, 2, 3, 0, 0, 0}, {1, -1, 2}};
  static const int counts[] = {2, 6, 3};
  TF_Session* session = kit_session(graph);
  for (int i = 0; i < 3; ++i) {
    TF_Tensor* gradient = kit_run(session, kit_out(NULL, 0), NULL, grads[i]);
    assert_int_equal(TF_TensorElementCount(gradient), counts[i]);
    assert_memory_equal(TF_TensorData(gradient), expected[i], (size_t)counts[i] * sizeof(float));
    TF_DeleteTensor(gradient);
  }
  kit_close(session);
}

static float gradient_at(TF_Output y, TF_Output x, float value) {
  TF_Output grad;
  TF_AddGradients(graph, &y, 1, &x, 1, NULL, status, &grad);
  kit_ok(status);
  TF_Session* session = kit_session(graph);
  TF_Tensor* result = kit_run(session, x, kit_float(value), grad);
  float gradient = kit_float_of(result);
  TF_DeleteTensor(result);
  kit_close(session);
  return gradient;
}

// "It then backtracks from C to I, and for each operation on the backward path it adds a node to
// the TensorFlow graph, composing the partial gradients along the backwards path using the chain
// rule."
static void paper_4_1__partial_gradients_are_composed_by_the_chain_rule(void** state) {
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 0, NULL);
  TF_Operation* s = kit_unary(graph, "Sigmoid", "s", x);
  TF_Operation* t = kit_unary(graph, "Tanh", "t", s);
  TF_Operation* e = kit_unary(graph, "Exp", "e", t);
  int before = kit_count(graph);
  float gradient = gradient_at(kit_out(e, 0), kit_out(x, 0), 0.3f);
  assert_true(kit_count(graph) > before + 2);
  double sigmoid = 1 / (1 + exp(-0.3)), tangent = tanh(sigmoid);
  double expected = exp(tangent) * (1 - tangent * tangent) * sigmoid * (1 - sigmoid);
  assert_true(fabs(gradient - expected) < 1e-5);
}

// A tensor on which C depends by several paths gets the sum of what they bring.
static void paper_4_1__several_paths_add_up(void** state) {
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 0, NULL);
  TF_Operation* a = kit_binary(graph, "Mul", "a", x, x);
  TF_Operation* b = kit_binary(graph, "AddV2", "b", a, x);
  TF_Operation* c = kit_binary(graph, "Mul", "c", b, a);  // (x^2 + x) x^2
  assert_true(gradient_at(kit_out(c, 0), kit_out(x, 0), 2) == 4 * 8 + 3 * 4);
}

// "An operation that has several outputs, of which C depends on some only: the first input to O's
// gradient function is set to 0 since dC/dy1 = 0."
static void paper_4_1__outputs_that_do_not_matter_count_as_zero(void** state) {
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 0, NULL);
  TF_Output both[] = {kit_out(x, 0), kit_out(kit_unary(graph, "Neg", "negative", x), 0)};
  TF_OperationDescription* desc = TF_NewOperation(graph, "Pack", "pack");
  TF_AddInputList(desc, both, 2);
  TF_Operation* packed = kit_finish(desc);
  desc = TF_NewOperation(graph, "Unpack", "unpack");
  TF_AddInput(desc, kit_out(packed, 0));
  TF_SetAttrInt(desc, "num", 2);
  TF_Operation* slices = kit_finish(desc);
  desc = TF_NewOperation(graph, "Square", "square");
  TF_AddInput(desc, kit_out(slices, 1));
  TF_Operation* square = kit_finish(desc);
  assert_true(gradient_at(kit_out(square, 0), kit_out(x, 0), 3) == 6);
}

// The gradient function "may depend on the inputs and outputs of the operation": tanh's uses its
// output, the product's uses its inputs, as they were in the forward pass.
static void paper_4_1__gradients_reuse_values_of_the_forward_pass(void** state) {
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 0, NULL);
  counter_t forward = paper_counted(graph, "forward", kit_out(x, 0));
  TF_Operation* y = kit_unary(graph, "Tanh", "y", forward.output.oper);
  TF_Output out = kit_out(y, 0), in = kit_out(x, 0), grad;
  TF_AddGradients(graph, &out, 1, &in, 1, NULL, status, &grad);
  kit_ok(status);
  TF_Session* session = kit_session(graph);
  paper_run(session, forward.variable.initialize);
  TF_Tensor* fed = kit_float(0.5f);
  TF_Output fetches[] = {out, grad};
  TF_Tensor* results[2];
  TF_SessionRun(session, NULL, &in, &fed, 1, fetches, results, 2, NULL, 0, NULL, status);
  kit_ok(status);
  float tangent = kit_float_of(results[0]);
  assert_true(fabsf(kit_float_of(results[1]) - (1 - tangent * tangent)) < 1e-6f);
  assert_true(paper_fetch(session, forward.variable.read) == 1);  // not computed a second time
  TF_DeleteTensor(results[0]);
  TF_DeleteTensor(results[1]);
  TF_DeleteTensor(fed);
  kit_close(session);
}

// Gradients are nodes like others: they have gradients.
static void paper_4_1__gradients_extend_the_graph(void** state) {
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 0, NULL);
  TF_Operation* square = kit_binary(graph, "Mul", "square", x, x);
  TF_Operation* cube = kit_binary(graph, "Mul", "cube", square, x);
  TF_Output y = kit_out(cube, 0), in = kit_out(x, 0), first;
  TF_AddGradients(graph, &y, 1, &in, 1, NULL, status, &first);
  kit_ok(status);
  assert_true(gradient_at(first, in, 2) == 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_4_1__gradients_of_figure_1),
      TEST(paper_4_1__partial_gradients_are_composed_by_the_chain_rule),
      TEST(paper_4_1__several_paths_add_up),
      TEST(paper_4_1__outputs_that_do_not_matter_count_as_zero),
      TEST(paper_4_1__gradients_reuse_values_of_the_forward_pass),
      TEST(paper_4_1__gradients_extend_the_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
