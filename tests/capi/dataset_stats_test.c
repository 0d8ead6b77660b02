// Statistics of datasets through the front door: which numbers reach which aggregator, under which
// tag, in its Summary and in the events that the other kind of aggregator writes. The text of a
// Summary is compared with what TensorFlow 2.21 answers for the same graphs. Iterators inherit the
// aggregator in three ways, which have a test each: as inputs, in datasets that functions return,
// and in work ahead of the steps. Latencies are not known beforehand, so that one test makes an
// element wait, and reads that its time is not shorter.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "capi/dataset_kit.h"
#include "leat/files.h"
#include "leat/inspect.h"
#include "scratch.h"

#define NUMBERS                         \
  NODE("zero", "Const", , INT64("0"))   \
  NODE("one", "Const", , INT64("1"))    \
  NODE("five", "Const", , INT64("5"))   \
  TEXT("none", "")                      \
  TEXT("tag", "by")                     \
  TEXT("prefix", "T")                   \
  NODE("range", "RangeDataset", IN("zero") IN("five") IN("one"), ELEMENT)
#define AGGREGATOR(name) NODE(name, "StatsAggregatorHandle", , NAMES)
#define SUMMARY(name, aggregator) NODE(name, "StatsAggregatorSummary", IN(aggregator), )
#define BYTES(name, input, tag) \
  NODE(name, "BytesProducedStatsDataset", IN(input) IN(tag), ELEMENT)
#define SET(name, input, aggregator, tag) \
  NODE(name, "SetStatsAggregatorDataset", IN(input) IN(aggregator) IN(tag) IN("none"), ELEMENT)

// Reads the iterator anew, to its end.
static void read_all(functions_t* f, int count) {
  functions_target(f, "make");
  for (int i = 0; i < count; ++i) TF_DeleteTensor(functions_run(f, "next", 0, NULL, NULL));
  assert_int_equal(functions_try(f, "next", NULL, 0), TF_OUT_OF_RANGE);
}

// The text of |bytes|, a message of |type|; the caller frees it.
static char* text_of(const char* type, const void* bytes, size_t size) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer message = {.data = bytes, .length = size};
  TF_Buffer* text = leat_message_to_text(type, &message, status);
  kit_ok(status);
  char* copy = malloc(text->length + 1);
  assert_non_null(copy);
  memcpy(copy, text->data, text->length);
  copy[text->length] = 0;
  TF_DeleteBuffer(text);
  TF_DeleteStatus(status);
  return copy;
}

static char* summary_text(functions_t* f, const char* name) {
  TF_Tensor* summary = functions_run(f, name, 0, NULL, NULL);
  const TF_TString* bytes = TF_TensorData(summary);
  char* text = text_of("Summary", TF_StringGetDataPointer(bytes), TF_StringGetSize(bytes));
  TF_DeleteTensor(summary);
  return text;
}

static void expect_summary(functions_t* f, const char* name, const char* wanted) {
  char* text = summary_text(f, name);
  assert_string_equal(text, wanted);
  free(text);
}

// The Summary of the aggregator "a" has |part|.
static void expect_part(functions_t* f, const char* part) {
  char* text = summary_text(f, "summary");
  if (!strstr(text, part)) print_error("%s\nlacks\n%s\n", text, part);
  assert_non_null(strstr(text, part));
  free(text);
}

// What TensorFlow writes for |n| elements of eight bytes.
#define EIGHTS(tag, n, sum, squares)                                                        \
  "value {\n  tag: \"" tag "\"\n  histo {\n    min: 8\n    max: 8\n    num: " n             \
  "\n    sum: " sum "\n    sum_squares: " squares "\n    bucket_limit: 7.466637793298873"  \
  "\n    bucket_limit: 8.213301572628762\n    bucket_limit: 1.7976931348623157e+308"       \
  "\n    bucket: 0\n    bucket: " n "\n    bucket: 0\n  }\n}\n"

static void test_an_aggregator_adds_up(void** state) {
  functions_t f = functions_open(NUMBERS AGGREGATOR("a") BYTES("bytes", "range", "tag")
                                     SET("set", "bytes", "a", "none") ITERATOR("set")
                                         SUMMARY("summary", "a"));
  expect_summary(&f, "summary", "");
  read_all(&f, 5);
  expect_summary(&f, "summary", EIGHTS("by", "5", "40", "320"));
  expect_summary(&f, "summary", EIGHTS("by", "5", "40", "320"));
  read_all(&f, 5);
  expect_summary(&f, "summary", EIGHTS("by", "10", "80", "640"));
  functions_close(&f);
}

