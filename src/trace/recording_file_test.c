// Files of recordings. A recording is made by hand, so that its times are known: spans within each
// other, spans that touch, asynchronous kernels that overlap. Perfetto's packets are decoded again
// and walked as a viewer does: on each row every end must close the span that was opened last, and
// times must not go back.
#include "trace/recording_file.h"

#include <string.h>

#include "base/test.h"
#include "formats/generated/perfetto.h"
#include "formats/wire/decode.h"
#include "scratch.h"

#define MAX_ROWS 8

static leat_span_name_t names[] = {{{0}, {0}, 0}, {{"layer/mul", 9}, {"MatMul", 6}, 0}};
static leat_span_thread_t threads[] = {{11, "main"}, {12, "pool \"1\""}};

// Thread 0: a step with two kernels that touch, a piece of a loop in the second. Thread 1: a task
// that was queued. Of three asynchronous kernels two overlap. One kernel knows its step. One span
// is of an earlier recording.
static const leat_span_t spans[][5] = {
    {{20, 30, 1, LEAT_SPAN_KERNEL, 0, 64},
     {32, 38, 1, LEAT_SPAN_SHARD, 0, 3},
     {30, 40, 1, LEAT_SPAN_KERNEL, 0xabcdef, 8},
     {10, 50, 0, LEAT_SPAN_STEP, 0, 77},
     {12, 35, 1, LEAT_SPAN_ASYNC_KERNEL, 0, 4}},
    {{15, 25, 0, LEAT_SPAN_TASK, 0, 5},
     {20, 22, 1, LEAT_SPAN_ASYNC_KERNEL, 0, 0},
     {36, 60, 1, LEAT_SPAN_ASYNC_KERNEL, 0, 0},
     {1, 60, 0, LEAT_SPAN_PARK, 0, 0},
     {60, 60, 0, LEAT_SPAN_LOCK, 0, 0}}};

static leat_recording_t* make(void) {
  leat_recording_t* recording;
  LEAT_EXPECT_OK(LEAT_ALLOCATE(leat_allocator_system(), 1, &recording));
  *recording = (leat_recording_t){.threads = threads, .thread_count = 2, .names = names,
                                  .name_count = 2, .begin = 5, .end = 105, .begin_ns = 1000,
                                  .end_ns = 2000,  // 10 ns a tick
                                  .lost = 7, .lost_switches = 9};
  leat_span_chunk_t** behind = &recording->first;
  for (uint32_t i = 0; i < 2; ++i) {
    void* memory;
    LEAT_EXPECT_OK(leat_allocator_allocate(leat_allocator_system(),
                                           sizeof(leat_span_chunk_t) + sizeof spans[i], &memory));
    leat_span_chunk_t* chunk = *behind = memory;
    *chunk = (leat_span_chunk_t){.thread = i, .count = 5};
    memcpy(chunk->spans, spans[i], sizeof spans[i]);
    behind = &chunk->next;
  }
  return recording;
}

static void free_made(leat_recording_t* recording) {
  leat_allocator_free(leat_allocator_system(), recording->first->next);
  leat_allocator_free(leat_allocator_system(), recording->first);
  leat_allocator_free(leat_allocator_system(), recording);
}

// Writes the recording and reads the file; the caller frees |*out_data|.
static void write_and_read(const char* path, char** out_data, size_t* out_size) {
  leat_recording_t* recording = make();
  LEAT_EXPECT_OK(leat_recording_write(recording, leat_file_system_posix(), path));
  free_made(recording);
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), path, leat_allocator_system(),
                                    out_data, out_size));
}

// A row as a viewer keeps it.
typedef struct row_s {
  const leat_pb_track_descriptor_t* track;
  int depth, spans;
  uint64_t last;
} row_t;

static row_t* find_row(row_t* rows, uint64_t uuid) {
  for (int i = 0; i < MAX_ROWS; ++i) {
    if (rows[i].track && rows[i].track->uuid == uuid) return &rows[i];
  }
  fail_msg("no row has the number %llu", (unsigned long long)uuid);
  return NULL;
}

