// DenseToSparseBatchDataset, whose elements DeserializeSparse reads. The numbers are those that
// TensorFlow 2.21 gives for the same graphs. Rows of different sizes come from batches of 3, of
// which the last is smaller.
#include "dataset/pipeline.h"

#define VECTOR(p, ...)                                                           \
  pipeline_vector((p), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                  (const int64_t[]){__VA_ARGS__})

static leat_output_t sparse(pipeline_t* p, const char* op, leat_output_t input, int64_t size,
                            leat_output_t row_shape) {
  return pipeline_typed(p, op, LEAT_INPUTS(input, pipeline_number(p, size), row_shape),
                        "output_types", LEAT_DTYPE_VARIANT);
}

// Rows [0, 1, 2], [3, 4, 5] and [6].
static leat_output_t rows(pipeline_t* p) {
  return pipeline_counted(p, "BatchDataset", pipeline_range(p, 0, 7), 3);
}

// Element |index| of |dataset|, taken apart.
static leat_output_t sparse_element(pipeline_t* p, leat_output_t dataset, int64_t index) {
  leat_output_t behind = pipeline_typed(p, "SkipDataset",
                                        LEAT_INPUTS(dataset, pipeline_number(p, index)),
                                        "output_types", LEAT_DTYPE_VARIANT);
  leat_output_t one = pipeline_typed(p, "TakeDataset", LEAT_INPUTS(behind, pipeline_number(p, 1)),
                                     "output_types", LEAT_DTYPE_VARIANT);
  return leat_build(&p->b, "DeserializeSparse",
                    LEAT_INPUTS(pipeline_only_element(p, one, LEAT_DTYPE_VARIANT)),
                    LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_INT64)));
}

static void expect_numbers(pipeline_t* p, leat_output_t output, int count, const int64_t* wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(p, output, &value));
  assert_int_equal(value.shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(leat_tensor_data(&value, const int64_t)[i], wanted[i]);
  }
  leat_tensor_release(&value);
}
#define EXPECT_PART(p, element, part, ...)                                                \
  expect_numbers((p), (leat_output_t){(element).node, (part)},                            \
                 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                \
                 (const int64_t[]){__VA_ARGS__})

static void rows_become_a_sparse_tensor(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t batches = sparse(&p, "DenseToSparseBatchDataset", rows(&p), 2, VECTOR(&p, 4));
  leat_output_t first = sparse_element(&p, batches, 0), last = sparse_element(&p, batches, 1);
  EXPECT_PART(&p, first, 0, 0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2);
  EXPECT_PART(&p, first, 1, 0, 1, 2, 3, 4, 5);
  EXPECT_PART(&p, first, 2, 2, 4);
  EXPECT_PART(&p, last, 0, 0, 0);
  EXPECT_PART(&p, last, 1, 6);
  EXPECT_PART(&p, last, 2, 1, 4);
  pipeline_expect_failure(&p, sparse_element(&p, batches, 2), LEAT_INVALID_ARGUMENT);  // none
  assert_int_equal(pipeline_cardinality(&p, batches), 2);
  pipeline_close(&p);
}

static void the_largest_row_gives_the_size(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t some = pipeline_counted(&p, "SkipDataset", rows(&p), 1);
  leat_output_t batches =
      sparse(&p, "ExperimentalDenseToSparseBatchDataset", some, 2, VECTOR(&p, -1));
  leat_output_t only = sparse_element(&p, batches, 0);
  EXPECT_PART(&p, only, 0, 0, 0, 0, 1, 0, 2, 1, 0);
  EXPECT_PART(&p, only, 1, 3, 4, 5, 6);
  EXPECT_PART(&p, only, 2, 2, 3);
  // Rows that are scalars.
  batches = sparse(&p, "DenseToSparseBatchDataset", pipeline_range(&p, 5, 8), 2,
                   pipeline_vector(&p, 0, NULL));
  only = sparse_element(&p, batches, 0);
  EXPECT_PART(&p, only, 0, 0, 1);
  EXPECT_PART(&p, only, 1, 5, 6);
  EXPECT_PART(&p, only, 2, 2);
  // Rows of two dimensions.
  leat_output_t squares = pipeline_counted(&p, "BatchDataset", rows(&p), 1);
  batches = sparse(&p, "DenseToSparseBatchDataset", squares, 3, VECTOR(&p, -1, -1));
  only = sparse_element(&p, batches, 0);
  EXPECT_PART(&p, only, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 1, 0, 0, 1, 0, 1, 1, 0, 2, 2, 0, 0);
  EXPECT_PART(&p, only, 2, 3, 1, 3);
  pipeline_close(&p);
}

static void what_does_not_fit_is_refused(void** state) {
  const char* op = "DenseToSparseBatchDataset";
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t small = sparse(&p, op, rows(&p), 2, VECTOR(&p, 2));
  pipeline_expect_failure(&p, sparse_element(&p, small, 0), LEAT_DATA_LOSS);
  leat_output_t matrix = sparse(&p, op, rows(&p), 2, VECTOR(&p, 3, 3));
  pipeline_expect_failure(&p, sparse_element(&p, matrix, 0), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, sparse(&p, op, rows(&p), 0, VECTOR(&p, 3)), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, sparse(&p, op, rows(&p), 2, VECTOR(&p, -2)), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_become_a_sparse_tensor),
      cmocka_unit_test(the_largest_row_gives_the_size),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
