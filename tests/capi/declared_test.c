// Ops that are only declared: their rows come from leat_module_declared.so when a graph first names
// one. Such a node can be added, inspected, exported and imported; a step that does not need it
// runs, and one that does is told its name.
#include "capi/kit.h"

static TF_Status* status;

// Sum = Neg(3) + 4 in a graph that also holds Twice = RiscAdd(3, 3).
static TF_Graph* make_graph(void) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* three = kit_const_float(graph, "three", 3);
  TF_Operation* four = kit_const_float(graph, "four", 4);
  kit_binary(graph, "AddV2", "sum", kit_unary(graph, "Neg", "neg", three), four);
  kit_binary(graph, "RiscAdd", "twice", three, three);
  return graph;
}

static TF_Tensor* fetch(TF_Graph* graph, const char* name) {
  TF_Session* session = kit_session(graph);
  TF_Output output = kit_out(TF_GraphOperationByName(graph, name), 0);
  TF_Tensor* value = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &value, 1, NULL, 0, NULL, status);
  TF_Status* kept = status;
  status = TF_NewStatus();
  kit_close(session);
  TF_DeleteStatus(status);
  status = kept;
  return value;
}

static void test_steps(void** state) {
  TF_Graph* graph = make_graph();
  TF_Tensor* sum = fetch(graph, "sum");
  kit_ok(status);
  assert_true(kit_float_of(sum) == 1);
  TF_DeleteTensor(sum);
  assert_null(fetch(graph, "twice"));
  kit_expect_text(status, TF_INVALID_ARGUMENT, "RiscAdd");
  TF_DeleteGraph(graph);
}

static void test_export_and_import(void** state) {
  TF_Graph* graph = make_graph();
  TF_Graph* again = TF_NewGraph();
  TF_Buffer* def = TF_NewBuffer();
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphToGraphDef(graph, def, status);
  kit_ok(status);
  TF_GraphImportGraphDef(again, def, options, status);
  kit_ok(status);
  TF_Operation* twice = TF_GraphOperationByName(again, "twice");
  assert_non_null(twice);
  assert_string_equal(TF_OperationOpType(twice), "RiscAdd");
  assert_int_equal(TF_OperationOutputType(kit_out(twice, 0)), TF_FLOAT);
  assert_int_equal(TF_GraphGetTensorNumDims(again, kit_out(twice, 0), status), -1);
  TF_Buffer* op_def = TF_NewBuffer();
  TF_GraphGetOpDef(again, "RiscAdd", op_def, status);
  kit_ok(status);
  assert_true(op_def->length > 0);
  TF_DeleteBuffer(op_def);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(def);
  TF_DeleteGraph(again);
  TF_DeleteGraph(graph);
}

static int set_up(void** state) {
  status = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteStatus(status);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_steps, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_export_and_import, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
