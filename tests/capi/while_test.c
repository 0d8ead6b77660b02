// TF_NewWhile and TF_FinishWhile, by which a client without Python builds a loop: the API gives it
// two empty graphs, for the condition and the body, and joins them afterwards. The loops are run
// and their results compared with the same computation in the head; names and codes are
// TensorFlow's. Variables that swap, a condition that is itself a variable, a loop in a loop, and
// effects in the body each fail if the graphs are copied carelessly. A loop that is wrong in one
// thing must be refused without a node left in the graph, and TF_AbortWhile must undo what was
// begun.
#include "capi/function_kit.h"

static TF_Graph* graph;
static TF_Status* status;
static TF_Output inputs[2];  // placeholders p0, p1
static TF_Output outputs[2];

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  inputs[0] = kit_out(kit_placeholder(graph, "p0", TF_INT32), 0);
  inputs[1] = kit_out(kit_placeholder(graph, "p1", TF_INT32), 0);
  outputs[0] = outputs[1] = kit_out(NULL, -1);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

// Begins a loop over the first |count| inputs, and checks that this alone adds nothing to the
// graph.
static TF_WhileParams begin(int count) {
  int before = kit_count(graph);
  TF_WhileParams params = TF_NewWhile(graph, inputs, count, status);
  kit_ok(status);
  assert_int_equal(params.ninputs, count);
  assert_non_null(params.cond_graph);
  assert_non_null(params.body_graph);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(TF_OperationOutputType(params.cond_inputs[i]), TF_INT32);
    assert_int_equal(TF_OperationOutputType(params.body_inputs[i]), TF_INT32);
    assert_null(params.body_outputs[i].oper);
  }
  assert_null(params.cond_output.oper);
  assert_int_equal(kit_count(graph), before);
  params.name = "test_loop";
  return params;
}

static TF_Output binary(TF_Graph* g, const char* op, const char* name, TF_Output a, TF_Output b) {
  TF_OperationDescription* desc = TF_NewOperation(g, op, name);
  TF_AddInput(desc, a);
  TF_AddInput(desc, b);
  return kit_out(kit_finish(desc), 0);
}

static TF_Output constant(TF_Graph* g, const char* name, int32_t value) {
  return kit_out(kit_const_int32(g, name, value), 0);
}

// first < limit
static void set_condition(TF_WhileParams* params, int32_t limit) {
  params->cond_output =
      binary(params->cond_graph, "Less", "less_than", params->cond_inputs[0],
             constant(params->cond_graph, "limit", limit));
}

static void finish(TF_WhileParams* params) {
  TF_FinishWhile(params, status, outputs);
  kit_ok(status);
  for (int i = 0; i < params->ninputs; ++i) {
    assert_non_null(outputs[i].oper);
    assert_string_equal(TF_OperationOpType(outputs[i].oper), "Exit");
  }
}

static void expect_values(int count, const int32_t* starts, const int32_t* expected) {
  TF_Session* session = kit_session(graph);
  TF_Tensor *fed[2], *results[2];
  for (int i = 0; i < count; ++i) fed[i] = kit_int32(starts[i]);
  TF_SessionRun(session, NULL, inputs, fed, count, outputs, results, count, NULL, 0, NULL, status);
  kit_ok(status);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(kit_int32_of(results[i]), expected[i]);
    TF_DeleteTensor(results[i]);
    TF_DeleteTensor(fed[i]);
  }
  kit_close(session);
}

static void expect_nodes(const char* const* names, bool exist) {
  for (; *names; ++names) {
    if ((TF_GraphOperationByName(graph, *names) != NULL) != exist) fail_msg("%s", *names);
  }
}

