// Small subgraphs that the gradients of this family are built of. Each function adds one node and
// the constants that it needs.
#include "ops/nn/subgraph.h"

static leat_output_t build_index(leat_builder_t* b, int value) {
  const int32_t item = value;
  return leat_build_int32_vector(b, &item, 1);
}

leat_output_t leat_subgraph_slice(leat_builder_t* b, leat_output_t vector, int begin, int end) {
  return leat_build(
      b, "StridedSlice",
      LEAT_INPUTS(vector, build_index(b, begin), build_index(b, end), build_index(b, 1)),
      LEAT_ATTRS(LEAT_INT("begin_mask", begin == 0), LEAT_INT("end_mask", end == 0)));
}

// The end of the last item is not -1 + 1 = 0 but the end of the vector, which a mask says.
leat_output_t leat_subgraph_item(leat_builder_t* b, leat_output_t vector, int index) {
  const int end = index == -1 ? 0 : index + 1;
  return leat_build(
      b, "StridedSlice",
      LEAT_INPUTS(vector, build_index(b, index), build_index(b, end), build_index(b, 1)),
      LEAT_ATTRS(LEAT_INT("end_mask", end == 0), LEAT_INT("shrink_axis_mask", 1)));
}

leat_output_t leat_subgraph_join(leat_builder_t* b, leat_output_t x, leat_output_t y,
                                 leat_output_t z) {
  const leat_output_t axis = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  const leat_output_t items[] = {x, y, leat_output_exists(z) ? z : axis, axis};
  const int count = leat_output_exists(z) ? 3 : 2;
  return leat_build(b, "ConcatV2", (leat_outputs_t){items, count + 1},
                    LEAT_ATTRS(LEAT_INT("N", count)));
}

leat_output_t leat_subgraph_expand(leat_builder_t* b, leat_output_t x, int axis) {
  return leat_build_binary(b, "ExpandDims", x, leat_build_scalar(b, LEAT_DTYPE_INT32, axis));
}

leat_output_t leat_subgraph_cast(leat_builder_t* b, leat_output_t x, int dtype) {
  if (leat_build_type_of(b, x) == dtype) return x;
  return leat_build(b, "Cast", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", dtype)));
}

leat_output_t leat_subgraph_transpose(leat_builder_t* b, leat_output_t x, const int32_t* order,
                                      int count) {
  return leat_build_binary(b, "Transpose", x, leat_build_int32_vector(b, order, count));
}

leat_output_t leat_subgraph_sum(leat_builder_t* b, leat_output_t x, int axis, bool keeps) {
  return leat_build(b, "Sum", LEAT_INPUTS(x, leat_build_scalar(b, LEAT_DTYPE_INT32, axis)),
                    LEAT_ATTRS(LEAT_BOOL("keep_dims", keeps)));
}
