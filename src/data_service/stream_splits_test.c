// The splits of a stream, asked of a dispatcher over loopback, in several lives of the worker: each
// life must get what the lives before it got, pass by pass, and then new splits. The dataset is
// range(10), so that a split is its own number.
#include "data_service/stream_splits.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/test.h"
#include "data_service/call.h"
#include "data_service/data_server.h"
#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "init.h"
#include "scratch.h"

#define DISPATCHER "/tensorflow.data.DispatcherService/"
#define WORKER LEAT_SV("localhost:1")
#define END (-1)

typedef struct scene_s {
  leat_data_server_t* dispatcher;
  leat_rpc_channel_t* channel;
  leat_pb_snapshot_task_def_t def;
  leat_stream_splits_t* splits;  // of the life that goes on
} scene_t;

// ---- The dispatcher -----------------------------------------------------------------------------

static void make_graph(leat_string_builder_t* out) {
#define NUMBER(name, value)                                                                 \
  "node { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } "     \
  "attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: " value \
  " } } } } "
  static const char kText[] = NUMBER("start", "0") NUMBER("stop", "10") NUMBER("step", "1")
      "node { name: 'range' op: 'RangeDataset' input: 'start' input: 'stop' input: 'step' "
      "attr { key: 'output_types' value { list { type: DT_INT64 } } } "
      "attr { key: 'output_shapes' value { list { shape { } } } } } "
      "node { name: 'ret' op: '_Retval' input: 'range' attr { key: 'T' value { type: DT_VARIANT } "
      "} attr { key: 'index' value { i: 0 } } }";
  leat_arena_t arena;
  leat_pb_graph_def_t def;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_text_parse(&leat_pb_graph_def_descriptor, leat_string_view_from(kText),
                                 &arena, &def));
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &def, out));
  leat_arena_deinitialize(&arena);
}

static void ask(const scene_t* s, leat_data_request_t request, leat_arena_t* arena,
                void* out_answer) {
  request.deadline_ns = leat_clock_deadline_after_ms(30000);
  LEAT_EXPECT_OK(leat_data_call(s->channel, &request, arena, out_answer));
}

// Has the dispatcher begin a snapshot, and give the worker its stream.
static void begin_snapshot(scene_t* s, const char* path, leat_arena_t* arena) {
  leat_string_builder_t graph;
  leat_pb_worker_heartbeat_response_t answer;
  leat_string_builder_initialize(leat_allocator_system(), &graph);
  make_graph(&graph);
  leat_pb_dataset_def_t dataset = {.graph = leat_string_builder_view(&graph)};
  const leat_pb_snapshot_request_t snapshot = {.dataset = &dataset,
                                               .path = leat_string_view_from(path)};
  const leat_pb_worker_heartbeat_request_t heartbeat = {.worker_address = WORKER};
  ask(s,
      (leat_data_request_t){.method = DISPATCHER "Snapshot",
                            .descriptor = &leat_pb_snapshot_request_descriptor,
                            .message = &snapshot},
      NULL, NULL);
  ask(s,
      (leat_data_request_t){.method = DISPATCHER "WorkerHeartbeat",
                            .descriptor = &leat_pb_worker_heartbeat_request_descriptor,
                            .message = &heartbeat,
                            .answer = &leat_pb_worker_heartbeat_response_descriptor},
      arena, &answer);
  assert_int_equal(answer.snapshot_tasks.count, 1);
  s->def = answer.snapshot_tasks.items[0];
  assert_int_equal(s->def.num_sources, 1);
  leat_string_builder_deinitialize(&graph);
}

static void live(scene_t* s) {
  const leat_stream_splits_options_t options = {
      .dispatcher = s->channel, .worker = WORKER, .def = &s->def, .timeout_ms = 30000};
  leat_stream_splits_release(s->splits);
  LEAT_EXPECT_OK(leat_stream_splits_create(&options, &s->splits));
}

static void open_scene(scene_t* s, const char* name, leat_arena_t* arena) {
  const leat_runtime_t* runtime;
  char work_dir[64];
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  *s = (scene_t){0};
  leat_arena_initialize(leat_allocator_system(), 0, arena);
  snprintf(work_dir, sizeof work_dir, "%s_work", name);
  const leat_dispatcher_options_t dispatcher = {.runtime = runtime,
                                                .work_dir = leat_string_view_from(work_dir),
                                                .is_fault_tolerant = true};
  const leat_data_server_options_t options = {.address = LEAT_SV("localhost:0"),
                                              .dispatcher = &dispatcher};
  LEAT_EXPECT_OK(leat_data_server_start(&options, &s->dispatcher));
  LEAT_EXPECT_OK(leat_rpc_channel_create(
      leat_string_view_from(leat_data_server_address(s->dispatcher)), &(leat_rpc_security_t){0},
      &s->channel));
  begin_snapshot(s, name, arena);
  live(s);
}

static void close_scene(scene_t* s, leat_arena_t* arena) {
  leat_stream_splits_release(s->splits);
  leat_data_server_stop(s->dispatcher);
  leat_rpc_channel_free(s->channel);
  leat_arena_deinitialize(arena);
}

