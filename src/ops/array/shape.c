// The ops Shape, ShapeN, Rank and Size: their shapes, values and registration. They read the shape
// of a tensor and never its elements, which the flag LEAT_OP_ONLY_SHAPE tells the runtime.
//
//   Shape  x [d_0, ..., d_n] -> [n + 1]: d_0, ..., d_n      Rank -> []: n + 1      Size -> []
//
// Their value functions give the result to shape inference as far as it is known, so that the shape
// of Reshape(x, Shape(y)) is inferred while the graph is built. None has a gradient, because a
// shape does not depend on the elements.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t shape_shape(leat_inference_t* c) {
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t input = leat_inference_input(c, i);
    int64_t rank = input.rank < 0 ? LEAT_DIM_UNKNOWN : input.rank;
    leat_partial_shape_t output;
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &rank, &output));
    leat_inference_set_output(c, i, output);
  }
  return leat_ok_status();
}

// Gives each input's sizes as the value of its output; sizes that are unknown are marked as such.
static leat_status_t shape_value(leat_inference_t* c) {
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t input = leat_inference_input(c, i);
    if (input.rank < 0) continue;
    int64_t items[LEAT_SHAPE_MAX_RANK];
    for (int d = 0; d < input.rank; ++d) {
      items[d] = input.dims[d] == LEAT_DIM_UNKNOWN ? LEAT_VALUE_UNKNOWN : input.dims[d];
    }
    LEAT_RETURN_IF_ERROR(leat_inference_set_output_value(c, i, 1, input.rank, items));
  }
  return leat_ok_status();
}

static leat_status_t rank_value(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0);
  if (input.rank < 0) return leat_ok_status();
  int64_t rank = input.rank;
  return leat_inference_set_output_value(c, 0, 0, 1, &rank);
}

static leat_status_t size_value(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0);
  if (!leat_partial_shape_is_full(input)) return leat_ok_status();
  int64_t size = 1;
  for (int d = 0; d < input.rank; ++d) {
    LEAT_RETURN_IF_ERROR(leat_inference_multiply(size, input.dims[d], &size));
  }
  return leat_inference_set_output_value(c, 0, 0, 1, &size);
}

const leat_op_row_t leat_shape_ops[] = {
    {.name = "Shape",
     .inputs = "input: T",
     .outputs = "output: out_type",
     .attrs = "T: type; out_type: {int32, int64} = int32",
     .flags = LEAT_OP_ONLY_SHAPE,
     .shape = shape_shape,
     .value = shape_value,
     .gradient = leat_gradient_none,
     .doc = "The sizes of the input's dimensions, as a vector."},
    {.name = "ShapeN",
     .inputs = "input: N * T",
     .outputs = "output: N * out_type",
     .attrs = "N: int >= 1; T: type; out_type: {int32, int64} = int32",
     .flags = LEAT_OP_ONLY_SHAPE,
     .shape = shape_shape,
     .value = shape_value,
     .gradient = leat_gradient_none,
     .doc = "The shapes of several tensors of one type."},
    {.name = "Rank",
     .inputs = "input: T",
     .outputs = "output: int32",
     .attrs = "T: type",
     .flags = LEAT_OP_ONLY_SHAPE,
     .shape = leat_shape_scalar_output,
     .value = rank_value,
     .gradient = leat_gradient_none,
     .doc = "How many dimensions the input has."},
    {.name = "Size",
     .inputs = "input: T",
     .outputs = "output: out_type",
     .attrs = "T: type; out_type: {int32, int64} = int32",
     .flags = LEAT_OP_ONLY_SHAPE,
     .shape = leat_shape_scalar_output,
     .value = size_value,
     .gradient = leat_gradient_none,
     .doc = "How many elements the input has."},
    LEAT_OP_ROWS_END,
};
