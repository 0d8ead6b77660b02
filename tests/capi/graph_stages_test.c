// What RunMetadata tells of a step that is run with output_partition_graphs, besides the graphs of
// its devices: what each stage of compiling made of the graph, and why each node is where it is.
// The graph has something for folding and for cse, a node that asks for its device, and a variable
// with what reads it. Stages are written as differences, so the first test puts them together and
// expects what the devices got, byte by byte; others look for reasons. The session has a CPU and a
// simulated accelerator, and both placers are tried. That a session which measures its steps tells
// of the plan that it ran, and not of one by newer costs, is tested in cost_model_test.c; that a
// master elsewhere tells the same, in tests/cluster/client_stages_test.c.
#include "capi/stage_kit.h"
#include "leat/inspect.h"
#include "paper/counter.h"

static TF_Graph* graph;
static TF_Status* status;
static TF_Session* session;
static TF_Buffer* encoded;
static leat_arena_t arena;
static leat_pb_run_metadata_t metadata;
static TF_Output x, end;
static TF_Operation* start;

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  // end = (x * (2 + 3) + variable) of which the sum is asked for on the CPU, and once more.
  x = kit_out(kit_placeholder(graph, "x", TF_FLOAT), 0);
  TF_Operation* two = kit_const_float(graph, "two", 2);
  TF_Operation* three = kit_const_float(graph, "three", 3);
  TF_Operation* five = kit_binary(graph, "AddV2", "five", two, three);
  TF_OperationDescription* desc = TF_NewOperation(graph, "VariableV2", "variable");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", NULL, 0);
  TF_Operation* variable = kit_finish(desc);
  TF_Operation* read = kit_unary(graph, "Identity", "read", variable);
  // It must lie where a node that comes after it does.
  const void* beside = "loc:@left";
  const size_t length = strlen(beside);
  desc = TF_NewOperation(graph, "MatMul", "product");
  TF_AddInput(desc, x);
  TF_AddInput(desc, x);
  TF_SetAttrStringList(desc, "_class", &beside, &length, 1);
  TF_Operation* product = kit_finish(desc);
  TF_Operation* left = kit_binary(graph, "Mul", "left", product, five);
  TF_Operation* right = kit_binary(graph, "Mul", "right", product, five);
  desc = TF_NewOperation(graph, "AddV2", "sum");
  TF_AddInput(desc, kit_out(left, 0));
  TF_AddInput(desc, kit_out(right, 0));
  TF_SetDevice(desc, "/CPU:0");
  TF_Operation* sum = kit_finish(desc);
  end = kit_out(kit_binary(graph, "AddV2", "end", sum, read), 0);
  kit_unary(graph, "Neg", "unneeded", sum);
  start = kit_binary(graph, "Assign", "start", variable, two);
  return 0;
}

static int tear_down(void** state) {
  kit_close(session);
  TF_DeleteBuffer(encoded);
  encoded = NULL;
  leat_arena_deinitialize(&arena);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

// Opens a session with |placer| and |config|, a ConfigProto's bytes, or NULL, and runs the step,
// whose RunMetadata becomes |metadata|.
static void run(const char* placer, const char* config) {
  static const char kAsked[] = {5 << 3, 1};  // RunOptions.output_partition_graphs
  const float ones[] = {1, 1, 1, 1};
  const int64_t dims[] = {2, 2};
  TF_SessionOptions* options = TF_NewSessionOptions();
  leat_set_placer(options, placer, status);
  if (config) TF_SetConfig(options, config, strlen(config), status);
  leat_set_devices(options, "CPU:1,SIM:1", status);
  session = TF_NewSession(graph, options, status);
  TF_DeleteSessionOptions(options);
  kit_ok(status);
  const TF_Operation* target = start;
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, status);
  kit_ok(status);
  TF_Tensor *fed = kit_tensor(TF_FLOAT, 2, dims, ones, sizeof ones), *fetched;
  TF_Buffer* asked = TF_NewBufferFromString(kAsked, sizeof kAsked);
  encoded = TF_NewBuffer();
  TF_SessionRun(session, asked, &x, &fed, 1, &end, &fetched, 1, NULL, 0, encoded, status);
  kit_ok(status);
  assert_true(*(float*)TF_TensorData(fetched) == 22);
  TF_DeleteTensor(fed);
  TF_DeleteTensor(fetched);
  TF_DeleteBuffer(asked);
  stage_kit_read(encoded, &arena, &metadata);
}