// while (first < second) first += second + 1
static void test_a_loop(void** state) {
  TF_WhileParams p = begin(2);
  p.cond_output = binary(p.cond_graph, "Less", "less_than", p.cond_inputs[0], p.cond_inputs[1]);
  TF_Output sum = binary(p.body_graph, "AddV2", "add1", p.body_inputs[0], p.body_inputs[1]);
  p.body_outputs[0] =
      binary(p.body_graph, "AddV2", "add2", sum, constant(p.body_graph, "one", 1));
  p.body_outputs[1] = p.body_inputs[1];
  finish(&p);
  static const char* const there[] = {
      "test_loop/Enter",    "test_loop/Enter_1",        "test_loop/Merge",
      "test_loop/Merge_1",  "test_loop/cond/less_than", "test_loop/LoopCond",
      "test_loop/Switch",   "test_loop/Switch_1",       "test_loop/body/add1",
      "test_loop/body/one", "test_loop/NextIteration",  "test_loop/NextIteration_1",
      "test_loop/Exit",     "test_loop/Exit_1",         NULL};
  static const char* const away[] = {"test_loop/cond/cond_input0", "test_loop/body/body_input1",
                                     NULL};
  expect_nodes(there, true);
  expect_nodes(away, false);
  assert_int_equal(kit_count(graph), 2 + 15);
  expect_values(2, (const int32_t[]){-9, 2}, (const int32_t[]){3, 2});
  expect_values(2, (const int32_t[]){5, 2}, (const int32_t[]){5, 2});
}

// Variables that change places, and a condition that is a variable.
static void test_swapped_variables(void** state) {
  TF_WhileParams p = begin(2);
  set_condition(&p, 10);
  p.body_outputs[0] = p.body_inputs[1];
  p.body_outputs[1] =
      binary(p.body_graph, "AddV2", "next", p.body_inputs[0], p.body_inputs[1]);
  finish(&p);
  expect_values(2, (const int32_t[]){0, 1}, (const int32_t[]){13, 21});
}

static void test_a_condition_that_is_a_variable(void** state) {
  TF_Output start = kit_out(kit_placeholder(graph, "start", TF_BOOL), 0), end;
  TF_WhileParams p = TF_NewWhile(graph, &start, 1, status);
  kit_ok(status);
  p.name = "test_loop";
  p.cond_output = p.cond_inputs[0];
  p.body_outputs[0] =
      kit_out(kit_unary(p.body_graph, "LogicalNot", "not", p.body_inputs[0].oper), 0);
  TF_FinishWhile(&p, status, &end);
  kit_ok(status);
  const uint8_t yes = 1;
  TF_Session* session = kit_session(graph);
  TF_Tensor* result = kit_run(session, start, kit_tensor(TF_BOOL, 0, NULL, &yes, 1), end);
  assert_int_equal(*(const uint8_t*)TF_TensorData(result), 0);
  TF_DeleteTensor(result);
  kit_close(session);
}

// while (a < 6) { i = a; while (i < 3) { b += 1; i += 2; } a += b; }
static void test_a_loop_in_a_loop(void** state) {
  TF_WhileParams p = begin(2);
  set_condition(&p, 6);
  TF_Output starts[] = {p.body_inputs[0], p.body_inputs[1]}, ends[2];
  TF_WhileParams q = TF_NewWhile(p.body_graph, starts, 2, status);
  kit_ok(status);
  q.name = "inner_loop";
  set_condition(&q, 3);
  q.body_outputs[0] =
      binary(q.body_graph, "AddV2", "i", q.body_inputs[0], constant(q.body_graph, "two", 2));
  q.body_outputs[1] =
      binary(q.body_graph, "AddV2", "b", q.body_inputs[1], constant(q.body_graph, "one", 1));
  TF_FinishWhile(&q, status, ends);
  kit_ok(status);
  p.body_outputs[0] = binary(p.body_graph, "AddV2", "add", p.body_inputs[0], ends[1]);
  p.body_outputs[1] = ends[1];
  finish(&p);
  static const char* const there[] = {
      "test_loop/cond/limit", "test_loop/body/add", "test_loop/body/inner_loop/body/one",
      "test_loop/body/inner_loop/cond/less_than", "test_loop/body/inner_loop/Enter", NULL};
  expect_nodes(there, true);
  expect_values(2, (const int32_t[]){0, 0}, (const int32_t[]){8, 3});
}

