// GetOptions tells the options of a dataset and of all below it. The bytes are those of
// TensorFlow 2.21 for the same graphs: what the outer dataset sets wins, within the messages inside
// as well, and of several inputs the last one wins.
#include "dataset/pipeline.h"

static leat_output_t with_options(pipeline_t* p, leat_output_t input, const char* options) {
  return pipeline_dataset_with(
      p, "OptionsDataset", LEAT_INPUTS(input),
      LEAT_ATTRS(LEAT_STRING("serialized_options", leat_string_view_from(options))));
}

#define EXPECT_OPTIONS(p, dataset, text) \
  expect_options((p), (dataset), leat_string_view_make(text, sizeof(text) - 1))
static void expect_options(pipeline_t* p, leat_output_t dataset, leat_string_view_t wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(
      p, leat_build(&p->b, "GetOptions", LEAT_INPUTS(dataset), LEAT_NO_ATTRS), &value));
  assert_true(leat_string_view_equal(leat_tensor_string_at(&value, 0), wanted));
  leat_tensor_release(&value);
}

// dataset_name 'a', slack, three threads of its own; and under it: name 'b', not deterministic,
// at most seven threads in an op.
#define OUTER "R\1a \1*\2\20\3"
#define INNER "R\1b\10\2*\2\10\7"

static void options_are_merged(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t three = pipeline_range(&p, 0, 3);
  EXPECT_OPTIONS(&p, three, "");
  leat_output_t inner = with_options(&p, three, INNER);
  EXPECT_OPTIONS(&p, inner, "\10\1*\2\10\7R\1b");
  leat_output_t taken = pipeline_counted(&p, "TakeDataset", inner, 2);
  EXPECT_OPTIONS(&p, taken, "\10\1*\2\10\7R\1b");
  leat_output_t outer = with_options(&p, taken, OUTER);
  EXPECT_OPTIONS(&p, outer, "\10\1 \1*\4\10\7\20\3R\1a");
  PIPELINE_EXPECT(&p, outer, 0, 1);
  leat_output_t other = with_options(&p, three, OUTER);
  EXPECT_OPTIONS(&p,
                 pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(other, inner)),
                 "\10\1 \1*\4\10\7\20\3R\1b");
  pipeline_close(&p);
}

static void what_is_no_message_is_refused(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  pipeline_expect_failure(&p, with_options(&p, pipeline_range(&p, 0, 3), "\10"),
                          LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

// Lists are joined, so that they double where a dataset is read twice. TensorFlow has no limit.
#define FRAMEWORK "Z\1f"

static void lists_may_not_grow_for_ever(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t elements = with_options(&p, pipeline_range(&p, 0, 3), FRAMEWORK);
  elements = pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(elements, elements));
  EXPECT_OPTIONS(&p, elements, FRAMEWORK FRAMEWORK);
  for (int i = 0; i < 60; ++i) {
    elements = pipeline_dataset(&p, "ConcatenateDataset", LEAT_INPUTS(elements, elements));
  }
  pipeline_expect_failure(&p, elements, LEAT_RESOURCE_EXHAUSTED);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_are_merged),
      cmocka_unit_test(what_is_no_message_is_refused),
      cmocka_unit_test(lists_may_not_grow_for_ever),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
