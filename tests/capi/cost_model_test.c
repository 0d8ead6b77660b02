// ConfigProto's graph_options.build_cost_model: a session measures its steps, places later
// signatures by what it measured, and tells it in RunMetadata.cost_graph. The graph has two
// products of matrices of unknown shape, which estimates put on one device and measurements on two;
// so the device of a node tells whether measurements were used. All is read from RunMetadata, as a
// client would. How costs are gathered is tested in src/graph/cost, and how the greedy placer uses
// them in src/master/greedy_test.c.
#include <stdio.h>

#include "capi/stage_kit.h"
#include "formats/wire/encode.h"
#include "leat/callable.h"
#include "leat/inspect.h"
#include "paper/counter.h"

static TF_Graph* graph;
static TF_Status* status;
static TF_Session* session;
// RunOptions.trace_level and output_partition_graphs.
static const char kAsked[] = {1 << 3, 3, 5 << 3, 1};

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

// A session with two CPUs and the greedy placer.
static void open_session(const char* graph_options) {
  char text[200];
  snprintf(text, sizeof text, "device_count { key: 'CPU' value: 2 } graph_options { %s }",
           graph_options);
  TF_Buffer* input = TF_NewBufferFromString(text, strlen(text));
  TF_Buffer* bytes = leat_message_from_text("ConfigProto", input, status);
  kit_ok(status);
  TF_SessionOptions* options = TF_NewSessionOptions();
  leat_set_placer(options, "greedy", status);
  TF_SetConfig(options, bytes->data, bytes->length, status);
  kit_ok(status);
  session = TF_NewSession(graph, options, status);
  kit_ok(status);
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(input);
  TF_DeleteBuffer(bytes);
}

// A step fed with |size| x |size| matrices; its RunMetadata.
static TF_Buffer* step(const TF_Output* feeds, int feed_count, int64_t size,
                       const TF_Output* fetches, int fetch_count) {
  TF_Tensor *fed[4], *fetched[4];
  int64_t dims[] = {size, size};
  TF_Buffer* options = TF_NewBufferFromString(kAsked, sizeof kAsked);
  TF_Buffer* metadata = TF_NewBuffer();
  for (int i = 0; i < feed_count; ++i) {
    fed[i] = TF_AllocateTensor(TF_FLOAT, dims, 2, (size_t)(size * size) * sizeof(float));
    memset(TF_TensorData(fed[i]), 0, TF_TensorByteSize(fed[i]));
  }
  TF_SessionRun(session, options, feeds, fed, feed_count, fetches, fetched, fetch_count, NULL, 0,
                metadata, status);
  kit_ok(status);
  for (int i = 0; i < feed_count; ++i) TF_DeleteTensor(fed[i]);
  for (int i = 0; i < fetch_count; ++i) TF_DeleteTensor(fetched[i]);
  TF_DeleteBuffer(options);
  return metadata;
}

// The node |name| of RunMetadata.cost_graph; absent where there is none.
static leat_message_view_t cost_of(const leat_message_t* metadata, const char* name) {
  leat_message_view_t costs = leat_message_child(leat_message_view(metadata), "cost_graph", 0);
  for (size_t i = 0; i < leat_message_count(costs, "node"); ++i) {
    leat_message_view_t node = leat_message_child(costs, "node", i);
    size_t size;
    const char* text = leat_message_string(node, "name", 0, &size);
    if (size == strlen(name) && !memcmp(text, name, size)) return node;
  }
  return (leat_message_view_t){NULL, NULL};
}

// Of the CPU that the step of |metadata| (deleted) had node |name| on.
static int cpu_of(TF_Buffer* metadata, const char* name) {
  leat_message_t* message = leat_message_open("RunMetadata", metadata, status);
  kit_ok(status);
  size_t size;
  const char* device = leat_message_string(cost_of(message, name), "device", 0, &size);
  assert_true(size > 0);
  int cpu = device[size - 1] - '0';
  leat_message_close(message);
  TF_DeleteBuffer(metadata);
  return cpu;
}

typedef struct towers_s {
  TF_Output inputs[2], products[2], sum, other;
} towers_t;

// Two products of matrices of unknown shape and the greater of them. They are estimated to be
// small: both together take less than the way from another device.
static towers_t towers(void) {
  towers_t t;
  for (int i = 0; i < 2; ++i) {
    TF_Operation* x = kit_placeholder(graph, i ? "y" : "x", TF_FLOAT);
    TF_Operation* product = kit_binary(graph, "MatMul", i ? "right" : "left", x, x);
    t.inputs[i] = kit_out(x, 0);
    t.products[i] = kit_out(product, 0);
  }
  t.sum = kit_out(kit_binary(graph, "Maximum", "sum", t.products[0].oper, t.products[1].oper), 0);
  t.other = kit_out(kit_unary(graph, "Neg", "other", t.products[0].oper), 0);
  return t;
}

