// SnapshotDataset, the first version of snapshots, through the front door. Datasets of other
// elements share a name, so that what is read cannot have been computed. What the modes do is
// TensorFlow 2.21's answer for the same steps; the bytes of a file were recorded from it. Then
// files are cut short and changed. That either library reads the files of the other is compared in
// tests/oracle/dataset_files_oracle.py.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capi/dataset_kit.h"
#include "scratch.h"

#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define TEXT_ATTR(key, value) " attr { key: '" key "' value { s: '" value "' } }"
#define BOOL(key) " attr { key: '" key "' value { b: true } }"
#define NAMED TEXT_ATTR("snapshot_name", "n")
#define MODE(mode) TEXT_ATTR("mode", mode)
#define TWO_EACH INT("shard_size_bytes", "16")

#define RANGE(start, stop)                                                             \
  NODE("start", "Const", , INT64(start)) NODE("stop", "Const", , INT64(stop))          \
  NODE("one", "Const", , INT64("1")) TEXT("path", "first")                             \
  NODE("range", "RangeDataset", IN("start") IN("stop") IN("one"), ELEMENT)
#define SNAPSHOT_OF(input, attrs)                                                          \
  NODE("snapshot", "SnapshotDataset", IN(input) IN("path"), ELEMENT attrs) ITERATOR("snapshot")
#define SNAPSHOT(start, stop, attrs) RANGE(start, stop) SNAPSHOT_OF("range", attrs)

#define FILES "first/custom-n/custom"
#define FIRST_FILE FILES "/00000000.snapshot"

static int64_t next(functions_t* f) {
  TF_Tensor* tensor = functions_run(f, "next", 0, NULL, NULL);
  int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

// The elements of |text|, which ends with the code |end|.
static void expect(const char* text, TF_Code end, int count, const int64_t* wanted) {
  functions_t f = functions_open(text);
  functions_target(&f, "make");
  for (int i = 0; i < count; ++i) assert_int_equal(next(&f), wanted[i]);
  assert_int_equal(functions_try(&f, "next", NULL, 0), end);
  functions_close(&f);
}
#define EXPECT_END(text, end, ...)                                                  \
  expect((text), (end), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
         (const int64_t[]){__VA_ARGS__})
#define EXPECT(text, ...) EXPECT_END(text, TF_OUT_OF_RANGE, __VA_ARGS__)

static void expect_failure(const char* text, TF_Code code, const char* part) {
  functions_t f = functions_open(text);
  const TF_Operation* targets[] = {TF_GraphOperationByName(f.graph, "make")};
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f.status);
  if (TF_GetCode(f.status) == TF_OK) functions_try(&f, "next", NULL, 0);
  kit_expect_text(f.status, code, part);
  functions_close(&f);
}

// Takes |count| elements, and leaves the others.
static void begin(const char* text, int count) {
  functions_t f = functions_open(text);
  functions_target(&f, "make");
  for (int i = 0; i < count; ++i) assert_int_equal(next(&f), i);
  functions_close(&f);
}

static int count_of(const char* pattern) {
  glob_t found;
  const int count = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
  globfree(&found);
  return count;
}

static void expect_file(const char* name, const char* bytes, size_t size) {
  char* found = scratch_read_text(name);
  assert_non_null(found);
  assert_memory_equal(found, bytes, size + 1);  // both end with a NUL
  free(found);
}

static int start_anew(void** state) { return system("rm -rf first prefix"); }

static void test_modes_say_what_happens(void** state) {
  expect_failure(SNAPSHOT("0", "3", NAMED MODE("read")), TF_NOT_FOUND, "Metadata file");
  EXPECT(SNAPSHOT("0", "3", NAMED MODE("passthrough")), 0, 1, 2);
  assert_int_equal(count_of("first/*"), 0);
  EXPECT(SNAPSHOT("0", "3", NAMED), 0, 1, 2);
  EXPECT(SNAPSHOT("70", "99", NAMED), 0, 1, 2);
  EXPECT(SNAPSHOT("70", "99", NAMED MODE("read")), 0, 1, 2);
  EXPECT(SNAPSHOT("7", "9", NAMED MODE("passthrough")), 7, 8);
  EXPECT(SNAPSHOT("7", "9", NAMED MODE("write")), 7, 8);
  EXPECT(SNAPSHOT("0", "3", NAMED), 7, 8);
  expect(SNAPSHOT("0", "0", NAMED MODE("write")), TF_OUT_OF_RANGE, 0, NULL);
  expect(SNAPSHOT("0", "3", NAMED), TF_OUT_OF_RANGE, 0, NULL);
}

