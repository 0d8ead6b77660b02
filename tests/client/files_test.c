// leat/files.h: event files, records, the state file of checkpoints. Each test works in a fresh
// folder, writes with one half of the interface, and reads back with the other or looks at the
// files; a damaged record, and a state file as TensorFlow writes it, are made by hand. That
// TensorFlow reads what we write, and the reverse, is tested in tests/oracle. What happens when
// memory or the disk runs out is tested in fault_test.c and tests/hostile/save_test.c.
#define _GNU_SOURCE  // memmem
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#include "capi/kit.h"
#include "leat/files.h"
#include "leat/graph.h"
#include "leat/inspect.h"
#include "scratch.h"

static TF_Status* status;

static int set_up(void** state) {
  status = TF_NewStatus();
  return scratch_set_up(state);
}

static int tear_down(void** state) {
  TF_DeleteStatus(status);
  return scratch_tear_down(state);
}

// ---- Records ------------------------------------------------------------------------------------

static void write_compressed(const char* path, int count, const char* compression) {
  leat_records_writer_t* writer = leat_records_create_compressed(path, compression, status);
  kit_ok(status);
  for (int i = 0; i < count; ++i) {
    char record[64];
    int size = snprintf(record, sizeof record, "record %d", i);
    leat_records_write(writer, record, (size_t)size, status);
    kit_ok(status);
  }
  leat_records_write(writer, NULL, 0, status);
  kit_ok(status);
  leat_records_finish(writer, status);
  kit_ok(status);
}

static void write_records(const char* path, int count) { write_compressed(path, count, NULL); }

static void expect_records(leat_records_t* records, int count) {
  size_t size;
  kit_ok(status);
  for (int i = 0; i < count; ++i) {
    char expected[64];
    snprintf(expected, sizeof expected, "record %d", i);
    const void* record = leat_records_next(records, &size, status);
    kit_ok(status);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(record, expected, size);
  }
  assert_non_null(leat_records_next(records, &size, status));
  assert_int_equal(size, 0);
  for (int i = 0; i < 2; ++i) {
    assert_null(leat_records_next(records, &size, status));
    kit_expect(status, TF_OUT_OF_RANGE);
  }
  leat_records_close(records);
}

static void test_records(void** state) {
  write_records("r", 100);
  expect_records(leat_records_open("r", status), 100);
  write_records("r", 0);  // emptied
  size_t size;
  leat_records_t* records = leat_records_open("r", status);
  assert_non_null(leat_records_next(records, &size, status));
  assert_null(leat_records_next(records, &size, status));
  leat_records_close(records);
}

