// What a master elsewhere tells of a step's graph (RunOptions.output_partition_graphs): the stages
// of compiling and the reasons of the placer, which come to the client in the answer to its step,
// beside the graphs of the devices. The step lies on three devices: "halved" on the second CPU of
// the master's own task, "squared" on the ps, and what the client fetches on the master's first.
// The master cuts it by task and its own part by device, and the stages must add up to all three
// graphs. A session that measures its steps keeps its plan and must tell the same; and a step may
// lie on the ps alone. What TensorFlow's programs make of the answer is tested by the oracle.
#include "capi/stage_kit.h"
#include "cluster/cluster_scene.h"
#include "formats/generated/step_stats.h"
#include "tensorflow/c/c_api.h"

#define SECOND_CPU "/job:worker/replica:0/task:0/device:CPU:1"
// As the program asks for them.
#define SECOND "/job:worker/device:CPU:1"
#define PS "/job:ps/device:CPU:0"

typedef struct client_s {
  cluster_scene_t* cluster;
  TF_Status* status;
  TF_Graph* graph;
  TF_Session* session;
  TF_Output x, last;
  TF_Operation* alone;
  TF_Buffer* encoded;
  leat_arena_t arena;
  leat_pb_run_metadata_t metadata;
} client_t;

static client_t client;

static void expect_ok(void) { assert_string_equal(TF_Message(client.status), ""); }

static TF_Output add(const char* op, const char* name, const char* device, TF_Output input,
                     TF_Output other) {
  TF_OperationDescription* description = TF_NewOperation(client.graph, op, name);
  TF_SetDevice(description, device);
  TF_AddInput(description, input);
  if (other.oper) TF_AddInput(description, other);
  TF_Operation* operation = TF_FinishOperation(description, client.status);
  expect_ok();
  return (TF_Output){operation, 0};
}

static TF_Output add_constant(const char* name, const char* device, float value) {
  TF_Tensor* tensor = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof value);
  *(float*)TF_TensorData(tensor) = value;
  TF_OperationDescription* description = TF_NewOperation(client.graph, "Const", name);
  TF_SetAttrTensor(description, "value", tensor, client.status);
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_SetDevice(description, device);
  TF_DeleteTensor(tensor);
  TF_Operation* operation = TF_FinishOperation(description, client.status);
  expect_ok();
  return (TF_Output){operation, 0};
}

// last = square(x * (2 + 3) / 2) + 10 + 1.
static void build(void) {
  const TF_Output none = {0};
  TF_OperationDescription* description = TF_NewOperation(client.graph, "Placeholder", "x");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  client.x = (TF_Output){TF_FinishOperation(description, client.status), 0};
  expect_ok();
  TF_Output five = add("AddV2", "five", "", add_constant("two", "", 2),
                       add_constant("three", "", 3));
  TF_Output scaled = add("Mul", "scaled", CLUSTER_WORKER_CPU, client.x, five);
  TF_Output halved = add("Mul", "halved", SECOND, scaled, add_constant("half", "", 0.5f));
  TF_Output squared = add("Square", "squared", PS, halved, none);
  TF_Output shifted = add("AddV2", "shifted", PS, squared, add_constant("ten", PS, 10));
  client.last = add("AddV2", "last", CLUSTER_WORKER_CPU, shifted, add_constant("one", "", 1));
  add("Neg", "unneeded", "", squared, none);
  // A target that needs nothing of the master's task.
  description = TF_NewOperation(client.graph, "VarHandleOp", "handle");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_SetAttrShape(description, "shape", NULL, -1);
  TF_SetDevice(description, PS);
  TF_Output handle = {TF_FinishOperation(description, client.status), 0};
  client.alone = add("VarIsInitializedOp", "alone", PS, handle, none).oper;
}

static int set_up(void** state) {
  client = (client_t){0};
  if (cluster_scene_set_up_with(state, &(cluster_options_t){.cpus = 2})) return 1;
  client.cluster = *state;
  client.status = TF_NewStatus();
  client.graph = TF_NewGraph();
  leat_arena_initialize(leat_allocator_system(), 0, &client.arena);
  build();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteBuffer(client.encoded);
  TF_DeleteSession(client.session, client.status);
  TF_DeleteGraph(client.graph);
  TF_DeleteStatus(client.status);
  leat_arena_deinitialize(&client.arena);
  *state = client.cluster;
  return cluster_scene_tear_down(state);
}

// Opens a session at the master; |config| are bytes of a ConfigProto, or NULL.
static void open_session(const char* config) {
  char target[64];
  TF_SessionOptions* options = TF_NewSessionOptions();
  cluster_scene_target(client.cluster, CLUSTER_WORKER, true, target);
  TF_SetTarget(options, target);
  if (config) TF_SetConfig(options, config, strlen(config), client.status);
  client.session = TF_NewSession(client.graph, options, client.status);
  expect_ok();
  TF_DeleteSessionOptions(options);
}

// Runs the step, or |target| alone, with |options|, bytes of RunOptions.
static void run(const char* options, const TF_Operation* target) {
  const TF_Buffer asked = {.data = options, .length = strlen(options)};
  const float three = 3;
  TF_Tensor *fed = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof three), *fetched = NULL;
  memcpy(TF_TensorData(fed), &three, sizeof three);
  TF_DeleteBuffer(client.encoded);
  client.encoded = TF_NewBuffer();
  TF_SessionRun(client.session, &asked, &client.x, &fed, target ? 0 : 1, &client.last, &fetched,
                target ? 0 : 1, &target, target ? 1 : 0, client.encoded, client.status);
  expect_ok();
  if (fetched) assert_true(*(float*)TF_TensorData(fetched) == 67.25f);
  TF_DeleteTensor(fed);
  TF_DeleteTensor(fetched);
  stage_kit_read(client.encoded, &client.arena, &client.metadata);
}

