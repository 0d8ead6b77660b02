// What the writer of a stream makes of the files that another one, which died, has left: without a
// dispatcher, since none of these cases asks for a split. A stream that was whole is published
// without being made again, wherever the publishing ended; one that is done stays as it is; and
// what cannot be gone on with, or not be begun, ends the stream with a reason. Streams that are
// written from their beginning are in tests/oracle/data_service_snapshot_oracle.py.
#include "data_service/stream_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/test.h"
#include "init.h"
#include "scratch.h"

#define MARK "leat: all chunks of the stream are whole"
#define STREAM "/streams/stream_2/"

static void put(const char* path, const char* name, const char* text) {
  char full[200];
  snprintf(full, sizeof full, "%s/%s", path, name);
  char* slash = strrchr(full, '/');
  *slash = 0;
  LEAT_EXPECT_OK(leat_file_make_directories(leat_file_system_posix(), full));
  *slash = '/';
  scratch_write_file(full, text, strlen(text));
}

static bool has(const char* path, const char* name) {
  char full[200];
  snprintf(full, sizeof full, "%s/%s", path, name);
  return leat_file_exists(leat_file_system_posix(), full);
}

// Runs a writer of stream 2 to its end, and tells what the dispatcher would be told.
static leat_status_code_t write_stream(const char* path, char* out_message, size_t size) {
  const leat_runtime_t* runtime;
  leat_stream_writer_t* writer;
  leat_arena_t arena;
  leat_pb_snapshot_task_progress_t progress;
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  const leat_stream_writer_context_t context = {
      .runtime = runtime, .address = LEAT_SV("localhost:1"), .chunk_bytes = 1000};
  const leat_pb_snapshot_task_def_t def = {
      .base_path = leat_string_view_from(path), .stream_index = 2, .num_sources = 1};
  LEAT_EXPECT_OK(leat_stream_writer_start(&context, &def, &writer));
  assert_true(leat_stream_writer_is_for(writer, &def));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  do {
    LEAT_EXPECT_OK(leat_stream_writer_describe(writer, &arena, &progress));
    if (!progress.completed && !progress.status) leat_clock_sleep_ns(1000000);
  } while (!progress.completed && !progress.status);
  assert_int_equal(progress.snapshot_task->stream_index, 2);
  leat_stream_writer_free(writer);
  const leat_status_code_t code =
      progress.completed ? LEAT_OK : (leat_status_code_t)progress.status->code;
  snprintf(out_message, size, "%.*s",
           LEAT_SV_ARG(progress.completed ? LEAT_SV("") : progress.status->message));
  leat_arena_deinitialize(&arena);
  return code;
}

// The writer before had given the first |published| of three chunks their names.
static void a_whole_stream_is_published(void** state) {
  for (int published = 0; published <= 3; ++published) {
    static const int kCounts[] = {5, 4, 1};
    char path[32], name[100], message[200];
    snprintf(path, sizeof path, "whole%d", published);
    put(path, "chunks/other", "");
    put(path, STREAM "checkpoints/checkpoint_3_1", MARK);
    put(path, STREAM "uncommitted_chunks/chunk_3_CHUNK_SHARDS_writing", "torn");
    for (int i = 0; i < 3; ++i) {
      snprintf(name, sizeof name,
               i < published ? "chunks/chunk_2_%d_%d"
                             : STREAM "uncommitted_chunks/chunk_%d_CHUNK_SHARDS_%d",
               i, kCounts[i]);
      put(path, name, "elements");
    }
    assert_int_equal(write_stream(path, message, sizeof message), LEAT_OK);
    for (int i = 0; i < 3; ++i) {
      snprintf(name, sizeof name, "chunks/chunk_2_%d_%d", i, kCounts[i]);
      assert_true(has(path, name));
    }
    assert_true(has(path, STREAM "DONE"));
    assert_false(has(path, STREAM "checkpoints"));
    assert_false(has(path, STREAM "ERROR"));
    assert_false(has(path, "chunks/chunk_2_3_0"));
  }
}

static void a_stream_that_is_done_stays_so(void** state) {
  char message[200];
  put("done", STREAM "DONE", "");
  put("done", STREAM "uncommitted_chunks/chunk_0_CHUNK_SHARDS_1", "");
  assert_int_equal(write_stream("done", message, sizeof message), LEAT_OK);
  assert_true(has("done", STREAM "uncommitted_chunks/chunk_0_CHUNK_SHARDS_1"));
}

static void what_cannot_go_on_has_a_reason(void** state) {
  char message[300];
  put("foreign", STREAM "checkpoints/checkpoint_4_10", "state");
  assert_int_equal(write_stream("foreign", message, sizeof message), LEAT_UNIMPLEMENTED);
  assert_non_null(strstr(message, "checkpoint_4_10"));
  assert_true(has("foreign", STREAM "ERROR"));
  assert_false(has("foreign", STREAM "DONE"));
  put("strange", STREAM "checkpoints/other", "state");
  assert_int_equal(write_stream("strange", message, sizeof message), LEAT_DATA_LOSS);
  // What a writer left that had not come to its end is removed before anything is read.
  put("torn", STREAM "uncommitted_chunks/chunk_0_CHUNK_SHARDS_7", "");
  put("torn", STREAM "uncommitted_chunks/chunk_1_CHUNK_SHARDS_writing", "");
  put("torn", STREAM "uncommitted_chunks/chunk_1_CHUNK_SHARDS_31_0", "of TensorFlow");
  assert_int_equal(write_stream("torn", message, sizeof message), LEAT_NOT_FOUND);
  assert_non_null(strstr(message, "dataset_def.proto"));
  assert_false(has("torn", STREAM "uncommitted_chunks/chunk_0_CHUNK_SHARDS_7"));
  assert_false(has("torn", STREAM "uncommitted_chunks/chunk_1_CHUNK_SHARDS_writing"));
  assert_false(has("torn", STREAM "uncommitted_chunks/chunk_1_CHUNK_SHARDS_31_0"));
  put("empty", "dataset_def.proto", "");
  assert_int_equal(write_stream("empty", message, sizeof message), LEAT_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(a_whole_stream_is_published),
      cmocka_unit_test(a_stream_that_is_done_stays_so),
      cmocka_unit_test(what_cannot_go_on_has_a_reason),
  };
  return cmocka_run_group_tests(cases, scratch_set_up, scratch_tear_down);
}