static void test_two_loops_and_readers(void** state) {
  for (int i = 0; i < 2; ++i) {
    TF_WhileParams p = begin(1);
    p.name = i ? "second" : "first";
    set_condition(&p, 10);
    p.body_outputs[0] = binary(p.body_graph, "AddV2", "next", p.body_inputs[0],
                               constant(p.body_graph, "step", i ? 7 : 4));
    finish(&p);
    expect_values(1, (const int32_t[]){1}, (const int32_t[]){i ? 15 : 13});
  }
  TF_Output sum = binary(graph, "AddV2", "sum",
                         kit_out(TF_GraphOperationByName(graph, "first/Exit"), 0), outputs[0]);
  TF_Session* session = kit_session(graph);
  TF_Tensor* result = kit_run(session, inputs[0], kit_int32(1), sum);
  assert_int_equal(kit_int32_of(result), 28);
  TF_DeleteTensor(result);
  kit_close(session);
}

// What the variables are of may change from one iteration to the next.
static void test_shapes_that_grow(void** state) {
  const float one[] = {1};
  TF_Output start = kit_out(kit_const(graph, "start", kit_floats(1, one)), 0), end;
  TF_WhileParams p = TF_NewWhile(graph, &start, 1, status);
  kit_ok(status);
  p.name = "test_loop";
  TF_Output size = kit_out(kit_unary(p.cond_graph, "Size", "size", p.cond_inputs[0].oper), 0);
  p.cond_output = binary(p.cond_graph, "Less", "less", size, constant(p.cond_graph, "n", 6));
  TF_Output both[] = {p.body_inputs[0], p.body_inputs[0]};
  TF_OperationDescription* desc = TF_NewOperation(p.body_graph, "ConcatV2", "twice");
  TF_AddInputList(desc, both, 2);
  TF_AddInput(desc, constant(p.body_graph, "axis", 0));
  p.body_outputs[0] = kit_out(kit_finish(desc), 0);
  TF_FinishWhile(&p, status, &end);
  kit_ok(status);
  TF_Output shape = kit_out(kit_unary(graph, "Shape", "shape", end.oper), 0);
  TF_Session* session = kit_session(graph);
  TF_Tensor* result = kit_run(session, kit_out(NULL, 0), NULL, shape);
  assert_int_equal(kit_int32_of(result), 8);
  TF_DeleteTensor(result);
  kit_close(session);
}

// Functions of the parts become the graph's.
static void test_functions_in_the_parts(void** state) {
  TF_WhileParams p = begin(1);
  functions_import(p.body_graph,
                   LIBRARY FUNCTION("Inc", ARG("a", "INT32") OUT("r", "INT32"),
                                    DEF("one", "Const", , INT32("1"))
                                    DEF("s", "AddV2", IN("a") IN("one:output:0"),
                                        TYPE("T", "INT32"))
                                    RET("r", "s:z:0")) END, status);
  kit_ok(status);
  set_condition(&p, 10);
  p.body_outputs[0] = kit_out(kit_unary(p.body_graph, "Inc", "inc", p.body_inputs[0].oper), 0);
  finish(&p);
  assert_int_equal(TF_GraphNumFunctions(graph), 1);
  expect_values(1, (const int32_t[]){3}, (const int32_t[]){10});
}

static TF_Output counter(TF_Graph* g, const char* op, TF_Output handle, TF_Output value) {
  TF_OperationDescription* desc = TF_NewOperation(g, op, op);
  if (handle.oper) TF_AddInput(desc, handle);
  if (value.oper) TF_AddInput(desc, value);
  TF_SetAttrType(desc, "dtype", TF_INT32);
  if (!handle.oper) TF_SetAttrShape(desc, "shape", NULL, 0);
  if (!handle.oper) TF_SetAttrString(desc, "shared_name", "v", 1);
  return kit_out(kit_finish(desc), 0);
}

// Effects of the body run as often as the body does.
static void test_effects_in_the_body(void** state) {
  const TF_Output none = {NULL, 0};
  TF_Output v = counter(graph, "VarHandleOp", none, none);
  TF_Output start = counter(graph, "AssignVariableOp", v, constant(graph, "zero", 0));
  TF_Output read = counter(graph, "ReadVariableOp", v, none);
  TF_WhileParams p = begin(1);
  set_condition(&p, 5);
  TF_Output one = constant(p.body_graph, "one", 1);
  TF_Output add = counter(p.body_graph, "AssignAddVariableOp",
                          counter(p.body_graph, "VarHandleOp", none, none), one);
  TF_OperationDescription* desc = TF_NewOperation(p.body_graph, "AddV2", "next");
  TF_AddInput(desc, p.body_inputs[0]);
  TF_AddInput(desc, one);
  TF_AddControlInput(desc, add.oper);
  p.body_outputs[0] = kit_out(kit_finish(desc), 0);
  finish(&p);
  TF_Session* session = kit_session(graph);
  const TF_Operation* target = start.oper;
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, status);
  kit_ok(status);
  TF_DeleteTensor(kit_run(session, inputs[0], kit_int32(1), outputs[0]));
  TF_Tensor* count = kit_run(session, none, NULL, read);
  assert_int_equal(kit_int32_of(count), 4);
  TF_DeleteTensor(count);
  kit_close(session);
}