// Of two aggregators the one that is nearer is told.
static void test_the_nearest_aggregator_is_told_under_its_prefix(void** state) {
  functions_t f = functions_open(
      NUMBERS AGGREGATOR("a") AGGREGATOR("b") BYTES("bytes", "range", "tag")
          SET("inner", "bytes", "a", "prefix") SET("outer", "inner", "b", "none")
              ITERATOR("outer") SUMMARY("summary", "a") SUMMARY("other", "b"));
  read_all(&f, 5);
  expect_summary(&f, "summary", EIGHTS("T::by", "5", "40", "320"));
  expect_summary(&f, "other", "");
  functions_close(&f);
}

// The two handles differ in nothing but the names of their nodes, and stand in one step.
static void test_two_handles_are_two_aggregators(void** state) {
  functions_t f = functions_open(
      NUMBERS TEXT("tag2", "too") AGGREGATOR("a") AGGREGATOR("b") BYTES("bytes", "range", "tag")
          BYTES("bytes2", "range", "tag2") SET("set", "bytes", "a", "none")
              SET("set2", "bytes2", "b", "none")
                  NODE("both", "ConcatenateDataset", IN("set") IN("set2"), ELEMENT)
                      ITERATOR("both") SUMMARY("summary", "a") SUMMARY("other", "b"));
  read_all(&f, 10);
  expect_summary(&f, "summary", EIGHTS("by", "5", "40", "320"));
  expect_summary(&f, "other", EIGHTS("too", "5", "40", "320"));
  functions_close(&f);
}

// Of each of five numbers a dataset with as many elements is made, 0 + 1 + 2 + 3 + 4 in all.
static void test_datasets_of_functions_inherit(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION(
          "UpTo", ARG("n", "INT64") OUT("r", "VARIANT"),
          DEF("zero", "Const", , INT64("0")) DEF("one", "Const", , INT64("1")) DEF(
              "tag", "Const", , CONST("STRING", "string_val", "'by'"))
              DEF("range", "RangeDataset", IN("zero:output:0") IN("n") IN("one:output:0"), ELEMENT)
                  DEF("bytes", "BytesProducedStatsDataset",
                      IN("range:handle:0") IN("tag:output:0"), ELEMENT)
                      RET("r", "bytes:handle:0")) END NUMBERS AGGREGATOR("a")
          NODE("flat", "FlatMapDataset", IN("range"), ELEMENT NO_ARGUMENTS FUNC("f", "UpTo"))
              SET("set", "flat", "a", "none") ITERATOR("set") SUMMARY("summary", "a"));
  read_all(&f, 10);
  expect_summary(&f, "summary", EIGHTS("by", "10", "80", "640"));
  functions_close(&f);
}

static void test_work_ahead_inherits(void** state) {
  functions_t f = functions_open(
      NUMBERS AGGREGATOR("a") BYTES("bytes", "range", "tag")
          NODE("ahead", "PrefetchDataset", IN("bytes") IN("five"), ELEMENT)
              SET("set", "ahead", "a", "none") ITERATOR("set") SUMMARY("summary", "a"));
  read_all(&f, 5);
  expect_part(&f, EIGHTS("by", "5", "40", "320"));
  functions_close(&f);
}

// A string is 24 bytes and its own: 24 + 2 and 24 + 100, each alone in its bucket.
// ---- What datasets tell of themselves -----------------------------------------------------------

#define SCALAR_TOLD(tag, value) "value {\n  tag: \"" tag "\"\n  simple_value: " value "\n}\n"
#define HISTOGRAM(tag, min, max, n, sum)                                         \
  "value {\n  tag: \"" tag "\"\n  histo {\n    min: " min "\n    max: " max     \
  "\n    num: " n "\n    sum: " sum "\n"

// The number in a name is that of the dataset's node in a graph of all. There the three constants
// of a range, the range and a size stand before the first prefetch, and the same again before the
// second one.
static void test_a_buffer_is_told_of(void** state) {
  functions_t f = functions_open(
      NUMBERS AGGREGATOR("a") NODE("ahead", "PrefetchDataset", IN("range") IN("one"), ELEMENT)
          NODE("ahead2", "PrefetchDataset", IN("range") IN("five"), ELEMENT)
              NODE("both", "ConcatenateDataset", IN("ahead") IN("ahead2"), ELEMENT)
                  SET("set", "both", "a", "prefix") ITERATOR("set") SUMMARY("summary", "a"));
  read_all(&f, 10);
  expect_part(&f, SCALAR_TOLD("T::PrefetchDataset/_5::buffer_size", "1"));
  expect_part(&f, SCALAR_TOLD("T::PrefetchDataset/_5::buffer_capacity", "1"));
  expect_part(&f, HISTOGRAM("T::PrefetchDataset/_5::buffer_utilization", "1", "1", "5", "5"));
  expect_part(&f, SCALAR_TOLD("T::PrefetchDataset/_11::buffer_size", "1"));
  expect_part(&f, SCALAR_TOLD("T::PrefetchDataset/_11::buffer_capacity", "5"));
  expect_part(&f, "tag: \"T::PrefetchDataset/_11::buffer_utilization\"");
  functions_close(&f);
}

