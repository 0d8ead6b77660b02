// Input pipelines through the front door: iterators made once and again, functions of elements,
// steps that share an iterator, and what happens to those that wait. Each test imports a GraphDef
// in text form, makes the iterator by one step and takes elements by further ones, as a training
// program does. Elements are small integers whose expected order is worked out by hand. The
// datasets are tested one by one in src/ops/dataset; here stands what needs a session: functions
// with calls of their own, several threads, time limits.
#include <pthread.h>
#include <stdio.h>

#include "capi/dataset_kit.h"

#define TYPED_ELEMENT(types) TYPES(types, "DT_INT64") SCALAR
#define VECTORS                     \
  TYPES("output_types", "DT_INT64") \
  " attr { key: 'output_shapes' value { list { shape { dim { size: -1 } } } } }"

#define PAIR                                    \
  TYPES("output_types", "DT_INT64, DT_INT64") \
  " attr { key: 'output_shapes' value { list { shape {} shape {} } } }"

#define NUMBERS                       \
  NODE("zero", "Const", , INT64("0")) \
  NODE("one", "Const", , INT64("1"))  \
  NODE("two", "Const", , INT64("2"))  \
  NODE("ten", "Const", , INT64("10"))
#define RANGE NODE("range", "RangeDataset", IN("zero") IN("ten") IN("one"), ELEMENT)
#define MAP(name, f, input) \
  NODE(name, "MapDataset", IN(input), ELEMENT NO_ARGUMENTS FUNC("f", f))

#define SQUARE                                             \
  FUNCTION("Squared", ARG("a", "INT64") OUT("r", "INT64"), \
           DEF("m", "Mul", IN("a") IN("a"), TYPE("T", "INT64")) RET("r", "m:z:0"))

static int64_t value_of(TF_Tensor* tensor) {
  int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

static int64_t next(functions_t* f) { return value_of(functions_run(f, "next", 0, NULL, NULL)); }

static void expect_all(functions_t* f, int count, const int64_t* wanted) {
  for (int i = 0; i < count; ++i) assert_int_equal(next(f), wanted[i]);
  assert_int_equal(functions_try(f, "next", NULL, 0), TF_OUT_OF_RANGE);
  kit_expect_text(f->status, TF_OUT_OF_RANGE, "End of sequence");
  assert_int_equal(functions_try(f, "next", NULL, 0), TF_OUT_OF_RANGE);
}
#define EXPECT_ALL(f, ...)                                                  \
  expect_all((f), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
             (const int64_t[]){__VA_ARGS__})

static void test_an_iterator_begins_again(void** state) {
  functions_t f = functions_open(NUMBERS RANGE ITERATOR("range"));
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_FAILED_PRECONDITION);
  kit_expect_text(f.status, TF_FAILED_PRECONDITION, "has not been initialized");
  functions_target(&f, "make");
  EXPECT_ALL(&f, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  functions_target(&f, "make");
  assert_int_equal(next(&f), 0);
  functions_target(&f, "make");
  assert_int_equal(next(&f), 0);
  functions_close(&f);
}

static void test_an_iterator_goes_on_where_it_was(void** state) {
  functions_t f = functions_open(
      LIBRARY SQUARE END NUMBERS RANGE MAP("squares", "Squared", "range") ITERATOR("squares") NODE(
          "position", "_IteratorPosition", IN("it"), )
          NODE("restore", "_RestoreIterator", IN("squares") IN("it") IN("two"), ));
  assert_int_equal(functions_try(&f, "position", NULL, 0), TF_FAILED_PRECONDITION);
  functions_target(&f, "restore");
  assert_int_equal(next(&f), 4);
  assert_int_equal(value_of(functions_run(&f, "position", 0, NULL, NULL)), 3);
  functions_target(&f, "make");
  assert_int_equal(value_of(functions_run(&f, "position", 0, NULL, NULL)), 0);
  functions_target(&f, "restore");
  EXPECT_ALL(&f, 4, 9, 16, 25, 36, 49, 64, 81);
  functions_close(&f);
}

static void test_elements_must_be_what_the_iterator_says(void** state) {
  functions_t f = functions_open(NUMBERS RANGE NODE("batch", "BatchDataset", IN("range") IN("two"),
                                                    VECTORS) ITERATOR("batch"));
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_FAILED_PRECONDITION);
  TF_Operation* make = TF_GraphOperationByName(f.graph, "make");
  const TF_Operation* targets[] = {make};
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f.status);
  kit_expect_text(f.status, TF_INVALID_ARGUMENT, "Incompatible shapes at component 0");
  functions_close(&f);
}

