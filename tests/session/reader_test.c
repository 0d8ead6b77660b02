// Readers as resources of a session: they take names of files from a queue, and give one record a
// step. A read that waits for work holds no thread, which is seen by counting the threads in /proc
// under 300 reads. Files may be compressed, and records longer than any buffer between the file and
// the reader. The state of some readers can be kept and restored in another step, as a message
// whose contradictions are TensorFlow's to accept or refuse. What TensorFlow's readers accept is
// accepted here too, be it of little use, such as records of no bytes.
#include <dirent.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/thread.h"
#include "formats/record/compression.h"
#include "formats/test_directory.h"
#include "session/scene.h"

static leat_output_t make_work(scene_t* s) {
  static const int32_t kTypes[] = {LEAT_DTYPE_STRING};
  static const leat_attr_t kAttrs[] = {
      {{"component_types", 15},
       {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = kTypes}},
      {{"shapes", 6}, {.kind = LEAT_ATTR_SHAPE, .is_list = true}}};
  return scene_output(s, "FIFOQueueV2", "work", "", LEAT_NO_INPUTS, (leat_attrs_t){kAttrs, 2});
}

static leat_output_t text(scene_t* s, const char* value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(leat_string_view_from(value), &tensor));
  leat_output_t output = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

typedef struct step_s {
  scene_t* scene;
  leat_output_t fetch;
  leat_tensor_t value;
  leat_status_t status;
  leat_thread_t thread;
} step_t;

static void run_step(void* data) {
  step_t* step = data;
  step->status = scene_fetch(step->scene, step->fetch, &step->value);
}