// When the last element is taken no call goes on. A dataset that a function made has no number.
static void test_calls_are_told_of(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Same", ARG("a", "INT64") OUT("r", "INT64"), RET("r", "a"))
          FUNCTION("Maps", ARG("a", "INT64") OUT("r", "VARIANT"),
                   DEF("zero", "Const", , INT64("0")) DEF("one", "Const", , INT64("1"))
                       DEF("two", "Const", , INT32("2"))
                           DEF("range", "RangeDataset",
                               IN("zero:output:0") IN("one:output:0") IN("one:output:0"), ELEMENT)
                               DEF("m", "ParallelMapDataset",
                                   IN("range:handle:0") IN("two:output:0"),
                                   ELEMENT NO_ARGUMENTS FUNC("f", "Same"))
                                   RET("r", "m:handle:0")) END NUMBERS AGGREGATOR("a")
          NODE("map", "ParallelMapDatasetV2", IN("range") IN("five"),
               ELEMENT NO_ARGUMENTS FUNC("f", "Same"))
              NODE("flat", "FlatMapDataset", IN("map"), ELEMENT NO_ARGUMENTS FUNC("f", "Maps"))
                  SET("set", "flat", "a", "none") ITERATOR("set") SUMMARY("summary", "a"));
  read_all(&f, 5);
  expect_summary(&f, "summary",
                 SCALAR_TOLD("ParallelMapDatasetV2/_5::thread_utilization", "0")
                     SCALAR_TOLD("ParallelMapDataset::thread_utilization", "0"));
  functions_close(&f);
}

// {a: [5], b: [1, 2, 3], z: [1]} and {a: [9]} as Examples.
#define FIRST_EXAMPLE \
  "\\012\\046\\012\\012\\012\\001\\141\\022\\005\\032\\003\\012\\001\\005" \
  "\\012\\014\\012\\001\\142\\022\\007\\032\\005\\012\\003\\001\\002\\003" \
  "\\012\\012\\012\\001\\172\\022\\005\\032\\003\\012\\001\\001"
#define SECOND_EXAMPLE \
  "\\012\\014\\012\\012\\012\\001\\141\\022\\005\\032\\003\\012\\001\\011"
#define LIST(key, items) " attr { key: '" key "' value { list { " items " } } }"
#define MESSAGES                                                                               \
  NODE("messages", "Const", ,                                                                  \
       TYPE("dtype", "STRING") " attr { key: 'value' value { tensor { dtype: DT_STRING "       \
       "tensor_shape { dim { size: 1 } dim { size: 2 } } string_val: ['" FIRST_EXAMPLE "', '"  \
       SECOND_EXAMPLE "'] } } }")                                                              \
  NODE("texts", "TensorSliceDataset", IN("messages"),                                          \
       LIST("Toutput_types", "type: DT_STRING") LIST("output_shapes", "shape { dim { size: 2 } }"))
#define VARIANT_ELEMENT \
  LIST("output_types", "type: DT_VARIANT") LIST("output_shapes", "shape { unknown_rank: true }")
#define PARSED                                                                                  \
  NODE("parsed", "ParseExampleDatasetV2", IN("texts") IN("one"),                                \
       VARIANT_ELEMENT LIST("sparse_keys", "s: 'b'") LIST("sparse_types", "type: DT_INT64")     \
       LIST("dense_keys", "") LIST("Tdense", "") LIST("dense_shapes", ""))

