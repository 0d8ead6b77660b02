// A cluster is recorded into one file (leat/trace.h): the master is in this process, the parameter
// server a process of its own. Of a step that fetches a value from there, the file must have the
// kernels of both, under processes of their own; each phase of the message, joined by its number,
// in the order in which they follow each other; the edges of both graphs; and the lines of the
// client's program. Then what cannot be recorded is told: a task that shares its process with
// another one, and a port without a server.
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster_scene.h"
#include "formats/generated/diagnosis.h"
#include "formats/wire/encode.h"
#include "leat/trace.h"
#include "scratch.h"
#include "trace/delay_graph.h"

#define STEPS 5
#define PATH "recorded.perfetto-trace"

// ---- Recording ----------------------------------------------------------------------------------

// The ClusterDef of the scene's two tasks and, with |lacks|, of a second ps that nobody is.
static void describe(cluster_scene_t* cluster, bool lacks, leat_string_builder_t* out) {
  leat_pb_job_def_tasks_entry_t entries[3] = {
      {.value = leat_string_view_from(cluster->addresses[CLUSTER_WORKER])},
      {.value = leat_string_view_from(cluster->addresses[CLUSTER_PS])},
      {.key = 1, .value = LEAT_SV("127.0.0.1:1")}};
  leat_pb_job_def_t jobs[2] = {{.name = LEAT_SV("worker"), .tasks = {entries, 1}},
                               {.name = LEAT_SV("ps"), .tasks = {entries + 1, lacks ? 2 : 1}}};
  const leat_pb_cluster_def_t def = {.job = {jobs, 2}};
  leat_string_builder_initialize(leat_allocator_system(), out);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_cluster_def_descriptor, &def, out));
}

static leat_trace_cluster_t* start(cluster_scene_t* cluster, bool lacks) {
  leat_string_builder_t bytes;
  describe(cluster, lacks, &bytes);
  leat_trace_cluster_t* trace =
      leat_trace_cluster_start(bytes.data, bytes.size, 0, 60000, cluster->status);
  leat_string_builder_deinitialize(&bytes);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
  assert_non_null(trace);
  return trace;
}

// Ends the recording; the caller frees the report.
static char* stop(cluster_scene_t* cluster, leat_trace_cluster_t* trace) {
  TF_Buffer* buffer = leat_trace_cluster_stop(trace, PATH, cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
  char* text = calloc(1, buffer->length + 1);
  memcpy(text, buffer->data, buffer->length);
  TF_DeleteBuffer(buffer);
  return text;
}

// ---- What was recorded --------------------------------------------------------------------------

static int64_t process_of(const leat_timeline_t* timeline, const leat_span_link_t* link) {
  return timeline->rows[link->row]->process;
}

// How many kernels of the node ran in the process.
static int kernels_of(const leat_timeline_t* timeline, int64_t process, const char* node) {
  int count = 0;
  for (size_t r = 0; r < timeline->row_count; ++r) {
    if (timeline->rows[r]->process != process) continue;
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      const leat_lane_t* lane = &timeline->rows[r]->lanes[l];
      for (size_t i = 0; i < lane->count; ++i) {
        const leat_slice_name_t* name = &timeline->names[lane->slices[i].name];
        if (name->kind != LEAT_SPAN_KERNEL || !leat_string_view_equals(name->node, node)) continue;
        assert_int_equal(name->graph >> 32, process);
        ++count;
      }
    }
  }
  return count;
}

// Counts the slices of |kind| of a process, or of all for process 0, step by step. |marks| has the
// |*inout_count| steps that are known; others are added.
static void count_by_step(const leat_timeline_t* timeline, int64_t process, uint32_t kind,
                          uint32_t marks[STEPS], size_t* inout_count, int out_counts[STEPS]) {
  memset(out_counts, 0, STEPS * sizeof *out_counts);
  for (size_t r = 0; r < timeline->row_count; ++r) {
    if (process && timeline->rows[r]->process != process) continue;
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      const leat_lane_t* lane = &timeline->rows[r]->lanes[l];
      for (size_t i = 0; i < lane->count; ++i) {
        if (timeline->names[lane->slices[i].name].kind != kind) continue;
        size_t step = 0;
        while (step < *inout_count && marks[step] != lane->steps[i]) ++step;
        assert_true(step < STEPS && lane->steps[i] != 0);
        if (step == *inout_count) marks[(*inout_count)++] = lane->steps[i];
        ++out_counts[step];
      }
    }
  }
}