static void perfetto_nests_on_each_row(void** state) {
  char* data;
  size_t size;
  leat_arena_t arena;
  leat_pb_trace_t trace;
  row_t rows[MAX_ROWS] = {{0}};
  int row_count = 0, steps = 0;
  leat_decode_limits_t limits = {.max_memory_bytes = 1 << 20};
  write_and_read("t.perfetto-trace", &data, &size);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_message_decode(&leat_pb_trace_descriptor, leat_string_view_make(data, size),
                                     &arena, &limits, &trace));
  // Which clock the times are of stands before them, or Perfetto's viewer shows none of the events.
  const leat_pb_clock_snapshot_t* snapshot = trace.packet.items[0].clock_snapshot;
  assert_non_null(snapshot);
  assert_int_equal(snapshot->clocks.count, 1);
  assert_int_equal(snapshot->clocks.items[0].clock_id, 3);
  assert_int_equal(snapshot->clocks.items[0].timestamp, 1000);
  assert_int_equal(snapshot->primary_trace_clock, 3);
  for (size_t i = 1; i < trace.packet.count; ++i) {
    const leat_pb_trace_packet_t* packet = &trace.packet.items[i];
    assert_int_equal(packet->timestamp_clock_id, 3);
    if (packet->track_descriptor) {
      assert_true(row_count < MAX_ROWS);
      rows[row_count++].track = packet->track_descriptor;
      continue;
    }
    const leat_pb_track_event_t* event = packet->track_event;
    row_t* row = find_row(rows, event->track_uuid);
    assert_true(packet->timestamp >= row->last);
    row->last = packet->timestamp;
    if (event->type == LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END) {
      assert_true(row->depth-- > 0);
      continue;
    }
    ++row->spans;
    ++row->depth;
    if (!leat_string_view_equals(event->name, "step")) continue;
    ++steps;
    assert_int_equal(row->depth, 1);
    assert_int_equal(packet->timestamp, 1050);
    assert_int_equal(event->debug_annotations.items[0].int_value, 77);
  }
  assert_int_equal(steps, 1);
  assert_int_equal(row_count, 1 + 2 + 2);  // the process, threads, asynchronous kernels
  const int expected[] = {0, 4, 2, 2, 1};
  for (int i = 0; i < row_count; ++i) {
    assert_int_equal(rows[i].depth, 0);
    assert_int_equal(rows[i].spans, expected[i]);
  }
  assert_int_equal(rows[1].track->thread->tid, 11);
  assert_true(leat_string_view_equals(rows[2].track->thread->thread_name, "pool \"1\""));
  leat_arena_deinitialize(&arena);
  leat_allocator_free(leat_allocator_system(), data);
}

static void chrome_has_one_event_for_a_span(void** state) {
  static const char* const kParts[] = {
      "\"name\":\"MatMul\",\"cat\":\"kernel\"",
      "\"tid\":11,\"ts\":1.150,\"dur\":0.100,\"args\":{\"node\":\"layer/mul\",\"input bytes\":64}",
      "\"cat\":\"task\"", "\"args\":{\"queued ns\":50}", "\"name\":\"pool \\\"1\\\"\"",
      "asynchronous kernels 2", "\"input bytes\":4,\"by\":11",
      "\"input bytes\":8,\"in step\":11259375}", "\"spans lost\":7,\"switches lost\":9}}"};
  char* data;
  size_t size, events = 0;
  write_and_read("t.json", &data, &size);
  for (size_t i = 0; i < sizeof kParts / sizeof *kParts; ++i) {
    if (!strstr(data, kParts[i])) print_error("%s is not in\n%s\n", kParts[i], data);
    assert_non_null(strstr(data, kParts[i]));
  }
  for (const char* at = data; (at = strstr(at, "\"ph\":\"X\"")); ++at) ++events;
  assert_int_equal(events, 9);
  leat_allocator_free(leat_allocator_system(), data);
}

static void a_file_that_cannot_be_written_is_told(void** state) {
  leat_recording_t* recording = make();
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND,
                   leat_recording_write(recording, leat_file_system_posix(), "none/t.json"));
  free_made(recording);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(perfetto_nests_on_each_row),
      cmocka_unit_test(chrome_has_one_event_for_a_span),
      cmocka_unit_test(a_file_that_cannot_be_written_is_told),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