// Features count whether they are wanted or not, and values where they are.
static void test_examples_are_told_of(void** state) {
  functions_t f = functions_open(
      NUMBERS MESSAGES PARSED AGGREGATOR("a")
          NODE("set", "SetStatsAggregatorDataset",
               IN("parsed") IN("a") IN("none") IN("none"), VARIANT_ELEMENT)
              NODE("it", "IteratorV2", , VARIANT_ELEMENT NAMES)
                  NODE("make", "MakeIterator", IN("set") IN("it"), )
                      NODE("next", "IteratorGetNext", IN("it"), VARIANT_ELEMENT)
                          SUMMARY("summary", "a"));
  functions_target(&f, "make");
  functions_target(&f, "next");
  expect_part(&f, HISTOGRAM("ParseExampleDatasetV2/_3::features_count", "1", "3", "2", "4"));
  // A minimum of zero is not written.
  expect_part(&f, "ParseExampleDatasetV2/_3::feature_values_count\"\n  histo {\n    max: 3\n    "
                  "num: 2\n    sum: 3\n");
  expect_part(&f, SCALAR_TOLD("ParseExampleDatasetV2/_3::thread_utilization", "0"));
  functions_close(&f);
}

static void test_strings_count_with_their_bytes(void** state) {
  char rows[300];
  char hundred[101] = {0};
  memset(hundred, 'x', 100);
  snprintf(rows, sizeof rows,
           "node { name: 'rows' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } } attr { "
           "key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } "
           "string_val: ['ab', '%s'] } } } }\n",
           hundred);
  char* text = malloc(8000);
  assert_non_null(text);
#define STRINGS TYPES("output_types", "DT_STRING") SCALAR
  snprintf(text, 8000, "%s%s", rows,
           NUMBERS AGGREGATOR("a")
               NODE("slices", "TensorSliceDataset", IN("rows"),
                    TYPES("Toutput_types", "DT_STRING") SCALAR)
                   NODE("bytes", "BytesProducedStatsDataset", IN("slices") IN("tag"), STRINGS)
                       NODE("set", "SetStatsAggregatorDataset",
                            IN("bytes") IN("a") IN("none") IN("none"), STRINGS)
                           NODE("it", "IteratorV2", , STRINGS NAMES)
                               NODE("make", "MakeIterator", IN("set") IN("it"), )
                                   NODE("next", "IteratorGetNext", IN("it"), STRINGS)
                                       SUMMARY("summary", "a"));
  functions_t f = functions_open(text);
  free(text);
  read_all(&f, 2);
  char* got = summary_text(&f, "summary");
  assert_non_null(strstr(got, "min: 26\n    max: 124\n    num: 2\n    sum: 150\n"));
  free(got);
  functions_close(&f);
}

// ---- Latencies ----------------------------------------------------------------------------------

#define QUEUE_ATTRS                    \
  TYPES("component_types", "DT_INT64") \
  " attr { key: 'shared_name' value { s: 'q' } }"
// A function that waits until there is something in a queue.
#define WAITING                                                                                   \
  FUNCTION("Waiting", ARG("a", "INT64") OUT("r", "INT64"),                                        \
           DEF("q", "FIFOQueueV2", , QUEUE_ATTRS)                                                 \
               DEF("d", "QueueDequeueV2", IN("q:handle:0"), TYPES("component_types", "DT_INT64")) \
                   DEF("s", "AddV2", IN("a") IN("d:components:0"), TYPE("T", "INT64"))            \
                       RET("r", "s:z:0"))

static double number_behind(const char* text, const char* name) {
  const char* place = strstr(text, name);
  assert_non_null(place);
  return atof(place + strlen(name));
}

// A step asks for the element and gives up after 50 ms. The next one gets that element, since its
// call goes on, and the time runs from when it was first asked for.
static void test_a_latency_covers_the_wait(void** state) {
  functions_t f = functions_open(
      LIBRARY WAITING END NUMBERS AGGREGATOR("a")
          NODE("few", "TakeDataset", IN("range") IN("one"), ELEMENT)
              NODE("map", "MapDataset", IN("few"), ELEMENT NO_ARGUMENTS FUNC("f", "Waiting"))
                  NODE("ahead", "PrefetchDataset", IN("map") IN("one"), ELEMENT)
                      NODE("latency", "LatencyStatsDataset", IN("ahead") IN("tag"), ELEMENT)
                          SET("set", "latency", "a", "none") ITERATOR("set")
                              SUMMARY("summary", "a") NODE("q", "FIFOQueueV2", , QUEUE_ATTRS)
                                  NODE("put", "QueueEnqueueV2", IN("q") IN("five"),
                                       TYPES("Tcomponents", "DT_INT64")));
  functions_target(&f, "make");
  assert_int_equal(functions_try(&f, "next", NULL, 50), TF_DEADLINE_EXCEEDED);
  expect_summary(&f, "summary", "");
  functions_target(&f, "put");
  TF_DeleteTensor(functions_run(&f, "next", 0, NULL, NULL));
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_OUT_OF_RANGE);
  char* text = summary_text(&f, "summary");
  const char* latency = strstr(text, "tag: \"by\"");
  assert_non_null(latency);
  assert_true(number_behind(latency, "num: ") == 1);  // the end is no element
  assert_true(number_behind(latency, "min: ") >= 49000);
  free(text);
  functions_close(&f);
}

