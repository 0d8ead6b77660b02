// Snapshots on their own files, without workers: of the zip of two ranges, with 4 and 3 splits. A
// snapshot that is read again from its directory after every call must answer as one that never is.
// Then each call is made while the n-th operation on files fails, for every n, which must change
// nothing that is told twice or lost; and directories that nobody has written so are refused.
// tests/oracle/data_service_snapshot_oracle.py has workers of both libraries write snapshots.
#include "data_service/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file_system_faulty.h"
#include "base/string_builder.h"
#include "base/test.h"
#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "init.h"
#include "scratch.h"

// ---- The dataset --------------------------------------------------------------------------------

// The GraphDef of zip(range(4), range(3)).
static void make_graph(leat_string_builder_t* out) {
#define NUMBER(name, value)                                                                   \
  "node { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } "       \
  "attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: " value   \
  " } } } } "
#define RANGE(name, stop)                                                                     \
  "node { name: '" name "' op: 'RangeDataset' input: 'n0' input: '" stop "' input: 'n1' "     \
  "attr { key: 'output_types' value { list { type: DT_INT64 } } } "                           \
  "attr { key: 'output_shapes' value { list { shape { } } } } } "
  static const char kText[] = NUMBER("n0", "0") NUMBER("n1", "1") NUMBER("n3", "3")
      NUMBER("n4", "4") RANGE("a", "n4") RANGE("b", "n3")
      "node { name: 'zip' op: 'ZipDataset' input: 'a' input: 'b' attr { key: 'N' value { i: 2 } } "
      "attr { key: 'output_types' value { list { type: DT_INT64 type: DT_INT64 } } } "
      "attr { key: 'output_shapes' value { list { shape { } shape { } } } } } "
      "node { name: 'ret' op: '_Retval' input: 'zip' attr { key: 'T' value { type: DT_VARIANT } } "
      "attr { key: 'index' value { i: 0 } } }";
  leat_arena_t arena;
  leat_pb_graph_def_t def;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_text_parse(&leat_pb_graph_def_descriptor, leat_string_view_from(kText),
                                 &arena, &def));
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &def, out));
  leat_arena_deinitialize(&arena);
}

// |fs| may be NULL: the operating system's.
static leat_status_t start(leat_file_system_t* fs, const char* path,
                           leat_snapshot_t** out_snapshot) {
  const leat_runtime_t* runtime;
  leat_string_builder_t graph;
  leat_split_providers_t* providers;
  leat_string_builder_initialize(leat_allocator_system(), &graph);
  make_graph(&graph);
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  LEAT_EXPECT_OK(
      leat_split_providers_create(runtime, leat_string_builder_view(&graph), &providers));
  leat_pb_dataset_def_t def = {.graph = leat_string_builder_view(&graph)};
  leat_pb_distributed_snapshot_metadata_t metadata = {.element_spec = LEAT_SV("spec\n\"1\""),
                                                      .compression = LEAT_SV("SNAPPY")};
  const leat_pb_snapshot_request_t request = {
      .dataset = &def, .path = leat_string_view_from(path), .metadata = &metadata};
  leat_status_t status = leat_snapshot_start(fs ? fs : leat_file_system_posix(), &request,
                                             providers, out_snapshot);
  leat_string_builder_deinitialize(&graph);
  return status;
}

static leat_status_t resume(leat_file_system_t* fs, const char* path,
                            leat_snapshot_t** out_snapshot) {
  const leat_runtime_t* runtime;
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  return leat_snapshot_resume(runtime, fs ? fs : leat_file_system_posix(),
                              leat_string_view_from(path), out_snapshot);
}

// ---- Calls --------------------------------------------------------------------------------------

typedef enum { ADD, SPLIT, DONE, ERROR, LOOK, WANT } call_kind_t;

// What a worker asks, and what it hears: a split and its number in the stream, -1 for the end, or a
// code. Of LOOK: the stream that the worker should write, or -1; of WANT: whether it may get one.
typedef struct step_s {
  call_kind_t kind;
  const char* worker;
  int64_t stream, source, pass;
  int64_t said, number;
  leat_status_code_t code;
} step_t;