// The metadata are there and not final: others leave the run alone until its time is over.
static void test_a_run_that_stops_early(void** state) {
  begin(SNAPSHOT("0", "5", NAMED), 2);
  EXPECT(SNAPSHOT("7", "9", NAMED), 7, 8);
  EXPECT(SNAPSHOT("7", "9", NAMED MODE("read")), 0, 1);
  sleep(2);
  EXPECT(SNAPSHOT("7", "9", NAMED INT("pending_snapshot_expiry_seconds", "1")), 7, 8);
  EXPECT(SNAPSHOT("0", "3", NAMED), 7, 8);
}

#define FAILING                                                                               \
  RANGE("0", "2") NODE("three", "Const", , INT64("3"))                                        \
  NODE("asserted", "AssertCardinalityDataset", IN("range") IN("three"), ELEMENT)              \
  SNAPSHOT_OF("asserted", NAMED)

static void test_a_failure_ends_the_run(void** state) {
  EXPECT_END(FAILING, TF_FAILED_PRECONDITION, 0, 1);
  EXPECT(SNAPSHOT("7", "9", NAMED), 7, 8);
  EXPECT(SNAPSHOT("7", "9", NAMED MODE("read")), 0, 1);
}

static void test_the_bytes_are_tensorflows(void** state) {
  static const char kPlain[] =
      "\x10\0\0\0\0\0\0\0\x0a\x0e\x08\x09\x12\0\"\x08\0\0\0\0\0\0\0\0"
      "\x10\0\0\0\0\0\0\0\x0a\x0e\x08\x09\x12\0\"\x08\1\0\0\0\0\0\0\0";
  static const char kPacked[] =
      "\x06\0\0\0\0\0\0\0\x0a\4\x12\0\x18\x08\x0a\0\0\0\0\0\0\0\x08\x1c\0\0\0\0\0\0\0\0"
      "\x06\0\0\0\0\0\0\0\x0a\4\x12\0\x18\x08\x0a\0\0\0\0\0\0\0\x08\x1c\1\0\0\0\0\0\0\0";
  EXPECT(SNAPSHOT("0", "2", NAMED), 0, 1);
  expect_file(FIRST_FILE, kPlain, sizeof kPlain - 1);
  // A block of Snappy has many forms, so that TensorFlow's bytes are read.
  EXPECT(SNAPSHOT("5", "6", NAMED MODE("write") TEXT_ATTR("compression", "SNAPPY")), 5);
  scratch_write_file(FIRST_FILE, kPacked, sizeof kPacked - 1);
  EXPECT(SNAPSHOT("7", "9", NAMED TEXT_ATTR("compression", "SNAPPY")), 0, 1);
}

static void test_files_have_a_size(void** state) {
  EXPECT(SNAPSHOT("0", "5", NAMED TWO_EACH), 0, 1, 2, 3, 4);
  assert_int_equal(count_of(FILES "/*.snapshot"), 3);
  EXPECT(SNAPSHOT("7", "9", NAMED TWO_EACH), 0, 1, 2, 3, 4);
  assert_int_equal(unlink(FIRST_FILE), 0);
  expect_failure(SNAPSHOT("7", "9", NAMED), TF_DATA_LOSS, "00000000.snapshot' of a snapshot is");
}

// The files are read in an order that the seeds give, each file in its own.
static void test_files_are_shuffled(void** state) {
  EXPECT(SNAPSHOT("0", "5", NAMED TWO_EACH), 0, 1, 2, 3, 4);
  bool are_in_order = true;
  for (int pass = 0; pass < 2; ++pass) {
    functions_t f = functions_open(
        SNAPSHOT("7", "9", NAMED BOOL("shuffle_on_read") INT("seed", "1") INT("seed2", "2")));
    static int64_t first_pass[5];
    int64_t seen[5], count = 0;
    functions_target(&f, "make");
    for (int i = 0; i < 5; ++i) {
      seen[i] = next(&f);
      are_in_order = are_in_order && seen[i] == i;
      count += seen[i];
      if (i && seen[i] % 2) assert_int_equal(seen[i - 1], seen[i] - 1);
      if (pass) assert_int_equal(seen[i], first_pass[i]);
      first_pass[i] = seen[i];
    }
    assert_int_equal(count, 10);
    functions_close(&f);
  }
  assert_false(are_in_order);
}

static void test_attributes_and_prefixes_choose_the_directory(void** state) {
  EXPECT(SNAPSHOT("0", "3", ), 0, 1, 2);
  EXPECT(SNAPSHOT("0", "3", ), 0, 1, 2);
  assert_int_equal(count_of("first/*/*/*.snapshot"), 1);
  EXPECT(SNAPSHOT("0", "3", INT("seed", "5")), 0, 1, 2);
  EXPECT(SNAPSHOT("0", "4", ), 0, 1, 2, 3);
  assert_int_equal(count_of("first/*/*/*.snapshot"), 3);
  EXPECT(SNAPSHOT("0", "3", NAMED TEXT_ATTR("writer_path_prefix", "prefix")), 0, 1, 2);
  assert_int_equal(count_of("prefix/" FIRST_FILE), 1);
  EXPECT(SNAPSHOT("7", "9", NAMED TEXT_ATTR("reader_path_prefix", "prefix")), 0, 1, 2);
}

