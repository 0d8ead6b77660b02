// White paper, section 2: programming model and basic concepts. Each test stands under the sentence
// of the paper that it tests, and is named by the section and the claim. All of them use the public
// C API only, as a reader of the paper would; counters (paper/counter.h) tell which nodes have run.
// Corners and errors of the same functions are tested in tests/capi.
#include "paper/counter.h"

#include <stdio.h>

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

// "A computation is described by a directed graph, which is composed of a set of nodes."
static void paper_2__a_graph_of_nodes_describes_a_computation(void** state) {
  // Figure 1: relu = ReLU(W x + b).
  const float w_values[] = {1, -1, 2, 0.5f, -2, 1}, b_values[] = {1, -3};
  const float x_values[] = {1, 2, 3};
  const int64_t w_dims[] = {2, 3}, x_dims[] = {3, 1}, b_dims[] = {2, 1};
  TF_Operation* w = kit_const(graph, "W", kit_tensor(TF_FLOAT, 2, w_dims, w_values, 24));
  TF_Operation* b = kit_const(graph, "b", kit_tensor(TF_FLOAT, 2, b_dims, b_values, 8));
  TF_Operation* x = kit_shaped(graph, "x", TF_FLOAT, 2, x_dims);
  TF_Operation* product = kit_binary(graph, "MatMul", "Wx", w, x);
  TF_Operation* sum = kit_binary(graph, "Add", "sum", product, b);
  TF_Operation* relu = kit_unary(graph, "Relu", "relu", sum);
  TF_Session* session = kit_session(graph);
  TF_Tensor* y = kit_run(session, kit_out(x, 0), kit_tensor(TF_FLOAT, 2, x_dims, x_values, 12),
                         kit_out(relu, 0));
  const float* values = TF_TensorData(y);
  assert_true(values[0] == 6 && values[1] == 0);  // (5 + 1, max(-0.5 - 3, 0))
  TF_DeleteTensor(y);
  kit_close(session);
}

// "A node has zero or more inputs and zero or more outputs."
static void paper_2__nodes_have_zero_or_more_inputs_and_outputs(void** state) {
  TF_Operation* none = kit_no_op(graph, "none");
  assert_int_equal(TF_OperationNumInputs(none), 0);
  assert_int_equal(TF_OperationNumOutputs(none), 0);
  TF_Operation* axis = kit_const_int32(graph, "axis", 0);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Split", "many");
  TF_AddInput(desc, kit_out(axis, 0));
  TF_AddInput(desc, kit_out(kit_placeholder(graph, "x", TF_FLOAT), 0));
  TF_SetAttrInt(desc, "num_split", 5);
  TF_Operation* many = kit_finish(desc);
  assert_int_equal(TF_OperationNumInputs(many), 2);
  assert_int_equal(TF_OperationNumOutputs(many), 5);
}

// "Control dependencies: ... the source node for the control dependence must finish executing
// before the destination node for the control dependence starts executing."
static void paper_2__control_dependencies_order_execution(void** state) {
  variable_t v = paper_variable(graph, "v", 1, NULL, NULL);
  // Ten times: v = 2 v, v = v + 1 in turn; only one order gives this number.
  TF_Operation* last = NULL;
  for (int i = 0; i < 10; ++i) {
    char name[3][30];
    snprintf(name[0], 30, "read%d", i);
    snprintf(name[1], 30, "next%d", i);
    snprintf(name[2], 30, "set%d", i);
    TF_OperationDescription* desc = TF_NewOperation(graph, "ReadVariableOp", name[0]);
    TF_AddInput(desc, v.handle);
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    TF_Operation* read = last ? paper_after(desc, last) : kit_finish(desc);
    char one[30];
    snprintf(one, sizeof one, "one%d", i);
    TF_Operation* next = i % 2 ? kit_binary(graph, "AddV2", name[1], read,
                                            kit_const_float(graph, one, 1))
                               : kit_binary(graph, "AddV2", name[1], read, read);
    desc = TF_NewOperation(graph, "AssignVariableOp", name[2]);
    TF_AddInput(desc, v.handle);
    TF_AddInput(desc, kit_out(next, 0));
    TF_SetAttrType(desc, "dtype", TF_FLOAT);
    last = kit_finish(desc);
  }
  TF_Session* session = kit_session(graph);
  for (int step = 0; step < 5; ++step) {
    paper_run(session, v.initialize);
    paper_run(session, last);
    assert_true(paper_fetch(session, v.read) == 63);
  }
  kit_close(session);
}