// ---- Refusals -----------------------------------------------------------------------------------

// Finishing the loop must fail with |text| and leave the graph as it was.
static void refuse(TF_WhileParams* params, const char* text) {
  int before = kit_count(graph);
  TF_FinishWhile(params, status, outputs);
  kit_expect_text(status, TF_INVALID_ARGUMENT, text);
  assert_int_equal(kit_count(graph), before);
}

// A loop that is right but for one thing.
typedef enum { NO_CONDITION, INT_CONDITION, FAR_CONDITION, NO_OUTPUT, NO_NEXT, FAR_NEXT,
               NEXT_OF_CONDITION, NO_NEXT_OUTPUT, NO_NAME } mistake_t;

static void refuse_with(mistake_t mistake, const char* text) {
  TF_WhileParams p = begin(1);
  set_condition(&p, 1);
  p.body_outputs[0] = p.body_inputs[0];
  switch (mistake) {
    case NO_CONDITION: p.cond_output = kit_out(NULL, -1); break;
    case INT_CONDITION: p.cond_output = p.cond_inputs[0]; break;
    case FAR_CONDITION: p.cond_output = inputs[0]; break;
    case NO_OUTPUT: p.cond_output.index = 100; break;
    case NO_NEXT: p.body_outputs[0] = kit_out(NULL, -1); break;
    case FAR_NEXT: p.body_outputs[0] = inputs[0]; break;
    case NEXT_OF_CONDITION: p.body_outputs[0] = p.cond_inputs[0]; break;
    case NO_NEXT_OUTPUT: p.body_outputs[0].index = 7; break;
    case NO_NAME: p.name = NULL; break;
  }
  refuse(&p, text);
}

static void test_refusals(void** state) {
  refuse_with(NO_CONDITION, "TF_WhileParams `cond_output` field isn't set");
  refuse_with(INT_CONDITION,
              "BuildWhileLoop: 'cond' argument must return a boolean output, got int32");
  refuse_with(FAR_CONDITION, "Requested return tensor 'p0:0' not found in graph def");
  refuse_with(NO_OUTPUT,
              "Invalid return output 100 of node 'less_than', which has 1 output(s)");
  refuse_with(NO_NEXT, "TF_WhileParams `body_outputs[0]` field isn't set");
  refuse_with(FAR_NEXT, "Requested return tensor 'p0:0' not found in graph def");
  refuse_with(NEXT_OF_CONDITION, "not found in graph def");
  refuse_with(NO_NEXT_OUTPUT, "Invalid return output 7");
  refuse_with(NO_NAME, "TF_WhileParams `name` field is null");
}

static void test_types_that_change_are_refused(void** state) {
  TF_WhileParams p = begin(1);
  set_condition(&p, 1);
  p.body_outputs[0] = kit_out(kit_const_float(p.body_graph, "one", 1), 0);
  refuse(&p, "float");
}