#define A "localhost:1"
#define B "localhost:2"
#define C "localhost:3"

static const step_t kScene[] = {
    {ADD, A, .stream = 0},
    {LOOK, A, .said = 0},
    {LOOK, B, .said = -1},
    {WANT, A, .said = 0},
    {WANT, B, .said = 1},
    {SPLIT, A, 0, 0, 0, .said = 0, .number = 0},
    {SPLIT, A, 0, 1, 0, .said = 0, .number = 0},
    {ADD, B, .stream = 0},
    {LOOK, B, .said = 1},
    {SPLIT, B, 1, 0, 0, .said = 1, .number = 0},
    {SPLIT, A, 0, 0, 0, .said = 2, .number = 1},
    // Streams, sources and passes that there are not, or not any more.
    {SPLIT, A, 1, 0, 0, .code = LEAT_INTERNAL},
    {SPLIT, C, 0, 0, 0, .code = LEAT_INTERNAL},
    {SPLIT, A, 0, 2, 0, .code = LEAT_INVALID_ARGUMENT},
    {SPLIT, A, 0, -1, 0, .code = LEAT_INVALID_ARGUMENT},
    {SPLIT, A, 0, 0, -1, .code = LEAT_INVALID_ARGUMENT},
    {SPLIT, A, 0, 0, INT64_MAX, .code = LEAT_INVALID_ARGUMENT},
    {DONE, A, .stream = 1, .code = LEAT_INTERNAL},
    // The end of a pass, which each stream hears, and the next one, which ends it for others.
    {SPLIT, B, 1, 0, 0, .said = 3, .number = 1},
    {SPLIT, A, 0, 0, 0, .said = -1, .number = 2},
    {SPLIT, B, 1, 0, 0, .said = -1, .number = 2},
    {SPLIT, B, 1, 1, 2, .said = 0, .number = 0},
    {SPLIT, A, 0, 1, 0, .said = -1, .number = 1},
    {SPLIT, A, 0, 1, 1, .said = -1, .number = 1},
    {SPLIT, A, 0, 1, 2, .said = 1, .number = 1},
    // A worker that comes while the snapshot is active gets a stream; one that comes later, none.
    {LOOK, C, .said = -1},
    {WANT, C, .said = 1},
    {DONE, A, .stream = 0},
    {WANT, C, .said = 0},
    {LOOK, A, .said = -1},
    {LOOK, B, .said = 1},
    {SPLIT, B, 1, 1, 2, .said = 2, .number = 1},
    {SPLIT, B, 1, 1, 2, .said = -1, .number = 2},
    {DONE, B, .stream = 1},
    {LOOK, B, .said = -1},
    {ERROR, B, .stream = 1},
};

static leat_status_t make_call(leat_snapshot_t* snapshot, const step_t* step, int64_t* out_said,
                               int64_t* out_number) {
  leat_pb_snapshot_task_def_t task = {.stream_index = step->stream};
  leat_pb_status_proto_t reason = {.code = LEAT_ABORTED, .message = LEAT_SV("it's \"so\"")};
  const leat_string_view_t worker = leat_string_view_from(step->worker);
  const leat_pb_get_snapshot_split_request_t request = {.worker_address = worker,
                                                        .stream_index = step->stream,
                                                        .source_index = step->source,
                                                        .repetition_index = step->pass};
  const leat_pb_snapshot_task_progress_t progress = {
      .snapshot_task = &task,
      .completed = step->kind == DONE,
      .status = step->kind == ERROR ? &reason : NULL};
  bool at_end = false;
  *out_said = *out_number = 0;
  switch (step->kind) {
    case ADD: return leat_snapshot_add_stream(snapshot, worker);
    case DONE:
    case ERROR: return leat_snapshot_take_progress(snapshot, worker, &progress);
    case LOOK:
      *out_said = leat_snapshot_find_task(snapshot, worker, &task) ? task.stream_index : -1;
      return leat_ok_status();
    case WANT: *out_said = leat_snapshot_wants(snapshot, worker); return leat_ok_status();
    case SPLIT: break;
  }
  LEAT_RETURN_IF_ERROR(
      leat_snapshot_next_split(snapshot, &request, out_said, out_number, &at_end));
  if (at_end) *out_said = -1;
  return leat_ok_status();
}

