// What RunMetadata tells of a step that is run with output_partition_graphs, besides the graphs of
// its devices: what each stage of compiling made of the graph, and why each node is where it is.
// The graph has something for folding and for cse, a node that asks for its device, and a variable
// with what reads it. Stages are written as differences, so the first test puts them together and
// expects what the devices got, byte by byte; the other looks for reasons. The session has a CPU
// and a simulated accelerator, and both placers are tried.
#include "base/map.h"
#include "base/test.h"
#include "formats/generated/run_metadata.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "leat/inspect.h"
#include "paper/counter.h"

typedef leat_pb_run_metadata_graph_stage_t stage_t;

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

// Opens a session with |placer| and runs the step, whose RunMetadata becomes |metadata|.
static void run(const char* placer) {
  static const char kAsked[] = {5 << 3, 1};  // RunOptions.output_partition_graphs
  const float ones[] = {1, 1, 1, 1};
  const int64_t dims[] = {2, 2};
  TF_SessionOptions* options = TF_NewSessionOptions();
  leat_set_placer(options, placer, status);
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
  LEAT_EXPECT_OK(leat_message_decode(&leat_pb_run_metadata_descriptor,
                                     leat_string_view_make(encoded->data, encoded->length),
                                     &arena, NULL, &metadata));
}

static const stage_t* stage_named(const char* name) {
  for (size_t i = 0; i < metadata.graph_stages.count; ++i) {
    const stage_t* stage = &metadata.graph_stages.items[i];
    if (leat_string_view_equals(stage->name, name)) return stage;
  }
  fail_msg("there is no stage '%s'", name);
  return NULL;
}

static const leat_pb_node_def_t* node_in(const stage_t* stage, const char* name) {
  for (size_t i = 0; i < stage->node.count; ++i) {
    if (leat_string_view_equals(stage->node.items[i].name, name)) return &stage->node.items[i];
  }
  return NULL;
}

static bool is_removed(const stage_t* stage, const char* name) {
  for (size_t i = 0; i < stage->removed.count; ++i) {
    if (leat_string_view_equals(stage->removed.items[i], name)) return true;
  }
  return false;
}

static void expect_equal(const leat_pb_node_def_t* a, const leat_pb_node_def_t* b) {
  const leat_pb_node_def_t* nodes[] = {a, b};
  leat_string_builder_t bytes[2];
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &bytes[i]);
    LEAT_EXPECT_OK(leat_message_encode(&leat_pb_node_def_descriptor, nodes[i], &bytes[i]));
  }
  if (bytes[0].size != bytes[1].size || memcmp(bytes[0].data, bytes[1].data, bytes[0].size)) {
    fail_msg("node '%.*s' is another one", LEAT_SV_ARG(a->name));
  }
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&bytes[i]);
}

static void stages_add_up_to_what_the_devices_ran(void** state) {
  run("simple");
  leat_string_map_t nodes;
  leat_string_map_initialize(leat_allocator_system(), &nodes);
  for (size_t s = 0; s < metadata.graph_stages.count; ++s) {
    const stage_t* stage = &metadata.graph_stages.items[s];
    assert_true(stage->doc.size > 0);
    for (size_t i = 0; i < stage->removed.count; ++i) {
      uint64_t node;
      assert_true(leat_string_map_get(&nodes, stage->removed.items[i], &node) && node);
      LEAT_EXPECT_OK(leat_string_map_set(&nodes, stage->removed.items[i], 0));
    }
    for (size_t i = 0; i < stage->node.count; ++i) {
      LEAT_EXPECT_OK(leat_string_map_set(&nodes, stage->node.items[i].name,
                                         (uint64_t)(uintptr_t)&stage->node.items[i]));
    }
  }
  size_t left = 0, ran = 0;
  for (size_t i = 0; i < nodes.count; ++i) left += nodes.entries[i].value != 0;
  assert_int_equal(metadata.partition_graphs.count, 2);
  for (size_t g = 0; g < 2; ++g) {
    const leat_pb_graph_def_t* part = &metadata.partition_graphs.items[g];
    for (size_t i = 0; i < part->node.count; ++i, ++ran) {
      uint64_t node;
      assert_true(leat_string_map_get(&nodes, part->node.items[i].name, &node) && node);
      expect_equal((const leat_pb_node_def_t*)(uintptr_t)node, &part->node.items[i]);
    }
  }
  assert_int_equal(left, ran);
  leat_string_map_deinitialize(&nodes);
}