#define MAKE_SQUARES                                                                  \
  FUNCTION("Make", OUT("handle", "VARIANT"),                                          \
           DEF("zero", "Const", , INT64("0")) DEF("four", "Const", , INT64("4"))      \
               DEF("one", "Const", , INT64("1"))                                      \
                   DEF("range", "RangeDataset",                                       \
                       IN("zero:output:0") IN("four:output:0") IN("one:output:0"),    \
                       ELEMENT)                                       \
                       DEF("map", "MapDataset", IN("range:handle:0"),                 \
                           ELEMENT NO_ARGUMENTS FUNC("f", "Squared")) \
                           RET("handle", "map:handle:0"))

static void test_a_one_shot_iterator_makes_its_dataset(void** state) {
  functions_t f =
      functions_open(LIBRARY SQUARE MAKE_SQUARES END NODE(
          "it", "OneShotIterator", , ELEMENT NAMES FUNC("dataset_factory", "Make"))
                         NODE("next", "IteratorGetNext", IN("it"), ELEMENT));
  EXPECT_ALL(&f, 0, 1, 4, 9);
  functions_close(&f);
}

#define IS_ODD                                                                           \
  FUNCTION("IsOdd", ARG("a", "INT64") OUT("r", "BOOL"),                                  \
           DEF("two", "Const", , INT64("2")) DEF("one", "Const", , INT64("1"))           \
               DEF("m", "FloorMod", IN("a") IN("two:output:0"), TYPE("T", "INT64"))      \
                   DEF("e", "Equal", IN("m:z:0") IN("one:output:0"), TYPE("T", "INT64")) \
                       RET("r", "e:z:0"))
#define UP_TO                                                                               \
  FUNCTION("UpTo", ARG("a", "INT64") OUT("r", "VARIANT"),                                   \
           DEF("zero", "Const", , INT64("0")) DEF("one", "Const", , INT64("1"))             \
               DEF("range", "RangeDataset", IN("zero:output:0") IN("a") IN("one:output:0"), \
                   ELEMENT) RET("r", "range:handle:0"))

// Each Zip of this chain reads the one below it twice, and a function takes one of its components,
// so that what is asked of both inputs is asked 2^60 times of the range.
static void test_the_elements_of_nested_zips_are_counted_once(void** state) {
  static char text[64 << 10];
  const char* below = "range";
  char names[2][8];
  int size = snprintf(text, sizeof text, "%s",
                      LIBRARY FUNCTION("First", ARG("a", "INT64") ARG("b", "INT64")
                                       OUT("r", "INT64"), RET("r", "a")) END NUMBERS RANGE);
  for (int i = 0; i < 60; ++i) {
    snprintf(names[i % 2], sizeof names[0], "m%d", i);
    size += snprintf(text + size, sizeof text - (size_t)size,
                     "node { name: 'z%d' op: 'ZipDataset' input: '%s' input: '%s'" PAIR
                     " attr { key: 'N' value { i: 2 } } }"
                     "node { name: '%s' op: 'MapDataset' input: 'z%d'" ELEMENT NO_ARGUMENTS
                     " attr { key: 'preserve_cardinality' value { b: true } }"
                         FUNC("f", "First") " }",
                     i, below, below, names[i % 2], i);
    below = names[i % 2];
  }
  snprintf(text + size, sizeof text - (size_t)size, "%s",
           NODE("count", "DatasetCardinality", IN("m59"), ));
  functions_t f = functions_open(text);
  assert_int_equal(value_of(functions_run(&f, "count", 0, NULL, NULL)), 10);
  functions_close(&f);
}