// Each step of the master has its kernels in both processes, and there are no others.
static void expect_steps(const leat_timeline_t* timeline, int64_t worker, int64_t ps) {
  uint32_t marks[STEPS];
  size_t count = 0;
  int steps[STEPS], of_worker[STEPS], of_ps[STEPS];
  count_by_step(timeline, 0, LEAT_SPAN_STEP, marks, &count, steps);
  assert_int_equal(count, STEPS);
  count_by_step(timeline, worker, LEAT_SPAN_KERNEL, marks, &count, of_worker);
  count_by_step(timeline, ps, LEAT_SPAN_KERNEL, marks, &count, of_ps);
  for (int i = 0; i < STEPS; ++i) {
    assert_true(of_worker[i] > 0 && of_worker[i] == of_worker[0]);
    assert_true(of_ps[i] > 0 && of_ps[i] == of_ps[0]);
  }
}

// The time of all clocks is one here, and so is off by no more than the residuals.
static int64_t slack_of(const leat_timeline_t* timeline) {
  int64_t slack = 0;
  assert_int_equal(timeline->clock_count, 2);
  for (size_t i = 0; i < timeline->clock_count; ++i) slack += timeline->clocks[i].residual_ns;
  return slack;
}

// Each message that was read was left, written, asked for and received: "x" goes to |ps| in a step
// and "y" to |worker|.
static void expect_messages(const leat_timeline_t* timeline, const leat_delay_graph_t* graph,
                            int64_t worker, int64_t ps) {
  const int64_t slack = slack_of(timeline);
  int to_worker = 0, to_ps = 0;
  for (size_t i = 0; i < graph->link_count; ++i) {
    const leat_span_link_t* decode = &graph->links[i];
    if (decode->kind != LEAT_SPAN_DECODE) continue;
    const leat_span_link_t* send =
        leat_delay_graph_link(graph, LEAT_SPAN_SEND, decode->number, INT64_MAX - 1);
    const leat_span_link_t* encode =
        leat_delay_graph_link(graph, LEAT_SPAN_ENCODE, decode->number, INT64_MAX - 1);
    const leat_span_link_t* fetch =
        leat_delay_graph_link(graph, LEAT_SPAN_FETCH, decode->number, INT64_MAX - 1);
    assert_true(send && encode && fetch);
    const int64_t reader = process_of(timeline, decode), sender = process_of(timeline, send);
    assert_int_equal(sender, reader == worker ? ps : worker);
    assert_int_equal(process_of(timeline, fetch), reader);
    assert_int_equal(process_of(timeline, encode), sender);
    assert_true(send->slice->begin_ns <= encode->slice->end_ns);
    assert_true(encode->slice->end_ns <= decode->slice->begin_ns + slack);
    assert_true(fetch->slice->begin_ns <= encode->slice->end_ns + slack);
    assert_true(fetch->slice->end_ns <= decode->slice->end_ns);
    ++*(reader == worker ? &to_worker : &to_ps);
  }
  assert_int_equal(to_worker, STEPS);
  assert_int_equal(to_ps, STEPS);
}

