// What a dataset is written to by whoever reads it: the files of SaveDatasetV2, which LoadDataset
// reads, and a table, by InitializeTableFromDataset. The dataset that is loaded is of another
// session than the one that was saved, so that its elements can only come from the files. The files
// of TensorFlow, and Leat's as TensorFlow reads them, are compared in
// tests/oracle/dataset_files_oracle.py.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capi/dataset_kit.h"
#include "scratch.h"

#define BOOL(key, value) " attr { key: '" key "' value { b: " value " } }"
#define RANGE(stop)                                                                   \
  NODE("start", "Const", , INT64("0")) NODE("stop", "Const", , INT64(stop))           \
  NODE("one", "Const", , INT64("1")) TEXT("path", "saved")                            \
  NODE("range", "RangeDataset", IN("start") IN("stop") IN("one"), ELEMENT)
#define COUNTED(dataset) ITERATOR(dataset) NODE("count", "DatasetCardinality", IN(dataset), )
#define SAVE(stop, shard, uses_function)                                           \
  SHARD_FUNCTIONS RANGE(stop)                                                      \
  NODE("save", "SaveDatasetV2", IN("range") IN("path"),                            \
       ELEMENT FUNC("shard_func", shard) BOOL("use_shard_func", uses_function)     \
           " attr { key: 'Tshard_func_args' value { list {} } }") COUNTED("save")
#define LOAD                                                                       \
  SHARD_FUNCTIONS TEXT("path", "saved")                                            \
  NODE("load", "LoadDataset", IN("path"),                                          \
       ELEMENT FUNC("reader_func", "Read")                                         \
           " attr { key: 'Treader_func_args' value { list {} } }") COUNTED("load")

static int64_t fetch(functions_t* f, const char* name) {
  TF_Tensor* tensor = functions_run(f, name, 0, NULL, NULL);
  int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

static void expect_all(const char* text, int count, const int64_t* wanted) {
  functions_t f = functions_open(text);
  assert_int_equal(fetch(&f, "count"), count);
  functions_target(&f, "make");
  for (int i = 0; i < count; ++i) assert_int_equal(fetch(&f, "next"), wanted[i]);
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}
#define EXPECT_ALL(text, ...)                                                  \
  expect_all((text), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
             (const int64_t[]){__VA_ARGS__})

static int count_of(const char* pattern) {
  glob_t found;
  const int count = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
  globfree(&found);
  return count;
}

// Whether the metadata say that their run is complete: field 1000 is true.
static bool is_final(void) {
  char bytes[512];
  FILE* file = fopen("saved/snapshot.metadata", "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  return size > 3 && memcmp(bytes + size - 3, "\xc0\x3e\x01", 3) == 0;
}

static int start_anew(void** state) { return system("rm -rf saved"); }

static void test_elements_are_given_and_written(void** state) {
  EXPECT_ALL(SAVE("5", "Shard", "true"), 0, 1, 2, 3, 4);
  assert_int_equal(count_of("saved/*/*.shard/00000000.snapshot"), 2);
  assert_true(is_final());
  EXPECT_ALL(LOAD, 0, 2, 4, 1, 3);  // shard after shard
}

static void test_without_a_function_there_is_one_shard(void** state) {
  EXPECT_ALL(SAVE("3", "Shard", "false"), 0, 1, 2);
  assert_int_equal(count_of("saved/*/*.shard/00000000.snapshot"), 1);
  EXPECT_ALL(LOAD, 0, 1, 2);
}

// The run begins when the iterator is made. One that is not finished does not lose an earlier one's
// files, but is what the metadata name, as in TensorFlow.
static void test_a_run_begins_with_its_iterator(void** state) {
  functions_t f = functions_open(SAVE("5", "Shard", "true"));
  functions_target(&f, "make");
  assert_int_equal(count_of("saved/snapshot.metadata"), 1);
  assert_int_equal(count_of("saved/*/*.shard"), 0);
  assert_int_equal(fetch(&f, "next"), 0);
  functions_close(&f);
  assert_int_equal(count_of("saved/*/*.shard"), 1);
  assert_false(is_final());
}

static void test_a_shard_must_be_a_number(void** state) {
  functions_t f = functions_open(SAVE("5", "NoNumber", "true"));
  functions_target(&f, "make");
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_INVALID_ARGUMENT);
  functions_close(&f);
}

static void test_a_path_that_is_a_file_is_told(void** state) {
  scratch_write_file("saved", "file", 4);
  functions_t f = functions_open(SAVE("5", "Shard", "true"));
  const TF_Operation* targets[] = {TF_GraphOperationByName(f.graph, "make")};
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f.status);
  assert_int_not_equal(TF_GetCode(f.status), TF_OK);
  functions_close(&f);
}

// ---- Tables -------------------------------------------------------------------------------------

#define VECTOR(name, count, values)                                                         \
  "node { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } attr { " \
  "key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { dim { size: " count           \
  " } } int64_val: [" values "] } } } }\n"
#define PAIRS(name, count, keys, values)                                                   \
  VECTOR(name "k", count, keys) VECTOR(name "v", count, values)                            \
  NODE(name, "TensorSliceDataset", IN(name "k") IN(name "v"),                              \
       TYPES("Toutput_types", "DT_INT64, DT_INT64")                                        \
           " attr { key: 'output_shapes' value { list { shape {} shape {} } } }")          \
  NODE(name "fill", "InitializeTableFromDataset", IN("table") IN(name), )
