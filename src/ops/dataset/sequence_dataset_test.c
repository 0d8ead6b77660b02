// Datasets that change which elements come and in what order: take, skip, repeat, shuffle, cache,
// unique. The orders that shuffling must give were recorded with TensorFlow for the same seeds,
// because a user who moves a program over expects the same order of examples. Cardinalities are
// asked for before anything is read; they are derived from the inputs' cardinalities, where -1
// means an endless dataset. A chain of a thousand datasets shows that reading and freeing do not
// exhaust the stack: 990 work, and a few more are refused.
#include "dataset/pipeline.h"

static leat_output_t shuffled(pipeline_t* p, leat_output_t input, int64_t buffer_size) {
  return pipeline_dataset(p, "ShuffleDataset",
                          LEAT_INPUTS(input, pipeline_number(p, buffer_size), pipeline_number(p, 7),
                                      pipeline_number(p, 42)));
}

static void parts_and_repetitions(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t five = pipeline_range(&p, 0, 5);
  PIPELINE_EXPECT(&p, five, 0, 1, 2, 3, 4);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "TakeDataset", five, 2), 0, 1);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "TakeDataset", five, -1), 0, 1, 2, 3, 4);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "SkipDataset", five, 3), 3, 4);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "RepeatDataset", pipeline_range(&p, 7, 9), 3), 7, 8, 7,
                  8, 7, 8);
  leat_output_t endless = pipeline_counted(&p, "RepeatDataset", pipeline_range(&p, 7, 9), -1);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "TakeDataset", endless, 3), 7, 8, 7);
  PIPELINE_EXPECT(
      &p,
      pipeline_dataset(&p, "ShardDataset",
                       LEAT_INPUTS(five, pipeline_number(&p, 2), pipeline_number(&p, 1))),
      1, 3);
  PIPELINE_EXPECT(
      &p, pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(pipeline_range(&p, 8, 10), five)),
      8, 9, 0, 1, 2, 3, 4);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "PrefetchDataset", five, 2), 0, 1, 2, 3, 4);
  pipeline_close(&p);
}

static void numbers_end_where_they_must(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t last = pipeline_range(&p, 1, 3);
  leat_output_t down = pipeline_dataset(
      &p, "RangeDataset",
      LEAT_INPUTS(pipeline_number(&p, 3), pipeline_number(&p, -4), pipeline_number(&p, -3)));
  PIPELINE_EXPECT(&p, down, 3, 0, -3);
  pipeline_expect_failure(&p, pipeline_only_element(&p, pipeline_range(&p, 3, 3), LEAT_DTYPE_INT64),
                          LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, pipeline_only_element(&p, last, LEAT_DTYPE_INT64),
                          LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(
      &p,
      pipeline_dataset(
          &p, "RangeDataset",
          LEAT_INPUTS(pipeline_number(&p, 3), pipeline_number(&p, 4), pipeline_number(&p, 0))),
      LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, pipeline_counted(&p, "BatchDataset", last, 0), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static void cardinalities_follow(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t seven = pipeline_range(&p, 0, 7);
  leat_output_t endless = pipeline_counted(&p, "RepeatDataset", seven, -1);
  assert_int_equal(pipeline_cardinality(&p, seven), 7);
  assert_int_equal(pipeline_cardinality(&p, endless), -1);
  assert_int_equal(pipeline_cardinality(&p, pipeline_counted(&p, "SkipDataset", seven, 9)), 0);
  assert_int_equal(pipeline_cardinality(&p, pipeline_counted(&p, "TakeDataset", endless, 4)), 4);
  assert_int_equal(pipeline_cardinality(&p, pipeline_counted(&p, "BatchDataset", seven, 3)), 3);
  assert_int_equal(pipeline_cardinality(&p, shuffled(&p, endless, 3)), -1);
  pipeline_close(&p);
}

#define SHUFFLED_3 0, 1, 2, 5, 3, 4, 6
#define SHUFFLED_100 2, 1, 5, 3, 0, 4, 6
#define SHUFFLED_3_AGAIN 0, 2, 4, 3, 6, 1, 5

static void shuffling_is_tensorflows(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t seven = pipeline_range(&p, 0, 7);
  PIPELINE_EXPECT(&p, shuffled(&p, seven, 3), SHUFFLED_3);
  PIPELINE_EXPECT(&p, shuffled(&p, seven, 100), SHUFFLED_100);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "RepeatDataset", shuffled(&p, seven, 3), 2), SHUFFLED_3,
                  SHUFFLED_3_AGAIN);
  PIPELINE_EXPECT(&p, shuffled(&p, seven, 1), 0, 1, 2, 3, 4, 5, 6);
  pipeline_close(&p);
}

static void a_cache_is_read_from_the_second_pass_on(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t memory = pipeline_text(&p, "");
  leat_output_t cache = pipeline_dataset(
      &p, "CacheDataset", LEAT_INPUTS(shuffled(&p, pipeline_range(&p, 0, 7), 3), memory));
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "RepeatDataset", cache, 2), SHUFFLED_3, SHUFFLED_3);
  pipeline_close(&p);
}