static void a_step_of_two_processes_is_in_one_file(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  leat_timeline_t* timeline;
  leat_delay_graph_t graph;
  leat_arena_t arena;
  cluster_build_negation(cluster);
  cluster_session_open(cluster, handle);
  cluster_step(cluster, handle, "z", NULL, "x", 3, LEAT_OK, "");
  leat_trace_cluster_t* trace = start(cluster, false);
  for (int i = 0; i < STEPS; ++i) cluster_step(cluster, handle, "z", NULL, "x", 3, LEAT_OK, "");
  char* report = stop(cluster, trace);
  cluster_step(cluster, handle, "z", NULL, "x", 3, LEAT_OK, "");
  cluster_session_close(cluster, handle);
  assert_int_equal(scratch_count_text(report, "\"recorded\": true"), 2);
  assert_int_equal(scratch_count_text(report, "\"clock_residual_us\": "), 2);
  free(report);
  LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), PATH, &timeline));
  assert_int_equal(timeline->damaged, 0);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_delay_graph_index(timeline, &arena, &graph));
  LEAT_EXPECT_OK(leat_delay_graph_find_links(&graph, &arena));
  const bool is_first = kernels_of(timeline, timeline->clocks[0].process, "z") > 0;
  const int64_t worker = timeline->clocks[is_first ? 0 : 1].process;
  const int64_t ps = timeline->clocks[is_first ? 1 : 0].process;
  assert_int_equal(kernels_of(timeline, worker, "z"), STEPS);
  assert_int_equal(kernels_of(timeline, worker, "y"), 0);
  assert_int_equal(kernels_of(timeline, ps, "y"), STEPS);
  expect_messages(timeline, &graph, worker, ps);
  expect_steps(timeline, worker, ps);
  leat_arena_deinitialize(&arena);
  leat_timeline_free(timeline);
}

// ---- Lines of the program -----------------------------------------------------------------------

// Adds a node on a device, of which line |line| of "model.py" is told.
static TF_Output add_told(TF_Graph* graph, const char* op, const char* name, const char* device,
                          const TF_Output* input, int line, TF_Status* status) {
  TF_OperationDescription* description = TF_NewOperation(graph, op, name);
  TF_SetDevice(description, device);
  if (input) {
    TF_AddInput(description, *input);
  } else {
    TF_SetAttrType(description, "dtype", TF_FLOAT);
  }
  TF_Operation* operation = TF_FinishOperation(description, status);
  leat_operation_set_source(operation, "model.py", line, status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  return (TF_Output){operation, 0};
}

static void expect_source(const leat_timeline_t* timeline, const char* name,
                          const char* expected) {
  for (size_t i = 0; i < timeline->node_count; ++i) {
    if (!leat_string_view_equals(timeline->nodes[i].name, name)) continue;
    assert_true(leat_string_view_equals(timeline->nodes[i].source, expected));
    return;
  }
  fail_msg("the recording has no node '%s'", name);
}

// The master is reached as from another process, and the parameter server is one: both know the
// lines of the client's graph.
static void nodes_that_others_run_tell_their_lines(void** state) {
  cluster_scene_t* cluster = *state;
  TF_Status* status = cluster->status;
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  char target[64];
  leat_timeline_t* timeline;
  TF_Output x = add_told(graph, "Placeholder", "x", CLUSTER_WORKER_CPU, NULL, 1, status);
  TF_Output y = add_told(graph, "Neg", "y", CLUSTER_PS_CPU, &x, 2, status);
  TF_Output z = add_told(graph, "Abs", "z", CLUSTER_WORKER_CPU, &y, 3, status);
  cluster_scene_target(cluster, CLUSTER_WORKER, true, target);
  TF_SetTarget(options, target);
  TF_Session* session = TF_NewSession(graph, options, status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float)), *out = NULL;
  *(float*)TF_TensorData(in) = 3;
  leat_trace_cluster_t* trace = start(cluster, false);
  TF_SessionRun(session, NULL, &x, &in, 1, &z, &out, 1, NULL, 0, NULL, status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  assert_true(*(float*)TF_TensorData(out) == 3);
  free(stop(cluster, trace));
  LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), PATH, &timeline));
  expect_source(timeline, "y", "model.py:2");
  expect_source(timeline, "z", "model.py:3");
  leat_timeline_free(timeline);
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
}

// ---- What cannot be recorded --------------------------------------------------------------------

