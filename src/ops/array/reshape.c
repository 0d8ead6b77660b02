// The ops Reshape, ExpandDims, Squeeze and EnsureShape: their shapes, values, gradients and
// registration. Their output has the elements of the input in the same order, under another shape.
//
// The shape function of Reshape works both ways: one unknown size of the requested shape follows
// from the elements of the input, and where one size of the input is unknown it checks that the
// request can be divided. Values pass through (leat_value_rearranged), so that shapes computed with
// Reshape are inferred. The gradient is the gradient of the output under the input's shape.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// Where one size of the requested shape |inout_shape| is unknown (it may have been -1) and the
// input's element count is known, the quotient of the counts is that size. Fails where the counts
// cannot agree. A size of 0 makes the count 0 whatever the unknown sizes are.
static leat_status_t complete_reshape(leat_inference_t* c, leat_partial_shape_t in,
                                      leat_partial_shape_t* inout_shape) {
  int64_t in_count, out_count, size;
  int in_unknowns, out_unknowns, axis, out_axis;
  LEAT_RETURN_IF_ERROR(leat_inference_count(*inout_shape, &out_count, &out_unknowns, &out_axis));
  LEAT_RETURN_IF_ERROR(leat_inference_count(in, &in_count, &in_unknowns, &axis));
  if (in_count == 0 && in_unknowns > 0) in_unknowns = 0;
  if (out_count == 0 && out_unknowns > 0) out_unknowns = 0;
  if (in_unknowns > 1 || out_unknowns > 1) return leat_ok_status();
  if (in_unknowns == 0 && out_unknowns == 0 && in_count != out_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cannot reshape a tensor with %lld elements to shape %s (%lld "
                            "elements)",
                            (long long)in_count, LEAT_PARTIAL_SHAPE_TEXT(*inout_shape),
                            (long long)out_count);
  }
  if (in_unknowns == 0 && out_unknowns == 1 && out_count > 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_divide(in_count, out_count, &size));
    return leat_inference_replace_dim(c, *inout_shape, out_axis, size, inout_shape);
  }
  if (in_unknowns == 1 && out_unknowns == 0 && in_count != 0) {
    return leat_inference_divide(out_count, in_count, &size);
  }
  return leat_ok_status();
}

static leat_status_t reshape_shape(leat_inference_t* c) {
  leat_partial_shape_t in = leat_inference_input(c, 0), out;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 1, &out));
  if (out.rank >= 0 && in.rank >= 0) LEAT_RETURN_IF_ERROR(complete_reshape(c, in, &out));
  leat_inference_set_output(c, 0, out);
  return leat_ok_status();
}

// Inputs 2 and 3 are the range of the quantised elements, outputs 1 and 2 are the same.
static leat_status_t quantized_reshape_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(reshape_shape(c));
  for (int i = 0; i < 2; ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 2 + i));
    leat_inference_set_output(c, 1 + i, leat_partial_shape_scalar());
  }
  return leat_ok_status();
}

// The position of the new dimension must be a constant, or the output is unknown.
static leat_status_t expand_dims_shape(leat_inference_t* c) {
  leat_partial_shape_t in = leat_inference_input(c, 0), out;
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &value));
  if (value.rank >= 0 && value.count != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "'dim' input must be a tensor with a single value");
  }
  if (value.rank < 0 || value.items[0] == LEAT_VALUE_UNKNOWN || in.rank < 0) {
    return leat_ok_status();
  }
  int64_t axis = value.items[0];
  if (!leat_axis_resolve(&axis, in.rank + 1)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "dim %lld not in the interval [%d, %d].",
                            (long long)axis, -in.rank - 1, in.rank);
  }
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  for (int d = 0; d <= in.rank; ++d) {
    dims[d] = d == axis ? 1 : in.dims[d < axis ? d : d - 1];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, in.rank + 1, dims, &out));
  leat_inference_set_output(c, 0, out);
  return leat_ok_status();
}

// Marks the dimensions that attribute "squeeze_dims" names.
static leat_status_t read_squeezed(const leat_attr_value_t* list, int rank, bool* out_marks) {
  for (int d = 0; d < rank; ++d) out_marks[d] = false;
  for (uint32_t i = 0; i < list->count; ++i) {
    int64_t axis = list->ints[i];
    if (!leat_axis_resolve(&axis, rank)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "squeeze_dims[%u] not in [%d,%d).", i, -rank,
                              rank);
    }
    out_marks[axis] = true;
  }
  return leat_ok_status();
}

