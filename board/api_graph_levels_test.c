// The graph page's addresses are asked by calling the request handler, without a socket
// (board/test_scene.h): the levels of the tree, one item, a search, and what is refused with which
// HTTP code. The log holds a three-node graph whose names contain "<", quotes and line breaks, and
// a traced step with one device's host and kernel times, since the page shows the larger view of
// both. Answers are compared as text because the page's script relies on their exact form. Four
// threads ask for three graphs while the store of parsed graphs keeps fewer than three, so a graph
// is evicted while another thread reads it.
#include <unistd.h>

#include "base/thread.h"
#include "board/test_scene.h"
#include "formats/generated/graph.h"
#include "formats/generated/run_metadata.h"

// A step: x took 5 microseconds, the product 7 on its device and 40 in kernels.
static void make_step(leat_string_builder_t* out) {
  leat_pb_allocator_memory_used_t memory = {.total_bytes = 640};
  leat_pb_node_exec_stats_t host[3] = {
      {.node_name = LEAT_SV("x"), .all_end_rel_micros = 5, .memory = {&memory, 1}},
      {.node_name = LEAT_SV("layer/<b>\"\n"), .all_end_rel_nanos = 7000},
      {.node_name = LEAT_SV("_SOURCE"), .all_end_rel_micros = INT64_MAX}};
  leat_pb_node_exec_stats_t kernel = {.node_name = LEAT_SV("layer/<b>\"\n:MatMul"),
                                      .all_end_rel_micros = 40};
  leat_pb_device_step_stats_t devices[3] = {
      {.device = LEAT_SV("/job:x/device:GPU:0"), .node_stats = {host, 3}},
      {.device = LEAT_SV("/device:GPU:0/stream:all"), .node_stats = {&kernel, 1}},
      {.device = LEAT_SV("/device:GPU:0/stream:14"), .node_stats = {&kernel, 1}}};
  leat_pb_step_stats_t stats = {.dev_stats = {devices, 3}};
  // "x" runs on one device, and what the optimizer made of the rest on another.
  leat_pb_node_def_t left = {.name = LEAT_SV("x"), .op = LEAT_SV("Placeholder"),
                             .device = LEAT_SV("/cpu:0")};
  leat_pb_node_def_t right = {.name = LEAT_SV("layer/fused"), .op = LEAT_SV("_FusedMatMul"),
                              .device = LEAT_SV("/gpu:0")};
  leat_pb_graph_def_t parts[2] = {{.node = {&left, 1}}, {.node = {&right, 1}}};
  leat_pb_run_metadata_t metadata = {.step_stats = &stats, .partition_graphs = {parts, 2}};
  leat_string_builder_initialize(leat_allocator_system(), out);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_run_metadata_descriptor, &metadata, out));
}

// A log with two events, the graph and a step.
static void write_graph(const char* run, leat_pb_node_def_t* nodes, size_t count) {
  leat_string_builder_t graph_bytes, step_bytes;
  leat_pb_graph_def_t graph = {.node = {nodes, count}};
  leat_string_builder_initialize(leat_allocator_system(), &graph_bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &graph, &graph_bytes));
  make_step(&step_bytes);
  leat_pb_tagged_run_metadata_t step = {.tag = LEAT_SV("step1"),
                                        .run_metadata = leat_string_builder_view(&step_bytes)};
  leat_pb_event_t events[2] = {
      {.wall_time = 1, .graph_def = leat_string_builder_view(&graph_bytes), .what_case = 4},
      {.wall_time = 2, .step = 1, .tagged_run_metadata = &step, .what_case = 8}};
  scene_write(run, events, 2);
  leat_string_builder_deinitialize(&graph_bytes);
  leat_string_builder_deinitialize(&step_bytes);
}

// Runs with graphs of one, two and three nodes.
static const char* const kRuns[] = {"one", "two", "three"};

