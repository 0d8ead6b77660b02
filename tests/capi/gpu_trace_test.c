// Recordings of a program whose kernels launch work on a GPU, through leat/trace.h. The GPU is a
// stand-in (fake_cuda_plugin.c), which has the driver's and CUPTI's functions and makes records as
// CUPTI does; so what is tested is all of ours between those functions and the file, and nothing of
// NVIDIA's (tests/oracle/cupti_oracle.py holds the bytes against its headers and library). An op of
// the test copies and launches from its kernel; the file must have a row for each stream, with the
// node, joined with the launch in the kernel by one number. Whatever CUPTI refuses must leave a
// recording without those rows, one warning, and nothing that still records.
//
// The cases depend on their order: what the module has found stays found, so those in which it
// finds nothing come first.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/library.h"
#include "base/log.h"
#include "base/test.h"
#include "capi/fake_cuda.h"
#include "capi/plugin_kit.h"
#include "leat/trace.h"
#include "scratch.h"
#include "trace/delay_graph.h"

#define PERFETTO "gpu.perfetto-trace"
#define CHROME "gpu.json"

static fake_cuda_launch_fn_t launch;
static fake_cupti_fail_fn_t fail_at;
static fake_cupti_set_version_fn_t set_version;
static fake_cupti_flush_fn_t flush;
static fake_cupti_drop_fn_t drop;
static fake_cupti_on_flush_fn_t on_flush;
static fake_cupti_count_fn_t count_kinds, count_buffers;
static TF_Status* status;
static int warnings;
static char last_warning[512];
static _Atomic int files;  // that the flight recorder has written

static void note_warning(leat_log_level_t level, const char* line) {
  files += strncmp(line, "The last steps are in", 21) == 0;
  if (!strstr(line, "GPU")) return;
  ++warnings;
  snprintf(last_warning, sizeof last_warning, "%s", line);
}

static const char* library_path(const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/lib/%s.so", getenv("LEAT_BUILD_DIR"), name);
  return path;
}

// The op's kernel: a copy on stream 14, and a kernel on stream 7 of each of two devices.
static void launches(void* kernel, TF_OpKernelContext* ctx) {
  static const fake_work_t kWorks[] = {
      {NULL, 0, 14, 100}, {"sgemm_128x64", 0, 7, 200}, {"sgemm_128x64", 1, 7, 300}};
  TF_Tensor* x = NULL;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kWorks); ++i) launch(&kWorks[i]);
  TF_GetInput(ctx, 0, &x, status);
  kit_ok(status);
  TF_SetOutput(ctx, 0, x, status);
  TF_DeleteTensor(x);
}

static void run_steps(int count) {
  for (int i = 0; i < count; ++i) TF_DeleteTensor(run_op("Launches", status));
  kit_ok(status);
}

static int set_up(void** state) {
  leat_library_t* library = NULL;
  scratch_set_up(state);
  LEAT_EXPECT_OK(leat_library_open(library_path("fake_cuda_plugin"), &library));
  launch = (fake_cuda_launch_fn_t)leat_library_symbol(library, "fake_cuda_launch");
  fail_at = (fake_cupti_fail_fn_t)leat_library_symbol(library, "fake_cupti_fail");
  set_version =
      (fake_cupti_set_version_fn_t)leat_library_symbol(library, "fake_cupti_set_version");
  flush = (fake_cupti_flush_fn_t)leat_library_symbol(library, "cuptiActivityFlushAll");
  drop = (fake_cupti_drop_fn_t)leat_library_symbol(library, "fake_cupti_drop");
  on_flush = (fake_cupti_on_flush_fn_t)leat_library_symbol(library, "fake_cupti_on_flush");
  count_kinds = (fake_cupti_count_fn_t)leat_library_symbol(library, "fake_cupti_count_kinds");
  count_buffers = (fake_cupti_count_fn_t)leat_library_symbol(library, "fake_cupti_count_buffers");
  setenv("LEAT_CUDA", library_path("fake_cuda_plugin"), 1);
  setenv("LEAT_CUPTI", library_path("fake_cuda_plugin"), 1);
  status = TF_NewStatus();
  assert_int_equal(register_op("Launches", "x: int32", "y: int32", NULL, NULL), TF_OK);
  register_kernel("Launches", launches);
  leat_log_set_sink(note_warning);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteStatus(status);
  return scratch_tear_down(state);
}

static int reset(void** state) {
  warnings = 0;
  fail_at(NULL, 0);
  return 0;
}