static void test_functions_choose_and_make(void** state) {
  functions_t f =
      functions_open(LIBRARY SQUARE IS_ODD UP_TO END NUMBERS RANGE NODE(
          "odd", "FilterDataset", IN("range"),
          ELEMENT NO_ARGUMENTS FUNC("predicate", "IsOdd"))
                         NODE("few", "TakeDataset", IN("odd") IN("two"), ELEMENT)
                             NODE("flat", "FlatMapDataset", IN("few"),
                                  ELEMENT NO_ARGUMENTS FUNC("f", "UpTo"))
                                 MAP("squares", "Squared", "flat") ITERATOR("squares"));
  functions_target(&f, "make");
  EXPECT_ALL(&f, 0, 0, 1, 4);  // below 1; below 3
  functions_close(&f);
}

static void test_a_parallel_filter_needs_a_call(void** state) {
  functions_t f = functions_open(LIBRARY IS_ODD END NUMBERS RANGE NODE(
      "odd", "ParallelFilterDataset", IN("range") IN("zero"),
      ELEMENT NO_ARGUMENTS FUNC("predicate", "IsOdd")) ITERATOR("odd"));
  TF_Operation* make = TF_GraphOperationByName(f.graph, "make");
  const TF_Operation* targets[] = {make};
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f.status);
  kit_expect_text(f.status, TF_INVALID_ARGUMENT, "num_parallel_calls must be greater than zero");
  functions_close(&f);
}

static void test_a_reduction_reads_to_the_end(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("AddTo", ARG("a", "INT64") ARG("b", "INT64") OUT("r", "INT64"),
                       DEF("s", "AddV2", IN("a") IN("b"), TYPE("T", "INT64")) RET("r", "s:z:0"))
          END NUMBERS RANGE NODE("next", "ReduceDataset", IN("range") IN("ten"),
                                 ELEMENT NO_ARGUMENTS TYPES("Tstate", "DT_INT64")
                                     FUNC("f", "AddTo")));
  assert_int_equal(next(&f), 55);
  functions_close(&f);
}

static void test_a_state_goes_from_element_to_element(void** state) {
  functions_t f =
      functions_open(LIBRARY FUNCTION(
          "Running", ARG("sum", "INT64") ARG("a", "INT64") OUT("next", "INT64") OUT("r", "INT64"),
          DEF("s", "AddV2", IN("sum") IN("a"), TYPE("T", "INT64")) RET("next", "s:z:0")
              RET("r", "s:z:0")) END NUMBERS RANGE NODE("few", "TakeDataset", IN("range") IN("two"),
                                                        ELEMENT)
                         NODE("scan", "ScanDataset", IN("few") IN("ten"),
                              ELEMENT NO_ARGUMENTS TYPES("Tstate", "DT_INT64")
                                  FUNC("f", "Running")) ITERATOR("scan"));
  functions_target(&f, "make");
  EXPECT_ALL(&f, 10, 11);
  functions_target(&f, "make");
  EXPECT_ALL(&f, 10, 11);
  functions_close(&f);
}

// Windows of two elements, every fourth: datasets as elements, which a function returns.
static void test_windows_are_datasets(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Itself", ARG("window", "VARIANT") OUT("r", "VARIANT"), RET("r", "window"))
          END NUMBERS RANGE NODE("four", "Const", , INT64("4"))
              NODE("all", "Const", , CONST("BOOL", "bool_val", "false")) NODE(
                  "windows", "WindowDataset", IN("range") IN("two") IN("four") IN("one") IN("all"),
                  TYPES("output_types", "DT_VARIANT") SCALAR)
                  NODE("flat", "FlatMapDataset", IN("windows"),
                       ELEMENT NO_ARGUMENTS FUNC("f", "Itself")) ITERATOR("flat"));
  functions_target(&f, "make");
  EXPECT_ALL(&f, 0, 1, 4, 5, 8, 9);
  functions_close(&f);
}

// ---- Several steps ------------------------------------------------------------------------------

enum { THREADS = 4, ELEMENTS = 10000 };

typedef struct reader_s {
  functions_t* functions;
  int64_t count, sum;
  TF_Code last;
} reader_t;

