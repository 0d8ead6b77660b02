// Datasets and ops that reach elements by their index. The orders are those that TensorFlow 2.21
// gives for the same seeds. What every kind that can seek gives is compared with what it gives in
// order, so that a seek to a wrong place is seen.
#include "dataset/pipeline.h"

static leat_output_t shuffled(pipeline_t* p, leat_output_t input, bool reshuffle) {
  leat_output_t none = leat_build(&p->b, "DummySeedGenerator", (leat_outputs_t){0}, LEAT_NO_ATTRS);
  return pipeline_dataset_with(
      p, "GlobalShuffleDataset",
      LEAT_INPUTS(input, pipeline_number(p, 1), pipeline_number(p, 2), none),
      LEAT_ATTRS(LEAT_BOOL("reshuffle_each_iteration", reshuffle)));
}

static void orders_are_tensorflows(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t ten = pipeline_range(&p, 0, 10);
  PIPELINE_EXPECT(&p, shuffled(&p, ten, true), 3, 4, 5, 9, 0, 8, 1, 7, 2, 6);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "RepeatDataset", shuffled(&p, ten, true), 2), 3, 4, 5, 9,
                  0, 8, 1, 7, 2, 6, 1, 6, 8, 7, 5, 9, 4, 0, 3, 2);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "RepeatDataset", shuffled(&p, ten, false), 2), 7, 6, 8,
                  0, 5, 2, 4, 3, 1, 9, 7, 6, 8, 0, 5, 2, 4, 3, 1, 9);
  PIPELINE_EXPECT(&p, shuffled(&p, shuffled(&p, ten, true), true), 9, 0, 8, 6, 3, 2, 4, 7, 5, 1);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "TakeDataset", shuffled(&p, ten, true), 4), 3, 4, 5, 9);
  PIPELINE_EXPECT(&p, shuffled(&p, pipeline_range(&p, 7, 8), true), 7);
  assert_int_equal(pipeline_cardinality(&p, shuffled(&p, ten, true)), 10);
  pipeline_close(&p);
}

static void datasets_below_seek(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t skipped = pipeline_counted(&p, "SkipDataset", pipeline_range(&p, 0, 7), 1);
  PIPELINE_EXPECT(&p, shuffled(&p, skipped, true), 4, 5, 6, 2, 1, 3);
  leat_output_t shard = pipeline_dataset(
      &p, "ShardDataset",
      LEAT_INPUTS(pipeline_range(&p, 0, 7), pipeline_number(&p, 2), pipeline_number(&p, 0)));
  PIPELINE_EXPECT(&p, shuffled(&p, shard, true), 6, 0, 4, 2);
  leat_output_t slices =
      pipeline_slices(&p, pipeline_vector(&p, 5, (const int64_t[]){0, 1, 2, 3, 4}));
  PIPELINE_EXPECT(&p, shuffled(&p, slices, true), 3, 4, 2, 1, 0);
  leat_output_t pairs = pipeline_counted(&p, "BatchDataset", pipeline_range(&p, 0, 8), 2);
  leat_output_t rows =
      pipeline_dataset(&p, "UnbatchDataset", LEAT_INPUTS(shuffled(&p, pairs, true)));
  leat_tensor_t order;  // of four elements, as of any dataset of four
  leat_output_t four = shuffled(&p, pipeline_range(&p, 0, 4), true);
  LEAT_EXPECT_OK(pipeline_fetch(
      &p, pipeline_only_element(&p, pipeline_counted(&p, "BatchDataset", four, 9),
                                LEAT_DTYPE_INT64),
      &order));
  int64_t wanted[8];
  for (int i = 0; i < 8; ++i) {
    wanted[i] = 2 * leat_tensor_data(&order, const int64_t)[i / 2] + i % 2;
  }
  leat_tensor_release(&order);
  pipeline_expect_elements(&p, rows, 8, wanted);
  pipeline_close(&p);
}