// Records some steps, and writes |path|.
static void record(const char* path, int steps) {
  leat_trace_start(0, status);
  kit_ok(status);
  run_steps(steps);
  usleep(1000);  // until the last work has ended
  leat_trace_stop(path, status);
  kit_ok(status);
  assert_int_equal(count_kinds(), 0);
}

static void expect_no_rows(const char* path) {
  char* text = scratch_read_text(path);
  assert_non_null(text);
  assert_int_equal(scratch_count_text(text, "\"name\":\"GPU "), 0);
  assert_int_equal(scratch_count_text(text, "\"name\":\"Launches\",\"cat\":\"kernel\""), 1);
  free(text);
}

// ---- Nothing to record with ---------------------------------------------------------------------

static void cupti_is_not_found(void** state) {
  static const struct {
    const char *cupti, *warning;
    uint32_t version;
  } kCases[] = {{"/nowhere/libcupti.so", "no /nowhere/libcupti.so can be opened", 28},
                {"libc.so.6", "CUPTI has no function cuptiGetVersion", 28},
                {NULL, "CUPTI's version is 17, must be 18 to 139999", 17},
                {NULL, "CUPTI's version is 140000, must be 18 to 139999", 140000}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    warnings = 0;
    if (kCases[i].cupti) setenv("LEAT_CUPTI", kCases[i].cupti, 1);
    set_version(kCases[i].version);
    record(CHROME, 1);
    setenv("LEAT_CUPTI", library_path("fake_cuda_plugin"), 1);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last_warning, kCases[i].warning));
    expect_no_rows(CHROME);
  }
  set_version(28);
}

// No driver, or the user wants none of it: no warning either.
static void gpu_is_not_asked(void** state) {
  setenv("LEAT_CUPTI", "off", 1);
  record(CHROME, 1);
  setenv("LEAT_CUPTI", library_path("fake_cuda_plugin"), 1);
  expect_no_rows(CHROME);
  setenv("LEAT_CUDA", "libcuda_of_nobody.so.1", 1);
  record(CHROME, 1);
  setenv("LEAT_CUDA", library_path("fake_cuda_plugin"), 1);
  expect_no_rows(CHROME);
  assert_int_equal(warnings, 0);
}

// Each call of CUPTI's fails. What it gave before is not thrown away.
static void cupti_fails(void** state) {
  static const char* const kFunctions[] = {
      "cuptiSetThreadIdType", "cuptiActivityRegisterCallbacks", "cuptiActivityEnable",
      "cuptiActivityFlushAll", "cuptiActivityGetNextRecord"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFunctions); ++i) {
    warnings = 0;
    fail_at(kFunctions[i], 39);
    record(CHROME, 1);
    fail_at(NULL, 0);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last_warning, kFunctions[i]));
    assert_non_null(strstr(last_warning, "error 39, CUPTI_ERROR_OF_TEST"));
    expect_no_rows(CHROME);
  }
  // It is not asked again in the same recording.
  warnings = 0;
  fail_at("cuptiActivityEnable", 39);
  leat_trace_start(0, status);
  fail_at(NULL, 0);
  TF_LoadLibrary(library_path("fake_cuda_plugin"), status);
  kit_ok(status);
  assert_int_equal(count_kinds(), 0);
  leat_trace_stop(NULL, status);
  assert_int_equal(warnings, 1);
  warnings = 0;
  fail_at("cuptiGetTimestamp", 39);
  record(CHROME, 1);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(last_warning, "clock stands still"));
  expect_no_rows(CHROME);
}

// ---- Work is recorded ---------------------------------------------------------------------------

static leat_timeline_t* read_back(const char* path, leat_arena_t* arena,
                                  leat_delay_graph_t* out_graph) {
  leat_timeline_t* timeline = NULL;
  LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), path, &timeline));
  leat_arena_initialize(leat_allocator_system(), 0, arena);
  LEAT_EXPECT_OK(leat_delay_graph_index(timeline, arena, out_graph));
  LEAT_EXPECT_OK(leat_delay_graph_find_links(out_graph, arena));
  return timeline;
}