static void stages_add_up_to_what_the_devices_ran(void** state) {
  run("simple", NULL);
  assert_true(stage_kit_expect_sum(&metadata, 2) > 5);
}

static void passes_show_what_they_did(void** state) {
  run("simple", NULL);
  const stage_t* prune = stage_kit_find(&metadata, "prune");
  assert_ptr_equal(prune, &metadata.graph_stages.items[0]);
  assert_non_null(stage_kit_node(prune, "five"));
  assert_null(stage_kit_node(prune, "unneeded"));
  const stage_t* fold = stage_kit_find(&metadata, "fold");
  assert_true(leat_string_view_equals(stage_kit_node(fold, "five/_folded")->op, "Const"));
  assert_true(stage_kit_is_removed(fold, "two") && stage_kit_is_removed(fold, "five"));
  assert_non_null(stage_kit_node(fold, "left"));  // it reads the folded constant
  assert_null(stage_kit_node(fold, "product"));  // it is as it was
  const stage_t* cse = stage_kit_find(&metadata, "cse");
  assert_true(stage_kit_is_removed(cse, "left") != stage_kit_is_removed(cse, "right"));
  assert_non_null(stage_kit_node(cse, "sum"));
  const stage_t* place = stage_kit_find(&metadata, "place");
  assert_true(leat_string_view_ends_with(stage_kit_node(place, "sum")->device,
                                         LEAT_SV("device:CPU:0")));
  assert_int_equal(place->removed.count, 0);
}

// The step that is told of comes after another that placed the variable; it is told why that one
// placed it so.
static void the_simple_placer_has_reasons(void** state) {
  run("simple", NULL);
  stage_kit_expect_reason(&metadata, "sum", "asked for", "");
  stage_kit_expect_reason(&metadata, "variable", "preferred", "");
  stage_kit_expect_reason(&metadata, "product", "preferred", "");
  stage_kit_expect_reason(&metadata, "left", "with its group", "product");
  assert_int_equal(stage_kit_placed(&metadata, "product")->micros.count, 0);
  assert_true(leat_string_view_equals(metadata.placement->placer, "simple"));
  assert_int_equal(metadata.placement->devices.count, 2);
}

static void the_greedy_placer_has_times(void** state) {
  run("greedy", NULL);
  stage_kit_expect_reason(&metadata, "sum", "asked for", "");
  const placed_t* node = stage_kit_placed(&metadata, "product");
  stage_kit_expect_reason(&metadata, "product", "earliest end", "");
  assert_int_equal(node->micros.count, 2);
  assert_true(node->micros.items[0] > 0 && node->micros.items[1] > 0);
  assert_true(node->end_micros > 0);
  // What must run on the CPU has no time elsewhere.
  assert_true(stage_kit_placed(&metadata, "sum")->micros.items[0] > 0);
  assert_true(leat_string_view_equals(metadata.placement->placer, "greedy"));
}

// A session that measures its steps keeps its plans, and tells of these what others tell.
static void a_session_that_measures_tells_the_same(void** state) {
  static const char kMeasures[] = {10 << 3 | 2, 2, 4 << 3, 1, 0};  // graph_options.build_cost_model
  for (int is_greedy = 0; is_greedy < 2; ++is_greedy) {
    if (is_greedy) {
      kit_close(session);
      TF_DeleteBuffer(encoded);
    }
    run(is_greedy ? "greedy" : "simple", kMeasures);
    assert_non_null(metadata.cost_graph);
    assert_true(stage_kit_expect_sum(&metadata, is_greedy ? 1 : 2) > 5);
    assert_ptr_equal(stage_kit_find(&metadata, "prune"), &metadata.graph_stages.items[0]);
    assert_true(stage_kit_is_removed(stage_kit_find(&metadata, "fold"), "five"));
    stage_kit_expect_reason(&metadata, "sum", "asked for", "");
    stage_kit_expect_reason(&metadata, "product", is_greedy ? "earliest end" : "preferred", "");
    assert_int_equal(stage_kit_placed(&metadata, "product")->micros.count, is_greedy ? 2 : 0);
    // The step placed the variable as it was left by another one, which had chosen freely.
    const char* reason = is_greedy ? "earliest end" : "preferred";
    stage_kit_expect_reason(&metadata, "variable", reason, "");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(stages_add_up_to_what_the_devices_ran, set_up, tear_down),
      cmocka_unit_test_setup_teardown(passes_show_what_they_did, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_simple_placer_has_reasons, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_greedy_placer_has_times, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_session_that_measures_tells_the_same, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