static void passes_show_what_they_did(void** state) {
  run("simple");
  const stage_t* prune = stage_named("prune");
  assert_ptr_equal(prune, &metadata.graph_stages.items[0]);
  assert_non_null(node_in(prune, "five"));
  assert_null(node_in(prune, "unneeded"));
  const stage_t* fold = stage_named("fold");
  assert_true(leat_string_view_equals(node_in(fold, "five/_folded")->op, "Const"));
  assert_true(is_removed(fold, "two") && is_removed(fold, "five"));
  assert_non_null(node_in(fold, "left"));  // it reads the folded constant
  assert_null(node_in(fold, "product"));  // it is as it was
  const stage_t* cse = stage_named("cse");
  assert_true(is_removed(cse, "left") != is_removed(cse, "right"));
  assert_non_null(node_in(cse, "sum"));
  const stage_t* place = stage_named("place");
  assert_true(leat_string_view_ends_with(node_in(place, "sum")->device, LEAT_SV("device:CPU:0")));
  assert_int_equal(place->removed.count, 0);
}

static const leat_pb_run_metadata_placement_node_t* placed(const char* name) {
  assert_non_null(metadata.placement);
  for (size_t i = 0; i < metadata.placement->node.count; ++i) {
    const leat_pb_run_metadata_placement_node_t* node = &metadata.placement->node.items[i];
    if (leat_string_view_equals(node->name, name)) return node;
  }
  fail_msg("nothing is said of '%s'", name);
  return NULL;
}

static void expect_reason(const char* name, const char* reason, const char* beside) {
  const leat_pb_run_metadata_placement_node_t* node = placed(name);
  if (!leat_string_view_equals(node->reason, reason)) {
    print_error("%s: %.*s\n", name, LEAT_SV_ARG(node->reason));
  }
  assert_true(leat_string_view_equals(node->reason, reason));
  assert_true(leat_string_view_equals(node->beside, beside));
}

// The step that is told of comes after another that placed the variable; it is told why that one
// placed it so.
static void the_simple_placer_has_reasons(void** state) {
  run("simple");
  expect_reason("sum", "asked for", "");
  expect_reason("variable", "preferred", "");
  expect_reason("product", "preferred", "");
  expect_reason("left", "with its group", "product");
  assert_int_equal(placed("product")->micros.count, 0);
  assert_true(leat_string_view_equals(metadata.placement->placer, "simple"));
  assert_int_equal(metadata.placement->devices.count, 2);
}

static void the_greedy_placer_has_times(void** state) {
  run("greedy");
  expect_reason("sum", "asked for", "");
  const leat_pb_run_metadata_placement_node_t* node = placed("product");
  expect_reason("product", "earliest end", "");
  assert_int_equal(node->micros.count, 2);
  assert_true(node->micros.items[0] > 0 && node->micros.items[1] > 0);
  assert_true(node->end_micros > 0);
  // What must run on the CPU has no time elsewhere.
  assert_true(placed("sum")->micros.items[0] > 0);
  assert_true(leat_string_view_equals(metadata.placement->placer, "greedy"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(stages_add_up_to_what_the_devices_ran, set_up, tear_down),
      cmocka_unit_test_setup_teardown(passes_show_what_they_did, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_simple_placer_has_reasons, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_greedy_placer_has_times, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
