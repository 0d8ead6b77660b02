// White paper, section 10: functions. "... a function mechanism, whereby a user can specify an
// entire subgraph of a TensorFlow computation to be a reusable component." One layer, relu(x w +
// b), is made into a function from a graph that then goes away, and called twice in another. Beside
// its value the tests check what the paper implies: a call is one node, has gradients, and runs
// only as much of the body as is asked for. Functions cross front ends, which is shown by the text
// that Python wrote for a tf.function. The mechanism as such is tested in
// tests/capi/function_test.c.
#include "capi/function_kit.h"
#include "paper/counter.h"

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

// relu(x w + b) as a function, from a subgraph of a graph that then goes away.
static TF_Function* define_layer(void) {
  TF_Graph* own = TF_NewGraph();
  TF_Operation* x = kit_placeholder(own, "x", TF_FLOAT);
  TF_Operation* w = kit_placeholder(own, "w", TF_FLOAT);
  TF_Operation* b = kit_placeholder(own, "b", TF_FLOAT);
  kit_unary(own, "Neg", "not_of_it", x);
  TF_Operation* body[] = {kit_binary(own, "MatMul", "product", x, w), NULL, NULL};
  body[1] = kit_binary(own, "AddV2", "sum", body[0], b);
  body[2] = kit_unary(own, "Relu", "relu", body[1]);
  TF_Output in[] = {kit_out(x, 0), kit_out(w, 0), kit_out(b, 0)}, out = kit_out(body[2], 0);
  TF_Function* function =
      TF_GraphToFunction(own, "Layer", 0, 3, (const TF_Operation* const*)body, 3, in, 1, &out,
                         NULL, NULL, "relu(x w + b)", status);
  kit_ok(status);
  TF_DeleteGraph(own);
  return function;
}

static TF_Operation* matrix(const char* name, int64_t rows, int64_t columns, const float* values) {
  const int64_t dims[] = {rows, columns};
  return kit_const(graph, name,
                   kit_tensor(TF_FLOAT, 2, dims, values, (size_t)(rows * columns) * sizeof(float)));
}

static TF_Operation* call(const char* op, const char* name, TF_Operation* x, TF_Operation* w,
                          TF_Operation* b) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_AddInput(desc, kit_out(x, 0));
  TF_AddInput(desc, kit_out(w, 0));
  TF_AddInput(desc, kit_out(b, 0));
  return kit_finish(desc);
}

// Two calls of |op|: [1 -1] -> [1 4] -> [9].
static TF_Operation* two_layers(const char* op) {
  TF_Operation* x = matrix("x", 1, 2, (const float[]){1, -1});
  TF_Operation* w = matrix("w", 2, 2, (const float[]){2, 3, 1, -1});
  TF_Operation* b = matrix("b", 1, 2, (const float[]){0, 0});
  TF_Operation* v = matrix("v", 2, 1, (const float[]){1, 2});
  TF_Operation* c = matrix("c", 1, 1, (const float[]){0});
  return call(op, "second", call(op, "first", x, w, b), v, c);
}

static void paper_10__a_subgraph_becomes_a_reusable_component(void** state) {
  TF_Function* layer = define_layer();
  TF_GraphCopyFunction(graph, layer, NULL, status);
  kit_ok(status);
  TF_DeleteFunction(layer);
  TF_Operation* y = two_layers("Layer");
  assert_int_equal(kit_count(graph), 7);  // a call is one node
  TF_Session* session = kit_session(graph);
  assert_true(paper_fetch(session, kit_out(y, 0)) == 9);
  kit_close(session);
}

