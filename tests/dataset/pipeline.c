// The short forms that pipeline.h declares, for tests that build datasets node by node. A pipeline
// is a graph over all op families, evaluated without a session by the plan of op_harness/fixture.h,
// so that a dataset test depends on nothing above the kernels. The elements of a dataset are
// fetched in one run: a batch as large as the dataset makes all elements one tensor, which
// DatasetToSingleElement reads. A batch must therefore have room for all elements of a test (MOST).
// Constants are made of tensors whose ownership passes to the node.
#include "dataset/pipeline.h"

enum { MOST = 64, MOST_ATTRS = 4 };

void pipeline_open(pipeline_t* p) {
  LEAT_EXPECT_OK(leat_fixture_initialize(&p->fixture));
  LEAT_EXPECT_OK(leat_graph_create(p->fixture.ops, leat_allocator_system(), &p->graph));
  p->b = (leat_builder_t){.graph = p->graph};
}

void pipeline_close(pipeline_t* p) {
  leat_status_free(p->b.status);
  leat_graph_free(p->graph);
  leat_fixture_deinitialize(&p->fixture);
}

// ---- Nodes --------------------------------------------------------------------------------------

// A node with |types_name| = [dtype], output_shapes = [unknown] and |more|.
static leat_output_t build(pipeline_t* p, const char* op, leat_outputs_t inputs,
                           const char* types_name, int dtype, leat_attrs_t more) {
  const int32_t types[] = {dtype};
  const leat_partial_shape_t shapes[] = {leat_partial_shape_unknown()};
  leat_attr_t attrs[2 + MOST_ATTRS] = {
      {leat_string_view_from(types_name),
       {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = types}},
      {LEAT_SV("output_shapes"),
       {.kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1, .shapes = shapes}}};
  assert_true(more.count <= MOST_ATTRS);
  for (int i = 0; i < more.count; ++i) attrs[2 + i] = more.items[i];
  return leat_build(&p->b, op, inputs, (leat_attrs_t){attrs, 2 + more.count});
}

leat_output_t pipeline_typed(pipeline_t* p, const char* op, leat_outputs_t inputs,
                             const char* types_name, int dtype) {
  return build(p, op, inputs, types_name, dtype, LEAT_NO_ATTRS);
}

static leat_output_t constant(pipeline_t* p, leat_tensor_t* value) {
  leat_output_t output = leat_build_constant(&p->b, value);
  leat_tensor_release(value);
  return output;
}

leat_output_t pipeline_number(pipeline_t* p, int64_t value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT64, &value, &tensor));
  return constant(p, &tensor);
}

leat_output_t pipeline_bool(pipeline_t* p, bool value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_BOOL, &value, &tensor));
  return constant(p, &tensor);
}

leat_output_t pipeline_text(pipeline_t* p, const char* value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(leat_string_view_from(value), &tensor));
  return constant(p, &tensor);
}

leat_output_t pipeline_vector(pipeline_t* p, int count, const int64_t* values) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT64, values, count, &tensor));
  return constant(p, &tensor);
}

leat_output_t pipeline_dataset_with(pipeline_t* p, const char* op, leat_outputs_t inputs,
                                    leat_attrs_t attrs) {
  return build(p, op, inputs, "output_types", LEAT_DTYPE_INT64, attrs);
}

leat_output_t pipeline_dataset(pipeline_t* p, const char* op, leat_outputs_t inputs) {
  return pipeline_dataset_with(p, op, inputs, LEAT_NO_ATTRS);
}

leat_output_t pipeline_range(pipeline_t* p, int64_t start, int64_t stop) {
  return pipeline_dataset(
      p, "RangeDataset",
      LEAT_INPUTS(pipeline_number(p, start), pipeline_number(p, stop), pipeline_number(p, 1)));
}

leat_output_t pipeline_slices(pipeline_t* p, leat_output_t tensor) {
  return pipeline_typed(p, "TensorSliceDataset", LEAT_INPUTS(tensor), "Toutput_types",
                        LEAT_DTYPE_INT64);
}

leat_output_t pipeline_counted(pipeline_t* p, const char* op, leat_output_t input, int64_t count) {
  return pipeline_dataset(p, op, LEAT_INPUTS(input, pipeline_number(p, count)));
}

// ---- Runs ---------------------------------------------------------------------------------------

leat_status_t pipeline_fetch(pipeline_t* p, leat_output_t output, leat_tensor_t* out_value) {
  leat_fixture_plan_t plan;
  LEAT_RETURN_IF_ERROR(leat_status_clone(p->b.status));
  LEAT_RETURN_IF_ERROR(leat_fixture_plan_initialize(&p->fixture, p->graph, &output, 1, &plan));
  leat_status_t status = leat_fixture_plan_run(&plan, NULL, 0, out_value);
  leat_fixture_plan_deinitialize(&plan);
  return status;
}

leat_output_t pipeline_only_element(pipeline_t* p, leat_output_t dataset, int dtype) {
  return pipeline_typed(p, "DatasetToSingleElement", LEAT_INPUTS(dataset), "output_types", dtype);
}

static leat_output_t all_elements(pipeline_t* p, leat_output_t dataset, int dtype) {
  return pipeline_only_element(p, pipeline_counted(p, "BatchDataset", dataset, MOST), dtype);
}

void pipeline_expect_elements(pipeline_t* p, leat_output_t dataset, int count,
                              const int64_t* wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(p, all_elements(p, dataset, LEAT_DTYPE_INT64), &value));
  assert_int_equal(value.shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(leat_tensor_data(&value, const int64_t)[i], wanted[i]);
  }
  leat_tensor_release(&value);
}

void pipeline_expect_texts(pipeline_t* p, leat_output_t dataset, const char* const* wanted) {
  leat_tensor_t value;
  int count = 0;
  LEAT_EXPECT_OK(pipeline_fetch(p, all_elements(p, dataset, LEAT_DTYPE_STRING), &value));
  while (wanted[count]) ++count;
  assert_int_equal(value.shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    assert_true(leat_string_view_equals(leat_tensor_string_at(&value, i), wanted[i]));
  }
  leat_tensor_release(&value);
}

void pipeline_expect_failure(pipeline_t* p, leat_output_t output, leat_status_code_t code) {
  leat_tensor_t value;
  LEAT_EXPECT_CODE(code, pipeline_fetch(p, output, &value));
}

void pipeline_expect_bad_elements(pipeline_t* p, leat_output_t dataset, int dtype,
                                  leat_status_code_t code) {
  pipeline_expect_failure(p, all_elements(p, dataset, dtype), code);
}

int64_t pipeline_cardinality(pipeline_t* p, leat_output_t dataset) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(
      p, leat_build(&p->b, "DatasetCardinality", LEAT_INPUTS(dataset), LEAT_NO_ATTRS), &value));
  int64_t count = *leat_tensor_data(&value, const int64_t);
  leat_tensor_release(&value);
  return count;
}
