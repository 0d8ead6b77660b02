// Snapshots through the front door. The dataset of a second session has other elements under the
// same hash, so that what is read cannot have been computed, and the shards are read one after the
// other, which puts the elements in another order than they were written in. Then files are taken
// away, cut short and overwritten: each must give a status. The files of TensorFlow, and Leat's as
// TensorFlow reads them, are compared in tests/oracle/dataset_files_oracle.py.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capi/dataset_kit.h"
#include "scratch.h"

#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define TEXT_ATTR(key, value) " attr { key: '" key "' value { s: '" value "' } }"

#define RANGE(start, stop)                                                             \
  NODE("start", "Const", , INT64(start)) NODE("stop", "Const", , INT64(stop))          \
  NODE("one", "Const", , INT64("1")) TEXT("path", "snapshots")                         \
  NODE("range", "RangeDataset", IN("start") IN("stop") IN("one"), ELEMENT)
#define SNAPSHOT_OF(start, stop, shard, hash)                                                 \
  SHARD_FUNCTIONS RANGE(start, stop)                                                          \
  NODE("snapshot", "SnapshotDatasetV2", IN("range") IN("path"),                               \
       ELEMENT hash FUNC("reader_func", "Read") FUNC("shard_func", shard)                     \
           " attr { key: 'Treader_func_args' value { list {} } }"                             \
           " attr { key: 'Tshard_func_args' value { list {} } }") ITERATOR("snapshot")
#define HASH " attr { key: 'hash_valid' value { b: true } }" INT("hash", "77")
#define SNAPSHOT(start, stop) SNAPSHOT_OF(start, stop, "Shard", HASH)

static int64_t next(functions_t* f) {
  TF_Tensor* tensor = functions_run(f, "next", 0, NULL, NULL);
  int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

static void expect_all(const char* text, int count, const int64_t* wanted) {
  functions_t f = functions_open(text);
  functions_target(&f, "make");
  for (int i = 0; i < count; ++i) assert_int_equal(next(&f), wanted[i]);
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}
#define EXPECT_ALL(text, ...)                                                  \
  expect_all((text), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
             (const int64_t[]){__VA_ARGS__})

// That |text| fails at its first element, or while its dataset is made.
static void expect_failure(const char* text, TF_Code code, const char* part) {
  functions_t f = functions_open(text);
  const TF_Operation* targets[] = {TF_GraphOperationByName(f.graph, "make")};
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f.status);
  if (TF_GetCode(f.status) == TF_OK) functions_try(&f, "next", NULL, 0);
  kit_expect_text(f.status, code, part);
  functions_close(&f);
}

// The one path that fits |pattern|; valid until the next call.
static const char* path_of(const char* pattern) {
  static char path[512];
  glob_t found;
  assert_int_equal(glob(pattern, 0, NULL, &found), 0);
  assert_int_equal(found.gl_pathc, 1);
  snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
  globfree(&found);
  return path;
}

static int count_of(const char* pattern) {
  glob_t found;
  const int count = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
  globfree(&found);
  return count;
}

static int start_anew(void** state) {
  return system("rm -rf snapshots");
}

static void test_the_first_pass_writes_and_the_next_reads(void** state) {
  EXPECT_ALL(SNAPSHOT("0", "5"), 0, 1, 2, 3, 4);
  EXPECT_ALL(SNAPSHOT("70", "99"), 0, 2, 4, 1, 3);
  assert_int_equal(count_of("snapshots/77/*/*.shard/00000000.snapshot"), 2);
}

static void test_one_dataset_does_both(void** state) {
  functions_t f = functions_open(SNAPSHOT("0", "4"));
  static const int64_t kWanted[2][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}};
  for (int pass = 0; pass < 2; ++pass) {
    functions_target(&f, "make");
    for (int i = 0; i < 4; ++i) assert_int_equal(next(&f), kWanted[pass][i]);
    assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  }
  functions_close(&f);
}

