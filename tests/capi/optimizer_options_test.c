// Each pass of the optimizer is an option of ConfigProto, with TensorFlow's names, and off when
// both places where TensorFlow rewrites graphs have it off (OptimizerOptions and RewriterConfig).
// One graph has work for several passes: two equal Exps, an Identity, a sum of constants, a Sin
// that is only waited for. A traced step tells how often each of the four ran, and the four digits
// are compared for each configuration, "1000" where all passes are on. A client's cycle must be
// refused before the first pass, whichever passes are on, because each of them relies on there
// being none.
#include <stdio.h>

#include "leat/inspect.h"
#include "paper/counter.h"

static TF_Graph* graph;
static TF_Status* status;
static TF_Output fetches[6];
static variable_t v;

// Two equal Exps; an Identity; a sum of constants; a Sin that is only waited for.
static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  v = paper_variable(graph, "v", 0.5f, NULL, NULL);
  TF_Operation* x = v.read.oper;
  fetches[0] = kit_out(kit_unary(graph, "Exp", "exp1", x), 0);
  fetches[1] = kit_out(kit_unary(graph, "Exp", "exp2", x), 0);
  fetches[2] = kit_out(kit_unary(graph, "Identity", "same", kit_unary(graph, "Cos", "cos", x)), 0);
  fetches[3] = kit_out(kit_binary(graph, "AddV2", "sum", kit_const_float(graph, "one", 1),
                                  kit_const_float(graph, "two", 2)), 0);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Tan", "tan");
  TF_AddInput(desc, v.read);
  fetches[4] = kit_out(paper_after(desc, kit_unary(graph, "Sin", "sin", x)), 0);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

static TF_Session* open_session(const char* config) {
  char text[300];
  snprintf(text, sizeof text, "graph_options { %s }", config);
  TF_Buffer* input = TF_NewBufferFromString(text, strlen(text));
  TF_Buffer* bytes = leat_message_from_text("ConfigProto", input, status);
  kit_ok(status);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, bytes->data, bytes->length, status);
  kit_ok(status);
  TF_Session* session = TF_NewSession(graph, options, status);
  kit_ok(status);
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(input);
  TF_DeleteBuffer(bytes);
  return session;
}

// Which nodes run in a session with that configuration: "Exp Identity AddV2 Sin", one digit each.
static void expect_runs(const char* config, const char* expected) {
  static const char* kTexts[] = {" = Exp(", " = Identity(", " = AddV2(", " = Sin("};
  char runs[5] = "";
  TF_Session* session = open_session(config);
  paper_run(session, v.initialize);
  for (int i = 0; i < 4; ++i) {
    runs[i] = (char)('0' + paper_traced(session, fetches, 5, kTexts[i]));
  }
  if (strcmp(runs, expected)) print_error("%s: %s\n", config, runs);
  assert_string_equal(runs, expected);
  kit_close(session);
}

#define L0 "optimizer_options { opt_level: L0 } "
#define META(text) "rewrite_options { " text " }"

static void test_options(void** state) {
  expect_runs("", "1000");
  expect_runs(L0, "1000");
  expect_runs(L0 META("disable_meta_optimizer: true"), "2111");
  expect_runs(META("disable_meta_optimizer: true"), "1101");
  expect_runs(L0 META("common_subgraph_elimination: OFF"), "2000");
  expect_runs(META("common_subgraph_elimination: OFF"), "1000");
  expect_runs(L0 META("constant_folding: OFF"), "1010");
  expect_runs(META("arithmetic_optimization: OFF"), "1100");
  expect_runs(META("dependency_optimization: OFF"), "1001");
  expect_runs(L0 META("optimizers: 'constfold' optimizers: 'dependency'"), "2100");
  expect_runs("optimizer_options { opt_level: L0 do_constant_folding: true } "
              META("disable_meta_optimizer: true"), "2101");
  expect_runs("optimizer_options { opt_level: L0 do_common_subexpression_elimination: true } "
              META("disable_meta_optimizer: true"), "1111");
  expect_runs("optimizer_options { max_folded_constant_in_bytes: 2 }", "1010");
}

// Each pass relies on there being no cycle, so that a client's is refused before the first of them,
// whichever passes run.
static void test_cycles(void** state) {
  static const char* const kConfigs[] = {
      "",
      L0 META("disable_meta_optimizer: true"),
      L0 META("optimizers: 'arithmetic'"),
      L0 META("optimizers: 'dependency'"),
  };
  TF_Operation* nothing[] = {kit_no_op(graph, "nothing"), kit_no_op(graph, "more")};
  TF_AddOperationControlInput(graph, nothing[0], nothing[1]);
  TF_AddOperationControlInput(graph, nothing[1], nothing[0]);
  TF_Operation* same = kit_unary(graph, "Identity", "itself", v.read.oper);
  TF_Operation* exp = kit_unary(graph, "Exp", "of_itself", same);
  TF_UpdateEdge(graph, kit_out(same, 0), (TF_Input){same, 0}, status);
  kit_ok(status);
  const TF_Output fetch = kit_out(exp, 0);
  for (size_t i = 0; i < sizeof kConfigs / sizeof *kConfigs; ++i) {
    TF_Session* session = open_session(kConfigs[i]);
    TF_Tensor* value = NULL;
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0,
                  (const TF_Operation* const*)nothing, 1, NULL, status);
    kit_expect_text(status, TF_INVALID_ARGUMENT, "cycle");
    TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &value, 1, NULL, 0, NULL, status);
    kit_expect_text(status, TF_INVALID_ARGUMENT, "cycle");
    kit_close(session);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_options, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cycles, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