static int start(void** state) {
  static leat_string_view_t inputs[2] = {LEAT_SV("layer/w:0"), LEAT_SV("x")};
  static leat_pb_tensor_shape_proto_dim_t dims[2] = {{.size = -1}, {.size = 10}};
  static leat_pb_tensor_shape_proto_t shape = {.dim = {dims, 2}};
  static leat_pb_attr_value_list_value_t shapes = {.shape = {&shape, 1}};
  static leat_pb_attr_value_t value = {.list = &shapes, .value_case = 1};
  static leat_pb_node_def_attr_entry_t attribute = {LEAT_SV("_output_shapes"), &value};
  leat_pb_node_def_t nodes[3] = {
      {.name = LEAT_SV("x"), .op = LEAT_SV("Placeholder"), .attr = {&attribute, 1}},
      {.name = LEAT_SV("layer/w"), .op = LEAT_SV("VariableV2"), .device = LEAT_SV("/gpu:0")},
      {.name = LEAT_SV("layer/<b>\"\n"), .op = LEAT_SV("MatMul"), .input = {inputs, 2}},
  };
  write_graph(".", nodes, 3);
  leat_file_system_t* files = leat_file_system_posix();
  for (int i = 0; i < 3; ++i) {
    LEAT_EXPECT_OK(leat_file_make_directories(files, test_path(kRuns[i])));
    write_graph(kRuns[i], nodes, (size_t)i + 1);
  }
  scene_start();
  return 0;
}

static int stop(void** state) {
  scene_stop();
  for (int i = 0; i < 3; ++i) {
    char name[64];
    snprintf(name, sizeof name, "%s/events.out.tfevents.1.host", kRuns[i]);
    unlink(test_path(name));
    rmdir(test_path(kRuns[i]));
  }
  return 0;
}

static void levels_are_answered(void** state) {
  assert_int_equal(scene_ask("/data/leat/graph/levels", "run=."), 200);
  scene_expect("{\"nodes\":3,\"edges\":2,\"missing\":0,\"devices\":[\"/gpu:0\",\"\"]");
  scene_expect("\"boxes\":[[1,0,");
  scene_expect("2,0,-1,0,0,0,0,\"layer\",\"\"]");
  scene_expect("1,0,\"[?,10]\",[");
  assert_null(strstr(scene.body, "\"item\":1"));
  assert_int_equal(scene_ask("/data/leat/graph/levels", "run=.&open=1,2,4000000"), 200);
  scene_expect("\"item\":1,");
  scene_expect("\"w\",\"VariableV2\"]");
  scene_expect("<b>\\\"\\n");
}

static void steps_are_told(void** state) {
  assert_int_equal(scene_ask("/data/leat/graph/levels", "run=.&open=1&steps=step1"), 200);
  scene_expect("\"x\",\"Placeholder\",5000,640]");
  scene_expect("\"MatMul\",40000,0]");
  scene_expect("\"layer\",\"\",40000,0]");
  assert_int_equal(scene_ask("/data/leat/graph/levels", "run=.&steps=step2"), 404);
}

static void what_the_devices_ran_is_a_graph(void** state) {
  const char* levels = "/data/leat/graph/levels";
  assert_int_equal(scene_ask(levels, "run=.&tag=step1&placed=1&open=1"), 200);
  scene_expect("{\"nodes\":2,\"edges\":0,\"missing\":0,\"devices\":[");
  scene_expect("\"/gpu:0\"");
  scene_expect("\"fused\",\"_FusedMatMul\"]");
  assert_int_equal(scene_ask("/data/leat/graph/item", "run=.&tag=step1&placed=1&name=layer/fused"),
                   200);
  scene_expect("\"device\":\"/gpu:0\"");
  assert_int_equal(scene_ask(levels, "run=.&tag=step1&placed=1&open=1&fused=1"), 200);
  scene_expect("\"fused\",\"_FusedMatMul\",0,0,0,0,1]");
  scene_expect("\"layer\",\"\",0,0,0,0,1]");
  assert_int_equal(scene_ask(levels, "run=.&open=1&fused=1"), 200);
  scene_expect("\"w\",\"VariableV2\",0,0,0,0,0]");
  assert_int_equal(scene_ask(levels, "run=.&tag=step2&placed=1"), 404);
  assert_int_equal(scene_ask(levels, "run=.&placed=1"), 200);  // without a tag, the run's graph
  scene_expect("{\"nodes\":3,");
}

static void one_item_is_told(void** state) {
  assert_int_equal(scene_ask("/data/leat/graph/item", "run=.&name=x"), 200);
  scene_expect("\"path\":\"x\",\"label\":\"x\"");
  scene_expect("[\"_output_shapes\",\"list { shape { dim { size: -1 } dim { size: 10 } } }\"]");
  scene_expect("\"outputs\":[[3,\"layer/<b>\\\"\\n\",0,\"[?,10]\",0]],\"outputs_total\":1");
  assert_int_equal(scene_ask("/data/leat/graph/item", "run=.&item=1"), 200);
  scene_expect("\"inputs\":[[4,\"x\",0,\"[?,10]\",0]],\"inputs_total\":1");
  scene_expect("\"ops\":[[\"VariableV2\",1],[\"MatMul\",1]]");
  scene_expect("\"device\":\"several\"");
  assert_int_equal(scene_ask("/data/leat/graph/item", "run=.&item=2"), 200);
  scene_expect("\"parents\":[[1,\"layer\"]]");
}

