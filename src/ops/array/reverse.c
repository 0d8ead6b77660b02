// The ops Reverse, ReverseV2, ReverseSequence and Roll: their shapes, gradients and registration.
// They put the elements of a tensor into another order along dimensions and never change its shape,
// so that the shape functions mostly check the other inputs.
//
//   Reverse          dims [rank] of bools says which dimensions are reversed
//   ReverseV2        axis [k] names them
//   ReverseSequence  seq_lengths [batch]: the first steps of each batch entry are reversed
//   Roll             shift and axis, scalars or [k]: what leaves at one end comes in at the other
//
// A reversal is its own inverse, so that its gradient is the same op; the gradient of Roll rolls by
// the negative shifts. As in TensorFlow, Reverse and ReverseV2 take tensors of at most 8
// dimensions.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

#define MAX_RANK 8

static leat_status_t check_rank(leat_partial_shape_t input) {
  if (input.rank <= MAX_RANK) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "reverse does not work on tensors with more than %d dimensions",
                          MAX_RANK);
}

static leat_status_t reverse_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), dims;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &dims));
  if (dims.dims[0] != LEAT_DIM_UNKNOWN) {
    int rank = dims.dims[0] > LEAT_SHAPE_MAX_RANK ? LEAT_SHAPE_MAX_RANK : (int)dims.dims[0];
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, input, rank, &input));
  }
  LEAT_RETURN_IF_ERROR(check_rank(input));
  leat_inference_set_output(c, 0, input);
  return leat_ok_status();
}

// Checks that constant |axes| are in range and that none is named twice.
static leat_status_t check_axes(leat_partial_value_t axes, int rank) {
  bool seen[MAX_RANK] = {0};
  for (int i = 0; i < axes.count; ++i) {
    int64_t axis = axes.items[i];
    if (!leat_axis_resolve(&axis, rank)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "'axis'[%d] = %lld is out of valid range "
                              "[0, %d", i, (long long)axis, rank - 1);
    }
    if (seen[axis]) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "axis %lld specified more than once.",
                              (long long)axis);
    }
    seen[axis] = true;
  }
  return leat_ok_status();
}

static leat_status_t reverse_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), vector;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &vector));
  LEAT_RETURN_IF_ERROR(check_rank(input));
  bool is_known;
  leat_partial_value_t axes;
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, 1, &is_known, &axes));
  if (is_known && input.rank >= 0) LEAT_RETURN_IF_ERROR(check_axes(axes, input.rank));
  leat_inference_set_output(c, 0, input);
  return leat_ok_status();
}

#define MAX_VALUE_ITEMS 256

// Reverses a vector of integers whose items are known, at least in part.
static leat_status_t reverse_v2_value(leat_inference_t* c) {
  leat_partial_value_t value, axes;
  bool is_known;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &value));
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, 1, &is_known, &axes));
  if (value.rank != 1 || !is_known || axes.count > 1 || value.count > MAX_VALUE_ITEMS) {
    return leat_ok_status();
  }
  int64_t items[MAX_VALUE_ITEMS];
  for (int i = 0; i < value.count; ++i) {
    items[i] = value.items[axes.count ? value.count - 1 - i : i];
  }
  return leat_inference_set_output_value(c, 0, 1, value.count, items);
}

static leat_status_t reverse_sequence_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), lengths, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &lengths));
  int64_t seq_dim = leat_node_attr_int(c->node, "seq_dim", 0);
  int64_t batch_dim = leat_node_attr_int(c->node, "batch_dim", 0);
  if (input.rank < 0) return leat_ok_status();
  if (batch_dim >= input.rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "batch_dim must be < input rank: %lld vs. %d",
                            (long long)batch_dim, input.rank);
  }
  if (seq_dim >= input.rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "seq_dim must be < input rank: %lld vs. %d",
                            (long long)seq_dim, input.rank);
  }
  if (batch_dim < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "batch_dim must be >=0, got %lld",
                            (long long)batch_dim);
  }
  int64_t batch;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(input.dims[batch_dim], lengths.dims[0], &batch));
  LEAT_RETURN_IF_ERROR(leat_inference_replace_dim(c, input, (int)batch_dim, batch, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t roll_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 0), 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 1), 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, 2), 1));
  const leat_partial_shape_t shift = leat_inference_input(c, 1), axis = leat_inference_input(c, 2);
  leat_partial_shape_t merged;
  leat_status_t status = leat_inference_merge(c, shift, axis, &merged);
  if (status) {
    leat_status_free(status);
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Of shift and axis both shapes must be equal, but are %s and %s",
                            LEAT_PARTIAL_SHAPE_TEXT(shift), LEAT_PARTIAL_SHAPE_TEXT(axis));
  }
  return leat_shape_unchanged(c);
}