// The files of the pass that stopped are there, and nobody reads them.
static void test_a_pass_that_stops_early_is_not_read(void** state) {
  functions_t f = functions_open(SNAPSHOT("0", "5"));
  functions_target(&f, "make");
  for (int i = 0; i < 3; ++i) assert_int_equal(next(&f), i);
  functions_close(&f);
  assert_int_equal(count_of("snapshots/77/*/00000000.shard"), 1);
  EXPECT_ALL(SNAPSHOT("10", "12"), 10, 11);
  assert_int_equal(count_of("snapshots/77/*/00000000.shard"), 2);
  EXPECT_ALL(SNAPSHOT("0", "5"), 10, 11);
}

static void test_a_dataset_without_elements(void** state) {
  expect_all(SNAPSHOT("0", "0"), 0, NULL);
  expect_all(SNAPSHOT("0", "5"), 0, NULL);
}

static void test_what_does_not_fit_is_refused(void** state) {
  expect_failure(SNAPSHOT_OF("0", "5", "NoNumber", HASH), TF_INVALID_ARGUMENT,
                 "`shard_func` must return a scalar int64");
  expect_failure(SNAPSHOT_OF("0", "5", "Shard", HASH TEXT_ATTR("compression", "RAR")),
                 TF_INVALID_ARGUMENT, "compression is 'RAR'");
}

// ---- Without a hash -----------------------------------------------------------------------------

#define SQUARE                                                                               \
  FUNCTION("Squared", ARG("a", "INT64") OUT("r", "INT64"),                                   \
           DEF("m", "Mul", IN("a") IN("a"), TYPE("T", "INT64")) RET("r", "m:z:0"))
#define DOUBLE(name)                                                                         \
  FUNCTION(name, ARG("a", "INT64") OUT("r", "INT64"),                                        \
           DEF("m", "AddV2", IN("a") IN("a"), TYPE("T", "INT64")) RET("r", "m:z:0"))
// A map of 1, 2 and 3, and behind it batches of |size| elements taken apart again.
#define MAPPED(functions, f, size)                                                             \
  LIBRARY ITSELF READ SHARD functions END RANGE("1", "4")                                      \
  NODE("size", "Const", , INT64(size))                                                         \
  NODE("map", "MapDataset", IN("range"), ELEMENT NO_ARGUMENTS FUNC("f", f))                    \
  NODE("batch", "BatchDataset", IN("map") IN("size"),                                          \
       TYPES("output_types", "DT_INT64")                                                       \
           " attr { key: 'output_shapes' value { list { shape { dim { size: -1 } } } } }")     \
  NODE("rows", "UnbatchDataset", IN("batch"), ELEMENT)                                         \
  NODE("snapshot", "SnapshotDatasetV2", IN("rows") IN("path"),                                 \
       ELEMENT FUNC("reader_func", "Read") FUNC("shard_func", "Shard")                         \
           " attr { key: 'Treader_func_args' value { list {} } }"                              \
           " attr { key: 'Tshard_func_args' value { list {} } }") ITERATOR("snapshot")

// What differs is the function's name, its body, and the value of an input; and what is the same
// stands in other nodes. A snapshot of the same dataset is read, shard by shard.
static void test_a_dataset_is_known_by_what_it_is_made_of(void** state) {
  EXPECT_ALL(MAPPED(SQUARE DOUBLE("Doubled"), "Squared", "3"), 1, 4, 9);
  EXPECT_ALL(MAPPED(SQUARE DOUBLE("Doubled"), "Squared", "3"), 4, 1, 9);
  EXPECT_ALL(MAPPED(SQUARE DOUBLE("Doubled"), "Doubled", "3"), 2, 4, 6);
  EXPECT_ALL(MAPPED(DOUBLE("Squared") DOUBLE("Doubled"), "Squared", "3"), 2, 4, 6);
  EXPECT_ALL(MAPPED(SQUARE DOUBLE("Doubled"), "Squared", "2"), 1, 4, 9);
  EXPECT_ALL(MAPPED(DOUBLE("Doubled") SQUARE, "Squared", "3"), 4, 1, 9);
  assert_int_equal(count_of("snapshots/*"), 4);
}

