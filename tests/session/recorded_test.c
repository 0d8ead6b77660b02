// Recordings of sessions, read back: the edges of the plans that ran, in both executors, and the
// work of a simulated accelerator's streams, each piece of which must be joined with its launch.
// Each test builds a graph, runs three steps while they are recorded, writes the file as a program
// would, and reads it as the delay finder does. The expected edges are those of the graph as it was
// built, which the optimizer is told to leave alone; the first step is not recorded, so that
// compiling it does not count. The tests catch edges that are missing, turned round or of another
// graph, kernels without a node, and work on a stream whose launch is on its own row or of another
// kernel. What the finder makes of such recordings is tested with made ones (trace/delay_test.c).
#include <string.h>

#include "scratch.h"
#include "session/scene.h"
#include "trace/delay_graph.h"
#include "trace/recording_file.h"

#define STEPS 3
#define PATH "session.perfetto-trace"

typedef struct recorded_s {
  leat_timeline_t* timeline;
  leat_delay_graph_t graph;
  leat_arena_t arena;
} recorded_t;

// Runs |fetch| once, and then STEPS times while it is recorded.
static void record(scene_t* s, leat_output_t x, leat_output_t fetch, recorded_t* out) {
  leat_recording_t* recording;
  for (int step = 0; step <= STEPS; ++step) {
    leat_tensor_t fed = scene_value(2), got;
    if (step == 1) LEAT_EXPECT_OK(leat_recording_start(0));
    LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(fetch), &got, NULL, 0));
    leat_tensor_release(&got);
  }
  LEAT_EXPECT_OK(leat_recording_stop(&recording));
  LEAT_EXPECT_OK(leat_recording_write(recording, leat_file_system_posix(), PATH));
  leat_recording_free(recording);
  LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), PATH, &out->timeline));
  leat_arena_initialize(leat_allocator_system(), 0, &out->arena);
  LEAT_EXPECT_OK(leat_delay_graph_index(out->timeline, &out->arena, &out->graph));
  LEAT_EXPECT_OK(leat_delay_graph_find_links(&out->graph, &out->arena));
}

static void free_recorded(recorded_t* recorded) {
  leat_arena_deinitialize(&recorded->arena);
  leat_timeline_free(recorded->timeline);
}

static const leat_timeline_node_t* find_node(const recorded_t* recorded, const char* name) {
  for (size_t i = 0; i < recorded->timeline->node_count; ++i) {
    const leat_timeline_node_t* node = &recorded->timeline->nodes[i];
    if (leat_string_view_equals(node->name, name)) return node;
  }
  fail_msg("no graph has the node '%s'", name);
  return NULL;
}

static bool waits_for(const recorded_t* recorded, const char* reader, const char* producer) {
  const leat_timeline_node_t* nodes = recorded->timeline->nodes;
  const leat_timeline_node_t* node = find_node(recorded, reader);
  const size_t first = recorded->graph.first_of[node - nodes];
  for (uint32_t i = 0; i < node->producer_count; ++i) {
    if (leat_string_view_equals(nodes[first + node->producers[i]].name, producer)) return true;
  }
  return false;
}

// Two branches that no pass joins, and their meeting.
static void edges_are_recorded(void** state) {
  for (int executor = 0; executor < 2; ++executor) {
    scene_t s;
    recorded_t recorded;
    scene_open(&s);
    s.options.executor = executor ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_SEQUENCE;
    const leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
    const leat_output_t left = scene_output(&s, "Lgamma", "left", "", LEAT_INPUTS(x),
                                            LEAT_NO_ATTRS);
    const leat_output_t right = scene_output(&s, "Digamma", "right", "", LEAT_INPUTS(x),
                                             LEAT_NO_ATTRS);
    const leat_output_t both = scene_output(&s, "Igamma", "both", "", LEAT_INPUTS(left, right),
                                            LEAT_NO_ATTRS);
    const leat_output_t end = scene_output(&s, "Lgamma", "end", "", LEAT_INPUTS(both),
                                           LEAT_NO_ATTRS);
    record(&s, x, end, &recorded);
    assert_int_equal(recorded.timeline->node_count, 4);  // what is fed has no record
    assert_true(waits_for(&recorded, "both", "left"));
    assert_true(waits_for(&recorded, "both", "right"));
    assert_true(waits_for(&recorded, "end", "both"));
    assert_int_equal(find_node(&recorded, "left")->producer_count, 0);
    assert_int_equal(find_node(&recorded, "both")->producer_count, 2);
    // A kernel's name says of which graph it is.
    for (uint32_t i = 0; i < recorded.timeline->name_count; ++i) {
      const bool is_kernel = recorded.timeline->names[i].kind == LEAT_SPAN_KERNEL;
      assert_int_equal(recorded.graph.node_of_name[i] != LEAT_NO_NODE, is_kernel);
    }
    free_recorded(&recorded);
    scene_close(&s);
  }
}

// How many spans of the kind there are, each of which has a launch before it, of the same kernel.
static int count_launched(const recorded_t* recorded, uint32_t kind) {
  const leat_timeline_t* timeline = recorded->timeline;
  int count = 0;
  for (size_t i = 0; i < recorded->graph.link_count; ++i) {
    const leat_span_link_t* work = &recorded->graph.links[i];
    if (work->kind != kind) continue;
    const leat_span_link_t* launch = leat_delay_graph_link(
        &recorded->graph, LEAT_SPAN_LAUNCH, work->number, work->slice->begin_ns);
    assert_non_null(launch);
    assert_true(launch->row != work->row);
    assert_true(leat_string_view_equal(timeline->names[launch->slice->name].node,
                                       timeline->names[work->slice->name].node));
    assert_non_null(strstr(timeline->rows[work->row]->name.data, "SIM:0 "));
    ++count;
  }
  return count;
}

// A step on the accelerator: two kernels, a copy in and a copy out, and the wait for its end.
static void streams_are_recorded(void** state) {
  scene_t s;
  recorded_t recorded;
  int messages = 0;
  scene_open(&s);
  s.options.device_counts[0].count = 1;
  memcpy(s.options.device_counts[0].type, "SIM", 4);
  const leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  const leat_output_t left =
      scene_output(&s, "Neg", "left", "/device:SIM:0", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  const leat_output_t right =
      scene_output(&s, "Exp", "right", "/device:SIM:0", LEAT_INPUTS(left), LEAT_NO_ATTRS);
  const leat_output_t end =
      scene_output(&s, "Neg", "end", "/cpu:0", LEAT_INPUTS(right), LEAT_NO_ATTRS);
  record(&s, x, end, &recorded);
  assert_true(count_launched(&recorded, LEAT_SPAN_STREAM) >= 2 * STEPS);
  assert_true(count_launched(&recorded, LEAT_SPAN_COPY) >= 2 * STEPS);
  // What goes between the devices is left and received under one number.
  for (size_t i = 0; i < recorded.graph.link_count; ++i) {
    const leat_span_link_t* receive = &recorded.graph.links[i];
    if (receive->kind != LEAT_SPAN_RECEIVE) continue;
    assert_non_null(leat_delay_graph_link(&recorded.graph, LEAT_SPAN_SEND, receive->number,
                                          receive->slice->begin_ns));
    ++messages;
  }
  assert_true(messages >= STEPS);
  free_recorded(&recorded);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edges_are_recorded),
      cmocka_unit_test(streams_are_recorded),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