// ---- Gradients ----------------------------------------------------------------------------------

// For Reverse and ReverseV2: the same op with the same second input.
static leat_status_t reverse_gradient(leat_gradient_t* g) {
  const char* op = leat_gradient_node(g)->op->row->name;
  leat_output_t axes = leat_gradient_input(g, 1);
  leat_gradient_set_input(
      g, 0, leat_build_binary(&g->builder, op, leat_gradient_of_output(g, 0), axes));
  return leat_ok_status();
}

static leat_status_t reverse_sequence_gradient(leat_gradient_t* g) {
  int64_t seq_dim = leat_node_attr_int(leat_gradient_node(g), "seq_dim", 0);
  int64_t batch_dim = leat_node_attr_int(leat_gradient_node(g), "batch_dim", 0);
  leat_output_t lengths = leat_gradient_input(g, 1);
  leat_gradient_set_input(
      g, 0,
      leat_build(&g->builder, "ReverseSequence",
                 LEAT_INPUTS(leat_gradient_of_output(g, 0), lengths),
                 LEAT_ATTRS(LEAT_INT("seq_dim", seq_dim), LEAT_INT("batch_dim", batch_dim))));
  return leat_ok_status();
}

static leat_status_t roll_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t axis = leat_gradient_input(g, 2);
  leat_output_t back = leat_build_unary(b, "Neg", leat_gradient_input(g, 1));
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(
      g, 0, leat_build(b, "Roll", LEAT_INPUTS(gradient, back, axis), LEAT_NO_ATTRS));
  return leat_ok_status();
}

const leat_op_row_t leat_reverse_ops[] = {
    {.name = "Reverse",
     .inputs = "tensor: T; dims: bool",
     .outputs = "output: T",
     .attrs = "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, "
              "float, double, complex64, complex128, string}",
     .shape = reverse_shape,
     .gradient = reverse_gradient,
     .doc = "The tensor back to front along the dimensions where dims is true."},
    {.name = "ReverseV2",
     .inputs = "tensor: T; axis: Tidx",
     .outputs = "output: T",
     .attrs = "Tidx: {int32, int64} = int32; T: {uint8, int8, uint16, int16, int32, uint32, int64, "
              "uint64, bool, bfloat16, half, float, double, complex64, complex128, string}",
     .shape = reverse_v2_shape,
     .value = reverse_v2_value,
     .gradient = reverse_gradient,
     .doc = "The tensor back to front along the axes."},
    {.name = "ReverseSequence",
     .inputs = "input: T; seq_lengths: Tlen",
     .outputs = "output: T",
     .attrs = "seq_dim: int; batch_dim: int = 0; T: type; Tlen: {int32, int64} = int64",
     .shape = reverse_sequence_shape,
     .gradient = reverse_sequence_gradient,
     .doc = "Of each batch entry the first seq_lengths[i] steps back to front, the rest as is."},
    {.name = "Roll",
     .inputs = "input: T; shift: Tshift; axis: Taxis",
     .outputs = "output: T",
     .attrs = "T: type; Tshift: {int32, int64}; Taxis: {int32, int64}",
     .shape = roll_shape,
     .gradient = roll_gradient,
     .doc = "The input moved along the axes by the shifts; what goes over the end comes in at the "
            "start."},
    LEAT_OP_ROWS_END,
};
