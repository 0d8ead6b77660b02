// The ops Split and SplitV: their shapes, gradients and registration. Both take a tensor apart
// along an axis.
//
//   Split   split_dim, value [..., n, ...]                -> num_split x [..., n / num_split, ...]
//   SplitV  value [..., n, ...], size_splits, split_dim   -> [..., size_splits[i], ...] for each i
//
// One size of SplitV may be -1 and stands for what the others leave. The gradient joins the
// gradients of the outputs with ConcatV2.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

static void set_all(leat_inference_t* c, leat_partial_shape_t shape) {
  for (int i = 0; i < c->node->output_count; ++i) leat_inference_set_output(c, i, shape);
}

static leat_status_t split_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 1), shape = leat_partial_shape_unknown();
  bool is_known;
  int axis;
  LEAT_RETURN_IF_ERROR(leat_inference_axis(c, 0, input.rank, &is_known, &axis));
  if (!is_known) {
    if (input.rank >= 0) {
      LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, input.rank, &shape));
    }
    set_all(c, shape);
    return leat_ok_status();
  }
  if (input.rank < 0) return leat_ok_status();
  int64_t size;
  leat_status_t status =
      leat_inference_divide(input.dims[axis], c->node->output_count, &size);
  if (status) {
    return leat_status_annotate(
        status, "Number of ways to split should evenly divide the split dimension");
  }
  LEAT_RETURN_IF_ERROR(leat_inference_replace_dim(c, input, axis, size, &shape));
  set_all(c, shape);
  return leat_ok_status();
}

// Checks the constant sizes against |whole|, the size of the axis. |out_rest| is what a size of -1
// stands for, unknown where the axis is.
static leat_status_t complete_sizes(leat_partial_value_t value, int64_t whole, int count,
                                    int64_t* out_rest) {
  int64_t total = 0;
  bool has_rest = false;
  *out_rest = LEAT_DIM_UNKNOWN;
  if (value.count != count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Length of size_splits should be equal to num_outputs");
  }
  for (int i = 0; i < count; ++i) {
    if (value.items[i] == -1 && has_rest) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "size_splits can only have one -1");
    }
    if (value.items[i] < -1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Split size at index %d must be >= 0. Got: %lld", i,
                              (long long)value.items[i]);
    }
    if (value.items[i] == -1) {
      has_rest = true;
    } else {
      LEAT_RETURN_IF_ERROR(leat_inference_add(total, value.items[i], &total));
    }
  }
  if (whole == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (has_rest ? total > whole : total != whole) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "can't split axis of size %lld into pieces of %lld in all",
                            (long long)whole, (long long)total);
  }
  *out_rest = whole - total;
  return leat_ok_status();
}

// Sets the outputs' shapes where axis and sizes are constants.
static leat_status_t shapes_of_known(leat_inference_t* c, leat_partial_shape_t input, int axis,
                                     leat_partial_value_t value) {
  int64_t rest;
  LEAT_RETURN_IF_ERROR(complete_sizes(value, input.dims[axis], c->node->output_count, &rest));
  for (int i = 0; i < c->node->output_count; ++i) {
    leat_partial_shape_t shape;
    int64_t size = value.items[i] == -1 ? rest : value.items[i];
    LEAT_RETURN_IF_ERROR(leat_inference_replace_dim(c, input, axis, size, &shape));
    leat_inference_set_output(c, i, shape);
  }
  return leat_ok_status();
}

static leat_status_t split_v_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), shape;
  bool axis_is_known, sizes_are_known;
  int axis;
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_axis(c, 2, input.rank, &axis_is_known, &axis));
  if (input.rank < 0) return leat_ok_status();
  if (input.rank == 0) return leat_make_status(LEAT_INVALID_ARGUMENT, "Can't split scalars");
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, 1, &sizes_are_known, &value));
  if (axis_is_known && sizes_are_known) return shapes_of_known(c, input, axis, value);
  if (axis_is_known) {
    LEAT_RETURN_IF_ERROR(
        leat_inference_replace_dim(c, input, axis, LEAT_DIM_UNKNOWN, &shape));
  } else {
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, input.rank, &shape));
  }
  set_all(c, shape);
  return leat_ok_status();
}

// The node may move while others are built, so that the number of outputs and the axis are read
// before.
static leat_status_t join_gradients(leat_gradient_t* g, int axis_input, int value_input) {
  int count = leat_gradient_node(g)->output_count;
  leat_output_t axis = leat_gradient_input(g, axis_input);
  if (count == 1) {
    g->input_gradients[value_input] = leat_gradient_value_of_output(g, 0);
    return leat_ok_status();
  }
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(g->builder.graph),
                                                 (size_t)count + 1, sizeof(leat_output_t),
                                                 &memory));
  leat_output_t* inputs = memory;
  for (int i = 0; i < count; ++i) inputs[i] = leat_gradient_of_output(g, i);
  inputs[count] = axis;
  leat_gradient_set_input(g, value_input,
                          leat_build_named(&g->builder, "concat", "ConcatV2",
                                           (leat_outputs_t){inputs, count + 1}, LEAT_NO_ATTRS));
  return leat_ok_status();
}

static leat_status_t split_gradient(leat_gradient_t* g) { return join_gradients(g, 0, 1); }
static leat_status_t split_v_gradient(leat_gradient_t* g) { return join_gradients(g, 2, 0); }

const leat_op_row_t leat_split_ops[] = {
    {.name = "Split",
     .inputs = "split_dim: int32; value: T",
     .outputs = "output: num_split * T",
     .attrs = "num_split: int >= 1; T: type",
     .shape = split_shape,
     .gradient = split_gradient,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(0)),
     .doc = "The value in num_split equal parts along a dimension."},
    {.name = "SplitV",
     .inputs = "value: T; size_splits: Tlen; split_dim: int32",
     .outputs = "output: num_split * T",
     .attrs = "num_split: int >= 1; T: type; Tlen: {int8, int32, int64} = int64",
     .shape = split_v_shape,
     .gradient = split_v_gradient,
     .doc = "The value in parts of the given sizes along a dimension; one size may be -1."},
    LEAT_OP_ROWS_END,
};