// ---- Questions ----------------------------------------------------------------------------------

typedef struct answer_s {
  _Atomic(bool) has_come;
  leat_status_t status;
  int64_t split;
} answer_t;

static void take(void* data, leat_status_t status, int64_t split, bool at_end) {
  answer_t* answer = data;
  answer->status = status;
  answer->split = at_end ? END : split;
  atomic_store(&answer->has_come, true);
}

static void begin(const scene_t* s, int64_t pass, answer_t* answer) {
  leat_split_source_t* source = leat_stream_splits_source(s->splits);
  *answer = (answer_t){0};
  source->next(source, pass, take, answer);
}

static leat_status_t end(answer_t* answer) {
  while (!atomic_load(&answer->has_come)) leat_clock_sleep_ns(1000000);
  return answer->status;
}

static int64_t next(const scene_t* s, int64_t pass) {
  answer_t answer;
  begin(s, pass, &answer);
  LEAT_EXPECT_OK(end(&answer));
  return answer.split;
}

// ---- Cases --------------------------------------------------------------------------------------

static void each_life_gets_what_the_ones_before_got(void** state) {
  scene_t s;
  leat_arena_t arena;
  open_scene(&s, "lives", &arena);
  for (int i = 0; i < 4; ++i) assert_int_equal(next(&s, 0), i);
  live(&s);
  for (int i = 0; i < 10; ++i) assert_int_equal(next(&s, 0), i);
  assert_int_equal(next(&s, 0), END);
  assert_int_equal(next(&s, 0), END);
  for (int i = 0; i < 3; ++i) assert_int_equal(next(&s, 1), i);
  live(&s);
  for (int i = 0; i < 10; ++i) assert_int_equal(next(&s, 0), i);
  assert_int_equal(next(&s, 0), END);
  for (int i = 0; i < 10; ++i) assert_int_equal(next(&s, 1), i);
  assert_int_equal(next(&s, 1), END);
  close_scene(&s, &arena);
}

// The first life took more of the first pass than the second one does, before the second pass.
static void splits_stay_with_their_pass(void** state) {
  scene_t s;
  leat_arena_t arena;
  open_scene(&s, "passes", &arena);
  for (int i = 0; i < 5; ++i) assert_int_equal(next(&s, 0), i);
  for (int i = 0; i < 2; ++i) assert_int_equal(next(&s, 1), i);
  live(&s);
  for (int i = 0; i < 3; ++i) assert_int_equal(next(&s, 0), i);
  for (int i = 0; i < 10; ++i) assert_int_equal(next(&s, 1), i);
  assert_int_equal(next(&s, 1), END);
  // One that took less: the pass is over when its splits are, though the dataset has more.
  live(&s);
  for (int i = 0; i < 5; ++i) assert_int_equal(next(&s, 0), i);
  assert_int_equal(next(&s, 0), END);
  assert_int_equal(next(&s, 1), 0);
  close_scene(&s, &arena);
}

// Answers may come in any order, in either life: each split is given once.
static void questions_at_a_time_get_different_splits(void** state) {
  scene_t s;
  leat_arena_t arena;
  open_scene(&s, "crowd", &arena);
  for (int life = 0; life < 2; ++life) {
    answer_t answers[13];
    int counts[10] = {0}, ends = 0;
    live(&s);
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(answers); ++i) begin(&s, 0, &answers[i]);
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(answers); ++i) {
      LEAT_EXPECT_OK(end(&answers[i]));
      if (answers[i].split == END) ++ends;
      if (answers[i].split != END) ++counts[answers[i].split];
    }
    assert_int_equal(ends, 3);
    for (int i = 0; i < 10; ++i) assert_int_equal(counts[i], 1);
  }
  close_scene(&s, &arena);
}

static void what_cannot_be_answered_has_a_reason(void** state) {
  scene_t s;
  leat_arena_t arena;
  answer_t answer;
  open_scene(&s, "reasons", &arena);
  for (int i = 0; i < 3; ++i) assert_int_equal(next(&s, 0), i);
  live(&s);
  assert_int_equal(remove("reasons/streams/stream_0/splits/source_0/repetition_0/split_1_1"), 0);
  begin(&s, 0, &answer);
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, end(&answer));
  s.def.stream_index = 7;
  live(&s);
  begin(&s, 0, &answer);
  LEAT_EXPECT_CODE(LEAT_INTERNAL, end(&answer));
  leat_stream_splits_close(s.splits);
  begin(&s, 0, &answer);
  LEAT_EXPECT_CODE(LEAT_CANCELLED, end(&answer));
  close_scene(&s, &arena);
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(each_life_gets_what_the_ones_before_got),
      cmocka_unit_test(splits_stay_with_their_pass),
      cmocka_unit_test(questions_at_a_time_get_different_splits),
      cmocka_unit_test(what_cannot_be_answered_has_a_reason),
  };
  return cmocka_run_group_tests(cases, scratch_set_up, scratch_tear_down);
}