static void expect_answer(size_t index, const step_t* step, leat_status_t status, int64_t said,
                          int64_t number) {
  const bool is_as_told = leat_status_code(status) == step->code &&
                          (step->code || (said == step->said && number == step->number));
  if (!is_as_told) {
    print_error("step %zu: %s, said %" PRId64 ", number %" PRId64 "\n", index,
                leat_status_message(status), said, number);
    fail();
  }
  leat_status_free(status);
}

// A worker that ends its stream writes the file DONE first.
static void write_done(const char* path, const step_t* step) {
  char name[200];
  if (step->kind != DONE || step->code) return;
  snprintf(name, sizeof name, "%s/streams/stream_%d/DONE", path, (int)step->stream);
  scratch_write_file(name, "", 0);
}

static void expect_file(const char* path, const char* name, const char* text) {
  char full[200], *bytes;
  size_t size;
  snprintf(full, sizeof full, "%s/%s", path, name);
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), full, leat_allocator_system(),
                                    &bytes, &size));
  assert_string_equal(bytes, text);
  leat_allocator_free(leat_allocator_system(), bytes);
}

static void nobody_notices_that_it_was_read_again(void** state) {
  for (int is_restless = 0; is_restless < 2; ++is_restless) {
    const char* path = is_restless ? "restless" : "steady";
    leat_snapshot_t* snapshot;
    LEAT_EXPECT_OK(start(NULL, path, &snapshot));
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kScene); ++i) {
      int64_t said, number;
      write_done(path, &kScene[i]);
      leat_status_t status = make_call(snapshot, &kScene[i], &said, &number);
      expect_answer(i, &kScene[i], status, said, number);
      if (!is_restless) continue;
      leat_snapshot_free(snapshot);
      LEAT_EXPECT_OK(resume(NULL, path, &snapshot));
    }
    leat_snapshot_free(snapshot);
    expect_file(path, "DONE", "");
    expect_file(path, "streams/stream_1/owner_worker", B);
    expect_file(path, "snapshot.metadata",
                "element_spec: \"spec\\n\\\"1\\\"\"\ncompression: \"SNAPPY\"\n");
    expect_file(path, "dataset_spec.pb", "spec\n\"1\"");
  }
}

static void an_error_ends_it(void** state) {
  leat_file_system_faulty_t faulty;
  leat_snapshot_t* snapshot;
  int64_t said, number;
  const step_t add = {ADD, A, .stream = 0};
  const step_t error = {ERROR, A, .stream = 0};
  const step_t look = {LOOK, A, .stream = 0};
  leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
  LEAT_EXPECT_OK(start(&faulty.base, "failed", &snapshot));
  LEAT_EXPECT_OK(make_call(snapshot, &add, &said, &number));
  assert_int_equal(leat_snapshot_count_open_streams(snapshot), 1);
  atomic_store(&faulty.call_count, 0);
  faulty.failing_call = 1;
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, make_call(snapshot, &error, &said, &number));
  LEAT_EXPECT_OK(make_call(snapshot, &error, &said, &number));
  expect_file("failed", "ERROR", "code: ABORTED\nmessage: \"it\\'s \\\"so\\\"\"\n");
  for (int i = 0; i < 2; ++i) {
    LEAT_EXPECT_OK(make_call(snapshot, &look, &said, &number));
    assert_int_equal(said, -1);
    assert_false(leat_snapshot_wants(snapshot, LEAT_SV(B)));
    assert_int_equal(leat_snapshot_count_open_streams(snapshot), 0);
    leat_snapshot_free(snapshot);
    LEAT_EXPECT_OK(resume(NULL, "failed", &snapshot));
  }
  leat_snapshot_free(snapshot);
}

// ---- Files that fail ----------------------------------------------------------------------------