static int count_threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static void reads_that_wait_for_work_take_no_thread(void** state) {
  enum { READS = 300 };
  scene_t s;
  scene_open(&s);
  leat_output_t work = make_work(&s), parts[READS];
  leat_output_t reader =
      scene_output(&s, "TextLineReaderV2", "reader", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  for (int i = 0; i < READS; ++i) {
    int32_t read = scene_node(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
    parts[i] = scene_output(&s, "StringToNumber", "", "", LEAT_INPUTS(((leat_output_t){read, 1})),
                            LEAT_NO_ATTRS);
  }
  leat_output_t sum =
      scene_output(&s, "AddN", "sum", "", (leat_outputs_t){parts, READS}, LEAT_NO_ATTRS);
  int32_t put = scene_node(&s, "QueueEnqueueV2", "", "",
                           LEAT_INPUTS(work, text(&s, test_path("lines"))), LEAT_NO_ATTRS);
  char lines[READS * 4 + 1];
  for (int i = 0; i < READS; ++i) snprintf(lines + 4 * i, 5, "%3d\n", i % 1000);
  test_write_file("lines", lines, sizeof lines - 1);
  assert_true(scene_get(&s, scene_float(&s, 1)) == 1);
  int before = count_threads();
  step_t step = {.scene = &s, .fetch = sum};
  LEAT_EXPECT_OK(leat_thread_start("step", run_step, &step, &step.thread));
  leat_clock_sleep_ns(50000000);
  assert_in_range(count_threads(), 0, before + 1 + 8);  // the client's, and the pool's
  LEAT_EXPECT_OK(scene_target(&s, put));
  leat_thread_join(step.thread);
  LEAT_EXPECT_OK(step.status);
  assert_true(leat_tensor_data(&step.value, const float)[0] == READS * (READS - 1) / 2);
  leat_tensor_release(&step.value);
  scene_close(&s);
}

static void a_read_ends_with_its_queue(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t work = make_work(&s);
  leat_output_t reader =
      scene_output(&s, "TextLineReaderV2", "reader", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  leat_output_t key =
      scene_output(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
  int32_t put = scene_node(&s, "QueueEnqueueV2", "", "",
                           LEAT_INPUTS(work, text(&s, "/no/such/file")), LEAT_NO_ATTRS);
  int32_t end = scene_node(&s, "QueueCloseV2", "", "", LEAT_INPUTS(work), LEAT_NO_ATTRS);
  leat_tensor_t none;
  LEAT_EXPECT_OK(scene_target(&s, put));
  scene_expect(scene_fetch(&s, key, &none), LEAT_NOT_FOUND, "/no/such/file");
  step_t step = {.scene = &s, .fetch = key};
  LEAT_EXPECT_OK(leat_thread_start("step", run_step, &step, &step.thread));
  leat_clock_sleep_ns(20000000);
  LEAT_EXPECT_OK(scene_target(&s, end));
  leat_thread_join(step.thread);
  scene_expect(step.status, LEAT_OUT_OF_RANGE, "closed");
  scene_close(&s);
}

// ---- Kinds of files -----------------------------------------------------------------------------

// A file of the records "one", "two", "three" in the test's directory.
static void put_records(const char* name, leat_compression_t compression) {
  leat_file_t* file;
  leat_record_writer_t writer;
  LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path(name), LEAT_FILE_WRITE,
                                leat_allocator_system(), &file));
  if (compression) {
    LEAT_EXPECT_OK(leat_compressed_file_create(file, compression, leat_allocator_system(), &file));
  }
  leat_record_writer_initialize(file, &writer);
  LEAT_EXPECT_OK(leat_record_writer_add(&writer, LEAT_SV("one")));
  LEAT_EXPECT_OK(leat_record_writer_add(&writer, LEAT_SV("two")));
  LEAT_EXPECT_OK(leat_record_writer_add(&writer, LEAT_SV("three")));
  LEAT_EXPECT_OK(leat_file_close(file));
}

// Queues |name|'s path as work.
static void put_work(scene_t* s, leat_output_t work, const char* name) {
  LEAT_EXPECT_OK(scene_target(s, scene_node(s, "QueueEnqueueV2", "", "",
                                            LEAT_INPUTS(work, text(s, test_path(name))),
                                            LEAT_NO_ATTRS)));
}

static void expect_text(scene_t* s, leat_output_t fetch, const char* wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(scene_fetch(s, fetch, &value));
  leat_string_view_t got = leat_tensor_string_at(&value, 0);
  assert_int_equal(got.size, strlen(wanted));
  assert_memory_equal(got.data, wanted, got.size);
  leat_tensor_release(&value);
}

// Reads one record a step, over two epochs of the file.
static void read_records(const char* file, const char* compression) {
  static const char* const kWanted[] = {"one", "two", "three"};
  scene_t s;
  scene_open(&s);
  leat_output_t work = make_work(&s);
  leat_output_t reader =
      scene_output(&s, "TFRecordReaderV2", "reader", "", LEAT_NO_INPUTS,
                   LEAT_ATTRS(LEAT_STRING("compression_type", leat_string_view_from(compression))));
  int32_t read = scene_node(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
  leat_output_t count = scene_output(&s, "ReaderNumWorkUnitsCompletedV2", "", "",
                                     LEAT_INPUTS(reader), LEAT_NO_ATTRS);
  put_work(&s, work, file);
  put_work(&s, work, file);
  for (int i = 0; i < 6; ++i) expect_text(&s, (leat_output_t){read, 1}, kWanted[i % 3]);
  leat_tensor_t completed;
  LEAT_EXPECT_OK(scene_fetch(&s, count, &completed));
  assert_int_equal(*leat_tensor_data(&completed, const int64_t), 1);  // the end was not yet seen
  leat_tensor_release(&completed);
  scene_close(&s);
}

static void records_are_read_compressed_or_not(void** state) {
  put_records("plain", LEAT_COMPRESSION_NONE);
  put_records("zlib", LEAT_COMPRESSION_ZLIB);
  put_records("gzip", LEAT_COMPRESSION_GZIP);
  read_records("plain", "");
  read_records("zlib", "ZLIB");
  read_records("gzip", "GZIP");
}

// Records longer than any buffer between a file and its reader.
static void long_records_are_read(void** state) {
  enum { LONG = 600007 };
  static char letters[LONG + 1];
  static const struct {
    const char *reader, *file, *compression;
  } kCases[] = {{"TFRecordReaderV2", "records", ""},      {"TFRecordReaderV2", "zlib", "ZLIB"},
                {"TFRecordReaderV2", "gzip", "GZIP"},     {"TextLineReaderV2", "lines", ""},
                {"WholeFileReaderV2", "whole", ""}};
  for (int i = 0; i < LONG; ++i) letters[i] = (char)('a' + (i + i / 1009) % 23);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    const leat_string_view_t text = leat_string_view_make(letters, LONG);
    leat_compression_t compression;
    leat_file_t* file;
    assert_true(
        leat_compression_from_name(leat_string_view_from(kCases[i].compression), &compression));
    LEAT_EXPECT_OK(leat_file_open(leat_file_system_posix(), test_path(kCases[i].file),
                                  LEAT_FILE_WRITE, leat_allocator_system(), &file));
    if (compression) {
      LEAT_EXPECT_OK(
          leat_compressed_file_create(file, compression, leat_allocator_system(), &file));
    }
    if (strstr(kCases[i].reader, "TFRecord")) {
      leat_record_writer_t writer;
      leat_record_writer_initialize(file, &writer);
      LEAT_EXPECT_OK(leat_record_writer_add(&writer, text));
      leat_record_writer_deinitialize(&writer);
    } else {
      LEAT_EXPECT_OK(file->vtable->write(file, text.data, text.size));
    }
    LEAT_EXPECT_OK(leat_file_close(file));
    scene_t s;
    scene_open(&s);
    leat_output_t work = make_work(&s);
    const leat_attr_t attr =
        LEAT_STRING("compression_type", leat_string_view_from(kCases[i].compression));
    leat_output_t reader = scene_output(&s, kCases[i].reader, "reader", "", LEAT_NO_INPUTS,
                                        (leat_attrs_t){&attr, compression != 0});
    int32_t read = scene_node(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
    put_work(&s, work, kCases[i].file);
    expect_text(&s, (leat_output_t){read, 1}, letters);
    scene_close(&s);
  }
}

static void a_reader_goes_on_from_its_state(void** state) {
  scene_t s;
  scene_open(&s);
  test_write_file("one", "1", 1);
  leat_output_t work = make_work(&s);
  leat_output_t reader =
      scene_output(&s, "WholeFileReaderV2", "reader", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  int32_t read = scene_node(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
  leat_output_t save = scene_output(&s, "ReaderSerializeStateV2", "", "", LEAT_INPUTS(reader),
                                    LEAT_NO_ATTRS);
  leat_output_t count = scene_output(&s, "ReaderNumRecordsProducedV2", "", "",
                                     LEAT_INPUTS(reader), LEAT_NO_ATTRS);
  put_work(&s, work, "one");
  expect_text(&s, (leat_output_t){read, 1}, "1");
  leat_tensor_t saved, produced;
  LEAT_EXPECT_OK(scene_fetch(&s, save, &saved));
  int32_t reset =
      scene_node(&s, "ReaderResetV2", "", "", LEAT_INPUTS(reader), LEAT_NO_ATTRS);
  int32_t restore = scene_node(&s, "ReaderRestoreStateV2", "", "",
                               LEAT_INPUTS(reader, leat_build_constant(&s.b, &saved)),
                               LEAT_NO_ATTRS);
  leat_tensor_release(&saved);
  for (int64_t wanted = 0; wanted < 2; ++wanted) {
    LEAT_EXPECT_OK(scene_target(&s, wanted ? restore : reset));
    LEAT_EXPECT_OK(scene_fetch(&s, count, &produced));
    assert_int_equal(*leat_tensor_data(&produced, const int64_t), wanted);
    leat_tensor_release(&produced);
  }
  scene_close(&s);
}

// TensorFlow's readers accept a record size of 0, which its datasets refuse: every record is empty.
static void records_may_be_empty(void** state) {
  scene_t s;
  scene_open(&s);
  test_write_file("ten", "0123456789", 10);
  leat_output_t work = make_work(&s);
  leat_output_t reader =
      scene_output(&s, "FixedLengthRecordReaderV2", "reader", "", LEAT_NO_INPUTS,
                   LEAT_ATTRS(LEAT_INT("record_bytes", 0)));
  int32_t read = scene_node(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
  put_work(&s, work, "ten");
  for (int i = 0; i < 3; ++i) expect_text(&s, (leat_output_t){read, 1}, "");
  scene_close(&s);
}

static void expect_number(scene_t* s, leat_output_t fetch, int64_t wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(scene_fetch(s, fetch, &value));
  assert_int_equal(*leat_tensor_data(&value, const int64_t), wanted);
  leat_tensor_release(&value);
}

// A state with more work units finished than begun is restored, as TensorFlow does, and the next
// work unit puts the numbers right: both are then the number begun. A state in the middle of a work
// unit is refused. The states are ReaderBaseState messages: field 1 is the number begun, field 2
// the number finished, field 4 the work unit.
static void a_state_may_have_more_finished_than_begun(void** state) {
  scene_t s;
  scene_open(&s);
  test_write_file("one", "1", 1);
  leat_output_t work = make_work(&s);
  leat_output_t reader =
      scene_output(&s, "WholeFileReaderV2", "reader", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  int32_t read = scene_node(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
  leat_output_t finished = scene_output(&s, "ReaderNumWorkUnitsCompletedV2", "", "",
                                        LEAT_INPUTS(reader), LEAT_NO_ATTRS);
  int32_t ahead = scene_node(&s, "ReaderRestoreStateV2", "", "",
                             LEAT_INPUTS(reader, text(&s, "\x10\x03\x22\x01x")), LEAT_NO_ATTRS);
  int32_t inside =
      scene_node(&s, "ReaderRestoreStateV2", "", "",
                 LEAT_INPUTS(reader, text(&s, "\x08\x02\x10\x01\x22\x01x")), LEAT_NO_ATTRS);
  LEAT_EXPECT_OK(scene_target(&s, ahead));
  expect_number(&s, finished, 3);
  put_work(&s, work, "one");
  expect_text(&s, (leat_output_t){read, 1}, "1");
  expect_number(&s, finished, 1);
  scene_expect(scene_target(&s, inside), LEAT_INVALID_ARGUMENT, "Inconsistent");
  scene_close(&s);
}

int main(void) {
#define FILE_TEST(name) \
  cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
      FILE_TEST(reads_that_wait_for_work_take_no_thread),
      cmocka_unit_test(a_read_ends_with_its_queue),
      FILE_TEST(records_are_read_compressed_or_not),
      FILE_TEST(long_records_are_read),
      FILE_TEST(a_reader_goes_on_from_its_state),
      FILE_TEST(records_may_be_empty),
      FILE_TEST(a_state_may_have_more_finished_than_begun),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
