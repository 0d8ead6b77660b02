// Contexts of leat/control_flow.h: which one is current, entered again and abandoned; loops of an
// imported graph; what is refused, with messages that name what does not fit, and then leaves the
// graph as it was; and memory that runs out while a loop is built. A context belongs to the thread
// that entered it, so one test builds a loop in a second thread meanwhile. Three hundred programs
// of random calls, with contexts and values from everywhere, check that each call does what it says
// or refuses, and that the graph can be exported and read again. Loops and conditionals that are
// built as they should be are run in control_flow_test.c.
#include <pthread.h>
#include <stdio.h>

#include "base/fault.h"
#include "client/flow_kit.h"

// ---- Contexts -----------------------------------------------------------------------------------

static void test_entering_and_leaving(void** state) {
  TF_Output x = flow_constant(3), i = flow_constant(0);
  assert_null(leat_flow_current(kit.graph));
  leat_flow_leave(kit.graph);  // does nothing
  leat_flow_context_t* loop = flow_begin("while", &i, 1);
  flow_body(loop, flow_less(i, x), &i);
  leat_flow_leave(kit.graph);  // nor here: the loop is left by its end
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  leat_flow_enter(kit.graph, NULL, kit.status);
  kit_ok(kit.status);
  assert_null(leat_flow_current(kit.graph));
  TF_Output outside = flow_mul(x, x);
  assert_null(leat_flow_of(outside.oper));
  assert_ptr_equal(TF_OperationInput((TF_Input){outside.oper, 0}).oper, x.oper);
  leat_flow_leave(kit.graph);
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  TF_Output next = flow_add(i, outside);
  assert_int_equal(flow_count("Enter", outside), 1);
  flow_end(loop, &next, 1);
  assert_float_equal(model_kit_scalar(next), 9, 0);
  // Later additions to a finished loop are in it, and capture as before.
  leat_flow_enter(kit.graph, loop, kit.status);
  kit_ok(kit.status);
  TF_Output late = flow_add(i, x);
  assert_ptr_equal(leat_flow_of(late.oper), loop);
  assert_int_equal(flow_count("Enter", x), 1);
  leat_flow_leave(kit.graph);
  assert_null(leat_flow_current(kit.graph));
  TF_Graph* other = TF_NewGraph();
  leat_flow_enter(other, loop, kit.status);
  kit_expect(kit.status, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(other);
}

// A whole loop, and an operation outside, added by another thread.
static void* build_beside(void* data) {
  TF_Output* results = data;
  TF_Output v = results[0];
  results[1] = flow_mul(v, v);
  leat_flow_context_t* loop = flow_begin("beside", &v, 1);
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  flow_body(loop, flow_less(v, flow_constant(100)), &v);
  TF_Output next = flow_mul(v, v);
  flow_end(loop, &next, 1);
  results[2] = next;
  return leat_flow_current(kit.graph);
}

static void test_threads_are_in_contexts_of_their_own(void** state) {
  TF_Output x = flow_constant(3), i = flow_constant(0), results[3] = {x};
  pthread_t thread;
  void* current = NULL;
  leat_flow_context_t* loop = flow_begin("while", &i, 1);
  flow_body(loop, flow_less(i, x), &i);
  assert_int_equal(pthread_create(&thread, NULL, build_beside, results), 0);
  pthread_join(thread, &current);
  assert_null(current);
  assert_null(leat_flow_of(results[1].oper));
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  TF_Output next = flow_add(i, results[1]);
  assert_ptr_equal(leat_flow_of(next.oper), loop);
  flow_end(loop, &next, 1);
  assert_float_equal(model_kit_scalar(next), 9, 0);
  assert_float_equal(model_kit_scalar(results[2]), 6561, 0);
}

static void test_abandoned_bodies(void** state) {
  TF_Output x = flow_constant(3), v[2] = {flow_constant(0), x}, w = v[0];
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  leat_flow_context_t* inner = flow_begin("while/while", &w, 1);
  leat_flow_context_t* branch = flow_choose("while/while/cond", flow_less(w, x));
  flow_mul(x, w);
  leat_flow_enter(kit.graph, NULL, kit.status);
  leat_flow_abandon(inner);  // with the branch and what was entered in it
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  leat_while_body(inner, x, &w, kit.status);
  kit_expect_text(kit.status, TF_FAILED_PRECONDITION, "it is closed");
  assert_ptr_equal(leat_cond_else(branch, &x, 1, kit.status), branch);
  kit_expect_text(kit.status, TF_FAILED_PRECONDITION, "it is closed");
  leat_flow_abandon(branch);
  leat_flow_abandon(inner);
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  flow_body(loop, flow_less(v[0], x), v);
  branch = flow_choose("while/cond", flow_less(v[0], x));
  leat_flow_context_t* second = flow_else(branch, x);
  leat_flow_abandon(branch);  // is ended, but stands for the conditional
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  leat_flow_abandon(second);
  assert_ptr_equal(leat_flow_current(kit.graph), loop);
  leat_flow_abandon(loop);
  leat_flow_abandon(loop);
  leat_flow_abandon(NULL);
  assert_null(leat_flow_current(kit.graph));
  leat_while_end(loop, v, 2, v, kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  // The graph can be run, exported and built on; a second loop of the same name is another loop.
  assert_float_equal(model_kit_scalar(flow_mul(x, x)), 9, 0);
  model_kit_reopen();
  TF_Output i = flow_constant(0);
  loop = flow_begin("while", &i, 1);
  flow_body(loop, flow_less(i, x), &i);
  i = flow_add(i, x);
  flow_end(loop, &i, 1);
  assert_float_equal(model_kit_scalar(i), 3, 0);
  TF_Operation* enter = TF_GraphOperationByName(kit.graph, "while/Enter_2");
  char frame[64] = "";
  TF_OperationGetAttrString(enter, "frame_name", frame, sizeof frame, kit.status);
  kit_ok(kit.status);
  assert_memory_equal(frame, "while/while_context_1", 21);
}

static double power_in_c(double x) {
  double v = x;
  for (int i = 0; i < 5; ++i) v = v * x + i;
  return v;
}
static TF_Output power(TF_Output x) {
  TF_Output v[2] = {flow_constant(0), x}, limit = flow_constant(5), one = flow_constant(1);
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  flow_body(loop, flow_less(v[0], limit), v);
  TF_Output next = flow_add(flow_mul(v[1], x), v[0]);
  v[0] = flow_add(v[0], one);
  v[1] = next;
  flow_end(loop, v, 2);
  return v[1];
}

// A loop that was imported has the frame that a new one would have taken.
static void test_a_frame_of_an_imported_loop_is_not_shared(void** state) {
  power(kit_out(kit_placeholder(kit.graph, "x", TF_DOUBLE), 0));
  TF_Buffer* def = TF_NewBuffer();
  TF_GraphToGraphDef(kit.graph, def, kit.status);
  kit_ok(kit.status);
  leat_scope_free(kit.scope);
  TF_DeleteGraph(kit.graph);
  kit.graph = TF_NewGraph();
  kit.scope = leat_scope_create(kit.graph);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(kit.graph, def, options, kit.status);
  kit_ok(kit.status);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(def);
  TF_Output i = flow_constant(0), three = flow_constant(3);
  leat_flow_context_t* loop = flow_begin("while", &i, 1);
  flow_body(loop, flow_less(i, three), &i);
  i = flow_add(i, three);
  flow_end(loop, &i, 1);
  char frame[64] = "";
  TF_OperationGetAttrString(TF_GraphOperationByName(kit.graph, "while/Enter_2"), "frame_name",
                            frame, sizeof frame, kit.status);
  kit_ok(kit.status);
  assert_memory_equal(frame, "while/while_context_1", 21);
  TF_Output x = kit_out(TF_GraphOperationByName(kit.graph, "x"), 0);
  TF_Output both =
      flow_add(i, kit_out(TF_GraphOperationByName(kit.graph, "while/Exit_1"), 0));
  TF_Session* session = kit_session(kit.graph);
  const double at = 1.5;
  TF_Tensor* sum = kit_run(session, x, kit_tensor(TF_DOUBLE, 0, NULL, &at, sizeof at), both);
  assert_float_equal(*(double*)TF_TensorData(sum), power_in_c(at) + 3, 1e-9);
  TF_DeleteTensor(sum);
  kit_close(session);
}

// y = x c with c = 3 is imported into a body and into a branch: the constant waits for the pivot, x
// is mapped to a value outside.
static TF_Output import_triple(const TF_Buffer* def, const char* prefix, TF_Output x) {
  TF_Output y = {NULL, 0};
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(options, prefix);
  TF_ImportGraphDefOptionsAddInputMapping(options, "x", 0, x);
  TF_ImportGraphDefOptionsAddReturnOutput(options, "Mul", 0);
  TF_GraphImportGraphDefWithReturnOutputs(kit.graph, def, options, &y, 1, kit.status);
  kit_ok(kit.status);
  TF_DeleteImportGraphDefOptions(options);
  return y;
}

static void test_an_import_into_a_context(void** state) {
  TF_Graph* source = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(source);
  const double three = 3;
  TF_Output in = leat_placeholder(s, "x", TF_DOUBLE, 0, NULL);
  leat_multiply(s, in, leat_constant(s, TF_DOUBLE, 0, NULL, &three));
  TF_Buffer* def = TF_NewBuffer();
  TF_GraphToGraphDef(source, def, kit.status);
  kit_ok(kit.status);
  leat_scope_free(s);
  TF_DeleteGraph(source);
  TF_Output x = flow_constant(2), v[2] = {flow_constant(0), x}, limit = flow_constant(4);
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  flow_body(loop, flow_less(v[0], limit), v);
  TF_Output y = import_triple(def, "a", x);
  assert_ptr_equal(leat_flow_of(y.oper), loop);
  assert_int_equal(flow_count("Enter", x), 2);  // its first value, and the capture
  assert_true(flow_waits(TF_GraphOperationByName(kit.graph, "a/Const"), "while/Identity"));
  leat_flow_context_t* branch = flow_choose("while/cond", flow_less(v[0], x));
  branch = flow_else(branch, import_triple(def, "b", y));
  assert_true(flow_waits(TF_GraphOperationByName(kit.graph, "b/Const"), "while/cond/switch_t"));
  v[1] = flow_add(v[1], flow_merged(branch, v[0]));
  v[0] = flow_add(v[0], flow_constant(1));
  flow_end(loop, v, 2);
  assert_float_equal(model_kit_scalar(v[1]), 2 + 18 + 18 + 2 + 3, 0);
  TF_DeleteBuffer(def);
}

// ---- What is refused ----------------------------------------------------------------------------

static void expect_refused(TF_Code code, const char* text) {
  kit_expect_text(kit.status, code, text);
  TF_SetStatus(kit.status, TF_OK, "");
}

static void test_wrong_results_of_a_loop(void** state) {
  const double pair[2] = {1, 2};
  TF_Output x = flow_constant(3);
  TF_Output two = leat_constant(kit.scope, TF_DOUBLE, 1, (int64_t[]){2}, pair);
  TF_Output v[2] = {flow_constant(0), two}, out[2];
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  leat_while_body(loop, x, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "must be a scalar bool");
  leat_while_body(loop, flow_less(v[1], two), out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "must be a scalar bool");
  flow_body(loop, flow_less(v[0], x), v);
  int before = kit_count(kit.graph);
  leat_while_end(loop, v, 1, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "result count is 1, must be 2");
  TF_Output number = leat_constant_int(kit.scope, 1);
  leat_while_end(loop, (TF_Output[]){number, v[1]}, 2, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT,
                 "result is int32, must be double as loop variable 'Const_2:0'");
  leat_while_end(loop, (TF_Output[]){v[0], v[0]}, 2, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT,
                 "'Const_1:0' enters the loop with shape [2], but has shape [] after one iteration "
                 "(result 'while/Identity:0')");
  leat_while_end(loop, (TF_Output[]){v[0], {NULL, 0}}, 2, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "operation is NULL");
  assert_int_equal(kit_count(kit.graph), before + 1);  // the constant |number|
  v[0] = flow_add(v[0], x);
  flow_end(loop, v, 2);  // it can still be ended
  TF_Output wrong = x;
  leat_flow_options_t options = {.ranks = (int[]){1}, .dims = (int64_t[]){-1}};
  before = kit_count(kit.graph);
  assert_null(leat_while_begin(kit.graph, "w", &wrong, 1, &options, out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "It enters the loop with shape [], but the specified shape "
                                      "invariant is [?]");
  assert_null(leat_while_begin(kit.graph, "w", &wrong, 0, NULL, out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "variable count is 0");
  options = (leat_flow_options_t){.maximum_iterations = x};
  assert_null(leat_while_begin(kit.graph, "w", &wrong, 1, &options, out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "must be int32 or int64");
  assert_int_equal(kit_count(kit.graph), before);
  assert_null(leat_flow_current(kit.graph));
}

static void test_wrong_results_of_a_conditional(void** state) {
  TF_Output x = flow_constant(3), number = leat_constant_int(kit.scope, 1), out[2];
  assert_null(leat_cond_begin(kit.graph, "cond", x, NULL, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "must be a scalar bool");
  leat_flow_context_t* branch = flow_choose("cond", flow_less(x, x));
  assert_ptr_equal(leat_cond_else(branch, NULL, 0, kit.status), branch);
  expect_refused(TF_INVALID_ARGUMENT, "result count is 0, must be >= 1");
  leat_cond_end(branch, &x, 1, out, kit.status);
  expect_refused(TF_FAILED_PRECONDITION, "it is a true branch, must be a false branch");
  leat_flow_context_t* second = flow_else(branch, x);
  assert_ptr_equal(leat_cond_else(second, &x, 1, kit.status), second);
  expect_refused(TF_FAILED_PRECONDITION, "it is a false branch");
  leat_cond_end(second, (TF_Output[]){x, x}, 2, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "has 2 results, must have 1");
  leat_cond_end(second, &number, 1, out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "Received double from the true branch ('cond/Switch_1:1') "
                                      "and int32 from the false branch");
  int before = kit_count(kit.graph);
  flow_merged(second, x);
  assert_int_equal(kit_count(kit.graph), before + 2);  // a Switch and a Merge
  assert_null(leat_flow_current(kit.graph));
}

static void test_wrong_places(void** state) {
  TF_Output x = flow_constant(3), i = x, j = x, out;
  leat_flow_context_t* loop = flow_begin("while", &i, 1);
  leat_while_end(loop, &i, 1, &out, kit.status);
  expect_refused(TF_FAILED_PRECONDITION, "it is its condition");
  TF_Output inside = flow_mul(i, i);
  flow_body(loop, flow_less(i, x), &i);
  leat_flow_enter(kit.graph, NULL, kit.status);
  leat_while_end(loop, &i, 1, &out, kit.status);
  expect_refused(TF_FAILED_PRECONDITION, "not the current context");
  leat_flow_leave(kit.graph);
  flow_end(loop, &i, 1);
  leat_flow_context_t* other = flow_begin("other", &j, 1);
  int before = kit_count(kit.graph);
  TF_OperationDescription* desc = TF_NewOperation(kit.graph, "Mul", "between");
  TF_AddInput(desc, x);  // is captured before the second is refused
  TF_AddInput(desc, inside);
  assert_null(TF_FinishOperation(desc, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "Cannot use 'Mul' as input to 'between' because they are in "
                                      "different while loops");
  assert_int_equal(kit_count(kit.graph), before);
  leat_flow_abandon(other);
  desc = TF_NewOperation(kit.graph, "Neg", "outside");
  TF_AddInput(desc, inside);
  assert_null(TF_FinishOperation(desc, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "because 'Mul' is in a while loop ('while/while_context')");
  assert_null(leat_while_begin(kit.graph, "third", &inside, 1, NULL, &out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "is in a while loop");
  assert_null(leat_flow_current(kit.graph));
  assert_null(leat_while_begin(NULL, "third", &x, 1, NULL, &out, kit.status));
  expect_refused(TF_INVALID_ARGUMENT, "graph is NULL");
  leat_while_body(NULL, x, &out, kit.status);
  expect_refused(TF_INVALID_ARGUMENT, "context is NULL");
}

// An operation that cannot be added takes back what was captured for it.
static void test_an_operation_that_fails_leaves_nothing(void** state) {
  TF_Output x = flow_constant(3), y = leat_constant_int(kit.scope, 2), i = flow_constant(0);
  leat_flow_context_t* loop = flow_begin("while", &i, 1);
  flow_body(loop, flow_less(i, x), &i);
  int before = kit_count(kit.graph);
  for (int k = 0; k < 2; ++k) {
    TF_OperationDescription* desc = TF_NewOperation(kit.graph, "MatMul", "wrong");
    TF_AddInput(desc, flow_constant(1));
    TF_AddInput(desc, y);
    assert_null(TF_FinishOperation(desc, kit.status));
    kit_expect(kit.status, TF_INVALID_ARGUMENT);
  }
  assert_int_equal(kit_count(kit.graph), before + 2);  // the constants
  assert_null(TF_GraphOperationByName(kit.graph, "wrong/Enter"));
  TF_Output next = flow_add(i, leat_cast(kit.scope, y, TF_DOUBLE));
  flow_end(loop, &next, 1);
  assert_int_equal(flow_count("Enter", y), 1);
  assert_float_equal(model_kit_scalar(next), 4, 0);
}

// Calls in any order, with contexts that are open, ended or NULL and values from everywhere: each
// does what it says or refuses, and the graph stays one that can be exported and read again.
typedef struct pool_s {
  leat_flow_context_t* contexts[64];
  TF_Output values[64];
  int context_count, value_count;
  uint32_t random;
} pool_t;

static uint32_t draw(pool_t* pool, uint32_t count) {
  pool->random = pool->random * 1664525u + 1013904223u;
  return (pool->random >> 8) % count;
}

// Half of them are the number or, where |decides|, the bool from which everything is made, so that
// many calls are accepted.
static TF_Output any_value(pool_t* pool, bool decides) {
  if (draw(pool, 2)) return pool->values[decides];
  return pool->values[draw(pool, (uint32_t)pool->value_count)];
}

static leat_flow_context_t* any_context(pool_t* pool) {
  // Mostly the current one, so that constructs are also finished.
  if (draw(pool, 4) > 0) return leat_flow_current(kit.graph);
  return pool->contexts[draw(pool, (uint32_t)pool->context_count)];
}

static void keep_value(pool_t* pool, TF_Output value) {
  if (value.oper && pool->value_count < 64) pool->values[pool->value_count++] = value;
}

static void keep_context(pool_t* pool, leat_flow_context_t* context) {
  if (context && pool->context_count < 64) pool->contexts[pool->context_count++] = context;
}

// An operation over values of any context; most mixtures are refused, and none may crash.
static void add_anything(pool_t* pool, int step) {
  char name[32];
  snprintf(name, sizeof name, "op%d", step);
  bool compares = draw(pool, 2);
  TF_OperationDescription* desc = TF_NewOperation(kit.graph, compares ? "Less" : "AddV2", name);
  TF_AddInput(desc, any_value(pool, false));
  TF_AddInput(desc, any_value(pool, false));
  if (draw(pool, 3) == 0) TF_AddControlInput(desc, any_value(pool, false).oper);
  keep_value(pool, (TF_Output){TF_FinishOperation(desc, kit.status), 0});
}

// One of the calls with whatever contexts and values the pool has, also those that are closed.
static void call_anything(pool_t* pool, int step) {
  TF_Output in[2] = {any_value(pool, false), any_value(pool, false)}, out[2] = {{NULL, 0}};
  const TF_Output predicate = any_value(pool, true);
  leat_flow_context_t* context = any_context(pool);
  const int count = draw(pool, 4) ? 1 : 2;
  switch (draw(pool, 12)) {
    case 0:
      keep_context(pool,
                   leat_while_begin(kit.graph, "while", in, count, NULL, out, kit.status));
      break;
    case 1: leat_while_body(context, predicate, out, kit.status); break;
    case 2: leat_while_end(context, in, count, out, kit.status); break;
    case 3: keep_context(pool, leat_cond_begin(kit.graph, "c", predicate, NULL, kit.status)); break;
    case 4: keep_context(pool, leat_cond_else(context, in, count, kit.status)); break;
    case 5: leat_cond_end(context, in, count, out, kit.status); break;
    case 6: leat_flow_enter(kit.graph, context, kit.status); break;
    case 7: leat_flow_leave(kit.graph); break;
    case 8:
      if (draw(pool, 4) == 0) leat_flow_abandon(context);
      break;
    default: add_anything(pool, step);
  }
  keep_value(pool, out[0]);
  keep_value(pool, out[1]);
}

static void test_calls_in_any_order(void** state) {
  TF_Graph* const own = kit.graph;
  int finished = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    pool_t pool = {.context_count = 1, .random = seed};
    TF_Graph* graph = kit.graph = TF_NewGraph();
    leat_scope_t* s = leat_scope_create(graph);
    keep_value(&pool, leat_constant_float(s, 1));
    keep_value(&pool, leat_constant(s, TF_BOOL, 0, NULL, "\1"));
    leat_scope_free(s);
    for (int step = 0; step < 80; ++step) call_anything(&pool, step);
    while (leat_flow_current(graph)) {
      leat_flow_abandon(leat_flow_current(graph));
      leat_flow_leave(graph);
    }
    TF_Buffer* def = TF_NewBuffer();
    TF_GraphToGraphDef(graph, def, kit.status);
    kit_ok(kit.status);
    TF_Graph* again = TF_NewGraph();
    TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
    TF_GraphImportGraphDef(again, def, options, kit.status);
    kit_ok(kit.status);
    assert_int_equal(kit_count(again), kit_count(graph));
    finished += flow_count("Exit", (TF_Output){NULL, 0}) > 0;
    TF_DeleteImportGraphDefOptions(options);
    TF_DeleteBuffer(def);
    TF_DeleteGraph(again);
    TF_DeleteGraph(graph);
  }
  kit.graph = own;
  if (finished < 20) fail_msg("%d programs have a loop that was built to its end", finished);
}

// ---- Memory -------------------------------------------------------------------------------------

// Builds a loop with a conditional in it; false where memory ran out, and then all is abandoned.
static bool build_without_checks(TF_Graph* graph, leat_scope_t* s, TF_Output x, TF_Output* out) {
  TF_Status* status = kit.status;
  TF_Output v[2] = {x, x}, result;
  leat_flow_context_t* loop = leat_while_begin(graph, "while", v, 2, NULL, v, status);
  leat_flow_context_t* branch = NULL;
  if (!loop) return false;
  TF_Operation* decides = leat_operation(s, "Less", NULL, (TF_Output[]){v[0], x}, 2, NULL, 0);
  if (decides) leat_while_body(loop, (TF_Output){decides, 0}, v, status);
  if (decides && TF_GetCode(status) == TF_OK) {
    decides = leat_operation(s, "Less", NULL, (TF_Output[]){v[0], x}, 2, NULL, 0);
    if (decides) branch = leat_cond_begin(graph, "c", (TF_Output){decides, 0}, NULL, status);
    if (branch) branch = leat_cond_else(branch, &x, 1, status);
    bool is_ok = branch && TF_GetCode(status) == TF_OK;
    if (is_ok) leat_cond_end(branch, &v[1], 1, &result, status);
    if (is_ok && TF_GetCode(status) == TF_OK) {
      leat_while_end(loop, (TF_Output[]){v[0], result}, 2, out, status);
    }
  }
  bool built = leat_flow_current(graph) == NULL && TF_GetCode(status) == TF_OK;
  leat_flow_abandon(loop);
  return built;
}

static void test_memory_that_runs_out(void** state) {
  bool met = true;
  int64_t n = 1;
  for (; met; ++n) {
    TF_Graph* graph = TF_NewGraph();
    leat_scope_t* s = leat_scope_create(graph);
    TF_Output x = leat_constant_float(s, 1), out[2];
    leat_fault_t fault;
    TF_SetStatus(kit.status, TF_OK, "");
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    bool built = build_without_checks(graph, s, x, out);
    met = leat_fault_remove(&fault);
    if (!met) assert_true(built);
    if (!built && TF_GetCode(kit.status) != TF_OK) kit_expect(kit.status, TF_RESOURCE_EXHAUSTED);
    assert_null(leat_flow_current(graph));
    TF_SetStatus(kit.status, TF_OK, "");
    // The graph can be built on.
    leat_scope_t* again = leat_scope_create(graph);
    assert_true(build_without_checks(graph, again, x, out));
    TF_Session* session = kit_session(graph);
    TF_Tensor* value = kit_run(session, (TF_Output){NULL, 0}, NULL, out[1]);
    assert_float_equal(kit_float_of(value), 1, 0);
    TF_DeleteTensor(value);
    kit_close(session);
    leat_scope_free(again);
    leat_scope_free(s);
    TF_DeleteGraph(graph);
    assert_true(n < 10000);
  }
  assert_true(n > 30);  // as many allocations were met
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_entering_and_leaving),
      TEST(test_threads_are_in_contexts_of_their_own),
      TEST(test_abandoned_bodies),
      TEST(test_a_frame_of_an_imported_loop_is_not_shared),
      TEST(test_an_import_into_a_context),
      TEST(test_wrong_results_of_a_loop),
      TEST(test_wrong_results_of_a_conditional),
      TEST(test_wrong_places),
      TEST(test_an_operation_that_fails_leaves_nothing),
      TEST(test_calls_in_any_order),
      TEST(test_memory_that_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
