// Datasets that choose among inputs or elements (DirectedInterleaveDataset, SamplingDataset,
// ExperimentalAutoShardDataset) and the one that watches how many elements come
// (AssertCardinalityDataset). Each is built as a node over ranges of numbers and read to its end
// without a session (tests/dataset/pipeline.h). The elements that an order of inputs, a shard or a
// count lets through are worked out by hand; those of the sample are what TensorFlow 2.21 draws
// with the same seeds. The tests catch an input that has ended and holds up the others, a stop that
// comes too early or not at all, an index that no input has, and a sample that goes on with other
// elements when it is repeated. A dataset with one element too few or too many must announce the
// number that was promised and fail when it is read.
#include "dataset/pipeline.h"

static leat_output_t directed(pipeline_t* p, int count, const int64_t* numbers, bool stops) {
  leat_output_t selector = pipeline_slices(p, pipeline_vector(p, count, numbers));
  return pipeline_dataset_with(
      p, "DirectedInterleaveDataset",
      LEAT_INPUTS(selector, pipeline_range(p, 0, 2), pipeline_range(p, 10, 13)),
      LEAT_ATTRS(LEAT_INT("N", 2), LEAT_BOOL("stop_on_empty_dataset", stops)));
}

static void another_dataset_says_from_where(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  static const int64_t kOrder[] = {1, 0, 0, 0, 1, 1, 1, 0};
  PIPELINE_EXPECT(&p, directed(&p, 8, kOrder, false), 10, 0, 1, 11, 12);
  PIPELINE_EXPECT(&p, directed(&p, 8, kOrder, true), 10, 0, 1);
  pipeline_expect_bad_elements(&p, directed(&p, 1, (const int64_t[]){2}, false), LEAT_DTYPE_INT64,
                               LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static void there_must_be_as_many_as_asserted(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t three = pipeline_range(&p, 0, 3);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "AssertCardinalityDataset", three, 3), 0, 1, 2);
  for (int64_t count = 2; count <= 4; count += 2) {
    leat_output_t wrong = pipeline_counted(&p, "AssertCardinalityDataset", three, count);
    assert_int_equal(pipeline_cardinality(&p, wrong), count);
    pipeline_expect_bad_elements(&p, wrong, LEAT_DTYPE_INT64, LEAT_FAILED_PRECONDITION);
  }
  pipeline_close(&p);
}

static leat_output_t sample(pipeline_t* p, double rate) {
  return pipeline_dataset(p, "SamplingDataset",
                          LEAT_INPUTS(pipeline_range(p, 0, 14),
                                      leat_build_scalar(&p->b, LEAT_DTYPE_FLOAT, rate),
                                      pipeline_number(p, 1), pipeline_number(p, 0)));
}

static void a_sample_is_tensorflows(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "RepeatDataset", sample(&p, 0.4), 2), 1, 3, 4, 10, 1, 3,
                  4, 10);
  leat_output_t nothing = pipeline_only_element(&p, sample(&p, -1), LEAT_DTYPE_INT64);
  pipeline_expect_failure(&p, nothing, LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static leat_output_t auto_shard(pipeline_t* p, int64_t count, int64_t index) {
  return pipeline_dataset(p, "ExperimentalAutoShardDataset",
                          LEAT_INPUTS(pipeline_range(p, 0, 5), pipeline_number(p, count),
                                      pipeline_number(p, index)));
}

static void workers_share(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  PIPELINE_EXPECT(&p, auto_shard(&p, 1, 0), 0, 1, 2, 3, 4);
  PIPELINE_EXPECT(&p, auto_shard(&p, 2, 1), 1, 3);
  pipeline_expect_failure(&p, auto_shard(&p, 0, 0), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, auto_shard(&p, 2, 2), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, auto_shard(&p, 2, -1), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(another_dataset_says_from_where),
      cmocka_unit_test(there_must_be_as_many_as_asserted),
      cmocka_unit_test(a_sample_is_tensorflows),
      cmocka_unit_test(workers_share),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