// What is of another graph is no input of a part.
static void test_captures_are_refused(void** state) {
  TF_WhileParams p = begin(1);
  TF_OperationDescription* desc = TF_NewOperation(p.body_graph, "Neg", "neg");
  TF_AddInput(desc, inputs[0]);
  assert_null(TF_FinishOperation(desc, status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  TF_AbortWhile(&p);
  assert_int_equal(kit_count(graph), 2);
}

static void test_beginnings_that_are_none(void** state) {
  TF_WhileParams p = TF_NewWhile(graph, inputs, 0, status);
  kit_expect_text(status, TF_INVALID_ARGUMENT, "TF_NewWhile() must be passed at least one input");
  assert_null(p.cond_graph);
  TF_FinishWhile(&p, status, outputs);
  kit_expect_text(status, TF_INVALID_ARGUMENT, "must be created by successful TF_NewWhile() call");
  TF_NewWhile(graph, inputs, -1, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  TF_Output wrong[] = {{inputs[0].oper, 3}, {NULL, 0}};
  TF_NewWhile(graph, wrong, 1, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  TF_NewWhile(graph, wrong + 1, 1, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  assert_int_equal(kit_count(graph), 2);
}

static void test_names_that_are_taken(void** state) {
  for (int i = 0; i < 2; ++i) {
    TF_WhileParams p = begin(1);
    set_condition(&p, 1);
    p.body_outputs[0] = p.body_inputs[0];
    if (i) {
      refuse(&p, "Duplicate node name");
    } else {
      finish(&p);
    }
  }
}

// The graph may be deleted before the parts of a loop in it.
static void test_parents_that_go_first(void** state) {
  TF_WhileParams p = begin(1);
  TF_DeleteGraph(graph);
  graph = TF_NewGraph();
  TF_AbortWhile(&p);
}

// ---- While operations that grow -----------------------------------------------------------------

static void test_inputs_are_added(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("C", ARG("a", "INT32") ARG("b", "FLOAT") OUT("r", "BOOL"),
                       DEF("n", "Const", , INT32("5"))
                       DEF("l", "Less", IN("a") IN("n:output:0"), TYPE("T", "INT32"))
                       RET("r", "l:z:0"))
      FUNCTION("B", ARG("a", "INT32") ARG("b", "FLOAT") OUT("p", "INT32") OUT("q", "FLOAT"),
               DEF("one", "Const", , INT32("1"))
               DEF("s", "AddV2", IN("a") IN("one:output:0"), TYPE("T", "INT32"))
               DEF("d", "AddV2", IN("b") IN("b"), TYPE("T", "FLOAT"))
               RET("p", "s:z:0") RET("q", "d:z:0")) END
      NODE("x", "Placeholder", , TYPE("dtype", "INT32")) NODE("y", "Const", , FLOAT("1.5"))
      NODE("w", "While", IN("x"), TYPES("T", "DT_INT32") FUNC("cond", "C") FUNC("body", "B")));
  TF_Output y = functions_output(&f, "y", 0), w = functions_output(&f, "w", 0);
  TF_AddWhileInputHack(f.graph, y, w.oper, f.status);
  kit_expect(f.status, TF_OUT_OF_RANGE);  // T says one
  TF_AddWhileInputHack(f.graph, y, y.oper, f.status);
  kit_expect(f.status, TF_INTERNAL);
  static const char two_types[] = {0x0a, 4, 0x32, 2, TF_INT32, TF_FLOAT};
  TF_Buffer* types = TF_NewBufferFromString(two_types, sizeof two_types);
  TF_SetAttr(f.graph, w.oper, "T", types, f.status);
  kit_ok(f.status);
  TF_DeleteBuffer(types);
  TF_AddWhileInputHack(f.graph, functions_output(&f, "x", 0), w.oper, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);  // int32, must be float
  TF_AddWhileInputHack(f.graph, y, w.oper, f.status);
  kit_ok(f.status);
  assert_int_equal(TF_OperationNumInputs(w.oper), 2);
  assert_int_equal(TF_OperationNumOutputs(w.oper), 2);
  assert_int_equal(TF_OperationOutputType(kit_out(w.oper, 1)), TF_FLOAT);
  TF_Tensor* result = functions_run(&f, "w", 1, kit_int32(2), NULL);
  assert_true(kit_float_of(result) == 12);
  TF_DeleteTensor(result);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
      TEST(a_loop),
      TEST(swapped_variables),
      TEST(a_condition_that_is_a_variable),
      TEST(a_loop_in_a_loop),
      TEST(two_loops_and_readers),
      TEST(shapes_that_grow),
      TEST(functions_in_the_parts),
      TEST(effects_in_the_body),
      TEST(refusals),
      TEST(types_that_change_are_refused),
      TEST(captures_are_refused),
      TEST(beginnings_that_are_none),
      TEST(names_that_are_taken),
      TEST(parents_that_go_first),
      TEST(inputs_are_added),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