static void measured_work_is_divided(void** state) {
  towers_t t = towers();
  open_session("build_cost_model: 1");
  for (int i = 0; i < 3; ++i) {
    TF_Buffer* before = step(t.inputs, 2, 512, &t.sum, 1);
    TF_Buffer* same = TF_NewBufferFromString(before->data, before->length);
    assert_int_equal(cpu_of(before, "left"), cpu_of(same, "right"));
  }
  const TF_Output more[] = {t.sum, t.other};
  TF_Buffer* after = step(t.inputs, 2, 512, more, 2);
  TF_Buffer* same = TF_NewBufferFromString(after->data, after->length);
  assert_int_not_equal(cpu_of(after, "left"), cpu_of(same, "right"));
}

static void callables_are_measured_too(void** state) {
  towers_t t = towers();
  open_session("build_cost_model: 1");
  leat_callable_t* callable =
      leat_callable_create(session, t.inputs, 2, &t.sum, 1, NULL, 0, status);
  kit_ok(status);
  int64_t dims[] = {512, 512};
  TF_Tensor* x = TF_AllocateTensor(TF_FLOAT, dims, 2, 512 * 512 * sizeof(float));
  memset(TF_TensorData(x), 0, TF_TensorByteSize(x));
  TF_Tensor *fed[] = {x, x}, *fetched;
  leat_callable_run_tensors(callable, fed, &fetched, status);
  kit_ok(status);
  TF_DeleteTensor(x);
  TF_DeleteTensor(fetched);
  leat_callable_free(callable);
  const TF_Output more[] = {t.sum, t.other};
  TF_Buffer* after = step(t.inputs, 2, 512, more, 2);
  TF_Buffer* same = TF_NewBufferFromString(after->data, after->length);
  assert_int_not_equal(cpu_of(after, "left"), cpu_of(same, "right"));
}

// "build_cost_model: N" is every N-th step of a signature, "build_cost_model_after" those left out
// before.
static void every_second_step_after_the_first(void** state) {
  static const bool kMeasured[] = {false, false, true, false, true, false};
  towers_t t = towers();
  open_session("build_cost_model: 2 build_cost_model_after: 1");
  for (size_t i = 0; i < sizeof kMeasured / sizeof *kMeasured; ++i) {
    TF_Buffer* metadata = step(t.inputs, 1, 8, t.products, 1);
    leat_message_t* message = leat_message_open("RunMetadata", metadata, status);
    kit_ok(status);
    assert_int_equal(leat_message_count(leat_message_view(message), "cost_graph"), kMeasured[i]);
    assert_int_equal(leat_message_count(leat_message_view(message), "step_stats"), 1);
    leat_message_close(message);
    TF_DeleteBuffer(metadata);
  }
}

static void a_cost_graph_tells_the_most(void** state) {
  towers_t t = towers();
  open_session("build_cost_model: 1");
  TF_DeleteBuffer(step(t.inputs, 1, 256, &t.other, 1));
  TF_Buffer* metadata = step(t.inputs, 1, 8, &t.other, 1);
  leat_message_t* message = leat_message_open("RunMetadata", metadata, status);
  kit_ok(status);
  leat_message_view_t left = cost_of(message, "left"), other = cost_of(message, "other");
  leat_message_view_t output = leat_message_child(left, "output_info", 0);
  leat_message_view_t shape = leat_message_child(output, "shape", 0);
  assert_true(leat_message_integer(left, "compute_cost", 0) > 0);
  assert_int_equal(leat_message_integer(output, "size", 0), 256 * 256 * 4);
  assert_int_equal(leat_message_integer(output, "dtype", 0), TF_FLOAT);
  assert_int_equal(leat_message_integer(output, "alias_input_port", 0), -1);
  assert_int_equal(leat_message_count(shape, "dim"), 2);
  assert_int_equal(
      leat_message_integer(leat_message_child(shape, "dim", 1), "size", 0), 256);
  leat_message_view_t input = leat_message_child(other, "input_info", 0);
  assert_int_equal(leat_message_integer(input, "preceding_node", 0),
                   leat_message_integer(left, "id", 0));
  leat_message_close(message);
  TF_DeleteBuffer(metadata);
}

// A variable's first signature places it; what would draw it elsewhere later goes without.
static void state_stays_where_it_is(void** state) {
  variable_t v = paper_variable(graph, "v", 3, NULL, NULL);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Neg", "far");
  TF_AddInput(desc, v.read);
  TF_SetDevice(desc, "/device:CPU:1");
  TF_Output far = kit_out(kit_finish(desc), 0);
  open_session("build_cost_model: 1");
  paper_run(session, v.initialize);
  assert_true(paper_fetch(session, far) == -3);
}

static size_t count_nodes(leat_message_view_t graph, const char* op) {
  size_t count = 0, size;
  for (size_t i = 0; i < leat_message_count(graph, "node"); ++i) {
    const char* text = leat_message_string(leat_message_child(graph, "node", i), "op", 0, &size);
    count += size == strlen(op) && !memcmp(text, op, size);
  }
  return count;
}