static const char kAsked[] = {5 << 3, 1, 0};  // output_partition_graphs
static const char kTraced[] = {5 << 3, 1, 1 << 3, 3, 0};  // with FULL_TRACE
static const char kMeasures[] = {10 << 3 | 2, 2, 4 << 3, 1, 0};  // graph_options.build_cost_model

static void expect_device(const char* stage, const char* name, const char* device) {
  const leat_pb_node_def_t* node = stage_kit_node(stage_kit_find(&client.metadata, stage), name);
  assert_non_null(node);
  assert_true(leat_string_view_equals(node->device, device));
}

// What is told of the step on three devices.
static void expect_story(void) {
  const leat_pb_run_metadata_t* metadata = &client.metadata;
  assert_true(stage_kit_expect_sum(metadata, 3) > 10);
  const stage_t* prune = stage_kit_find(metadata, "prune");
  assert_ptr_equal(prune, &metadata->graph_stages.items[0]);
  assert_non_null(stage_kit_node(prune, "five"));
  assert_null(stage_kit_node(prune, "unneeded"));
  assert_true(stage_kit_is_removed(stage_kit_find(metadata, "fold"), "five"));
  expect_device("place", "halved", SECOND_CPU);
  expect_device("place", "squared", CLUSTER_PS_CPU);
  // The cut by task adds transfers and takes nothing away; the master's own part is cut later, and
  // what the ps got stays as it is.
  const stage_t* tasks = stage_kit_find(metadata, "partition_tasks");
  assert_true(tasks->node.count >= 4);
  assert_true(stage_kit_find(metadata, "partition") > tasks);
  for (const stage_t* stage = tasks;
       stage < metadata->graph_stages.items + metadata->graph_stages.count; ++stage) {
    assert_false(stage_kit_is_removed(stage, "squared"));
  }
  stage_kit_expect_reason(metadata, "squared", "asked for", "");
  stage_kit_expect_reason(metadata, "halved", "asked for", "");
  assert_int_equal(metadata->placement->devices.count, 4);
  assert_true(leat_string_view_equals(metadata->placement->placer, "simple"));
}

static const leat_pb_node_exec_stats_t* find_statistics(const char* device, const char* node) {
  assert_non_null(client.metadata.step_stats);
  const leat_pb_device_step_stats_list_t* devices = &client.metadata.step_stats->dev_stats;
  for (size_t d = 0; d < devices->count; ++d) {
    if (!leat_string_view_equals(devices->items[d].device, device)) continue;
    for (size_t i = 0; i < devices->items[d].node_stats.count; ++i) {
      const leat_pb_node_exec_stats_t* stats = &devices->items[d].node_stats.items[i];
      if (leat_string_view_equals(stats->node_name, node)) return stats;
    }
  }
  fail_msg("there are no statistics of '%s' on %s", node, device);
  return NULL;
}

static void stages_come_from_the_master(void** state) {
  open_session(NULL);
  for (int is_traced = 0; is_traced < 2; ++is_traced) {
    run(is_traced ? kTraced : kAsked, NULL);
    assert_int_equal(client.metadata.step_stats != NULL, is_traced);
    expect_story();
  }
}

static void sessions_that_measure_tell_too(void** state) {
  open_session(kMeasures);
  for (int i = 0; i < 2; ++i) {
    run(kAsked, NULL);
    expect_story();
  }
}

// Nothing is left to the master then but what it gave away.
static void a_step_may_lie_elsewhere(void** state) {
  for (int measures = 0; measures < 2; ++measures) {
    if (measures) {
      TF_CloseSession(client.session, client.status);
      TF_DeleteSession(client.session, client.status);
    }
    open_session(measures ? kMeasures : NULL);
    run(kAsked, client.alone);
    assert_int_equal(stage_kit_expect_sum(&client.metadata, 1), 2);
    stage_kit_expect_reason(&client.metadata, "alone", "asked for", "");
  }
}

// Constants run nowhere, but the statistics tell them, those that folding made too, on the devices
// of their readers; they take no time.
static void statistics_have_constants(void** state) {
  static const struct {
    const char *node, *device;
  } kWanted[] = {{"five/_folded", CLUSTER_WORKER_CPU}, {"half", SECOND_CPU},
                 {"one", CLUSTER_WORKER_CPU}, {"ten", CLUSTER_PS_CPU}};
  open_session(NULL);
  run(kTraced, NULL);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kWanted); ++i) {
    const leat_pb_node_exec_stats_t* found =
        find_statistics(kWanted[i].device, kWanted[i].node);
    assert_int_equal(found->op_end_rel_nanos, 0);
    assert_true(found->all_start_nanos > 0);
    assert_int_equal(found->output.count, 1);
    const leat_pb_tensor_description_t* value = found->output.items[0].tensor_description;
    assert_int_equal(value->dtype, TF_FLOAT);
    assert_int_equal(value->allocation_description->requested_bytes, sizeof(float));
    assert_true(leat_string_view_ends_with(found->timeline_label, LEAT_SV(" = Const()")));
  }
}

// What nobody asks for is neither made nor sent.
static void steps_are_silent_unless_asked(void** state) {
  static const char kStatistics[] = {1 << 3, 3, 0};
  open_session(NULL);
  run(kStatistics, NULL);
  assert_non_null(client.metadata.step_stats);
  assert_int_equal(client.metadata.graph_stages.count, 0);
  assert_int_equal(client.metadata.partition_graphs.count, 0);
  assert_null(client.metadata.placement);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(stages_come_from_the_master),
      TEST(sessions_that_measure_tell_too),
      TEST(a_step_may_lie_elsewhere),
      TEST(statistics_have_constants),
      TEST(steps_are_silent_unless_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
