// Memory that runs out at the n-th allocation, for every n, while functions come into a graph, are
// made from one and run (inlined, lowered, by the function runtime), and while a loop is built:
// RESOURCE_EXHAUSTED, nothing is lost (under ASan), and trying again gives the right numbers. One
// graph calls functions in all these ways, and its one result is known. A failed import or loop
// must also leave the graph with the nodes that it had. Gradients and steps without functions are
// tried in memory_test.c.
#include "base/fault.h"
#include "capi/function_kit.h"
#include "hostile/case_file.h"

// y: a call, an If and two Whiles, 8 for x = 2.
static const char kGraph[] =
    LIBRARY FUNCTION("Inc", ARG("a", "INT32") OUT("r", "INT32"),
                     DEF("one", "Const", , INT32("1"))
                     DEF("s", "AddV2", IN("a") IN("one:output:0"), TYPE("T", "INT32"))
                     RET("r", "s:z:0"))
    FUNCTION("Twice", ARG("a", "INT32") OUT("r", "INT32"),
             DEF("i", "Inc", IN("a"), ) DEF("j", "PartitionedCall", IN("i:r:0"),
                                            TYPES("Tin", "DT_INT32") TYPES("Tout", "DT_INT32")
                                            FUNC("f", "Inc")) RET("r", "j:output:0"))
    FUNCTION("Five", ARG("a", "INT32") OUT("r", "BOOL"),
             DEF("n", "Const", , INT32("5"))
             DEF("l", "Less", IN("a") IN("n:output:0"), TYPE("T", "INT32")) RET("r", "l:z:0"))
    FUNCTION("Seven", ARG("a", "INT32") OUT("r", "BOOL"),
             DEF("n", "Const", , INT32("7"))
             DEF("l", "Less", IN("a") IN("n:output:0"), TYPE("T", "INT32")) RET("r", "l:z:0")) END
    NODE("x", "Placeholder", , TYPE("dtype", "INT32"))
    NODE("call", "Twice", IN("x"), )
    NODE("w", "While", IN("call"), TYPES("T", "DT_INT32") FUNC("cond", "Five") FUNC("body", "Inc"))
    NODE("wl", "While", IN("w"), TYPES("T", "DT_INT32") FUNC("cond", "Seven") FUNC("body", "Twice")
         LOWER)
    NODE("y", "If", IN("x") IN("wl"), TYPE("Tcond", "INT32") TYPES("Tin", "DT_INT32")
         TYPES("Tout", "DT_INT32") FUNC("then_branch", "Inc") FUNC("else_branch", "Twice"));

enum { EXPECTED = 8, MOST = 100000 };

static TF_Buffer* def;  // kGraph
static TF_Status* status;

static int set_up(void** state) {
  def = case_graph(leat_string_view_from(kGraph));
  status = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteBuffer(def);
  TF_DeleteStatus(status);
  return 0;
}

static bool is_ok(void) {
  if (TF_GetCode(status) == TF_OK) return true;
  kit_expect(status, TF_RESOURCE_EXHAUSTED);
  return false;
}

static bool import_graph(TF_Graph* graph) {
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  if (!options) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no options");
    return false;
  }
  TF_GraphImportGraphDef(graph, def, options, status);
  TF_DeleteImportGraphDefOptions(options);
  return is_ok();
}

static bool run(TF_Session* session, TF_Output x, TF_Output y, TF_Tensor* fed) {
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &x, &fed, 1, &y, &result, 1, NULL, 0, NULL, status);
  if (!is_ok()) return false;
  assert_int_equal(kit_int32_of(result), EXPECTED);
  TF_DeleteTensor(result);
  return true;
}

static void test_imports(void** state) {
  bool met = true;
  for (int64_t n = 1; met; ++n) {
    leat_fault_t fault;
    TF_Graph* graph = TF_NewGraph();
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    bool imported = import_graph(graph);
    met = leat_fault_remove(&fault);
    if (!imported) {
      assert_int_equal(TF_GraphNumFunctions(graph), 0);
      assert_true(import_graph(graph));
    }
    TF_DeleteGraph(graph);
    assert_true(n < MOST);
  }
}