static void only_the_first_of_like_elements_is_given(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  const int64_t values[] = {3, 1, 3, 2, 1, 3};
  leat_output_t numbers = pipeline_slices(&p, pipeline_vector(&p, 6, values));
  PIPELINE_EXPECT(&p, pipeline_dataset(&p, "UniqueDataset", LEAT_INPUTS(numbers)), 3, 1, 2);
  leat_output_t pairs = pipeline_counted(&p, "BatchDataset", numbers, 2);
  leat_output_t windows = pipeline_counted(&p, "RepeatDataset", pairs, 2);
  leat_output_t rows = pipeline_dataset(&p, "UniqueDataset", LEAT_INPUTS(windows));
  PIPELINE_EXPECT(&p, pipeline_dataset(&p, "UnbatchDataset", LEAT_INPUTS(rows)), 3, 1, 3, 2, 1, 3);
  assert_int_equal(pipeline_cardinality(&p, rows), -2);
  pipeline_close(&p);
}

// Neither the elements nor the freeing of them may exhaust the stack.
static void datasets_stand_on_each_other_up_to_a_limit(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t top = pipeline_range(&p, 0, 3);
  leat_output_t count = pipeline_number(&p, 2);
  for (int i = 0; i < 990; ++i)
    top = pipeline_dataset(&p, "RepeatDataset", LEAT_INPUTS(top, pipeline_number(&p, 1)));
  PIPELINE_EXPECT(&p, top, 0, 1, 2);
  for (int i = 0; i < 20; ++i) top = pipeline_dataset(&p, "TakeDataset", LEAT_INPUTS(top, count));
  pipeline_expect_failure(&p, top, LEAT_RESOURCE_EXHAUSTED);
  pipeline_close(&p);
}

// A dataset that reads another one twice doubles, at each level, the ways that lead down, and a
// Zip also the components.
static void datasets_may_be_read_in_many_ways(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t elements = pipeline_range(&p, 0, 3), components = elements;
  for (int i = 0; i < 60; ++i) {
    elements = pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(elements, elements));
    components = pipeline_dataset(&p, "ZipDataset", LEAT_INPUTS(components, components));
  }
  assert_true(pipeline_cardinality(&p, elements) == 3 * (INT64_C(1) << 60));
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "TakeDataset", elements, 4), 0, 1, 2, 0);
  pipeline_expect_failure(&p, components, LEAT_RESOURCE_EXHAUSTED);
  pipeline_close(&p);
}

// A dataset of |op| over |inputs| whose attribute "metadata" is |bytes|.
static leat_output_t described(pipeline_t* p, const char* op, leat_outputs_t inputs,
                               leat_string_view_t bytes) {
  return pipeline_dataset_with(p, op, inputs, LEAT_ATTRS(LEAT_STRING("metadata", bytes)));
}

static void metadata_is_a_message(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t input = pipeline_range(&p, 0, 2), number = pipeline_number(&p, 1);
  const struct {
    const char* op;
    leat_outputs_t inputs;
  } kCases[] = {
      {"TakeDataset", LEAT_INPUTS(input, number)},
      {"ShardDataset", LEAT_INPUTS(input, number, pipeline_number(&p, 0))},
      {"PrefetchDataset", LEAT_INPUTS(input, number)},
      {"ShuffleDataset", LEAT_INPUTS(input, number, number, number)},
      {"CacheDataset", LEAT_INPUTS(input, pipeline_text(&p, ""))},
      {"UniqueDataset", LEAT_INPUTS(input)},
      {"RangeDataset", LEAT_INPUTS(number, number, number)},
      {"RandomDataset", LEAT_INPUTS(number, number)},
      {"BatchDataset", LEAT_INPUTS(input, number)},
      {"WindowDataset", LEAT_INPUTS(input, number, number, number, pipeline_bool(&p, true))},
  };
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    leat_tensor_t dataset;
    leat_output_t named =
        described(&p, kCases[i].op, kCases[i].inputs, LEAT_SV("\x0a\x04name\x10\x01"));
    LEAT_EXPECT_OK(pipeline_fetch(&p, named, &dataset));
    leat_tensor_release(&dataset);
    pipeline_expect_failure(&p, described(&p, kCases[i].op, kCases[i].inputs, LEAT_SV("VALID")),
                            LEAT_INVALID_ARGUMENT);
  }
  pipeline_close(&p);
}