// An element that is cut off ends its file; bytes that are no element are told of.
static void test_torn_files(void** state) {
  EXPECT(SNAPSHOT("0", "3", NAMED), 0, 1, 2);
  assert_int_equal(truncate(FIRST_FILE, 60), 0);
  EXPECT(SNAPSHOT("7", "9", NAMED), 0, 1);
  scratch_write_file(FIRST_FILE, "\x02\0\0\0\0\0\0\0\x0a\x7f", 10);
  expect_failure(SNAPSHOT("7", "9", NAMED), TF_INVALID_ARGUMENT, "");
  scratch_write_file(FIRST_FILE, "\xff\xff\xff\xff\xff\xff\xff\xff\x0a\x7f", 10);
  expect(SNAPSHOT("7", "9", NAMED), TF_OUT_OF_RANGE, 0, NULL);
  scratch_write_file(FIRST_FILE, "\0\0\0\0\0\0\0\0", 8);
  expect_failure(SNAPSHOT("7", "9", NAMED), TF_INVALID_ARGUMENT, "has 0 components");
}

#define PACKED NAMED TEXT_ATTR("compression", "SNAPPY")

static void test_torn_packed_files(void** state) {
  EXPECT(SNAPSHOT("0", "1", PACKED), 0);
  static const struct {
    const char* bytes;
    size_t size;
    const char* part;
  } kCases[] = {
#define CASE(bytes, part) {bytes, sizeof(bytes) - 1, part}
      CASE("\x06\0\0\0\0\0\0\0\x0a\4\x12\0\x18\x09\x0a\0\0\0\0\0\0\0\x08\x1c\0\0\0\0\0\0\0\0",
           "has 9 bytes"),
      CASE("\x06\0\0\0\0\0\0\0\x0a\4\x12\0\x18\x07\x0a\0\0\0\0\0\0\0\x08\x1c\0\0\0\0\0\0\0\0", ""),
      CASE("\x04\0\0\0\0\0\0\0\x0a\2\x12\0\x0a\0\0\0\0\0\0\0\x08\x1c\0\0\0\0\0\0\0\0",
           "no bytes to a component of 1 elements"),
      CASE("\x06\0\0\0\0\0\0\0\x0a\4\x12\0\x18\x08\x02\0\0\0\0\0\0\0\xff\xff", ""),
      CASE("\0\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0\x08\x1c\0\0\0\0\0\0\0\0", "has 0 components"),
#undef CASE
  };
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    functions_t f = functions_open(SNAPSHOT("7", "9", PACKED));
    scratch_write_file(FIRST_FILE, kCases[i].bytes, kCases[i].size);
    functions_target(&f, "make");
    const TF_Code code = functions_try(&f, "next", NULL, 0);
    assert_true(code == TF_DATA_LOSS || code == TF_INVALID_ARGUMENT);
    kit_expect_text(f.status, code, kCases[i].part);
    functions_close(&f);
  }
}

static void test_attributes_that_say_nothing_are_refused(void** state) {
  expect_failure(SNAPSHOT("0", "3", MODE("x")), TF_INVALID_ARGUMENT, "mode must be");
  expect_failure(SNAPSHOT("0", "3", TEXT_ATTR("compression", "ZLIB")), TF_INVALID_ARGUMENT,
                 "compression must be");
  expect_failure(SNAPSHOT("0", "3", INT("pending_snapshot_expiry_seconds", "0")),
                 TF_INVALID_ARGUMENT, "at least 1 second");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_modes_say_what_happens, start_anew),
      cmocka_unit_test_setup(test_a_run_that_stops_early, start_anew),
      cmocka_unit_test_setup(test_a_failure_ends_the_run, start_anew),
      cmocka_unit_test_setup(test_the_bytes_are_tensorflows, start_anew),
      cmocka_unit_test_setup(test_files_have_a_size, start_anew),
      cmocka_unit_test_setup(test_files_are_shuffled, start_anew),
      cmocka_unit_test_setup(test_attributes_and_prefixes_choose_the_directory, start_anew),
      cmocka_unit_test_setup(test_torn_files, start_anew),
      cmocka_unit_test_setup(test_torn_packed_files, start_anew),
      cmocka_unit_test_setup(test_attributes_that_say_nothing_are_refused, start_anew),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