// "... these functions can become reusable components even across different front-end languages":
// what Python wrote of a tf.function (TensorFlow 2.21) is a building block here.
static void paper_10__functions_cross_front_ends(void** state) {
  functions_import(
      graph,
      LIBRARY FUNCTION("__inference_layer_9", ARG("x", "FLOAT") ARG("w", "FLOAT") ARG("b", "FLOAT")
                       OUT("identity", "FLOAT"),
                       DEF("MatMul", "MatMul", IN("x") IN("w"), TYPE("T", "FLOAT")
                           " attr { key: 'grad_a' value { b: false } }"
                           " attr { key: 'grad_b' value { b: false } }"
                           " attr { key: 'transpose_a' value { b: false } }"
                           " attr { key: 'transpose_b' value { b: false } }")
                       DEF("add", "AddV2", IN("MatMul:product:0") IN("b"), TYPE("T", "FLOAT"))
                       DEF("Relu", "Relu", IN("add:z:0"), TYPE("T", "FLOAT"))
                       DEF("Identity", "Identity", IN("Relu:activations:0"), TYPE("T", "FLOAT"))
                       RET("identity", "Identity:output:0")
                       " attr { key: '_construction_context' value { s: 'kEagerRuntime' } }"
                       " arg_attr { key: 0 value { attr { key: '_user_specified_name' value { s: "
                       "'x' } } } }") END, status);
  kit_ok(status);
  TF_Operation* y = two_layers("__inference_layer_9");
  TF_Session* session = kit_session(graph);
  assert_true(paper_fetch(session, kit_out(y, 0)) == 9);
  kit_close(session);
  // And the other way: ours are the same messages.
  TF_Function *mine = define_layer(), *again;
  TF_Buffer* bytes = TF_NewBuffer();
  TF_FunctionToFunctionDef(mine, bytes, status);
  kit_ok(status);
  again = TF_FunctionImportFunctionDef(bytes->data, bytes->length, status);
  kit_ok(status);
  assert_string_equal(TF_FunctionName(again), "Layer");
  TF_DeleteBuffer(bytes);
  TF_DeleteFunction(mine);
  TF_DeleteFunction(again);
}

// A component is a part of the computation like any other: it has gradients (section 4.1) ...
static void paper_10__calls_are_differentiated(void** state) {
  TF_Function* layer = define_layer();
  TF_GraphCopyFunction(graph, layer, NULL, status);
  kit_ok(status);
  TF_DeleteFunction(layer);
  TF_Output y = kit_out(two_layers("Layer"), 0), grad;
  TF_Output b = kit_out(TF_GraphOperationByName(graph, "b"), 0);
  TF_AddGradients(graph, &y, 1, &b, 1, NULL, status, &grad);
  kit_ok(status);
  TF_Session* session = kit_session(graph);
  TF_Tensor* result = kit_run(session, kit_out(NULL, 0), NULL, grad);
  static const float expected[] = {1, 2};  // dy/db through the second layer: v
  assert_int_equal(TF_TensorByteSize(result), sizeof expected);
  assert_memory_equal(TF_TensorData(result), expected, sizeof expected);
  TF_DeleteTensor(result);
  kit_close(session);
}

// ... and only as much of it is run as is asked for (section 4.2).
static void paper_10__only_what_is_needed_of_a_call_runs(void** state) {
  functions_import(graph,
                   LIBRARY FUNCTION("Both", ARG("a", "FLOAT") ARG("b", "FLOAT") OUT("p", "FLOAT")
                                    OUT("q", "FLOAT"),
                                    DEF("n", "Neg", IN("a"), TYPE("T", "FLOAT"))
                                    DEF("m", "Neg", IN("b"), TYPE("T", "FLOAT"))
                                    RET("p", "n:y:0") RET("q", "m:y:0")) END, status);
  kit_ok(status);
  TF_Operation* x = kit_const_float(graph, "x", 3);
  counter_t a = paper_counted(graph, "a", kit_out(x, 0));
  counter_t b = paper_counted(graph, "b", kit_out(x, 0));
  TF_Operation* both = kit_binary(graph, "Both", "both", a.output.oper, b.output.oper);
  TF_Session* session = kit_session(graph);
  paper_run(session, a.variable.initialize);
  paper_run(session, b.variable.initialize);
  assert_true(paper_fetch(session, kit_out(both, 1)) == -3);
  assert_true(paper_fetch(session, a.variable.read) == 0);
  assert_true(paper_fetch(session, b.variable.read) == 1);
  kit_close(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_10__a_subgraph_becomes_a_reusable_component),
      TEST(paper_10__functions_cross_front_ends),
      TEST(paper_10__calls_are_differentiated),
      TEST(paper_10__only_what_is_needed_of_a_call_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
