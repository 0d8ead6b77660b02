// Datasets that put elements together, pad them, and take them apart again. Datasets are built and
// read node by node (tests/dataset/pipeline.h), and what is compared is the numbers of all elements
// in order. The last batch may be smaller than the others, which changes its shape and makes a
// difference between BatchDataset with and without its remainder, for the cardinality as well.
// Elements of unequal sizes can only be padded; a size that an element exceeds is an error of that
// element, while a negative size is one of the dataset and must be reported before any element is
// read.
#include "dataset/pipeline.h"

#define VECTOR(p, ...)                                                           \
  pipeline_vector((p), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                  (const int64_t[]){__VA_ARGS__})

static leat_output_t batch(pipeline_t* p, leat_output_t input, int64_t size, bool drop_remainder) {
  return pipeline_dataset(
      p, "BatchDatasetV2",
      LEAT_INPUTS(input, pipeline_number(p, size), pipeline_bool(p, drop_remainder)));
}

static leat_output_t parallel_batch(pipeline_t* p, leat_output_t input, int64_t calls) {
  return pipeline_dataset(p, "ParallelBatchDataset",
                          LEAT_INPUTS(input, pipeline_number(p, 3), pipeline_number(p, calls),
                                      pipeline_bool(p, true)));
}

static leat_output_t unbatch(pipeline_t* p, leat_output_t input) {
  return pipeline_dataset(p, "UnbatchDataset", LEAT_INPUTS(input));
}