// The elements of the input are its tensors, which the dataset has kept.
static void test_what_a_dataset_keeps_counts_too(void** state) {
#define SLICES(values)                                                                        \
  SHARD_FUNCTIONS RANGE("0", "1")                                                             \
  "node { name: 'rows' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } attr { key: " \
  "'value' value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: ["    \
  values "] } } } }\n"                                                                        \
  NODE("slices", "TensorSliceDataset", IN("rows"), TYPES("Toutput_types", "DT_INT64") SCALAR) \
  NODE("snapshot", "SnapshotDatasetV2", IN("slices") IN("path"),                              \
       ELEMENT FUNC("reader_func", "Read") FUNC("shard_func", "Shard")                        \
           " attr { key: 'Treader_func_args' value { list {} } }"                             \
           " attr { key: 'Tshard_func_args' value { list {} } }") ITERATOR("snapshot")
  EXPECT_ALL(SLICES("5, 6"), 5, 6);
  EXPECT_ALL(SLICES("5, 7"), 5, 7);
  EXPECT_ALL(SLICES("5, 6"), 6, 5);
}

// ---- Files that were changed --------------------------------------------------------------------

static void test_a_missing_run_is_told(void** state) {
  EXPECT_ALL(SNAPSHOT("0", "5"), 0, 1, 2, 3, 4);
  char command[600];
  snprintf(command, sizeof command, "rm -r %s", path_of("snapshots/77/[0-9]*"));
  assert_int_equal(system(command), 0);
  expect_failure(SNAPSHOT("0", "5"), TF_NOT_FOUND, "snapshots/77/");
}

static void test_metadata_that_are_none_are_told(void** state) {
  EXPECT_ALL(SNAPSHOT("0", "5"), 0, 1, 2, 3, 4);
  scratch_write_file("snapshots/77/snapshot.metadata", "\x12\xff", 2);
  expect_failure(SNAPSHOT("0", "5"), TF_INVALID_ARGUMENT, "");
  scratch_write_file("snapshots/77/snapshot.metadata", "\x12\x04none \x03\xc0>\x01", 11);
  expect_failure(SNAPSHOT("0", "5"), TF_UNIMPLEMENTED, "has version 3");
}

// A shard of |count| chunks, of which each is a copy of the one that was written.
static void make_chunks(int count) {
  EXPECT_ALL(SNAPSHOT("0", "4"), 0, 1, 2, 3);
  const char* first = path_of("snapshots/77/*/00000000.shard");
  for (int i = 1; i < count; ++i) {
    char command[1200];
    snprintf(command, sizeof command, "cp %s/00000000.snapshot %s/%08d.snapshot", first, first, i);
    assert_int_equal(system(command), 0);
  }
}

static void test_chunks_follow_each_other_and_none_may_be_missing(void** state) {
  make_chunks(3);
  EXPECT_ALL(SNAPSHOT("0", "4"), 0, 2, 0, 2, 0, 2, 1, 3);
  assert_int_equal(unlink(path_of("snapshots/77/*/00000000.shard/00000000.snapshot")), 0);
  expect_failure(SNAPSHOT("0", "4"), TF_DATA_LOSS, "00000000.snapshot' of a snapshot is missing");
}

static void test_a_shard_without_files_is_told(void** state) {
  make_chunks(1);
  assert_int_equal(unlink(path_of("snapshots/77/*/00000000.shard/00000000.snapshot")), 0);
  expect_failure(SNAPSHOT("0", "4"), TF_NOT_FOUND, "has no files");
}