// Makes each call of the scene with its n-th operation on files failing, until none fails. Whether
// the one who asks tries again or the dispatcher dies and is started again, the answer must be the
// one that the scene tells.
static void whatever_fails_may_be_asked_again(void** state) {
  for (int dies = 0; dies < 2; ++dies) {
    const char* path = dies ? "dying" : "asking";
    leat_file_system_faulty_t faulty;
    leat_snapshot_t* snapshot;
    int failures = 0;
    leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
    LEAT_EXPECT_OK(start(&faulty.base, path, &snapshot));
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kScene); ++i) {
      int64_t said, number;
      leat_status_t status;
      write_done(path, &kScene[i]);
      for (int n = 1;; ++n) {
        atomic_store(&faulty.call_count, 0);
        faulty.failing_call = n;
        status = make_call(snapshot, &kScene[i], &said, &number);
        faulty.failing_call = 0;
        if (leat_status_code(status) != LEAT_UNAVAILABLE) break;
        leat_status_free(status);
        ++failures;
        if (!dies) continue;
        leat_snapshot_free(snapshot);
        LEAT_EXPECT_OK(resume(&faulty.base, path, &snapshot));
        // The stream may be there although the call failed: its owner was on the disk.
        if (kScene[i].kind == ADD &&
            !leat_snapshot_wants(snapshot, leat_string_view_from(kScene[i].worker))) {
          status = leat_ok_status();
          said = number = 0;
          break;
        }
      }
      expect_answer(i, &kScene[i], status, said, number);
    }
    leat_snapshot_free(snapshot);
    expect_file(path, "DONE", "");
    assert_true(failures > 30);
  }
}

// A file that cannot be looked at is there: a snapshot is read whole, or not at all.
static void what_cannot_be_read_is_not_overlooked(void** state) {
  static const step_t kSteps[] = {
      {ADD, A, .stream = 0},
      {ADD, B, .stream = 0},
      {SPLIT, B, .stream = 1, .source = 0},
      {DONE, A, .stream = 0},
  };
  leat_file_system_faulty_t faulty;
  leat_snapshot_t* snapshot;
  int64_t said, number;
  int failures = 0;
  LEAT_EXPECT_OK(start(NULL, "unreadable", &snapshot));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSteps); ++i) {
    write_done("unreadable", &kSteps[i]);
    LEAT_EXPECT_OK(make_call(snapshot, &kSteps[i], &said, &number));
  }
  leat_snapshot_free(snapshot);
  leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
  for (int n = 1;; ++n) {
    atomic_store(&faulty.call_count, 0);
    faulty.failing_call = n;
    leat_status_t status = resume(&faulty.base, "unreadable", &snapshot);
    const bool is_read = !status;
    if (status) LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, status);
    failures += !is_read;
    if (!is_read) continue;
    faulty.failing_call = 0;
    const step_t steps[] = {{LOOK, A, .stream = 0},
                            {LOOK, B, .stream = 0},
                            {WANT, C, .stream = 0},
                            {SPLIT, B, .stream = 1, .source = 0}};
    const int64_t expected[] = {-1, 1, 0, 1};
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(steps); ++i) {
      LEAT_EXPECT_OK(make_call(snapshot, &steps[i], &said, &number));
      assert_int_equal(said, expected[i]);
    }
    leat_snapshot_free(snapshot);
    break;
  }
  assert_true(failures > 15);
}

// ---- What is refused ----------------------------------------------------------------------------

static void paths_that_are_taken_are_refused(void** state) {
  leat_snapshot_t* snapshot;
  LEAT_EXPECT_OK(start(NULL, "taken", &snapshot));
  leat_snapshot_free(snapshot);
  LEAT_EXPECT_CODE(LEAT_ALREADY_EXISTS, start(NULL, "taken", &snapshot));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, start(NULL, "", &snapshot));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, resume(NULL, "nowhere", &snapshot));
}