static void items_are_found(void** state) {
  assert_int_equal(scene_ask("/data/leat/graph/search", "run=.&q=LAYER/W"), 200);
  scene_expect("{\"items\":[[2,1,\"layer/w\",\"VariableV2\"]],\"total\":1}");
  assert_int_equal(scene_ask("/data/leat/graph/search", "run=.&q=matmul"), 200);
  scene_expect("\"total\":1}");
  assert_int_equal(scene_ask("/data/leat/graph/search", "run=.&q=nothing"), 200);
  scene_expect("{\"items\":[],\"total\":0}");
}

typedef struct asker_s {
  leat_thread_t thread;
  int first;
  bool was_wrong;
} asker_t;

// Asks for the graph of one run after the other; the store keeps fewer than there are.
static void ask_in_turn(void* data) {
  asker_t* asker = data;
  for (int i = 0; i < 60; ++i) {
    int run = (asker->first + i) % 3;
    char wanted[24], query[24];
    leat_arena_t arena;
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    board_request_t request = {.arena = &arena, .path = LEAT_SV("/data/leat/graph/levels")};
    board_response_t response = {.code = 200};
    snprintf(query, sizeof query, "run=%s", kRuns[run]);
    snprintf(wanted, sizeof wanted, "{\"nodes\":%d,", run + 1);
    leat_status_t status = board_query_parse(leat_string_view_from(query), &arena, &request.query);
    leat_string_builder_initialize(leat_allocator_system(), &response.body);
    board_api_handle(&scene.api, &request, &response);
    asker->was_wrong |= status != leat_ok_status() || response.code != 200 ||
                        strncmp(response.body.data, wanted, strlen(wanted)) != 0;
    leat_status_free(status);
    leat_string_builder_deinitialize(&response.body);
    leat_arena_deinitialize(&arena);
  }
}

static void many_ask_for_several_graphs(void** state) {
  asker_t askers[4];
  for (int i = 0; i < 4; ++i) {
    askers[i] = (asker_t){.first = i};
    LEAT_EXPECT_OK(leat_thread_start("asker", ask_in_turn, &askers[i], &askers[i].thread));
  }
  for (int i = 0; i < 4; ++i) {
    leat_thread_join(askers[i].thread);
    assert_false(askers[i].was_wrong);
  }
}

static void what_is_not_there_is_refused(void** state) {
  assert_int_equal(scene_ask("/data/leat/graph/levels", "run=.&open=1,x"), 400);
  assert_int_equal(scene_ask("/data/leat/graph/levels", "run=.&open=-1"), 400);
  assert_int_equal(scene_ask("/data/leat/graph/levels", ""), 400);
  assert_int_equal(scene_ask("/data/leat/graph/levels", "run=nobody"), 404);
  assert_int_equal(scene_ask("/data/leat/graph/levels", "run=.&tag=t"), 404);
  assert_int_equal(scene_ask("/data/leat/graph/item", "run=."), 404);
  assert_int_equal(scene_ask("/data/leat/graph/item", "run=.&item=5"), 404);
  assert_int_equal(scene_ask("/data/leat/graph/item", "run=.&name=y"), 404);
  assert_int_equal(scene_ask("/data/leat/graph/search", "run=.&q="), 400);
  // A request of which parameters were left out is not answered in part.
  static char query[30000];
  for (int i = 0; i < 9999; ++i) memcpy(query + 2 * i, "a&", 2);
  strcpy(query + 19998, "run=.");
  assert_int_equal(scene_ask("/data/leat/graph/levels", query), 200);
  strcpy(query + 19998, "run=.&b");
  assert_int_equal(scene_ask("/data/leat/graph/levels", query), 400);
  scene_expect("more than 10,000 parameters");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(levels_are_answered, start, stop),
      cmocka_unit_test_setup_teardown(steps_are_told, start, stop),
      cmocka_unit_test_setup_teardown(what_the_devices_ran_is_a_graph, start, stop),
      cmocka_unit_test_setup_teardown(one_item_is_told, start, stop),
      cmocka_unit_test_setup_teardown(items_are_found, start, stop),
      cmocka_unit_test_setup_teardown(many_ask_for_several_graphs, start, stop),
      cmocka_unit_test_setup_teardown(what_is_not_there_is_refused, start, stop),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