// Drops the dimensions that the attribute names, or all of size 1 if it names none; which those are
// is unknown where a size is.
static leat_status_t squeeze_shape(leat_inference_t* c) {
  leat_partial_shape_t in = leat_inference_input(c, 0), out;
  const leat_attr_value_t* list = leat_node_attr(c->node, LEAT_SV("squeeze_dims"));
  if (in.rank < 0 || !list) return leat_ok_status();
  bool marks[LEAT_SHAPE_MAX_RANK];
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(read_squeezed(list, in.rank, marks));
  int rank = 0;
  for (int d = 0; d < in.rank; ++d) {
    int64_t size = in.dims[d];
    if (size == LEAT_DIM_UNKNOWN && !marks[d] && list->count == 0) return leat_ok_status();
    if (marks[d] && size != 1 && size != LEAT_DIM_UNKNOWN) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Can not squeeze dim[%d], expected a dimension of 1, got %lld", d,
                              (long long)size);
    }
    if (!marks[d] && !(size == 1 && list->count == 0)) dims[rank++] = size;
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &out));
  leat_inference_set_output(c, 0, out);
  return leat_ok_status();
}

// The output has what is known of the input and of the attribute.
static leat_status_t ensure_shape_shape(leat_inference_t* c) {
  const leat_attr_value_t* wanted = leat_node_attr(c->node, LEAT_SV("shape"));
  leat_partial_shape_t shape = leat_inference_input(c, 0);
  if (wanted && wanted->kind == LEAT_ATTR_SHAPE && !wanted->is_list) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, wanted->shape, shape, &shape));
  }
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t reshape_gradient(leat_gradient_t* g) {
  leat_output_t shape = leat_build_shape_of(&g->builder, leat_gradient_input(g, 0));
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, leat_build_binary(&g->builder, "Reshape", gradient, shape));
  return leat_ok_status();
}

static leat_status_t ensure_shape_gradient(leat_gradient_t* g) {
  g->input_gradients[0] = leat_gradient_value_of_output(g, 0);
  return leat_ok_status();
}

const leat_op_row_t leat_reshape_ops[] = {
    {.name = "Reshape",
     .cost = LEAT_COST_NONE,
     .inputs = "tensor: T; shape: Tshape",
     .outputs = "output: T",
     .attrs = "T: type; Tshape: {int32, int64} = int32",
     .shape = reshape_shape,
     .value = leat_value_rearranged,
     .gradient = reshape_gradient,
     .identities = LEAT_IDENTITY_SAME_SHAPE | LEAT_IDENTITY_LAST_WINS,
     .flags = LEAT_OP_CHEAP | LEAT_OP_RESHAPES,
     .doc = "The elements in their order under another shape; one size may be -1."},
    {.name = "QuantizedReshape",
     .cost = LEAT_COST_NONE,
     .inputs = "tensor: T; shape: Tshape; input_min: float; input_max: float",
     .outputs = "output: T; output_min: float; output_max: float",
     .attrs = "T: type; Tshape: {int32, int64} = int32",
     .shape = quantized_reshape_shape,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(2), LEAT_RULE_SCALAR(3)),
     .doc = "Reshape of quantised elements, whose range stays as it is."},
    {.name = "ExpandDims",
     .cost = LEAT_COST_NONE,
     .inputs = "input: T; dim: Tdim",
     .outputs = "output: T",
     .attrs = "T: type; Tdim: {int32, int64} = int32",
     .shape = expand_dims_shape,
     .value = leat_value_rearranged,
     .gradient = reshape_gradient,
     .flags = LEAT_OP_CHEAP | LEAT_OP_RESHAPES,
     .doc = "Puts a dimension of size 1 before dimension dim."},
    {.name = "Squeeze",
     .cost = LEAT_COST_NONE,
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type; squeeze_dims: list(int) >= 0 = []",
     .shape = squeeze_shape,
     .value = leat_value_rearranged,
     .gradient = reshape_gradient,
     .identities = LEAT_IDENTITY_SAME_SHAPE,
     .flags = LEAT_OP_CHEAP | LEAT_OP_RESHAPES,
     .doc = "Takes out dimensions of size 1: those named, or all."},
    {.name = "EnsureShape",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "shape: shape; T: type",
     .shape = ensure_shape_shape,
     .value = leat_value_rearranged,
     .gradient = ensure_shape_gradient,
     .doc = "The input, or an error where its shape is not as stated."},
    LEAT_OP_ROWS_END,
};