// What is done to the directory of a snapshot that has two streams, and what it is found to be.
static const struct {
  const char *removed, *written, *text;
  const char* said;  // in the message; NULL: it goes on
  leat_status_code_t code;
} kDamage[] = {
    {"snapshot.metadata", NULL, NULL, "snapshot.metadata", LEAT_NOT_FOUND},
    {"dataset_def.proto", NULL, NULL, "dataset_def.proto", LEAT_NOT_FOUND},
    {NULL, "snapshot.metadata", "speck: 1", "snapshot.metadata", LEAT_INVALID_ARGUMENT},
    {NULL, "dataset_def.proto", "\xff", "dataset_def.proto", LEAT_INVALID_ARGUMENT},
    {NULL, "streams/stream_1/owner_worker", A, "two streams", LEAT_DATA_LOSS},
    // The dispatcher died before the stream was anybody's.
    {NULL, "streams/stream_7/other", "", NULL, LEAT_OK},
    {NULL, "streams/other", "", "'other'", LEAT_DATA_LOSS},
    {NULL, "streams/stream_-1", "", "'stream_-1'", LEAT_DATA_LOSS},
    {NULL, "streams/stream_1x", "", "'stream_1x'", LEAT_DATA_LOSS},
    {"streams/stream_0/splits/source_0/repetition_0/split_0_0", NULL, NULL, "in its stream is 1",
     LEAT_DATA_LOSS},
    {"streams/stream_0/splits/source_0/repetition_0/split_1_2", NULL, NULL, "in the snapshot is 3",
     LEAT_DATA_LOSS},
    {NULL, "streams/stream_0/splits/source_0/repetition_0/split_2_1", "", "in the snapshot is 1",
     LEAT_DATA_LOSS},
    {NULL, "streams/stream_0/splits/source_0/repetition_0/split_2", "", "'split_2'",
     LEAT_DATA_LOSS},
};

static void damage(const char* path, const char* removed, const char* written, const char* text) {
  char name[200];
  if (removed) {
    snprintf(name, sizeof name, "%s/%s", path, removed);
    assert_int_equal(remove(name), 0);
  }
  if (!written) return;
  snprintf(name, sizeof name, "%s/%s", path, written);
  *strrchr(name, '/') = 0;
  LEAT_EXPECT_OK(leat_file_make_directories(leat_file_system_posix(), name));
  name[strlen(name)] = '/';
  scratch_write_file(name, text, strlen(text));
}

static void directories_that_make_no_sense_are_refused(void** state) {
  static const step_t kSteps[] = {
      {ADD, A, .stream = 0},
      {ADD, B, .stream = 0},
      {SPLIT, A, .stream = 0, .source = 0},
      {SPLIT, B, .stream = 1, .source = 0},
      {SPLIT, A, .stream = 0, .source = 0},
      {SPLIT, B, .stream = 1, .source = 1},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kDamage); ++i) {
    char path[32];
    int64_t said, number;
    leat_snapshot_t* snapshot = NULL;
    snprintf(path, sizeof path, "damaged%zu", i);
    LEAT_EXPECT_OK(start(NULL, path, &snapshot));
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(kSteps); ++k) {
      LEAT_EXPECT_OK(make_call(snapshot, &kSteps[k], &said, &number));
    }
    leat_snapshot_free(snapshot);
    damage(path, kDamage[i].removed, kDamage[i].written, kDamage[i].text);
    leat_status_t status = resume(NULL, path, &snapshot);
    if (!status) leat_snapshot_free(snapshot);
    if (status && (!kDamage[i].said || !strstr(leat_status_message(status), kDamage[i].said))) {
      print_error("%zu: %s\n", i, leat_status_message(status));
      fail();
    }
    LEAT_EXPECT_CODE(kDamage[i].code, status);
  }
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(nobody_notices_that_it_was_read_again),
      cmocka_unit_test(an_error_ends_it),
      cmocka_unit_test(whatever_fails_may_be_asked_again),
      cmocka_unit_test(what_cannot_be_read_is_not_overlooked),
      cmocka_unit_test(paths_that_are_taken_are_refused),
      cmocka_unit_test(directories_that_make_no_sense_are_refused),
  };
  return cmocka_run_group_tests(cases, scratch_set_up, scratch_tear_down);
}
