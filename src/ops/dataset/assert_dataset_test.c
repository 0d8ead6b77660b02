// Datasets that state what stands around them in a pipeline. What holds and what does not is
// TensorFlow 2.21's answer for the same graphs. The failures come when the pipeline is read; the
// dataset itself can be made.
#include "dataset/pipeline.h"

// |op|, one of the asserting datasets, with up to two statements; NULL: none.
static leat_output_t asserting(pipeline_t* p, const char* op, leat_output_t input,
                               const char* first, const char* second) {
  const char* texts[2] = {first, second};
  const leat_shape_t shape = leat_shape_vector(!first ? 0 : second ? 2 : 1);
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape, &tensor));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    LEAT_EXPECT_OK(leat_tensor_set_string(&tensor, i, leat_string_view_from(texts[i])));
  }
  leat_output_t statements = leat_build_constant(&p->b, &tensor);
  leat_tensor_release(&tensor);
  return pipeline_dataset(p, op, LEAT_INPUTS(input, statements));
}

static leat_output_t next(pipeline_t* p, const char* first, const char* second) {
  return asserting(p, "AssertNextDataset", pipeline_range(p, 0, 3), first, second);
}

static leat_output_t take(pipeline_t* p, leat_output_t input) {
  return pipeline_counted(p, "TakeDataset", input, 2);
}

static void expect_false(pipeline_t* p, leat_output_t dataset) {
  pipeline_expect_bad_elements(p, dataset, LEAT_DTYPE_INT64, LEAT_INVALID_ARGUMENT);
}

// The batch with which pipeline.h reads a dataset stands above all of them.
static void what_is_above_is_stated(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  PIPELINE_EXPECT(&p, next(&p, NULL, NULL), 0, 1, 2);
  PIPELINE_EXPECT(&p, take(&p, next(&p, "FiniteTake", "Batch")), 0, 1);
  expect_false(&p, take(&p, next(&p, "Take", NULL)));
  expect_false(&p, take(&p, next(&p, "Batch", NULL)));
  expect_false(&p, take(&p, next(&p, "FiniteTake", "FiniteTake")));
  assert_int_equal(pipeline_cardinality(&p, take(&p, next(&p, "Take", NULL))), 2);
  leat_output_t former = asserting(&p, "ExperimentalAssertNextDataset", pipeline_range(&p, 0, 3),
                                   "FiniteTake", NULL);
  PIPELINE_EXPECT(&p, take(&p, former), 0, 1);
  leat_output_t batches = pipeline_dataset(
      &p, "BatchDatasetV2",
      LEAT_INPUTS(next(&p, "Batch", "Unbatch"), pipeline_number(&p, 2), pipeline_bool(&p, false)));
  PIPELINE_EXPECT(&p, pipeline_dataset(&p, "UnbatchDataset", LEAT_INPUTS(batches)), 0, 1, 2);
  leat_output_t joined = pipeline_dataset(
      &p, "ConcatenateDataset",
      LEAT_INPUTS(next(&p, "Concatenate[0]", NULL), next(&p, "Concatenate[1]", NULL)));
  PIPELINE_EXPECT(&p, joined, 0, 1, 2, 0, 1, 2);
  expect_false(&p, pipeline_dataset(
                       &p, "ConcatenateDataset",
                       LEAT_INPUTS(pipeline_range(&p, 0, 1), next(&p, "Concatenate[0]", NULL))));
  leat_output_t endless =
      pipeline_counted(&p, "RepeatDataset", next(&p, "ForeverRepeat[0]", "FiniteTake"), -1);
  PIPELINE_EXPECT(&p, take(&p, endless), 0, 1);
  pipeline_close(&p);
}

// TensorFlow counts what is above: a batch, and what reads it. More are asserted here.
static void more_than_there_is_is_false(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  expect_false(&p, next(&p, "Batch", "Batch"));
  pipeline_close(&p);
}

static void ways_from_above_are_counted(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t elements = next(&p, NULL, NULL);
  for (int i = 0; i < 30; ++i) {
    if (i == 10) PIPELINE_EXPECT(&p, take(&p, elements), 0, 1);
    elements = pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(elements, elements));
  }
  pipeline_expect_bad_elements(&p, take(&p, elements), LEAT_DTYPE_INT64, LEAT_RESOURCE_EXHAUSTED);
  pipeline_close(&p);
}

static leat_output_t prev(pipeline_t* p, leat_output_t input, const char* first,
                          const char* second) {
  return asserting(p, "AssertPrevDataset", input, first, second);
}

static void what_is_below_is_stated(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t two = take(&p, pipeline_range(&p, 0, 5));
  PIPELINE_EXPECT(&p, prev(&p, two, NULL, NULL), 0, 1);
  PIPELINE_EXPECT(&p, prev(&p, two, "name: 'TakeDataset'", "name: 'RangeDataset'"), 0, 1);
  expect_false(&p, prev(&p, two, "name: 'Take'", NULL));
  expect_false(&p, prev(&p, two, "name: 'RangeDataset'", NULL));
  expect_false(&p, prev(&p, two, "TakeDataset", NULL));
  expect_false(&p, prev(&p, pipeline_range(&p, 0, 5), "name: 'RangeDataset'", "name: 'x'"));
  pipeline_expect_bad_elements(
      &p, prev(&p, two, "name: 'TakeDataset' attr { key: 'x' value { i: 1 } }", NULL),
      LEAT_DTYPE_INT64, LEAT_UNIMPLEMENTED);
  leat_output_t batches = pipeline_dataset(
      &p, "BatchDatasetV2",
      LEAT_INPUTS(two, pipeline_number(&p, 2), pipeline_bool(&p, false)));
  leat_output_t rows = pipeline_dataset(&p, "UnbatchDataset", LEAT_INPUTS(batches));
  PIPELINE_EXPECT(&p, prev(&p, rows, "name: 'UnbatchDataset'", "name: 'BatchDataset'"), 0, 1);
  PIPELINE_EXPECT(&p, prev(&p, rows, "name: 'UnbatchDataset'", "name: 'BatchDatasetV2'"), 0, 1);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_above_is_stated),
      cmocka_unit_test(more_than_there_is_is_false),
      cmocka_unit_test(ways_from_above_are_counted),
      cmocka_unit_test(what_is_below_is_stated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