// ---- Events -------------------------------------------------------------------------------------

#define WRITER                                                                              \
  NODE("writer", "SummaryWriter", , NAMES)                                                  \
  NODE("queue", "Const", , INT32("100")) NODE("millis", "Const", , INT32("100000"))         \
  TEXT("folder", "logs")                                                                    \
  NODE("open", "CreateSummaryFileWriter",                                                   \
       IN("writer") IN("folder") IN("queue") IN("millis") IN("none"), )                     \
  NODE("give", "StatsAggregatorSetSummaryWriter", IN("a") IN("writer"), )                   \
  NODE("flush", "FlushSummaryWriter", IN("writer"), )

// The events in the one file of the folder "logs", as text; the caller frees them.
static int read_events(char* out_texts[], int room) {
  glob_t found;
  size_t size;
  int count = 0;
  TF_Status* status = TF_NewStatus();
  assert_int_equal(glob("logs/events.out.tfevents.*", 0, NULL, &found), 0);
  assert_int_equal(found.gl_pathc, 1);
  leat_records_t* records = leat_records_open(found.gl_pathv[0], status);
  kit_ok(status);
  for (;;) {
    const void* bytes = leat_records_next(records, &size, status);
    if (TF_GetCode(status) == TF_OUT_OF_RANGE) break;
    kit_ok(status);
    assert_true(count < room);
    out_texts[count++] = text_of("Event", bytes, size);
  }
  leat_records_close(records);
  globfree(&found);
  TF_DeleteStatus(status);
  return count;
}

static void test_the_second_version_writes_events(void** state) {
  functions_t f = functions_open(
      NUMBERS NODE("a", "StatsAggregatorHandleV2", , NAMES) BYTES("bytes", "range", "tag")
          SET("set", "bytes", "a", "prefix") ITERATOR("set") SUMMARY("summary", "a") WRITER);
  read_all(&f, 5);  // nobody is told
  functions_target(&f, "open");
  functions_target(&f, "give");
  functions_target(&f, "give");
  read_all(&f, 5);
  expect_summary(&f, "summary", "");
  functions_target(&f, "flush");
  char* texts[8];
  const int count = read_events(texts, 8);
  assert_int_equal(count, 6);
  assert_non_null(strstr(texts[0], "file_version: \"brain.Event:2\""));
  for (int i = 1; i < count; ++i) {
    char wanted[64];
    if (i > 1) {
      snprintf(wanted, sizeof wanted, "step: %d\n", i - 1);
      assert_non_null(strstr(texts[i], wanted));
    }
    assert_non_null(strstr(texts[i], "tag: \"T::by\""));
    snprintf(wanted, sizeof wanted, "num: %d\n", 5 + i);
    assert_non_null(strstr(texts[i], wanted));
  }
  for (int i = 0; i < count; ++i) free(texts[i]);
  functions_close(&f);
}

static void test_handles_of_other_resources_are_refused(void** state) {
  functions_t f = functions_open(NUMBERS AGGREGATOR("a") BYTES("bytes", "range", "tag")
                                     SET("set", "bytes", "writer", "none") ITERATOR("set")
                                         SUMMARY("summary", "writer") WRITER);
  const TF_Operation* targets[] = {TF_GraphOperationByName(f.graph, "make")};
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  assert_int_equal(functions_try(&f, "summary", NULL, 0), TF_INVALID_ARGUMENT);
  targets[0] = TF_GraphOperationByName(f.graph, "give");  // the writer has no file
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f.status);
  kit_expect(f.status, TF_NOT_FOUND);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_aggregator_adds_up),
      cmocka_unit_test(test_the_nearest_aggregator_is_told_under_its_prefix),
      cmocka_unit_test(test_two_handles_are_two_aggregators),
      cmocka_unit_test(test_datasets_of_functions_inherit),
      cmocka_unit_test(test_work_ahead_inherits),
      cmocka_unit_test(test_a_buffer_is_told_of),
      cmocka_unit_test(test_calls_are_told_of),
      cmocka_unit_test(test_examples_are_told_of),
      cmocka_unit_test(test_strings_count_with_their_bytes),
      cmocka_unit_test(test_a_latency_covers_the_wait),
      cmocka_unit_test(test_the_second_version_writes_events),
      cmocka_unit_test(test_handles_of_other_resources_are_refused),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
