// The stages of compiling a step, put together from the differences that a RunMetadata holds
// (board/graph_stages.h), and what the graph page's addresses answer of them. The step has three
// stages: the first leaves out a node of the program's graph, the second folds two constants into
// one, and the third gives devices. A file may also claim what cannot be: that a node is gone which
// never was, twice the same node, a stage without name; none of it may lead astray.
#include "board/graph_stages.h"

#include "board/test_scene.h"
#include "formats/generated/graph.h"

typedef leat_pb_node_def_t node_t;
typedef leat_pb_run_metadata_graph_stage_t stage_t;
typedef leat_pb_run_metadata_placement_node_t placed_t;

static leat_arena_t arena;
static double micros[2] = {2.5, -1};

// What the program wrote, and the step. They live as long as the program.
static void make(leat_pb_graph_def_t* out_written, leat_pb_run_metadata_t* out_step) {
  static node_t written[5], first[4], second[2], third[3];
  static stage_t stages[4];
  static leat_string_view_t inputs[2] = {LEAT_SV("two"), LEAT_SV("three")};
  static leat_string_view_t sum[1] = {LEAT_SV("five")};
  static leat_string_view_t folded[1] = {LEAT_SV("five/_folded")};
  static leat_string_view_t gone[4] = {LEAT_SV("two"), LEAT_SV("three"),
                                       LEAT_SV("five"), LEAT_SV("never was")};
  static leat_string_view_t devices[2] = {LEAT_SV("/device:CPU:0"),
                                          LEAT_SV("/device:SIM:0")};
  static placed_t placed[1];
  static leat_pb_run_metadata_placement_t placement;
  const node_t program[5] = {
      {.name = LEAT_SV("two"), .op = LEAT_SV("Const")},
      {.name = LEAT_SV("three"), .op = LEAT_SV("Const")},
      {.name = LEAT_SV("five"), .op = LEAT_SV("Add"), .input = {inputs, 2}},
      {.name = LEAT_SV("scope/end"), .op = LEAT_SV("Neg"), .input = {sum, 1}},
      {.name = LEAT_SV("unneeded"), .op = LEAT_SV("NoOp")},
  };
  memcpy(written, program, sizeof program);
  memcpy(first, program, sizeof first);
  second[0] = (node_t){.name = LEAT_SV("five/_folded"), .op = LEAT_SV("Const")};
  second[1] = first[3];
  second[1].input.items = folded;
  third[0] = second[0];
  third[0].device = devices[0];
  third[1] = second[1];
  third[1].device = devices[0];
  third[2] = third[0];  // once more
  stages[0] = (stage_t){.name = LEAT_SV("prune"), .doc = LEAT_SV("d"), .node = {first, 4}};
  stages[1] = (stage_t){.name = LEAT_SV("fold"), .node = {second, 2}, .removed = {gone, 4}};
  stages[2] = (stage_t){.name = LEAT_SV("place"), .node = {third, 3}};
  placed[0] = (placed_t){.name = LEAT_SV("scope/end"), .reason = LEAT_SV("earliest end"),
                         .micros = {micros, 2}, .end_micros = 7};
  placement = (leat_pb_run_metadata_placement_t){.placer = LEAT_SV("greedy"),
                                                 .devices = {devices, 2}, .node = {placed, 1}};
  static leat_pb_graph_def_t parts[1];
  parts[0] = (leat_pb_graph_def_t){.node = {third, 2}};
  *out_written = (leat_pb_graph_def_t){.node = {written, 5}};
  *out_step = (leat_pb_run_metadata_t){
      .graph_stages = {stages, 4}, .placement = &placement, .partition_graphs = {parts, 1}};
}

static void expect_counts(const board_graph_stage_t* stage, size_t nodes, size_t came, size_t gone,
                          size_t other, size_t moved) {
  assert_int_equal(stage->nodes, nodes);
  assert_int_equal(stage->counts[BOARD_CHANGE_CAME], came);
  assert_int_equal(stage->counts[BOARD_CHANGE_GONE], gone);
  assert_int_equal(stage->counts[BOARD_CHANGE_OTHER], other);
  assert_int_equal(stage->counts[BOARD_CHANGE_MOVED], moved);
}

static void stages_are_counted(void** state) {
  leat_pb_graph_def_t written;
  leat_pb_run_metadata_t step;
  board_graph_stage_t stages[4];
  make(&written, &step);
  LEAT_EXPECT_OK(board_graph_stages_read(&step, &written, SIZE_MAX, &arena, stages));
  expect_counts(&stages[0], 4, 0, 1, 0, 0);
  expect_counts(&stages[1], 2, 1, 3, 1, 0);
  expect_counts(&stages[2], 2, 0, 0, 0, 2);
  expect_counts(&stages[3], 2, 0, 0, 0, 0);
  assert_null(stages[1].changes);
  // Without the program's graph the first stage has nothing to be compared with.
  LEAT_EXPECT_OK(board_graph_stages_read(&step, NULL, SIZE_MAX, &arena, stages));
  expect_counts(&stages[0], 4, 0, 0, 0, 0);
}

