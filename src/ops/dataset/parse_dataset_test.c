// ParseExampleDataset turns serialized Example messages into components, one for each feature. The
// two messages are written as bytes, so that the parser is not tested with this library's own
// encoder, and their feature "a" has different lengths, which must be padded. A dense feature
// becomes a tensor, a sparse one a variant of three tensors, and a ragged one a variant that
// RaggedTensorFromVariant takes apart again. A feature that is named twice and a
// number of parallel calls below 1 are refused when the dataset is made; a feature of another type
// shows only when its element is read.
#include "dataset/pipeline.h"

// {"a": [5, 7]} and {"a": [9], "s": ["xy"]} as Example messages.
static const char kTwo[] = "\n\15\n\13\n\1a\22\6\32\4\n\2\5\7";
static const char kOne[] = "\n\31\n\12\n\1a\22\5\32\3\n\1\11\n\13\n\1s\22\6\n\4\n\2xy";

static const int32_t kLong[] = {LEAT_DTYPE_INT64}, kText[] = {LEAT_DTYPE_STRING};
static const int32_t kComponents[] = {LEAT_DTYPE_INT64, LEAT_DTYPE_VARIANT};
static const int64_t kAnyLength[] = {-1};

#define LIST(attr_name, kind_of, number, member, items)                                            \
  {                                                                                                \
    LEAT_SV(attr_name), { .kind = kind_of, .is_list = true, .count = (number), .member = (items) } \
  }

// Both messages in an element.
static leat_output_t messages(pipeline_t* p) {
  leat_output_t texts[] = {pipeline_text(p, kTwo), pipeline_text(p, kOne)};
  leat_output_t both =
      leat_build(&p->b, "Pack", (leat_outputs_t){texts, 2}, LEAT_ATTRS(LEAT_INT("N", 2)));
  return leat_build(&p->b, "TensorDataset", LEAT_INPUTS(both),
                    LEAT_ATTRS(LIST("output_shapes", LEAT_ATTR_SHAPE, 1, shapes,
                                    (const leat_partial_shape_t[]){leat_partial_shape_unknown()})));
}

// The dense feature |name|, of any length, and where |sparse| the sparse feature "s", by |op|.
static leat_output_t parsed_by(pipeline_t* p, const char* op, const char* name, bool sparse,
                               int64_t calls) {
  const leat_string_view_t dense_keys[] = {leat_string_view_from(name)};
  const leat_string_view_t sparse_keys[] = {LEAT_SV("s")};
  const leat_partial_shape_t dense[] = {{1, kAnyLength}};
  const leat_partial_shape_t unknown[] = {leat_partial_shape_unknown(),
                                          leat_partial_shape_unknown()};
  const leat_attr_t attrs[] = {
      LIST("sparse_keys", LEAT_ATTR_STRING, sparse, strings, sparse_keys),
      LIST("dense_keys", LEAT_ATTR_STRING, 1, strings, dense_keys),
      LIST("sparse_types", LEAT_ATTR_TYPE, sparse, types, kText),
      LIST("Tdense", LEAT_ATTR_TYPE, 1, types, kLong),
      LIST("dense_shapes", LEAT_ATTR_SHAPE, 1, shapes, dense),
      LIST("output_types", LEAT_ATTR_TYPE, 1 + sparse, types, kComponents),
      LIST("output_shapes", LEAT_ATTR_SHAPE, 1 + sparse, shapes, unknown),
  };
  return leat_build(&p->b, op,
                    LEAT_INPUTS(messages(p), pipeline_number(p, calls), pipeline_number(p, -1)),
                    (leat_attrs_t){attrs, LEAT_ARRAY_SIZE(attrs)});
}

static leat_output_t parsed(pipeline_t* p, const char* name, bool sparse, int64_t calls) {
  return parsed_by(p, "ParseExampleDatasetV2", name, sparse, calls);
}

static void features_become_components(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  PIPELINE_EXPECT(&p, parsed(&p, "a", false, 1), 5, 7, 9, -1);
  assert_int_equal(pipeline_cardinality(&p, parsed(&p, "a", false, -1)), 1);
  PIPELINE_EXPECT(&p, parsed_by(&p, "ExperimentalParseExampleDataset", "a", false, 1), 5, 7, 9,
                  -1);
  pipeline_close(&p);
}

static void sparse_ones_are_variants(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  const leat_partial_shape_t unknown[] = {leat_partial_shape_unknown(),
                                          leat_partial_shape_unknown()};
  const leat_attr_t attrs[] = {LIST("output_types", LEAT_ATTR_TYPE, 2, types, kComponents),
                               LIST("output_shapes", LEAT_ATTR_SHAPE, 2, shapes, unknown)};
  int32_t element =
      leat_build_node(&p.b, "DatasetToSingleElement", LEAT_INPUTS(parsed(&p, "a", true, 1)),
                      (leat_attrs_t){attrs, 2});
  int32_t entries =
      leat_build_node(&p.b, "DeserializeSparse", LEAT_INPUTS(leat_node_output(element, 1)),
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_STRING)));
  leat_tensor_t indices, values;
  LEAT_EXPECT_OK(pipeline_fetch(&p, leat_node_output(entries, 0), &indices));
  LEAT_EXPECT_OK(pipeline_fetch(&p, leat_node_output(entries, 1), &values));
  assert_int_equal(indices.shape.element_count, 2);
  assert_int_equal(leat_tensor_data(&indices, const int64_t)[0], 1);
  assert_int_equal(leat_tensor_data(&indices, const int64_t)[1], 0);
  assert_int_equal(values.shape.element_count, 1);
  assert_true(leat_string_view_equals(leat_tensor_string_at(&values, 0), "xy"));
  leat_tensor_release(&indices);
  leat_tensor_release(&values);
  pipeline_close(&p);
}