#define TABLE(op, value)                                                                     \
  NODE("table", op, , TYPE("key_dtype", "INT64") TYPE("value_dtype", value))                 \
  NODE("none", "Const", , INT64("-1"))                                                       \
  NODE("size", "LookupTableSizeV2", IN("table"), )

static TF_Code fill(functions_t* f, const char* name) {
  const TF_Operation* targets[] = {TF_GraphOperationByName(f->graph, name)};
  TF_SessionRun(f->session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f->status);
  return TF_GetCode(f->status);
}

static void test_pairs_fill_a_table(void** state) {
  functions_t f = functions_open(
      TABLE("HashTableV2", "INT64") PAIRS("a", "3", "1, 2, 3", "10, 20, 30")
          PAIRS("b", "2", "1, 2", "7, 8")
              NODE("found", "LookupTableFindV2", IN("table") IN("ak") IN("none"),
                   TYPE("Tin", "INT64") TYPE("Tout", "INT64")));
  assert_int_equal(fill(&f, "afill"), TF_OK);
  assert_int_equal(fill(&f, "bfill"), TF_OK);  // it is filled, and stays as it is
  assert_int_equal(fetch(&f, "size"), 3);
  TF_Tensor* found = functions_run(&f, "found", 0, NULL, NULL);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(((const int64_t*)TF_TensorData(found))[i], 10 * (i + 1));
  }
  TF_DeleteTensor(found);
  functions_close(&f);
}

// The codes are TensorFlow's. A failure leaves the table empty.
static void test_what_fills_no_table(void** state) {
  functions_t f = functions_open(
      TABLE("HashTableV2", "INT64") PAIRS("twice", "3", "1, 2, 1", "10, 20, 11")
          PAIRS("good", "1", "5", "6")
              NODE("s", "Const", , INT64("0")) NODE("n", "Const", , INT64("3"))
                  NODE("d", "Const", , INT64("1"))
                      NODE("range", "RangeDataset", IN("s") IN("n") IN("d"), ELEMENT)
                          NODE("rangefill", "InitializeTableFromDataset", IN("table") IN("range"),
                               ));
  assert_int_equal(fill(&f, "twicefill"), TF_FAILED_PRECONDITION);
  assert_int_equal(fill(&f, "rangefill"), TF_INVALID_ARGUMENT);
  assert_int_equal(fill(&f, "goodfill"), TF_OK);
  assert_int_equal(fetch(&f, "size"), 1);
  functions_close(&f);
  f = functions_open(TABLE("MutableHashTableV2", "INT64") PAIRS("a", "1", "1", "2"));
  assert_int_equal(fill(&f, "afill"), TF_INVALID_ARGUMENT);
  functions_close(&f);
  f = functions_open(TABLE("HashTableV2", "FLOAT") PAIRS("a", "1", "1", "2"));
  assert_int_equal(fill(&f, "afill"), TF_INVALID_ARGUMENT);
  functions_close(&f);
}

// ---- Sleeping -----------------------------------------------------------------------------------

#define SLEEP(microseconds)                                  \
  RANGE("3") NODE("time", "Const", , INT64(microseconds))    \
  NODE("sleep", "SleepDataset", IN("range") IN("time"), ELEMENT)

// The step ends; the element's time has begun and is not lost.
static void test_who_sleeps_can_be_cancelled(void** state) {
  functions_t f = functions_open(SLEEP("1500000") COUNTED("sleep"));
  TF_Code code;
  do {  // again where the machine stalled until both times were over
    functions_target(&f, "make");
    code = functions_try(&f, "next", NULL, 20);
  } while (code == TF_OK);
  assert_int_equal(code, TF_DEADLINE_EXCEEDED);
  assert_int_equal(fetch(&f, "next"), 0);
  functions_close(&f);
  f = functions_open(SLEEP("9000000000000") COUNTED("sleep"));
  functions_target(&f, "make");
  assert_int_equal(functions_try(&f, "next", NULL, 20), TF_DEADLINE_EXCEEDED);
  functions_close(&f);  // nobody waits for the alarm
}

static void test_prefetch_sleeps_ahead(void** state) {
  functions_t f = functions_open(
      SLEEP("1000") NODE("ahead", "PrefetchDataset", IN("sleep") IN("stop"), ELEMENT)
          COUNTED("ahead"));
  functions_target(&f, "make");
  for (int i = 0; i < 3; ++i) assert_int_equal(fetch(&f, "next"), i);
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, start_anew)
  const struct CMUnitTest tests[] = {
      TEST(test_elements_are_given_and_written),
      TEST(test_without_a_function_there_is_one_shard),
      TEST(test_a_run_begins_with_its_iterator),
      TEST(test_a_shard_must_be_a_number),
      TEST(test_a_path_that_is_a_file_is_told),
      TEST(test_pairs_fill_a_table),
      TEST(test_what_fills_no_table),
      TEST(test_who_sleeps_can_be_cancelled),
      TEST(test_prefetch_sleeps_ahead),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