// "An operation can have attributes, and all attributes must be provided or inferred at graph-
// construction time."
static void paper_2__attributes_are_provided_or_inferred_at_construction(void** state) {
  TF_Operation* x = kit_placeholder(graph, "x", TF_DOUBLE);
  TF_Operation* y = kit_binary(graph, "Add", "inferred", x, x);
  TF_DataType type;
  TF_OperationGetAttrType(y, "T", &type, status);
  kit_ok(status);
  assert_int_equal(type, TF_DOUBLE);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", "missing");
  assert_null(TF_FinishOperation(desc, status));  // no dtype
  kit_expect(status, TF_INVALID_ARGUMENT);
  desc = TF_NewOperation(graph, "MatMul", "default");
  TF_AddInput(desc, kit_out(x, 0));
  TF_AddInput(desc, kit_out(x, 0));
  unsigned char transposed = 1;
  TF_OperationGetAttrBool(kit_finish(desc), "transpose_a", &transposed, status);
  kit_ok(status);
  assert_int_equal(transposed, 0);
}

// "... make operations polymorphic over different tensor element types (e.g., add of two tensors of
// type float versus add of two tensors of type int32)."
static void paper_2__operations_are_polymorphic_over_element_types(void** state) {
  TF_Operation* f = kit_const_float(graph, "f", 1.5f);
  TF_Operation* i = kit_const_int32(graph, "i", 2);
  TF_Operation* ff = kit_binary(graph, "Add", "ff", f, f);
  TF_Operation* ii = kit_binary(graph, "Add", "ii", i, i);
  TF_Session* session = kit_session(graph);
  assert_true(paper_fetch(session, kit_out(ff, 0)) == 3);
  TF_Tensor* sum = kit_run(session, kit_out(NULL, 0), NULL, kit_out(ii, 0));
  assert_int_equal(kit_int32_of(sum), 4);
  TF_DeleteTensor(sum);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Add", "mixed");
  TF_AddInput(desc, kit_out(f, 0));
  TF_AddInput(desc, kit_out(i, 0));
  assert_null(TF_FinishOperation(desc, status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  kit_close(session);
}

// "A TensorFlow binary defines the sets of operations and kernels available via a registration
// mechanism."
static void paper_2__operations_and_kernels_are_registered(void** state) {
  TF_Buffer* ops = TF_GetAllOpList();
  assert_true(ops->length > 1000);
  TF_Buffer* kernels = TF_GetRegisteredKernelsForOp("MatMul", status);
  kit_ok(status);
  assert_true(kernels->length > 0);
  TF_DeleteBuffer(kernels);
  TF_DeleteBuffer(ops);
  TF_OperationDescription* desc = TF_NewOperation(graph, "NoSuchOperation", "unknown");
  assert_null(TF_FinishOperation(desc, status));
  assert_true(TF_GetCode(status) == TF_NOT_FOUND || TF_GetCode(status) == TF_INVALID_ARGUMENT);
}

// "The session interface supports an Extend method to augment the current graph ... (the initial
// graph when a session is created is empty)."
static void paper_2__a_session_starts_empty_and_is_extended(void** state) {
  TF_Session* session = kit_session(graph);
  TF_Operation* x = kit_const_float(graph, "x", 4);
  assert_true(paper_fetch(session, kit_out(x, 0)) == 4);
  TF_Operation* y = kit_unary(graph, "Neg", "y", x);
  assert_true(paper_fetch(session, kit_out(y, 0)) == -4);
  assert_true(paper_fetch(session, kit_out(x, 0)) == 4);
  kit_close(session);
}

// "Run ... takes a set of output names that need to be computed, as well as an optional set of
// tensors to be fed into the graph in place of certain outputs of nodes ... the TensorFlow
// implementation can compute the transitive closure of all nodes that must be executed."
static void paper_2__run_computes_the_transitive_closure(void** state) {
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  counter_t a = paper_counted(graph, "a", kit_out(x, 0));
  counter_t b = paper_counted(graph, "b", a.output);
  counter_t c = paper_counted(graph, "c", a.output);
  TF_Session* session = kit_session(graph);
  paper_run(session, a.variable.initialize);
  paper_run(session, b.variable.initialize);
  paper_run(session, c.variable.initialize);
  TF_DeleteTensor(kit_run(session, kit_out(x, 0), kit_float(7), b.output));
  TF_DeleteTensor(kit_run(session, a.output, kit_float(7), b.output));
  assert_true(paper_fetch(session, a.variable.read) == 1);
  assert_true(paper_fetch(session, b.variable.read) == 2);
  assert_true(paper_fetch(session, c.variable.read) == 0);
  kit_close(session);
}

// "... set up a Session with a graph once and then execute the full graph or a few distinct
// subgraphs thousands or millions of times via Run calls."
static void paper_2__distinct_subgraphs_run_thousands_of_times(void** state) {
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = kit_unary(graph, "Neg", "y", x);
  TF_Operation* z = kit_binary(graph, "Mul", "z", y, y);
  TF_Session* session = kit_session(graph);
  for (int i = 0; i < 2000; ++i) {
    TF_Tensor* result = kit_run(session, kit_out(x, 0), kit_float((float)(i % 50)),
                                kit_out(i % 2 ? y : z, 0));
    float value = (float)(i % 50);
    assert_true(kit_float_of(result) == (i % 2 ? -value : value * value));
    TF_DeleteTensor(result);
  }
  kit_close(session);
}

// "Most tensors do not survive past a single execution of the graph. However, a Variable is a
// special kind of operation that returns a handle to a persistent mutable tensor that survives
// across executions of a graph."
static void paper_2__variables_survive_across_executions(void** state) {
  variable_t v = paper_variable(graph, "v", 10, NULL, NULL);
  TF_Operation* add = paper_add(graph, "add", v, 2);
  TF_Session* session = kit_session(graph);
  paper_run(session, v.initialize);
  for (int i = 1; i <= 5; ++i) {
    paper_run(session, add);
    assert_true(paper_fetch(session, v.read) == (float)(10 + 2 * i));
  }
  kit_close(session);
}

// "Handles to these persistent mutable tensors can be passed to a handful of special operations,
// such as Assign and AssignAdd (equivalent to +=) that mutate the referenced tensor."
static void paper_2__handles_are_passed_to_assign_and_assign_add(void** state) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "Variable", "v");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", NULL, 0);
  TF_Operation* v = kit_finish(desc);
  TF_Operation* set = kit_binary(graph, "Assign", "set", v, kit_const_float(graph, "three", 3));
  TF_Operation* add = kit_binary(graph, "AssignAdd", "add", v, kit_const_float(graph, "four", 4));
  TF_Session* session = kit_session(graph);
  assert_true(paper_fetch(session, kit_out(set, 0)) == 3);
  assert_true(paper_fetch(session, kit_out(add, 0)) == 7);
  assert_true(paper_fetch(session, kit_out(add, 0)) == 11);
  assert_true(paper_fetch(session, kit_out(v, 0)) == 11);
  kit_close(session);
}