// The kernel around the launch must be that of the node, on the launch's row.
static void check_launch(const leat_timeline_t* timeline, const leat_span_link_t* launch) {
  const leat_timeline_row_t* row = timeline->rows[launch->row];
  bool is_within = false;
  for (uint32_t l = 0; l < row->lane_count; ++l) {
    for (size_t i = 0; i < row->lanes[l].count; ++i) {
      const leat_slice_t* slice = &row->lanes[l].slices[i];
      is_within |= timeline->names[slice->name].kind == LEAT_SPAN_KERNEL &&
                   leat_string_view_equals(timeline->names[slice->name].op, "Launches") &&
                   slice->begin_ns <= launch->slice->begin_ns &&
                   slice->end_ns >= launch->slice->begin_ns;
    }
  }
  assert_true(is_within);
}

// The pieces of work of |kind| in the file, each of which must have its launch.
static int count_work(const leat_timeline_t* timeline, const leat_delay_graph_t* graph,
                      leat_span_kind_t kind, const char* name, const char* row) {
  int count = 0;
  for (size_t i = 0; i < graph->link_count; ++i) {
    const leat_span_link_t* work = &graph->links[i];
    if (work->kind != kind ||
        !leat_string_view_equals(timeline->rows[work->row]->name, row)) {
      continue;
    }
    const leat_span_link_t* launch =
        leat_delay_graph_link(graph, LEAT_SPAN_LAUNCH, work->number, work->slice->begin_ns);
    assert_non_null(launch);
    check_launch(timeline, launch);
    assert_true(leat_string_view_equals(timeline->names[work->slice->name].op, name));
    assert_true(leat_string_view_equals(timeline->names[work->slice->name].node, "y"));
    assert_true(work->slice->begin_ns >= launch->slice->begin_ns &&
                work->slice->begin_ns < launch->slice->begin_ns + 100000);
    ++count;
  }
  return count;
}

static void check_file(const char* path, int steps) {
  leat_arena_t arena;
  leat_delay_graph_t graph;
  leat_timeline_t* timeline = read_back(path, &arena, &graph);
  assert_int_equal(count_work(timeline, &graph, LEAT_SPAN_COPY, "copy to the device",
                              "GPU 0 stream 14"), steps);
  assert_int_equal(count_work(timeline, &graph, LEAT_SPAN_STREAM, "sgemm_128x64",
                              "GPU 0 stream 7"), steps);
  assert_int_equal(count_work(timeline, &graph, LEAT_SPAN_STREAM, "sgemm_128x64",
                              "GPU 1 stream 7"), steps);
  leat_arena_deinitialize(&arena);
  leat_timeline_free(timeline);
}

static void work_is_in_the_files(void** state) {
  record(PERFETTO, 3);
  check_file(PERFETTO, 3);
  record(CHROME, 3);
  check_file(CHROME, 3);
  char* text = scratch_read_text(CHROME);
  // Arrows begin at launches and end at work.
  assert_int_equal(scratch_count_text(text, "\"ph\":\"s\",\"name\":\"message\""), 9);
  assert_int_equal(scratch_count_text(text, "\"ph\":\"f\",\"name\":\"message\""), 9);
  assert_non_null(strstr(text, "\"spans lost\":0,"));
  free(text);
  assert_int_equal(warnings, 0);
  assert_int_equal(count_buffers(), 0);
}

// CUPTI gives a buffer back when the recording is over: nobody takes it, and it is in no other one.
static void buffer_comes_late(void** state) {
  fail_at("cuptiActivityFlushAll", 39);
  record(CHROME, 1);
  fail_at(NULL, 0);
  assert_int_equal(count_buffers(), 1);
  assert_int_equal(flush(1), 0);
  assert_int_equal(count_buffers(), 0);
  record(CHROME, 2);
  check_file(CHROME, 2);
  char* text = scratch_read_text(CHROME);
  assert_non_null(strstr(text, "\"spans lost\":0,"));
  free(text);
}

// A device, or a library of ops, may bring its driver when the recording is under way.
static void driver_comes_later(void** state) {
  setenv("LEAT_CUDA", library_path("zero_out_plugin"), 1);
  leat_trace_start(0, status);
  kit_ok(status);
  run_steps(1);
  assert_int_equal(count_kinds(), 0);
  TF_LoadLibrary(library_path("zero_out_plugin"), status);
  kit_ok(status);
  assert_true(count_kinds() > 0);
  run_steps(2);
  usleep(1000);
  leat_trace_stop(PERFETTO, status);
  kit_ok(status);
  assert_int_equal(count_kinds(), 0);
  check_file(PERFETTO, 2);
  setenv("LEAT_CUDA", library_path("fake_cuda_plugin"), 1);
}

