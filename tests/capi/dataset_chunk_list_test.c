// ListSnapshotChunksDataset through the front door: the order of the files, those that come while
// it is read, and snapshots that fail or never begin. The order and the codes are TensorFlow 2.21's
// for the same directories.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capi/dataset_kit.h"
#include "scratch.h"

#define TEXTS TYPES("output_types", "DT_STRING") SCALAR
#define CHUNKS                                                           \
  TEXT("path", "s")                                                      \
  NODE("list", "ListSnapshotChunksDataset", IN("path"), TEXTS)           \
  NODE("count", "DatasetCardinality", IN("list"), )                      \
  NODE("it", "IteratorV2", , TEXTS NAMES)                                \
  NODE("make", "MakeIterator", IN("list") IN("it"), )                    \
  NODE("next", "IteratorGetNext", IN("it"), TEXTS)

static int start_anew(void** state) { return system("rm -rf s && mkdir -p s/chunks"); }

static void expect_count(functions_t* f, int64_t wanted) {
  TF_Tensor* count = functions_run(f, "count", 0, NULL, NULL);
  assert_int_equal(*(const int64_t*)TF_TensorData(count), wanted);
  TF_DeleteTensor(count);
}

static void expect_next(functions_t* f, const char* wanted) {
  TF_Tensor* tensor = functions_run(f, "next", 0, NULL, NULL);
  const TF_TString* text = TF_TensorData(tensor);
  assert_int_equal(TF_StringGetSize(text), strlen(wanted));
  assert_memory_equal(TF_StringGetDataPointer(text), wanted, strlen(wanted));
  TF_DeleteTensor(tensor);
}

static void test_numbers_say_the_order(void** state) {
  static const char* const kNames[] = {"chunk_1_0_5", "chunk_0_10_5", "chunk_0_2_5",
                                       "chunk_10_0_1", "other", "chunk_2_0_1"};
  static const char* const kOrder[] = {"s/chunks/chunk_1_0_5",  "s/chunks/chunk_2_0_1",
                                       "s/chunks/chunk_10_0_1", "s/chunks/chunk_0_2_5",
                                       "s/chunks/chunk_0_10_5", "s/chunks/other"};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    char path[64];
    snprintf(path, sizeof path, "s/chunks/%s", kNames[i]);
    scratch_write_text(path, "");
  }
  scratch_write_text("s/DONE", "");
  functions_t f = functions_open(CHUNKS);
  expect_count(&f, 6);
  functions_target(&f, "make");
  for (size_t i = 0; i < sizeof kOrder / sizeof *kOrder; ++i) expect_next(&f, kOrder[i]);
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}

static void* write_more(void* data) {
  usleep(150000);
  scratch_write_text("s/chunks/chunk_0_1_1", "");
  usleep(150000);
  scratch_write_text("s/chunks/chunk_0_2_1", "");
  scratch_write_text("s/DONE", "");
  return NULL;
}

static void test_files_come_while_it_is_read(void** state) {
  pthread_t thread;
  scratch_write_text("s/chunks/chunk_0_0_1", "");
  functions_t f = functions_open(CHUNKS);
  expect_count(&f, -2);
  functions_target(&f, "make");
  expect_next(&f, "s/chunks/chunk_0_0_1");
  assert_int_equal(functions_try(&f, "next", NULL, 50), TF_DEADLINE_EXCEEDED);
  assert_int_equal(pthread_create(&thread, NULL, write_more, NULL), 0);
  expect_next(&f, "s/chunks/chunk_0_1_1");
  expect_next(&f, "s/chunks/chunk_0_2_1");
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  pthread_join(thread, NULL);
  functions_close(&f);
}

static void test_a_failure_is_told(void** state) {
  scratch_write_text("s/ERROR", "code: 5 message: \"gone\"");
  functions_t f = functions_open(CHUNKS);
  functions_target(&f, "make");
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(functions_try(&f, "next", NULL, 0), TF_NOT_FOUND);
    kit_expect_text(f.status, TF_NOT_FOUND, "gone");
  }
  scratch_write_text("s/ERROR", "no message");
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_INTERNAL);
  functions_close(&f);
}

static void test_a_snapshot_without_files(void** state) {
  assert_int_equal(system("rm -rf s"), 0);
  functions_t f = functions_open(CHUNKS);
  functions_target(&f, "make");
  assert_int_equal(functions_try(&f, "next", NULL, 50), TF_DEADLINE_EXCEEDED);
  assert_int_equal(system("mkdir s && touch s/DONE"), 0);
  expect_count(&f, -2);
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_numbers_say_the_order, start_anew),
      cmocka_unit_test_setup(test_files_come_while_it_is_read, start_anew),
      cmocka_unit_test_setup(test_a_failure_is_told, start_anew),
      cmocka_unit_test_setup(test_a_snapshot_without_files, start_anew),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