// The ragged feature |name| with splits of |splits|, beside a sparse feature "s", which sorts
// behind "a". |wanted| is the type that the attribute output_types says of |name|.
static leat_output_t ragged(pipeline_t* p, const char* name, int splits, int wanted) {
  const leat_string_view_t keys[] = {leat_string_view_from(name)};
  const leat_string_view_t sparse_keys[] = {LEAT_SV("s")};
  const int32_t splits_types[] = {splits};
  const int32_t components[] = {wanted, LEAT_DTYPE_VARIANT};
  const leat_partial_shape_t shapes[] = {leat_partial_shape_scalar(),
                                         leat_partial_shape_unknown()};
  const leat_attr_t attrs[] = {
      LIST("sparse_keys", LEAT_ATTR_STRING, 1, strings, sparse_keys),
      LIST("dense_keys", LEAT_ATTR_STRING, 0, strings, NULL),
      LIST("sparse_types", LEAT_ATTR_TYPE, 1, types, kText),
      LIST("Tdense", LEAT_ATTR_TYPE, 0, types, NULL),
      LIST("dense_shapes", LEAT_ATTR_SHAPE, 0, shapes, NULL),
      LIST("ragged_keys", LEAT_ATTR_STRING, 1, strings, keys),
      LIST("ragged_value_types", LEAT_ATTR_TYPE, 1, types, kLong),
      LIST("ragged_split_types", LEAT_ATTR_TYPE, 1, types, splits_types),
      LIST("output_types", LEAT_ATTR_TYPE, 2, types, components),
      LIST("output_shapes", LEAT_ATTR_SHAPE, 2, shapes, shapes),
  };
  const leat_output_t dataset =
      leat_build(&p->b, "ParseExampleDatasetV2",
                 LEAT_INPUTS(messages(p), pipeline_number(p, 1)),
                 (leat_attrs_t){attrs, LEAT_ARRAY_SIZE(attrs)});
  const leat_attr_t element[] = {LIST("output_types", LEAT_ATTR_TYPE, 2, types, components),
                                 LIST("output_shapes", LEAT_ATTR_SHAPE, 2, shapes, shapes)};
  return leat_build(&p->b, "DatasetToSingleElement", LEAT_INPUTS(dataset),
                    (leat_attrs_t){element, LEAT_ARRAY_SIZE(element)});
}

static void ragged_ones_are_one_variant(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  int32_t parts = leat_build_node(
      &p.b, "RaggedTensorFromVariant",
      LEAT_INPUTS(ragged(&p, "a", LEAT_DTYPE_INT32, LEAT_DTYPE_VARIANT)),
      LEAT_ATTRS(LEAT_INT("input_ragged_rank", 1), LEAT_INT("output_ragged_rank", 1),
                 LEAT_TYPE("Tvalues", LEAT_DTYPE_INT64), LEAT_TYPE("Tsplits", LEAT_DTYPE_INT32)));
  leat_tensor_t splits, values;
  LEAT_EXPECT_OK(pipeline_fetch(&p, leat_node_output(parts, 0), &splits));
  LEAT_EXPECT_OK(pipeline_fetch(&p, leat_node_output(parts, 1), &values));
  assert_int_equal(splits.shape.element_count, 3);
  assert_memory_equal(splits.data, ((const int32_t[]){0, 2, 3}), 3 * sizeof(int32_t));
  assert_int_equal(values.shape.element_count, 3);
  assert_memory_equal(values.data, ((const int64_t[]){5, 7, 9}), 3 * sizeof(int64_t));
  leat_tensor_release(&splits);
  leat_tensor_release(&values);
  pipeline_expect_failure(&p, ragged(&p, "a", LEAT_DTYPE_INT64, LEAT_DTYPE_INT64),
                          LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, ragged(&p, "s", LEAT_DTYPE_INT64, LEAT_DTYPE_VARIANT),
                          LEAT_INVALID_ARGUMENT);  // twice
  pipeline_close(&p);
}

static void what_does_not_fit_is_refused(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  pipeline_expect_failure(&p, parsed(&p, "a", false, 0), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, parsed(&p, "s", true, 1), LEAT_INVALID_ARGUMENT);  // twice
  pipeline_expect_bad_elements(&p, parsed(&p, "s", false, 1), LEAT_DTYPE_INT64,
                               LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(features_become_components),
      cmocka_unit_test(sparse_ones_are_variants),
      cmocka_unit_test(ragged_ones_are_one_variant),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
