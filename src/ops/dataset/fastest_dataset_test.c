// ChooseFastestDataset gives its first elements from input 0 while it measures all inputs, and then
// those of the fastest one. Here the inputs have different elements, which a program must not do,
// so that the elements tell which input was chosen and when. The slow input gives every 300000th of
// a range of numbers, which takes milliseconds for each; the other takes microseconds. What
// TensorFlow 2.21 gives for such inputs is the same. ChooseFastestBranchDataset, whose branches are
// functions, needs a session: tests/capi/dataset_branch_test.c.
#include "dataset/pipeline.h"

enum { GAP = 300000 };


// Five elements, GAP - 1, 2 * GAP - 1 and so on.
static leat_output_t slow(pipeline_t* p) {
  return pipeline_dataset(p, "ShardDataset",
                          LEAT_INPUTS(pipeline_range(p, 0, 5 * (int64_t)GAP),
                                      pipeline_number(p, GAP), pipeline_number(p, GAP - 1)));
}

static leat_output_t fastest_by(pipeline_t* p, const char* op, leat_output_t first,
                                leat_output_t second, int64_t experiments) {
  return pipeline_dataset_with(
      p, op, LEAT_INPUTS(first, second),
      LEAT_ATTRS(LEAT_INT("N", 2), LEAT_INT("num_experiments", experiments)));
}

static leat_output_t fastest(pipeline_t* p, leat_output_t first, leat_output_t second,
                             int64_t experiments) {
  return fastest_by(p, "ChooseFastestDataset", first, second, experiments);
}

static void the_fastest_goes_on(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t quick = pipeline_range(&p, 10, 15);
  PIPELINE_EXPECT(&p, fastest(&p, slow(&p), quick, 2), GAP - 1, 2 * GAP - 1, 12, 13,
                  14);
  PIPELINE_EXPECT(&p, fastest(&p, quick, slow(&p), 2), 10, 11, 12, 13, 14);
  PIPELINE_EXPECT(&p, fastest_by(&p, "ExperimentalChooseFastestDataset", slow(&p), quick, 1),
                  GAP - 1, 11, 12, 13, 14);
  assert_int_equal(pipeline_cardinality(&p, fastest(&p, slow(&p), quick, 2)), 5);
  pipeline_close(&p);
}

static void an_end_comes_within_the_experiments(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t three = pipeline_range(&p, 0, 3), other = pipeline_range(&p, 7, 10);
  PIPELINE_EXPECT(&p, fastest(&p, three, other, 9), 0, 1, 2);
  leat_output_t twice = pipeline_counted(&p, "RepeatDataset", fastest(&p, three, other, 9), 2);
  PIPELINE_EXPECT(&p, twice, 0, 1, 2, 0, 1, 2);
  pipeline_close(&p);
}

static void an_element_that_fails_is_input_0s(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t three = pipeline_range(&p, 0, 3);
  // Announces three elements and fails at the end, where it has two.
  leat_output_t short_one =
      pipeline_counted(&p, "AssertCardinalityDataset", pipeline_range(&p, 0, 2), 3);
  PIPELINE_EXPECT(&p, fastest(&p, three, short_one, 9), 0, 1, 2);
  pipeline_expect_bad_elements(&p, fastest(&p, short_one, three, 9), LEAT_DTYPE_INT64,
                               LEAT_FAILED_PRECONDITION);
  pipeline_close(&p);
}

static void inputs_must_be_alike(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t three = pipeline_range(&p, 0, 3), four = pipeline_range(&p, 0, 4);
  leat_output_t pairs = pipeline_counted(&p, "BatchDataset", three, 2);
  leat_output_t sometimes = pipeline_dataset(
      &p, "IgnoreErrorsDataset", LEAT_INPUTS(four));  // its number of elements is not known
  pipeline_expect_failure(&p, fastest(&p, three, four, 2), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, fastest(&p, three, three, 0), LEAT_INVALID_ARGUMENT);
  assert_int_equal(pipeline_cardinality(&p, fastest(&p, sometimes, three, 2)), 3);
  assert_int_equal(pipeline_cardinality(&p, fastest(&p, three, sometimes, 2)), 3);
  pipeline_expect_failure(&p, fastest(&p, pairs, three, 2), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fastest_goes_on),
      cmocka_unit_test(an_end_comes_within_the_experiments),
      cmocka_unit_test(an_element_that_fails_is_input_0s),
      cmocka_unit_test(inputs_must_be_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