// Where no shard may be empty, one that has an element fails before it gives it. Those that have
// none are empty all the same, as in TensorFlow.
static void no_shard_is_empty(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  for (int count = 0; count < 6; ++count) {
    for (int index = 0; index < 3; ++index) {
      leat_output_t shard = pipeline_dataset_with(
          &p, "ShardDataset",
          LEAT_INPUTS(pipeline_range(&p, 0, count), pipeline_number(&p, 3),
                      pipeline_number(&p, index)),
          LEAT_ATTRS(LEAT_BOOL("require_non_empty", true)));
      if (count < 3 && index < count) {
        pipeline_expect_bad_elements(&p, pipeline_counted(&p, "TakeDataset", shard, 1),
                                     LEAT_DTYPE_INT64, LEAT_INVALID_ARGUMENT);
        continue;
      }
      int64_t wanted[3], size = 0;
      for (int i = index; i < count; i += 3) wanted[size++] = i;
      wanted[size++] = 9;
      leat_output_t behind = pipeline_range(&p, 9, 10);
      pipeline_expect_elements(
          &p, pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(shard, behind)), (int)size,
          wanted);
    }
  }
  pipeline_close(&p);
}

// Ops that give their input as it is check what bounds threads, budgets and replicas all the same.
static void what_bounds_nothing_is_checked(void** state) {
  static const char* const kThreads[] = {"PrivateThreadPoolDataset",
                                         "ExperimentalPrivateThreadPoolDataset",
                                         "MaxIntraOpParallelismDataset",
                                         "ExperimentalMaxIntraOpParallelismDataset"};
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t two = pipeline_range(&p, 0, 2), negative = pipeline_number(&p, -1);
  leat_output_t zero = pipeline_number(&p, 0), one = pipeline_number(&p, 1);
  for (size_t i = 0; i < sizeof kThreads / sizeof *kThreads; ++i) {
    PIPELINE_EXPECT(&p, pipeline_dataset(&p, kThreads[i], LEAT_INPUTS(two, zero)), 0, 1);
    pipeline_expect_failure(&p, pipeline_dataset(&p, kThreads[i], LEAT_INPUTS(two, negative)),
                            LEAT_INVALID_ARGUMENT);
  }
  PIPELINE_EXPECT(&p, pipeline_dataset(&p, "ModelDataset", LEAT_INPUTS(two)), 0, 1);
  leat_output_t model = pipeline_dataset_with(&p, "ModelDataset", LEAT_INPUTS(two),
                                              LEAT_ATTRS(LEAT_INT("cpu_budget", -1)));
  pipeline_expect_failure(&p, model, LEAT_INVALID_ARGUMENT);
  model = pipeline_dataset_with(&p, "ModelDataset", LEAT_INPUTS(two),
                                LEAT_ATTRS(LEAT_INT("ram_budget", -1)));
  pipeline_expect_failure(&p, model, LEAT_INVALID_ARGUMENT);
  leat_output_t shared = pipeline_dataset_with(&p, "AutoShardDataset", LEAT_INPUTS(two, one, zero),
                                               LEAT_ATTRS(LEAT_INT("num_replicas", -1)));
  pipeline_expect_failure(&p, shared, LEAT_INVALID_ARGUMENT);
  // SHARD_HINT, which no AutoShardDataset has replaced.
  leat_output_t shard = pipeline_dataset(&p, "ShardDataset", LEAT_INPUTS(two, negative, zero));
  pipeline_expect_failure(&p, shard, LEAT_FAILED_PRECONDITION);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_and_repetitions),
      cmocka_unit_test(numbers_end_where_they_must),
      cmocka_unit_test(cardinalities_follow),
      cmocka_unit_test(shuffling_is_tensorflows),
      cmocka_unit_test(a_cache_is_read_from_the_second_pass_on),
      cmocka_unit_test(only_the_first_of_like_elements_is_given),
      cmocka_unit_test(metadata_is_a_message),
      cmocka_unit_test(no_shard_is_empty),
      cmocka_unit_test(what_bounds_nothing_is_checked),
      cmocka_unit_test(datasets_stand_on_each_other_up_to_a_limit),
      cmocka_unit_test(datasets_may_be_read_in_many_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