// Both servers are in this process: the second task has no part in the recording, nor has the port
// where nobody listens.
static void what_cannot_be_recorded_is_told(void** state) {
  cluster_scene_t* cluster = *state;
  leat_timeline_t* timeline;
  char* report = stop(cluster, start(cluster, true));
  assert_int_equal(scratch_count_text(report, "\"recorded\": true"), 1);
  assert_int_equal(scratch_count_text(report, "\"recorded\": false, \"shared\": true"), 1);
  assert_int_equal(scratch_count_text(report, "\"recorded\": false, \"message\": \""), 1);
  free(report);
  LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), PATH, &timeline));
  assert_int_equal(timeline->clock_count, 1);
  leat_timeline_free(timeline);
  // The process may be recorded again.
  leat_trace_start(0, cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
  leat_string_builder_t bytes;
  describe(cluster, true, &bytes);
  assert_null(leat_trace_cluster_start(bytes.data, bytes.size, 0, 60000, cluster->status));
  assert_int_equal(TF_GetCode(cluster->status), TF_UNAVAILABLE);
  leat_string_builder_deinitialize(&bytes);
  leat_trace_stop(NULL, cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
  assert_null(leat_trace_cluster_start("\xff", 1, 0, 1000, cluster->status));
  assert_int_equal(TF_GetCode(cluster->status), TF_INVALID_ARGUMENT);
}

// A recording that whoever began it did not come back for is dropped by the next one.
static void a_recording_left_alone_is_dropped(void** state) {
  cluster_scene_t* cluster = *state;
  const leat_pb_start_recording_request_t request = {0};
  const leat_pb_read_recording_request_t read = {.offset = 1};
  char handle[32];
  cluster_build_negation(cluster);
  cluster_session_open(cluster, handle);  // so that the ps is up
  cluster_call(cluster, CLUSTER_PS, "/leat.Diagnosis/StopRecording",
               &leat_pb_stop_recording_request_descriptor,
               &(leat_pb_stop_recording_request_t){.number = 1}, LEAT_FAILED_PRECONDITION,
               "no recording of this task is under way");
  cluster_call(cluster, CLUSTER_PS, "/leat.Diagnosis/StartRecording",
               &leat_pb_start_recording_request_descriptor, &request, LEAT_OK, "");
  char* report = stop(cluster, start(cluster, false));
  assert_int_equal(scratch_count_text(report, "\"recorded\": true"), 2);
  free(report);
  cluster_call(cluster, CLUSTER_PS, "/leat.Diagnosis/ReadRecording",
               &leat_pb_read_recording_request_descriptor, &read, LEAT_OUT_OF_RANGE,
               "offset is 1, must be 0 to 0");
  cluster_session_close(cluster, handle);
}

// Nobody comes for a recording: it ends after a few heartbeats, and the process may record again.
static void a_recording_ends_without_its_owner(void** state) {
  cluster_scene_t* cluster = *state;
  const leat_pb_start_recording_request_t request = {0};
  const int64_t begin_ns = leat_clock_now_ns();
  cluster_call(cluster, CLUSTER_WORKER, "/leat.Diagnosis/StartRecording",
               &leat_pb_start_recording_request_descriptor, &request, LEAT_OK, "");
  do {
    cluster_expect_no_hang(begin_ns);
    leat_clock_sleep_ns(1000000);
    leat_trace_start(0, cluster->status);
  } while (TF_GetCode(cluster->status) == TF_FAILED_PRECONDITION);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
  leat_trace_stop(NULL, cluster->status);
  cluster_call(cluster, CLUSTER_WORKER, "/leat.Diagnosis/StopRecording",
               &leat_pb_stop_recording_request_descriptor,
               &(leat_pb_stop_recording_request_t){.number = 1}, LEAT_FAILED_PRECONDITION,
               "no recording of this task is under way");
}

static int set_up_short_beats(void** state) {
  static const cluster_options_t kOptions = {.heartbeat_timeout_ms = 100};
  return cluster_scene_set_up_with(state, &kOptions);
}

static int set_up_process(void** state) {
  static const cluster_options_t kOptions = {.ps_is_a_process = true};
  return cluster_scene_set_up_with(state, &kOptions);
}

int main(void) {
#define TEST(name, set_up) \
  cmocka_unit_test_setup_teardown(name, set_up, cluster_scene_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_step_of_two_processes_is_in_one_file, set_up_process),
      TEST(nodes_that_others_run_tell_their_lines, set_up_process),
      TEST(what_cannot_be_recorded_is_told, cluster_scene_set_up),
      TEST(a_recording_left_alone_is_dropped, set_up_process),
      TEST(a_recording_ends_without_its_owner, set_up_short_beats),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