// More records than memory is given, and those that CUPTI dropped: what is gone is counted. Buffers
// come and go meanwhile, more than there may be at once.
static void records_are_lost(void** state) {
  static const fake_work_t kWork = {"k", 0, 7, 0};
  uint64_t lost = 0;
  leat_trace_start(1, status);
  kit_ok(status);
  // Three records each, of which 4096 are kept.
  for (int i = 0; i < 300000; ++i) launch(&kWork);
  drop(7);
  usleep(1000);
  leat_trace_stop(CHROME, status);
  kit_ok(status);
  char* text = scratch_read_text(CHROME);
  const char* found = strstr(text, "\"spans lost\":");
  assert_non_null(found);
  assert_int_equal(sscanf(found, "\"spans lost\":%" SCNu64, &lost), 1);
  assert_int_equal(lost, 900000 - 4096 + 7);
  const int kept = scratch_count_text(text, "\"name\":\"k\",\"cat\":\"stream work\"");
  assert_true(kept >= 4096 / 3 && kept <= 4096 / 3 + 1);
  free(text);
  assert_int_equal(count_buffers(), 0);
}

// ---- The flight recorder ------------------------------------------------------------------------

// After the recording has ended, and before its records have come.
static void launch_late(void) {
  static const fake_work_t kLate = {"late", 0, 99, 0};
  launch(&kLate);
}

static int count_late(const char* path) {
  char* text = scratch_read_text(path);
  const int count = scratch_count_text(text, "\"name\":\"late\",\"cat\":\"stream work\"");
  free(text);
  return count;
}

static void wait_for_files(int count) {
  for (int i = 0; i < 60000 && files < count; ++i) usleep(1000);
  assert_int_equal(files, count);
}

// Each file has the work since the one before it, and recording goes on meanwhile.
static void flight_is_recorded(void** state) {
  const leat_trace_flight_options_t options = {.struct_size = sizeof options,
                                               .path = "flight%n.json"};
  leat_trace_flight_start(&options, status);
  kit_ok(status);
  for (int file = 1; file <= 2; ++file) {
    char path[32];
    run_steps(1 + file);
    usleep(1000);
    if (file == 1) on_flush(launch_late);
    leat_trace_flight_write("the test wants it", status);
    kit_ok(status);
    snprintf(path, sizeof path, "flight%d.json", file);
    wait_for_files(file);
    check_file(path, 1 + file);
    assert_int_equal(count_late(path), file == 2);
    assert_true(count_kinds() > 0);
  }
  leat_trace_flight_stop(status);
  kit_ok(status);
  assert_int_equal(count_kinds(), 0);
  assert_int_equal(count_buffers(), 0);
}

// ---- Processes ----------------------------------------------------------------------------------

// A child of fork cannot use its parent's driver, and must not touch its CUPTI.
static void child_keeps_away(void** state) {
  int code = 0;
  leat_trace_start(0, status);
  kit_ok(status);
  const int kinds = count_kinds();
  assert_true(kinds > 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    leat_trace_start(0, status);
    run_steps(1);
    leat_trace_stop(CHROME, status);
    _exit(TF_GetCode(status) == TF_OK && count_kinds() == kinds ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
  leat_trace_stop(NULL, status);
  kit_ok(status);
  expect_no_rows(CHROME);
}

// Two threads may start and end a recording so that the source hears of the end first.
static void beginning_after_end(void** state) {
  const leat_span_source_t* source = atomic_load(&leat_span_source);
  leat_recording_t recording = {0};
  source->end(1000000, 0, &recording);
  source->begin(1000000, 0);
  assert_int_equal(count_kinds(), 0);
  source->begin(1000001, 0);
  assert_true(count_kinds() > 0);
  source->end(1000001, 0, &recording);
  assert_int_equal(count_kinds(), 0);
  assert_int_equal(recording.thread_count, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(cupti_is_not_found, reset),
      cmocka_unit_test_setup(gpu_is_not_asked, reset),
      cmocka_unit_test_setup(cupti_fails, reset),
      cmocka_unit_test_setup(work_is_in_the_files, reset),
      cmocka_unit_test_setup(buffer_comes_late, reset),
      cmocka_unit_test_setup(driver_comes_later, reset),
      cmocka_unit_test_setup(records_are_lost, reset),
      cmocka_unit_test_setup(flight_is_recorded, reset),
      cmocka_unit_test_setup(child_keeps_away, reset),
      cmocka_unit_test_setup(beginning_after_end, reset),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