static void a_stage_has_what_is_gone_behind_its_nodes(void** state) {
  leat_pb_graph_def_t written;
  leat_pb_run_metadata_t step;
  board_graph_stage_t stages[4];
  make(&written, &step);
  LEAT_EXPECT_OK(board_graph_stages_read(&step, &written, 1, &arena, stages));
  const board_graph_stage_t* fold = &stages[1];
  const char* const names[] = {"scope/end", "five/_folded", "two", "three", "five"};
  const uint8_t changes[] = {BOARD_CHANGE_OTHER, BOARD_CHANGE_CAME, BOARD_CHANGE_GONE,
                             BOARD_CHANGE_GONE, BOARD_CHANGE_GONE};
  assert_int_equal(fold->graph.node.count, 5);
  for (int i = 0; i < 5; ++i) {
    assert_true(leat_string_view_equals(fold->graph.node.items[i].name, names[i]));
    assert_int_equal(fold->changes[i], changes[i]);
  }
  assert_true(leat_string_view_equals(fold->before[0]->input.items[0], "five"));
  assert_true(leat_string_view_equals(fold->graph.node.items[0].input.items[0], "five/_folded"));
  assert_null(fold->before[1]);
}

static int set_up(void** state) {
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  return 0;
}

static int tear_down(void** state) {
  leat_arena_deinitialize(&arena);
  return 0;
}

// ---- Answers ------------------------------------------------------------------------------------

static int start(void** state) {
  leat_pb_graph_def_t written;
  leat_pb_run_metadata_t step;
  leat_string_builder_t bytes[2];
  make(&written, &step);
  for (int i = 0; i < 2; ++i) leat_string_builder_initialize(leat_allocator_system(), &bytes[i]);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &written, &bytes[0]));
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_run_metadata_descriptor, &step, &bytes[1]));
  leat_pb_tagged_run_metadata_t tagged = {.tag = LEAT_SV("s"),
                                          .run_metadata = leat_string_builder_view(&bytes[1])};
  leat_pb_event_t events[2] = {
      {.wall_time = 1, .graph_def = leat_string_builder_view(&bytes[0]), .what_case = 4},
      {.wall_time = 2, .step = 1, .tagged_run_metadata = &tagged, .what_case = 8}};
  scene_write(".", events, 2);
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&bytes[i]);
  scene_start();
  return 0;
}

static int stop(void** state) {
  scene_stop();
  return 0;
}

#define STEP "run=.&tag=s&placed=1"

static void stages_are_listed(void** state) {
  assert_int_equal(scene_ask("/data/leat/graph/stages", STEP), 200);
  scene_expect("{\"name\":\"prune\",\"doc\":\"d\",\"nodes\":4,\"came\":0,\"gone\":1,\"other\":0,"
               "\"moved\":0}");
  scene_expect("{\"name\":\"fold\",\"doc\":\"\",\"nodes\":2,\"came\":1,\"gone\":3,\"other\":1,");
  scene_expect("\"written\":true}");
  assert_int_equal(scene_ask("/data/leat/graph/stages", "run=.&tag=s"), 404);
  assert_int_equal(scene_ask("/data/leat/graph/stages", "run=."), 400);
}

static void changes_are_on_boxes(void** state) {
  assert_int_equal(scene_ask("/data/leat/graph/levels", STEP "&stage=1&name=scope"), 200);
  scene_expect("\"scope\",\"\",0,0,[0,0,1,0]]");
  scene_expect("\"end\",\"Neg\",0,0,[0,0,1,0]]");  // open by its name
  scene_expect("\"path\":\"scope\"");
  scene_expect("\"two\",\"Const\",0,0,[0,1,0,0]]");
  assert_int_equal(scene_ask("/data/leat/graph/levels", STEP "&stage=2"), 200);
  scene_expect("[0,0,0,1]]");
  assert_null(strstr(scene.body, "\"two\""));
  assert_int_equal(scene_ask("/data/leat/graph/levels", STEP), 200);
  assert_null(strstr(scene.body, "0,0,["));
  assert_int_equal(scene_ask("/data/leat/graph/levels", STEP "&stage=4"), 404);
  assert_int_equal(scene_ask("/data/leat/graph/levels", STEP "&stage=x"), 400);
  assert_int_equal(scene_ask("/data/leat/graph/changes", STEP "&stage=1"), 200);
  scene_expect("\"five/_folded\",\"Const\",1]");
  scene_expect("\"scope/end\",\"Neg\",3]");
  scene_expect("\"total\":5}");
}

static void an_item_tells_its_difference_and_its_device(void** state) {
  const char* item = "/data/leat/graph/item";
  assert_int_equal(scene_ask(item, STEP "&stage=1&name=scope/end"), 200);
  scene_expect("\"change\":3,\"differences\":[[\"input 0\",\"five\",\"five/_folded\"]]");
  assert_int_equal(scene_ask(item, STEP "&stage=2&name=scope/end"), 200);
  scene_expect("\"change\":4,\"differences\":[[\"device\",\"\",\"/device:CPU:0\"]]");
  scene_expect("\"placement\":{\"placer\":\"greedy\",\"reason\":\"earliest end\",\"beside\":\"\","
               "\"end\":7.0,\"micros\":[[\"/device:CPU:0\",2.5],[\"/device:SIM:0\",-1.0]]}");
  assert_int_equal(scene_ask(item, STEP "&name=five/_folded"), 200);
  scene_expect("\"since\":\"fold\"");
  assert_null(strstr(scene.body, "\"placement\""));
  // What TensorBoard's page is given has nothing of Leat's own.
  assert_int_equal(scene_ask("/data/plugin/graphs/run_metadata", "run=.&tag=s"), 200);
  assert_null(strstr(scene.body, "graph_stages"));
  assert_null(strstr(scene.body, "placement"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(stages_are_counted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_stage_has_what_is_gone_behind_its_nodes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(stages_are_listed, start, stop),
      cmocka_unit_test_setup_teardown(changes_are_on_boxes, start, stop),
      cmocka_unit_test_setup_teardown(an_item_tells_its_difference_and_its_device, start, stop),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