// "We support a variety of tensor element types, including signed and unsigned integers ranging in
// size from 8 bits to 64 bits, IEEE float and double types, a complex number type, and a string
// type (an arbitrary byte array)."
static void paper_2__tensors_have_many_element_types(void** state) {
  static const TF_DataType types[] = {TF_INT8,  TF_INT16,  TF_INT32,  TF_INT64, TF_UINT8,
                                      TF_UINT16, TF_UINT32, TF_UINT64, TF_FLOAT, TF_DOUBLE,
                                      TF_COMPLEX64, TF_COMPLEX128};
  TF_Session* session = kit_session(graph);
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    char name[20];
    unsigned char bytes[48];
    snprintf(name, sizeof name, "x%d", (int)types[i]);
    for (size_t k = 0; k < sizeof bytes; ++k) bytes[k] = (unsigned char)(k * 5 + i);
    const int64_t dims[] = {3};
    size_t size = TF_DataTypeSize(types[i]) * 3;
    TF_Operation* x = kit_placeholder(graph, name, types[i]);
    char identity[30];
    snprintf(identity, sizeof identity, "y%d", (int)types[i]);
    TF_Operation* y = kit_unary(graph, "Identity", identity, x);
    TF_Tensor* result = kit_run(session, kit_out(x, 0), kit_tensor(types[i], 1, dims, bytes, size),
                                kit_out(y, 0));
    assert_int_equal(TF_TensorType(result), types[i]);
    assert_int_equal(TF_TensorByteSize(result), size);
    assert_memory_equal(TF_TensorData(result), bytes, size);
    TF_DeleteTensor(result);
  }
  TF_Operation* text = kit_placeholder(graph, "text", TF_STRING);
  TF_Operation* same = kit_unary(graph, "Identity", "same", text);
  TF_Tensor* result = kit_run(session, kit_out(text, 0), kit_string("any\x01 bytes"),
                              kit_out(same, 0));
  assert_int_equal(TF_TensorType(result), TF_STRING);
  TF_DeleteTensor(result);
  kit_close(session);
}