static void test_compressed_records(void** state) {
  for (int i = 0; i < 2; ++i) {
    write_compressed("r", 100, i ? "ZLIB" : "GZIP");
    expect_records(leat_records_open_compressed("r", i ? "ZLIB" : "GZIP", status), 100);
  }
  assert_null(leat_records_create_compressed("r", "RAR", status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  assert_null(leat_records_open_compressed("r", "RAR", status));
  kit_expect(status, TF_INVALID_ARGUMENT);
}

// Whether all options of zlib arrive is tested in python/tests/train_test.py, where there is
// another zlib to compare with.
static void test_options_of_zlib(void** state) {
  leat_zlib_options_t options = leat_zlib_options_default("GZIP");
  assert_int_equal(options.level, -1);
  assert_int_equal(options.window_bits, 31);
  options.level = 0;  // what is only stored stands in the file as it is
  leat_records_writer_t* writer =
      leat_records_create_with_options("r", "GZIP", &options, status);
  kit_ok(status);
  leat_records_write(writer, "stored", 6, status);
  leat_records_flush(writer, status);
  kit_ok(status);
  size_t size;
  leat_records_t* records = leat_records_open_compressed("r", "GZIP", status);
  kit_ok(status);
  assert_memory_equal(leat_records_next(records, &size, status), "stored", 6);
  leat_records_close(records);
  leat_records_finish(writer, status);
  kit_ok(status);
  char text[256] = "";
  FILE* file = fopen("r", "rb");
  const size_t read = fread(text, 1, sizeof text, file);
  fclose(file);
  assert_in_range(read, 22, sizeof text - 1);
  assert_non_null(memmem(text, read, "stored", 6));
  options = leat_zlib_options_default("ZLIB");
  options.memory_level = 10;
  assert_null(leat_records_create_with_options("r", "ZLIB", &options, status));
  kit_expect_text(status, TF_INVALID_ARGUMENT, "options");
  leat_records_flush(NULL, status);
  kit_expect(status, TF_FAILED_PRECONDITION);
}

static void test_damaged_records(void** state) {
  write_records("r", 2);
  FILE* file = fopen("r", "r+b");
  fseek(file, 14, SEEK_SET);
  fputc('!', file);
  fclose(file);
  size_t size;
  leat_records_t* records = leat_records_open("r", status);
  kit_ok(status);
  assert_null(leat_records_next(records, &size, status));
  kit_expect(status, TF_DATA_LOSS);
  leat_records_close(records);
}

static void test_records_without_file(void** state) {
  size_t size;
  leat_records_t* records = leat_records_open("absent", status);
  assert_null(records);
  kit_expect_text(status, TF_NOT_FOUND, "absent");
  assert_null(leat_records_next(records, &size, status));
  kit_expect(status, TF_FAILED_PRECONDITION);
  leat_records_close(records);
  leat_records_writer_t* writer = leat_records_create("no/such/folder/r", status);
  assert_null(writer);
  kit_expect(status, TF_NOT_FOUND);
  leat_records_write(writer, "a", 1, status);
  kit_expect(status, TF_FAILED_PRECONDITION);
  leat_records_finish(writer, status);
  kit_ok(status);
}

// ---- Events -------------------------------------------------------------------------------------

// Event |index| of the only event file in logs/; closed by the caller.
static leat_message_t* read_event(int index, TF_Buffer* bytes) {
  char path[256] = "";
  FILE* list = popen("ls logs/events.out.tfevents.*", "r");
  assert_non_null(fgets(path, sizeof path, list));
  pclose(list);
  path[strcspn(path, "\n")] = 0;
  leat_records_t* records = leat_records_open(path, status);
  kit_ok(status);
  for (int i = 0; i <= index; ++i) {
    size_t size;
    const void* data = leat_records_next(records, &size, status);
    kit_ok(status);
    if (i < index) continue;
    free((void*)bytes->data);
    *bytes = (TF_Buffer){memcpy(malloc(size + 1), data, size), size, NULL};
  }
  leat_records_close(records);
  leat_message_t* message = leat_message_open("Event", bytes, status);
  kit_ok(status);
  return message;
}

static leat_message_view_t value_of(const leat_message_t* message) {
  leat_message_view_t summary = leat_message_child(leat_message_view(message), "summary", 0);
  return leat_message_child(summary, "value", 0);
}

static void add_events(leat_events_t* events) {
  double values[] = {-1, 0, 1, 1000};
  TF_Graph* graph = TF_NewGraph();
  kit_no_op(graph, "nothing");
  leat_events_add_scalar(events, 3, "loss", 0.5, status);
  kit_ok(status);
  leat_events_add_histogram(events, 4, "w", values, 4, status);
  kit_ok(status);
  leat_events_add_graph(events, graph, status);
  kit_ok(status);
  leat_events_add_summary(events, 5, "\x0a\x08\x0a\x01t\x15\x00\x00\x80?", 10, status);
  kit_ok(status);
  TF_DeleteGraph(graph);
}

static void test_events(void** state) {
  TF_Buffer bytes = {NULL, 0, NULL};
  leat_events_t* events = leat_events_open("logs", status);
  kit_ok(status);
  add_events(events);
  leat_events_flush(events, status);
  kit_ok(status);
  leat_message_t* event = read_event(0, &bytes);
  assert_memory_equal(leat_message_string(leat_message_view(event), "file_version", 0, NULL),
                      "brain.Event:2", 13);
  leat_message_close(event);
  event = read_event(1, &bytes);
  assert_int_equal(leat_message_integer(leat_message_view(event), "step", 0), 3);
  assert_true(leat_message_real(value_of(event), "simple_value", 0) == 0.5);
  leat_message_close(event);
  event = read_event(2, &bytes);
  leat_message_view_t histogram = leat_message_child(value_of(event), "histo", 0);
  assert_true(leat_message_real(histogram, "num", 0) == 4);
  assert_true(leat_message_real(histogram, "max", 0) == 1000);
  assert_true(leat_message_real(histogram, "sum_squares", 0) == 1000002);
  leat_message_close(event);
  event = read_event(3, &bytes);
  assert_int_equal(leat_message_count(leat_message_view(event), "graph_def"), 1);
  leat_message_close(event);
  event = read_event(4, &bytes);
  assert_true(leat_message_real(value_of(event), "simple_value", 0) == 1);
  leat_message_close(event);
  leat_events_close(events, status);
  kit_ok(status);
  free((void*)bytes.data);
}

static void test_bad_events(void** state) {
  leat_events_t* events = leat_events_open("logs", status);
  kit_ok(status);
  leat_events_add_histogram(events, 1, "w", (double[]){NAN}, 1, status);
  kit_expect_text(status, TF_INVALID_ARGUMENT, "tag 'w'");
  leat_events_add_summary(events, 1, "\xff\xff", 2, status);
  kit_expect(status, TF_INVALID_ARGUMENT);
  leat_events_close(events, status);
  kit_ok(status);
  scratch_write_text("file", "");
  events = leat_events_open("file", status);
  assert_null(events);
  assert_int_not_equal(TF_GetCode(status), TF_OK);
  leat_events_add_scalar(events, 1, "loss", 1, status);
  kit_expect(status, TF_FAILED_PRECONDITION);
  leat_events_flush(events, status);
  kit_expect(status, TF_FAILED_PRECONDITION);
  leat_events_close(events, status);
  kit_ok(status);
}

// ---- The state file -----------------------------------------------------------------------------

static void make_checkpoint(const char* prefix, int shards) {
  char name[256];
  snprintf(name, sizeof name, "%s.index", prefix);
  scratch_write_text(name, "");
  for (int i = 0; i < shards; ++i) {
    snprintf(name, sizeof name, "%s.data-%05d-of-%05d", prefix, i, shards);
    scratch_write_text(name, "");
  }
}

static void expect_latest(const char* expected) {
  char* latest = leat_checkpoint_latest("ckpt", status);
  kit_ok(status);
  assert_string_equal(latest, expected);
  free(latest);
}

static void publish(const char* prefix, int keep) {
  leat_checkpoint_publish("ckpt", prefix, keep, status);
  kit_ok(status);
}

static void test_publish(void** state) {
  assert_int_equal(system("mkdir ckpt 'ckpt/[a]*'"), 0);
  assert_null(leat_checkpoint_latest("ckpt", status));
  kit_expect(status, TF_NOT_FOUND);
  make_checkpoint("ckpt/m-1", 3);
  make_checkpoint("ckpt/m-10", 1);  // begins alike
  make_checkpoint("ckpt/[a]*/m-2", 2);
  publish("ckpt/m-1", 2);
  publish("ckpt/[a]*/m-2", 2);
  expect_latest("ckpt/[a]*/m-2");
  assert_int_equal(scratch_count("ckpt/m-1."), 4);
  publish("ckpt/m-10", 2);
  expect_latest("ckpt/m-10");
  // All three shards of the oldest, and nothing of its neighbour.
  assert_int_equal(scratch_count("ckpt/m-1."), 0);
  assert_int_equal(scratch_count("ckpt/m-10."), 2);
  assert_int_equal(scratch_count("ckpt/\\[a\\]\\*/m-2"), 3);
  publish("ckpt/m-10", 2);  // again: it stays one
  assert_int_equal(scratch_count("ckpt/\\[a\\]\\*/m-2"), 3);
  publish("ckpt/m-11", 1);
  assert_int_equal(scratch_count("ckpt/\\[a\\]\\*/m-2"), 0);
  assert_int_equal(scratch_count("ckpt/m-10."), 0);
}

static void test_foreign_state(void** state) {
  // As TensorFlow writes it, with paths from elsewhere.
  assert_int_equal(system("mkdir ckpt"), 0);
  scratch_write_text("ckpt/checkpoint",
                     "model_checkpoint_path: \"/elsewhere/m-7\"\n"
                     "all_model_checkpoint_paths: \"/elsewhere/m-7\"\n"
                     "all_model_checkpoint_timestamps: 1.5\n"
                     "last_preserved_timestamp: 1.5\n");
  expect_latest("/elsewhere/m-7");
  publish("ckpt/m-8", 5);
  expect_latest("ckpt/m-8");
  // One that cannot be read is replaced.
  scratch_write_text("ckpt/checkpoint", "model_checkpoint_path: \"");
  assert_null(leat_checkpoint_latest("ckpt", status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  publish("ckpt/m-9", 5);
  expect_latest("ckpt/m-9");
}

static void test_no_checkpoint(void** state) {
  leat_checkpoint_t* checkpoint = leat_checkpoint_open("absent", status);
  assert_null(checkpoint);
  kit_expect_text(status, TF_NOT_FOUND, "absent");
  leat_checkpoint_close(checkpoint);
  scratch_write_text("bad.index", "no table");
  assert_null(leat_checkpoint_open("bad", status));
  kit_expect_text(status, TF_DATA_LOSS, "bad");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_records),      TEST(test_compressed_records), TEST(test_options_of_zlib),
      TEST(test_damaged_records),
      TEST(test_records_without_file), TEST(test_events), TEST(test_bad_events),
      TEST(test_publish),      TEST(test_foreign_state), TEST(test_no_checkpoint),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