static void what_cannot_seek_is_refused(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t three = pipeline_range(&p, 0, 3);
  leat_output_t again = pipeline_counted(&p, "RepeatDataset", three, 2);
  pipeline_expect_failure(&p, shuffled(&p, again, true), LEAT_FAILED_PRECONDITION);
  leat_output_t taken = pipeline_counted(&p, "TakeDataset", again, 2);
  pipeline_expect_failure(&p, shuffled(&p, taken, true), LEAT_FAILED_PRECONDITION);
  pipeline_expect_failure(&p, shuffled(&p, pipeline_range(&p, 0, 0), true), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static leat_output_t at(pipeline_t* p, leat_output_t dataset, int64_t index) {
  return pipeline_typed(p, "GetElementAtIndex", LEAT_INPUTS(dataset, pipeline_number(p, index)),
                        "output_types", LEAT_DTYPE_INT64);
}

static void expect_at(pipeline_t* p, leat_output_t dataset, int64_t index, int64_t wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(p, at(p, dataset, index), &value));
  assert_int_equal(*leat_tensor_data(&value, const int64_t), wanted);
  leat_tensor_release(&value);
}

// The second dataset cannot seek: its elements are counted.
static void an_element_has_an_index(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t six = pipeline_range(&p, 10, 16);
  leat_output_t twice = pipeline_counted(&p, "RepeatDataset", six, 2);
  for (int i = 0; i < 6; ++i) expect_at(&p, six, i, 10 + i);
  for (int i = 0; i < 12; ++i) expect_at(&p, twice, i, 10 + i % 6);
  expect_at(&p, pipeline_counted(&p, "TakeDataset", six, 4), 3, 13);
  expect_at(&p, pipeline_counted(&p, "BatchDataset", six, 2), 2, 14);
  pipeline_expect_failure(&p, at(&p, six, 6), LEAT_OUT_OF_RANGE);
  pipeline_expect_failure(&p, at(&p, six, -1), LEAT_OUT_OF_RANGE);
  pipeline_expect_failure(&p, at(&p, twice, 12), LEAT_OUT_OF_RANGE);
  leat_output_t endless = pipeline_counted(&p, "RepeatDataset", six, -1);
  pipeline_expect_failure(&p, at(&p, endless, 1), LEAT_FAILED_PRECONDITION);
  leat_output_t unknown = pipeline_dataset(&p, "UniqueDataset", LEAT_INPUTS(six));
  pipeline_expect_failure(&p, at(&p, unknown, 1), LEAT_FAILED_PRECONDITION);
  pipeline_close(&p);
}

// ---- So many elements of each input -------------------------------------------------------------

static leat_output_t weight(pipeline_t* p, double value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_DOUBLE, &value, &tensor));
  leat_output_t output = leat_build_constant(&p->b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

static leat_output_t weighted(pipeline_t* p, leat_output_t a, leat_output_t b, double weight_a,
                              double weight_b) {
  return pipeline_dataset_with(p, "WeightedFlatMapDataset",
                               LEAT_INPUTS(a, b, weight(p, weight_a), weight(p, weight_b)),
                               LEAT_ATTRS(LEAT_INT("N", 2), LEAT_INT("M", 2)));
}

static void weights_say_how_many(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t a = pipeline_range(&p, 0, 6), b = pipeline_range(&p, 100, 110);
  PIPELINE_EXPECT(&p, weighted(&p, a, b, 1, 1), 0, 1, 2, 3, 4, 5, 100, 101, 102, 103, 104, 105);
  // Six elements of weight 1 are as many as two of weight 3: TensorFlow's arithmetic.
  PIPELINE_EXPECT(&p, weighted(&p, a, b, 1, 3), 0, 1, 100, 101, 102, 103, 104, 105);
  assert_int_equal(pipeline_cardinality(&p, weighted(&p, a, b, 1, 3)), 8);
  expect_at(&p, weighted(&p, a, b, 1, 3), 1, 1);
  expect_at(&p, weighted(&p, a, b, 1, 3), 4, 102);
  pipeline_expect_failure(&p, weighted(&p, a, b, 1, 0), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, weighted(&p, pipeline_range(&p, 0, 7), b, .7, .3),
                          LEAT_INVALID_ARGUMENT);
  leat_output_t endless = pipeline_counted(&p, "RepeatDataset", a, -1);
  pipeline_expect_failure(&p, weighted(&p, a, endless, 1, 1), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(orders_are_tensorflows),
      cmocka_unit_test(datasets_below_seek),
      cmocka_unit_test(what_cannot_seek_is_refused),
      cmocka_unit_test(an_element_has_an_index),
      cmocka_unit_test(weights_say_how_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