static int ended;
static void on_end(void* data, size_t length, void* argument) { ++ended; }

// "Tensor backing store buffers are reference counted and are deallocated when no references
// remain."
static void paper_2__backing_stores_are_reference_counted(void** state) {
  _Alignas(64) static float values[16] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  ended = 0;
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = kit_unary(graph, "Identity", "y", x);
  TF_Session* session = kit_session(graph);
  TF_Tensor* fed = TF_NewTensor(TF_FLOAT, dims, 1, values, 16, on_end, NULL);
  TF_Tensor* result = kit_run(session, kit_out(x, 0), fed, kit_out(y, 0));  // deletes |fed|
  // Identity hands the same bytes on: they live as long as the result.
  if (TF_TensorData(result) == values) assert_int_equal(ended, 0);
  assert_true(((const float*)TF_TensorData(result))[3] == 4);
  TF_DeleteTensor(result);
  assert_int_equal(ended, 1);
  kit_close(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_2__a_graph_of_nodes_describes_a_computation),
      TEST(paper_2__nodes_have_zero_or_more_inputs_and_outputs),
      TEST(paper_2__control_dependencies_order_execution),
      TEST(paper_2__attributes_are_provided_or_inferred_at_construction),
      TEST(paper_2__operations_are_polymorphic_over_element_types),
      TEST(paper_2__operations_and_kernels_are_registered),
      TEST(paper_2__a_session_starts_empty_and_is_extended),
      TEST(paper_2__run_computes_the_transitive_closure),
      TEST(paper_2__distinct_subgraphs_run_thousands_of_times),
      TEST(paper_2__variables_survive_across_executions),
      TEST(paper_2__handles_are_passed_to_assign_and_assign_add),
      TEST(paper_2__tensors_have_many_element_types),
      TEST(paper_2__backing_stores_are_reference_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