static void* read_all(void* data) {
  reader_t* reader = data;
  TF_Output fetch = functions_output(reader->functions, "next", 0);
  TF_Status* status = TF_NewStatus();
  for (;;) {
    TF_Tensor* value = NULL;
    TF_SessionRun(reader->functions->session, NULL, NULL, NULL, 0, &fetch, &value, 1, NULL, 0, NULL,
                  status);
    reader->last = TF_GetCode(status);
    if (reader->last != TF_OK) break;
    reader->sum += value_of(value);
    ++reader->count;
  }
  TF_DeleteStatus(status);
  return NULL;
}

static void test_steps_share_an_iterator(void** state) {
  functions_t f = functions_open(
      LIBRARY SQUARE FUNCTION("Same", ARG("a", "INT64") OUT("r", "INT64"),
                              DEF("i", "Identity", IN("a"), TYPE("T", "INT64"))
                                  RET("r", "i:output:0"))
          END NUMBERS NODE("many", "Const", , INT64("10000")) NODE(
              "range", "RangeDataset", IN("zero") IN("many") IN("one"), ELEMENT)
              MAP("map", "Same", "range") ITERATOR("map"));
  functions_target(&f, "make");
  pthread_t threads[THREADS];
  reader_t readers[THREADS] = {0};
  int64_t count = 0, sum = 0;
  for (int i = 0; i < THREADS; ++i) {
    readers[i].functions = &f;
    assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(readers[i].last, TF_OUT_OF_RANGE);
    count += readers[i].count;
    sum += readers[i].sum;
  }
  assert_int_equal(count, ELEMENTS);
  assert_int_equal(sum, (int64_t)ELEMENTS * (ELEMENTS - 1) / 2);
  functions_close(&f);
}

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

static void test_who_waits_in_a_function_can_be_cancelled(void** state) {
  functions_t f = functions_open(
      LIBRARY WAITING END NUMBERS RANGE MAP("map", "Waiting", "range") ITERATOR("map")
          NODE("q", "FIFOQueueV2", , QUEUE_ATTRS)
              NODE("put", "QueueEnqueueV2", IN("q") IN("ten"), TYPES("Tcomponents", "DT_INT64")));
  functions_target(&f, "make");
  assert_int_equal(functions_try(&f, "next", NULL, 50), TF_DEADLINE_EXCEEDED);
  functions_target(&f, "put");
  // The element that nobody waited for any more is gone.
  assert_int_equal(next(&f), 11);
  functions_close(&f);
}

// One step waits in the function with its turn, another for the turn: both hear of it.
static void test_who_waits_for_a_turn_gets_it(void** state) {
  functions_t f = functions_open(
      LIBRARY WAITING END NUMBERS RANGE MAP("map", "Waiting", "range") ITERATOR("map")
          NODE("q", "FIFOQueueV2", , QUEUE_ATTRS)
              NODE("put", "QueueEnqueueV2", IN("q") IN("ten"), TYPES("Tcomponents", "DT_INT64")));
  functions_target(&f, "make");
  pthread_t threads[2];
  reader_t readers[2] = {{.functions = &f}, {.functions = &f}};
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
  }
  assert_int_equal(functions_try(&f, "next", NULL, 50), TF_DEADLINE_EXCEEDED);
  for (int i = 0; i < 10; ++i) functions_target(&f, "put");
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  // The step that was cancelled had an element with it if it was the first to come.
  assert_in_range(readers[0].count + readers[1].count, 9, 10);
  assert_int_equal(readers[0].last, TF_OUT_OF_RANGE);
  assert_int_equal(readers[1].last, TF_OUT_OF_RANGE);
  functions_close(&f);
}

static void test_a_failed_element_is_passed_over(void** state) {
  functions_t f = functions_open(LIBRARY FUNCTION(
      "Divide", ARG("a", "INT64") OUT("r", "INT64"),
      DEF("ten", "Const", , INT64("10"))
          DEF("d", "FloorDiv", IN("ten:output:0") IN("a"), TYPE("T", "INT64"))
              RET("r", "d:z:0")) END NUMBERS RANGE NODE("few", "TakeDataset", IN("range") IN("two"),
                                                        ELEMENT)
                                     MAP("map", "Divide", "few") ITERATOR("map"));
  functions_target(&f, "make");
  assert_int_equal(functions_try(&f, "next", NULL, 0), TF_INVALID_ARGUMENT);
  EXPECT_ALL(&f, 10);
  functions_close(&f);
}

