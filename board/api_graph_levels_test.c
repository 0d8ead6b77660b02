// The graph page's addresses, asked without a socket: levels, one item, a search, and what is
// refused.
#include <stdio.h>

#include "board/api.h"
#include "board/graph_store.h"
#include "formats/generated/event.h"
#include "formats/generated/graph.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"
#include "formats/wire/encode.h"

static board_api_t api;
static board_logdir_options_t options;
static leat_arena_t arena;
static char* body;

// A log with one event, the graph.
static void write_graph(leat_pb_node_def_t* nodes, size_t count) {
  leat_string_builder_t bytes, event_bytes, graph_bytes;
  leat_pb_graph_def_t graph = {.node = {nodes, count}};
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_string_builder_initialize(leat_allocator_system(), &event_bytes);
  leat_string_builder_initialize(leat_allocator_system(), &graph_bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &graph, &graph_bytes));
  leat_pb_event_t event = {.wall_time = 1, .graph_def = leat_string_builder_view(&graph_bytes),
                           .what_case = 4};
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_event_descriptor, &event, &event_bytes));
  leat_record_append(&bytes, leat_string_builder_view(&event_bytes));
  test_write_file("events.out.tfevents.1.host", bytes.data, bytes.size);
  leat_string_builder_deinitialize(&bytes);
  leat_string_builder_deinitialize(&event_bytes);
  leat_string_builder_deinitialize(&graph_bytes);
}

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
  write_graph(nodes, 3);
  options = (board_logdir_options_t){.path = test_directory, .poll_ms = 1000};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(board_graph_store_create(&api.graphs));
  LEAT_EXPECT_OK(board_logdir_create(&options, &api.logdir));
  LEAT_EXPECT_OK(board_logdir_round(api.logdir));
  return 0;
}

static int stop(void** state) {
  leat_allocator_free(leat_allocator_system(), body);
  body = NULL;
  board_logdir_stop(api.logdir);
  board_graph_store_free(api.graphs);
  board_logdir_free(api.logdir);
  leat_arena_deinitialize(&arena);
  return 0;
}

// The answer's code; its text is |body|.
static int ask(const char* path, const char* query) {
  board_request_t request = {.arena = &arena, .path = leat_string_view_from(path)};
  board_response_t response = {.code = 200, .content_type = "application/json"};
  size_t size;
  LEAT_EXPECT_OK(board_query_parse(leat_string_view_from(query), &arena, &request.query));
  leat_string_builder_initialize(leat_allocator_system(), &response.body);
  board_api_handle(&api, &request, &response);
  leat_allocator_free(leat_allocator_system(), body);
  LEAT_EXPECT_OK(leat_string_builder_finish(&response.body, &body, &size));
  return response.code;
}

static void expect_part(const char* part) {
  if (!strstr(body, part)) print_error("%s\nlacks %s\n", body, part);
  assert_non_null(strstr(body, part));
}

static void levels_are_answered(void** state) {
  assert_int_equal(ask("/data/leat/graph/levels", "run=."), 200);
  expect_part("{\"nodes\":3,\"edges\":2,\"missing\":0,\"devices\":[\"/gpu:0\",\"\"]");
  expect_part("\"boxes\":[[1,0,");
  expect_part("2,0,-1,0,0,0,0,\"layer\",\"\"]");
  expect_part("1,0,\"[?,10]\",[");
  assert_null(strstr(body, "\"item\":1"));
  assert_int_equal(ask("/data/leat/graph/levels", "run=.&open=1,2,4000000"), 200);
  expect_part("\"item\":1,");
  expect_part("\"w\",\"VariableV2\"]");
  expect_part("<b>\\\"\\n");
}

static void one_item_is_told(void** state) {
  assert_int_equal(ask("/data/leat/graph/item", "run=.&name=x"), 200);
  expect_part("\"path\":\"x\",\"label\":\"x\"");
  expect_part("[\"_output_shapes\",\"list { shape { dim { size: -1 } dim { size: 10 } } }\"]");
  expect_part("\"outputs\":[[3,\"layer/<b>\\\"\\n\",0,\"[?,10]\",0]],\"outputs_total\":1");
  assert_int_equal(ask("/data/leat/graph/item", "run=.&item=1"), 200);
  expect_part("\"inputs\":[[4,\"x\",0,\"[?,10]\",0]],\"inputs_total\":1");
  expect_part("\"ops\":[[\"VariableV2\",1],[\"MatMul\",1]]");
  expect_part("\"device\":\"several\"");
  assert_int_equal(ask("/data/leat/graph/item", "run=.&item=2"), 200);
  expect_part("\"parents\":[[1,\"layer\"]]");
}

static void items_are_found(void** state) {
  assert_int_equal(ask("/data/leat/graph/search", "run=.&q=LAYER/W"), 200);
  expect_part("{\"items\":[[2,1,\"layer/w\",\"VariableV2\"]],\"total\":1}");
  assert_int_equal(ask("/data/leat/graph/search", "run=.&q=matmul"), 200);
  expect_part("\"total\":1}");
  assert_int_equal(ask("/data/leat/graph/search", "run=.&q=nothing"), 200);
  expect_part("{\"items\":[],\"total\":0}");
}

static void what_is_not_there_is_refused(void** state) {
  assert_int_equal(ask("/data/leat/graph/levels", "run=.&open=1,x"), 400);
  assert_int_equal(ask("/data/leat/graph/levels", "run=.&open=-1"), 400);
  assert_int_equal(ask("/data/leat/graph/levels", ""), 400);
  assert_int_equal(ask("/data/leat/graph/levels", "run=nobody"), 404);
  assert_int_equal(ask("/data/leat/graph/levels", "run=.&tag=t"), 404);
  assert_int_equal(ask("/data/leat/graph/item", "run=."), 404);
  assert_int_equal(ask("/data/leat/graph/item", "run=.&item=5"), 404);
  assert_int_equal(ask("/data/leat/graph/item", "run=.&name=y"), 404);
  assert_int_equal(ask("/data/leat/graph/search", "run=.&q="), 400);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(levels_are_answered, start, stop),
      cmocka_unit_test_setup_teardown(one_item_is_told, start, stop),
      cmocka_unit_test_setup_teardown(items_are_found, start, stop),
      cmocka_unit_test_setup_teardown(what_is_not_there_is_refused, start, stop),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