// What was measured since does not change what is told of a signature that was placed before.
static void partition_graphs_are_those_that_ran(void** state) {
  towers_t t = towers();
  open_session("build_cost_model: 1");
  for (int i = 0; i < 4; ++i) {
    TF_Buffer* metadata = step(t.inputs, 2, 512, &t.sum, 1);
    leat_message_t* message = leat_message_open("RunMetadata", metadata, status);
    kit_ok(status);
    assert_int_equal(leat_message_count(leat_message_view(message), "partition_graphs"), 1);
    leat_message_close(message);
    TF_DeleteBuffer(metadata);
  }
}

// Expects the same stages and the same placement, byte by byte.
static void expect_same_story(const leat_pb_run_metadata_t* a, const leat_pb_run_metadata_t* b) {
  const leat_pb_run_metadata_t* read[] = {a, b};
  leat_string_builder_t bytes[2];
  for (int i = 0; i < 2; ++i) {
    const leat_pb_run_metadata_t story = {.graph_stages = read[i]->graph_stages,
                                          .placement = read[i]->placement};
    leat_string_builder_initialize(leat_allocator_system(), &bytes[i]);
    LEAT_EXPECT_OK(leat_message_encode(&leat_pb_run_metadata_descriptor, &story, &bytes[i]));
  }
  assert_int_equal(bytes[0].size, bytes[1].size);
  assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&bytes[i]);
}

static bool are_together(const stage_t* stage) {
  return leat_string_view_equal(stage_kit_node(stage, "left")->device,
                                stage_kit_node(stage, "right")->device);
}

// The stages are those of the plan that ran. What was measured since would place it otherwise, as a
// new signature shows; and what is told of the old one does not change by a byte.
static void stages_are_of_the_plan_that_ran(void** state) {
  towers_t t = towers();
  const TF_Output more[] = {t.sum, t.other};
  leat_pb_run_metadata_t first, later;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  open_session("build_cost_model: 1");
  TF_Buffer* began = step(t.inputs, 2, 512, &t.sum, 1);
  stage_kit_read(began, &arena, &first);
  TF_Buffer* divided = step(t.inputs, 2, 512, more, 2);
  stage_kit_read(divided, &arena, &later);
  assert_false(are_together(stage_kit_find(&later, "place")));
  assert_true(stage_kit_expect_sum(&later, 2) > 5);
  const placed_t* measured = stage_kit_placed(&later, "left");
  assert_true(measured->micros.items[0] > stage_kit_placed(&first, "left")->micros.items[0]);
  TF_DeleteBuffer(divided);
  for (int i = 0; i < 3; ++i) {
    TF_Buffer* again = step(t.inputs, 2, 512, &t.sum, 1);
    stage_kit_read(again, &arena, &later);
    assert_true(are_together(stage_kit_find(&later, "place")));
    assert_true(stage_kit_expect_sum(&later, 1) > 3);
    expect_same_story(&first, &later);
    TF_DeleteBuffer(again);
  }
  TF_DeleteBuffer(began);
  leat_arena_deinitialize(&arena);
}

// RunOptions.output_partition_graphs: the graph that each device got, whether measured or not.
static void partition_graphs_are_told(void** state) {
  const char asked[] = {5 << 3, 1};
  TF_Output x = kit_out(kit_placeholder(graph, "x", TF_FLOAT), 0), far = x;
  for (int cpu = 0; cpu < 2; ++cpu) {
    TF_OperationDescription* desc = TF_NewOperation(graph, "Neg", cpu ? "far" : "near");
    TF_AddInput(desc, far);
    TF_SetDevice(desc, cpu ? "/device:CPU:1" : "/device:CPU:0");
    far = kit_out(kit_finish(desc), 0);
  }
  open_session("");
  TF_Tensor* fed = kit_float(2);
  TF_Buffer* options = TF_NewBufferFromString(asked, sizeof asked);
  TF_Buffer* metadata = TF_NewBuffer();
  TF_Tensor* value = NULL;
  TF_SessionRun(session, options, &x, &fed, 1, &far, &value, 1, NULL, 0, metadata, status);
  kit_ok(status);
  leat_message_t* message = leat_message_open("RunMetadata", metadata, status);
  kit_ok(status);
  leat_message_view_t view = leat_message_view(message);
  assert_int_equal(leat_message_count(view, "step_stats"), 0);
  assert_int_equal(leat_message_count(view, "partition_graphs"), 2);
  size_t sends = 0, receives = 0;
  for (size_t i = 0; i < 2; ++i) {
    leat_message_view_t part = leat_message_child(view, "partition_graphs", i);
    sends += count_nodes(part, "_Send") + count_nodes(part, "_HostSend");
    receives += count_nodes(part, "_Recv") + count_nodes(part, "_HostRecv");
  }
  assert_int_equal(sends, 1);
  assert_int_equal(receives, 1);
  leat_message_close(message);
  TF_DeleteTensor(fed);
  TF_DeleteTensor(value);
  TF_DeleteBuffer(options);
  TF_DeleteBuffer(metadata);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(measured_work_is_divided),
      TEST(callables_are_measured_too),
      TEST(every_second_step_after_the_first),
      TEST(a_cost_graph_tells_the_most),
      TEST(state_stays_where_it_is),
      TEST(partition_graphs_are_told),
      TEST(partition_graphs_are_those_that_ran),
      TEST(stages_are_of_the_plan_that_ran),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