// A record that is cut short ends its file, and one that was changed is told of.
static void test_torn_files(void** state) {
  make_chunks(1);
  const char* path = path_of("snapshots/77/*/00000000.shard/00000000.snapshot");
  assert_int_equal(truncate(path, 50), 0);
  functions_t f = functions_open(SNAPSHOT("0", "4"));
  functions_target(&f, "make");
  assert_int_equal(next(&f), 0);
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_DATA_LOSS);
  assert_int_equal(next(&f), 1);
  assert_int_equal(next(&f), 3);
  functions_close(&f);
}

// ---- Datasets of the files ----------------------------------------------------------------------

#define READER(start, version)                                                               \
  NODE("from", "Const", , INT64(start))                                                      \
  NODE("reader", "SnapshotDatasetReader", IN("folder") IN("from"),                           \
       ELEMENT INT("version", version))                                                      \
  ITERATOR("reader")

// |text|, behind a constant "folder" that holds |path|; the caller frees it.
static char* with_folder(const char* path, const char* text) {
  char* graph = malloc(20000);
  assert_non_null(graph);
  snprintf(graph, 20000,
           "node { name: 'folder' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } } attr "
           "{ key: 'value' value { tensor { dtype: DT_STRING tensor_shape {} string_val: '%s' } } "
           "} }\n%s",
           path, text);
  return graph;
}

static void test_shards_and_chunks_are_datasets(void** state) {
  make_chunks(2);
  char* text = with_folder(path_of("snapshots/77/*/00000000.shard"), READER("1", "2"));
  EXPECT_ALL(text, 2, 0, 2);
  free(text);
  text = with_folder(path_of("snapshots/77/*/00000000.shard"), READER("9", "2"));
  expect_all(text, 0, NULL);
  free(text);
  text = with_folder("nowhere", READER("0", "2"));
  expect_failure(text, TF_NOT_FOUND, "nowhere");
  free(text);
  text = with_folder("nowhere", READER("-1", "2"));
  expect_failure(text, TF_INVALID_ARGUMENT, "start_index is -1");
  free(text);
  text = with_folder("nowhere", READER("0", "3"));
  expect_failure(text, TF_UNIMPLEMENTED, "version is 3");
  free(text);
  const char* chunk = NODE("reader", "SnapshotChunkDataset", IN("folder"), ELEMENT)
      ITERATOR("reader");
  text = with_folder(path_of("snapshots/77/*/00000001.shard/00000000.snapshot"), chunk);
  EXPECT_ALL(text, 1, 3);
  free(text);
  text = with_folder("nowhere", chunk);
  expect_failure(text, TF_NOT_FOUND, "nowhere");
  free(text);
}

static void test_datasets_as_elements(void** state) {
  EXPECT_ALL(SHARD_FUNCTIONS RANGE("3", "5")
                 NODE("nested", "SnapshotNestedDatasetReader", IN("range") IN("range"),
                      TYPES("output_types", "DT_VARIANT") SCALAR INT("N", "2"))
                     NODE("flat", "FlatMapDataset", IN("nested"),
                          ELEMENT NO_ARGUMENTS FUNC("f", "Itself")) ITERATOR("flat"),
             3, 4, 3, 4);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, start_anew)
  const struct CMUnitTest tests[] = {
      TEST(test_the_first_pass_writes_and_the_next_reads),
      TEST(test_one_dataset_does_both),
      TEST(test_a_pass_that_stops_early_is_not_read),
      TEST(test_a_dataset_without_elements),
      TEST(test_what_does_not_fit_is_refused),
      TEST(test_a_dataset_is_known_by_what_it_is_made_of),
      TEST(test_what_a_dataset_keeps_counts_too),
      TEST(test_a_missing_run_is_told),
      TEST(test_metadata_that_are_none_are_told),
      TEST(test_chunks_follow_each_other_and_none_may_be_missing),
      TEST(test_a_shard_without_files_is_told),
      TEST(test_torn_files),
      TEST(test_shards_and_chunks_are_datasets),
      TEST(test_datasets_as_elements),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