static void test_steps(void** state) {
  TF_Tensor* two = kit_int32(2);
  bool met = true;
  for (int64_t n = 1; met; ++n) {
    leat_fault_t fault;
    TF_Graph* graph = TF_NewGraph();
    assert_true(import_graph(graph));
    TF_Output x = kit_out(TF_GraphOperationByName(graph, "x"), 0);
    TF_Output y = kit_out(TF_GraphOperationByName(graph, "y"), 0);
    TF_Session* session = kit_session(graph);
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    bool ran = run(session, x, y, two) && run(session, x, y, two);
    met = leat_fault_remove(&fault);
    assert_true(ran || met);
    assert_true(run(session, x, y, two));
    kit_close(session);
    TF_DeleteGraph(graph);
    assert_true(n < MOST);
  }
  TF_DeleteTensor(two);
}

static TF_Function* define(TF_Graph* graph, TF_Output in, TF_Output out) {
  TF_Function* function = TF_GraphToFunction(graph, "F", 1, -1, NULL, 1, &in, 1, &out, NULL, NULL,
                                             "described", status);
  if (!is_ok()) assert_null(function);
  return function;
}

static void test_definitions(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_INT32);
  TF_Output in = kit_out(x, 0), out = kit_out(kit_unary(graph, "Neg", "neg", x), 0);
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    TF_Function* found = NULL;
    TF_Graph* other = TF_NewGraph();
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    TF_Function* function = define(graph, in, out);
    if (function) {
      TF_GraphCopyFunction(other, function, function, status);
      if (is_ok()) TF_GraphGetFunctions(other, &found, 1, status);
      is_ok();
    }
    bool met = leat_fault_remove(&fault);
    TF_DeleteFunction(found);
    TF_DeleteFunction(function);
    TF_DeleteGraph(other);
    if (!met) break;
    assert_true(n < MOST);
  }
  TF_DeleteGraph(graph);
}

// while (v < 10) v += 3, built under a fault. Nodes of the parts are the test's own.
static TF_Output build_loop(TF_Graph* graph, TF_Output start, leat_fault_t* fault, int64_t n,
                            bool* out_met) {
  TF_Output end = {NULL, 0};
  leat_fault_install(fault, LEAT_FAULT_ALLOCATION, n);
  TF_WhileParams p = TF_NewWhile(graph, &start, 1, status);
  *out_met = leat_fault_remove(fault);
  if (!is_ok()) return end;
  p.name = "loop";
  TF_Operation* ten = kit_const_int32(p.cond_graph, "ten", 10);
  p.cond_output =
      kit_out(kit_binary(p.cond_graph, "Less", "less", p.cond_inputs[0].oper, ten), 0);
  TF_Operation* three = kit_const_int32(p.body_graph, "three", 3);
  p.body_outputs[0] =
      kit_out(kit_binary(p.body_graph, "AddV2", "add", p.body_inputs[0].oper, three), 0);
  leat_fault_install(fault, LEAT_FAULT_ALLOCATION, n);
  TF_FinishWhile(&p, status, &end);
  *out_met |= leat_fault_remove(fault);
  if (!is_ok()) assert_null(end.oper);
  return end;
}

static void test_loops(void** state) {
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    bool met, ignored;
    TF_Graph* graph = TF_NewGraph();
    TF_Output start = kit_out(kit_placeholder(graph, "start", TF_INT32), 0);
    TF_Output end = build_loop(graph, start, &fault, n, &met);
    if (!end.oper) {
      assert_int_equal(kit_count(graph), 1);  // what was begun is undone
      end = build_loop(graph, start, &fault, MOST, &ignored);
    }
    TF_Session* session = kit_session(graph);
    TF_Tensor* result = kit_run(session, start, kit_int32(2), end);
    assert_int_equal(kit_int32_of(result), 11);
    TF_DeleteTensor(result);
    kit_close(session);
    TF_DeleteGraph(graph);
    if (!met) break;
    assert_true(n < MOST);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
      TEST(imports),
      TEST(steps),
      TEST(definitions),
      TEST(loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