static void batches_come_apart_again(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t seven = pipeline_range(&p, 0, 7);
  PIPELINE_EXPECT(&p, unbatch(&p, batch(&p, seven, 3, false)), 0, 1, 2, 3, 4, 5, 6);
  PIPELINE_EXPECT(&p, unbatch(&p, batch(&p, seven, 3, true)), 0, 1, 2, 3, 4, 5);
  PIPELINE_EXPECT(&p, batch(&p, seven, 3, true), 0, 1, 2, 3, 4, 5);
  assert_int_equal(pipeline_cardinality(&p, batch(&p, seven, 3, true)), 2);
  assert_int_equal(pipeline_cardinality(&p, batch(&p, seven, 3, false)), 3);
  // The last batch has one element: another shape.
  pipeline_expect_bad_elements(&p, batch(&p, seven, 3, false), LEAT_DTYPE_INT64,
                               LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, batch(&p, seven, 0, false), LEAT_INVALID_ARGUMENT);
  pipeline_expect_bad_elements(&p, unbatch(&p, seven), LEAT_DTYPE_INT64, LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

// Element |index| of |dataset|.
static leat_output_t one(pipeline_t* p, leat_output_t dataset, int64_t index) {
  return pipeline_counted(p, "TakeDataset", pipeline_counted(p, "SkipDataset", dataset, index), 1);
}

// From the second batch on, elements are copied when they come.
static void later_batches_are_as_the_first(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t eight = pipeline_range(&p, 0, 8);
  PIPELINE_EXPECT(&p, unbatch(&p, batch(&p, eight, 3, false)), 0, 1, 2, 3, 4, 5, 6, 7);
  leat_output_t pairs = batch(&p, batch(&p, eight, 2, true), 2, true);  // [2, 2]
  PIPELINE_EXPECT(&p, pairs, 0, 1, 2, 3, 4, 5, 6, 7);
  // A dataset that is read again has had a full batch, and ends with one of two elements.
  leat_output_t again = pipeline_counted(&p, "RepeatDataset", batch(&p, eight, 3, false), 3);
  PIPELINE_EXPECT(&p, unbatch(&p, again), 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2,
                  3, 4, 5, 6, 7);
  // Elements of no numbers.
  leat_output_t none = pipeline_counted(&p, "RepeatDataset",
                                        pipeline_slices(&p, pipeline_vector(&p, 0, NULL)), 2);
  PIPELINE_EXPECT(&p, unbatch(&p, pipeline_dataset(&p, "ConcatenateDataset",
                                                   LEAT_INPUTS(batch(&p, none, 3, false),
                                                               batch(&p, eight, 4, false)))),
                  0, 1, 2, 3, 4, 5, 6, 7);
  pipeline_close(&p);
}

// Vectors of 2, 2, 2, 1, 2 and 2 elements: the second pair does not fit together.
static void a_later_batch_of_unequal_elements_fails(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t long_ones = batch(&p, pipeline_range(&p, 0, 6), 2, true);
  leat_output_t short_one = batch(&p, pipeline_range(&p, 6, 7), 1, true);
  leat_output_t more = batch(&p, pipeline_range(&p, 7, 11), 2, true);
  leat_output_t all = pipeline_dataset(
      &p, "ConcatenateDataset",
      LEAT_INPUTS(pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(long_ones, short_one)),
                  more));
  leat_output_t batches = batch(&p, all, 2, false);
  PIPELINE_EXPECT(&p, one(&p, batches, 0), 0, 1, 2, 3);
  pipeline_expect_bad_elements(&p, batches, LEAT_DTYPE_INT64, LEAT_INVALID_ARGUMENT);
  // The batches after it are whole.
  leat_output_t left = pipeline_dataset(&p, "IgnoreErrorsDataset", LEAT_INPUTS(batches));
  PIPELINE_EXPECT(&p, left, 0, 1, 2, 3, 7, 8, 9, 10);
  pipeline_close(&p);
}

// A batch that no call may make would never come; -1 lets the library choose.
static void parallel_batches_need_a_call(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t seven = pipeline_range(&p, 0, 7);
  PIPELINE_EXPECT(&p, parallel_batch(&p, seven, 1), 0, 1, 2, 3, 4, 5);
  PIPELINE_EXPECT(&p, parallel_batch(&p, seven, -1), 0, 1, 2, 3, 4, 5);
  pipeline_expect_failure(&p, parallel_batch(&p, seven, 0), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, parallel_batch(&p, seven, -2), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

// Elements of two sizes: [1, 2, 3] and [4].
static leat_output_t uneven(pipeline_t* p) {
  leat_output_t parts[2] = {VECTOR(p, 1, 2, 3), VECTOR(p, 4)};
  leat_output_t datasets[2];
  for (int i = 0; i < 2; ++i) {
    leat_output_t rows = pipeline_slices(p, parts[i]);
    datasets[i] = pipeline_counted(p, "BatchDataset", rows, 3);
  }
  return pipeline_dataset(p, "ConcatenateDataset", (leat_outputs_t){datasets, 2});
}

static leat_output_t padded(pipeline_t* p, int64_t size) {
  static const int32_t kLong[] = {LEAT_DTYPE_INT64};
  const leat_partial_shape_t shapes[] = {leat_partial_shape_unknown()};
  const leat_attr_t attrs[] = {
      {LEAT_SV("Toutput_types"),
       {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = kLong}},
      {LEAT_SV("output_shapes"),
       {.kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1, .shapes = shapes}},
      LEAT_INT("N", 1)};
  return leat_build(
      &p->b, "PaddedBatchDataset",
      LEAT_INPUTS(uneven(p), pipeline_number(p, 2), VECTOR(p, size), pipeline_number(p, -7)),
      (leat_attrs_t){attrs, 3});
}

static void what_is_shorter_is_padded(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  PIPELINE_EXPECT(&p, padded(&p, -1), 1, 2, 3, 4, -7, -7);
  PIPELINE_EXPECT(&p, padded(&p, 4), 1, 2, 3, -7, 4, -7, -7, -7);
  pipeline_expect_bad_elements(&p, padded(&p, 2), LEAT_DTYPE_INT64, LEAT_DATA_LOSS);
  pipeline_expect_failure(&p, padded(&p, -2), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static leat_output_t sliding(pipeline_t* p, int64_t size, int64_t shift, int64_t stride) {
  return pipeline_dataset(p, "ExperimentalSlidingWindowDataset",
                          LEAT_INPUTS(pipeline_range(p, 0, 7), pipeline_number(p, size),
                                      pipeline_number(p, shift), pipeline_number(p, stride)));
}

static void windows_slide(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  PIPELINE_EXPECT(&p, sliding(&p, 3, 2, 2), 0, 2, 4, 2, 4, 6);
  PIPELINE_EXPECT(&p, sliding(&p, 2, 4, 1), 0, 1, 4, 5);
  assert_int_equal(pipeline_cardinality(&p, sliding(&p, 3, 2, 2)), 3);  // TensorFlow's number
  pipeline_expect_failure(&p, sliding(&p, 0, 1, 1), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, sliding(&p, 1, 0, 1), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, sliding(&p, 1, 1, 0), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, sliding(&p, INT64_MAX, 1, INT64_MAX), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static leat_output_t rebatch(pipeline_t* p, leat_output_t sizes, bool drop_remainder) {
  leat_output_t batches = batch(p, pipeline_range(p, 0, 10), 4, false);
  return pipeline_dataset(p, "RebatchDatasetV2",
                          LEAT_INPUTS(batches, sizes, pipeline_bool(p, drop_remainder)));
}

static void sizes_of_batches_take_turns(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t turns = rebatch(&p, VECTOR(&p, 3, 0, 2), false);
  PIPELINE_EXPECT(&p, one(&p, turns, 0), 0, 1, 2);
  PIPELINE_EXPECT(&p, one(&p, turns, 2), 3, 4);
  PIPELINE_EXPECT(&p, one(&p, turns, 5), 8, 9);
  PIPELINE_EXPECT(&p, unbatch(&p, turns), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);  // element 1 is empty
  leat_output_t after = pipeline_only_element(&p, one(&p, turns, 6), LEAT_DTYPE_INT64);
  pipeline_expect_failure(&p, after, LEAT_INVALID_ARGUMENT);  // there is none
  leat_output_t zero_first = rebatch(&p, VECTOR(&p, 0, 4), false);
  PIPELINE_EXPECT(&p, one(&p, zero_first, 5), 8, 9);
  after = pipeline_only_element(&p, one(&p, zero_first, 6), LEAT_DTYPE_INT64);
  pipeline_expect_failure(&p, after, LEAT_INVALID_ARGUMENT);
  leat_output_t fours = pipeline_number(&p, 4);
  PIPELINE_EXPECT(&p, unbatch(&p, rebatch(&p, fours, true)), 0, 1, 2, 3, 4, 5, 6, 7);
  PIPELINE_EXPECT(&p, one(&p, rebatch(&p, fours, false), 2), 8, 9);
  pipeline_expect_failure(&p, rebatch(&p, VECTOR(&p, 3, -1), false), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, rebatch(&p, pipeline_vector(&p, 0, NULL), false),
                          LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static leat_output_t parts(pipeline_t* p, int64_t count) {
  leat_output_t batches = batch(p, pipeline_range(p, 0, 10), 4, false);
  return pipeline_counted(p, "ExperimentalRebatchDataset", batches, count);
}

// Batches of 4, 4 and 2 rows.
static void elements_come_in_parts(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t three = parts(&p, 3);
  PIPELINE_EXPECT(&p, unbatch(&p, three), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  PIPELINE_EXPECT(&p, one(&p, three, 1), 2, 3);
  PIPELINE_EXPECT(&p, one(&p, three, 3), 4, 5);  // element 2 has no rows
  PIPELINE_EXPECT(&p, one(&p, three, 7), 9);
  leat_output_t after = pipeline_only_element(&p, one(&p, three, 9), LEAT_DTYPE_INT64);
  pipeline_expect_failure(&p, after, LEAT_INVALID_ARGUMENT);  // there is none
  PIPELINE_EXPECT(&p, one(&p, parts(&p, 2), 0), 0, 1);
  PIPELINE_EXPECT(&p, one(&p, parts(&p, INT64_MAX), 3), 3);
  pipeline_expect_failure(&p, parts(&p, 0), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static leat_output_t wrapping(pipeline_t* p, const char* op, leat_output_t dataset) {
  return leat_build(&p->b, op, LEAT_INPUTS(dataset), LEAT_NO_ATTRS);
}

static void a_wrapped_dataset_is_none(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t three = pipeline_range(&p, 0, 3);
  leat_output_t wrapped = wrapping(&p, "WrapDatasetVariant", three);
  PIPELINE_EXPECT(&p, wrapping(&p, "UnwrapDatasetVariant", wrapped), 0, 1, 2);
  pipeline_expect_failure(&p, pipeline_counted(&p, "TakeDataset", wrapped, 1),
                          LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, wrapping(&p, "UnwrapDatasetVariant", three), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static void expect_rows(pipeline_t* p, leat_output_t dataset, int64_t wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(
      p, leat_build(&p->b, "ComputeBatchSize", LEAT_INPUTS(dataset), LEAT_NO_ATTRS), &value));
  assert_int_equal(*leat_tensor_data(&value, const int64_t), wanted);
  leat_tensor_release(&value);
}

// TensorFlow's answers, also where it could know more.
static void the_size_of_batches_is_known(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t seven = pipeline_range(&p, 0, 7), threes = batch(&p, seven, 3, false);
  expect_rows(&p, seven, -1);
  expect_rows(&p, threes, 3);
  expect_rows(&p, padded(&p, 4), 2);
  expect_rows(&p, pipeline_counted(&p, "TakeDataset", threes, 1), 3);
  leat_output_t fours = batch(&p, seven, 4, false);
  expect_rows(&p, pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(threes, threes)), 3);
  expect_rows(&p, pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(threes, fours)), -1);
  expect_rows(&p, wrapping(&p, "UnwrapDatasetVariant", wrapping(&p, "WrapDatasetVariant", fours)),
              4);
  expect_rows(&p, parallel_batch(&p, seven, 1), -1);
  expect_rows(&p, unbatch(&p, threes), -1);
  expect_rows(&p, sliding(&p, 3, 2, 2), -1);
  // A dataset over which there are more ways than anybody can go.
  for (int i = 0; i < 60; ++i) {
    fours = pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(fours, fours));
  }
  expect_rows(&p, fours, -1);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batches_come_apart_again),
      cmocka_unit_test(later_batches_are_as_the_first),
      cmocka_unit_test(a_later_batch_of_unequal_elements_fails),
      cmocka_unit_test(parallel_batches_need_a_call),
      cmocka_unit_test(what_is_shorter_is_padded),
      cmocka_unit_test(windows_slide),
      cmocka_unit_test(sizes_of_batches_take_turns),
      cmocka_unit_test(elements_come_in_parts),
      cmocka_unit_test(a_wrapped_dataset_is_none),
      cmocka_unit_test(the_size_of_batches_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