// ---- The place of an iterator -------------------------------------------------------------------

// Two iterators over one dataset. |same| sets the second to where the first is; |text| and |back|
// send the place through a message.
#define PLACES                                                                                   \
  NUMBERS RANGE ITERATOR("range")                                                                \
  NODE("it2", "IteratorV2", , ELEMENT NAMES)                                     \
  NODE("make2", "MakeIterator", IN("range") IN("it2"), )                                         \
  NODE("next2", "IteratorGetNext", IN("it2"), ELEMENT)                           \
  NODE("place", "SerializeIterator", IN("it"), )                                                 \
  NODE("same", "DeserializeIterator", IN("it2") IN("place"), )                                   \
  NODE("text", "SerializeTensor", IN("place"), TYPE("T", "VARIANT"))                             \
  NODE("parsed", "ParseTensor", IN("text"), TYPE("out_type", "VARIANT"))                         \
  NODE("through", "DeserializeIterator", IN("it2") IN("parsed"), )                               \
  NODE("bad", "DeserializeIterator", IN("it2") IN("range"), )                                    \
  NODE("model", "IteratorGetModelProto", IN("it"), )

static int64_t next_of(functions_t* f, const char* name) {
  TF_Tensor* tensor = functions_run(f, name, 0, NULL, NULL);
  int64_t value = *(const int64_t*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

static TF_Code run_target(functions_t* f, const char* name) {
  const TF_Operation* targets[] = {TF_GraphOperationByName(f->graph, name)};
  TF_SessionRun(f->session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, f->status);
  return TF_GetCode(f->status);
}

static void test_a_place_is_a_value(void** state) {
  functions_t f = functions_open(PLACES);
  assert_int_equal(run_target(&f, "same"), TF_FAILED_PRECONDITION);  // nothing to save
  assert_int_equal(run_target(&f, "model"), TF_FAILED_PRECONDITION);
  functions_target(&f, "make");
  assert_int_equal(run_target(&f, "model"), TF_NOT_FOUND);
  const int64_t first = next_of(&f, "next"), second = next_of(&f, "next");
  assert_int_equal(run_target(&f, "same"), TF_FAILED_PRECONDITION);  // nothing to restore
  functions_target(&f, "make2");
  assert_int_equal(next_of(&f, "next2"), first);
  functions_target(&f, "same");
  const int64_t third = next_of(&f, "next2");
  assert_int_equal(third - second, second - first);
  assert_int_equal(next_of(&f, "next"), third);
  functions_target(&f, "through");
  assert_int_equal(next_of(&f, "next2") - third, second - first);
  assert_int_equal(run_target(&f, "bad"), TF_INVALID_ARGUMENT);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_iterator_begins_again),
      cmocka_unit_test(test_an_iterator_goes_on_where_it_was),
      cmocka_unit_test(test_elements_must_be_what_the_iterator_says),
      cmocka_unit_test(test_a_one_shot_iterator_makes_its_dataset),
      cmocka_unit_test(test_the_elements_of_nested_zips_are_counted_once),
      cmocka_unit_test(test_functions_choose_and_make),
      cmocka_unit_test(test_a_parallel_filter_needs_a_call),
      cmocka_unit_test(test_a_reduction_reads_to_the_end),
      cmocka_unit_test(test_a_state_goes_from_element_to_element),
      cmocka_unit_test(test_windows_are_datasets),
      cmocka_unit_test(test_steps_share_an_iterator),
      cmocka_unit_test(test_who_waits_in_a_function_can_be_cancelled),
      cmocka_unit_test(test_who_waits_for_a_turn_gets_it),
      cmocka_unit_test(test_a_failed_element_is_passed_over),
      cmocka_unit_test(test_a_place_is_a_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
