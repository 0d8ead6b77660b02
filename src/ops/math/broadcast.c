// The ops BroadcastArgs and BroadcastGradientArgs, which compute with shapes as vectors: the shape
// to which two shapes broadcast, and the dimensions over which a gradient must be summed to undo a
// broadcast. Shape inference sees through BroadcastArgs where its inputs are known.
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t args_shape(leat_inference_t* c) {
  leat_partial_shape_t x, y, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &x));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &y));
  int64_t x_rank = leat_partial_shape_dim(x, 0), y_rank = leat_partial_shape_dim(y, 0);
  bool is_known = x_rank != LEAT_DIM_UNKNOWN && y_rank != LEAT_DIM_UNKNOWN;
  int64_t rank = is_known ? LEAT_MAX(x_rank, y_rank) : LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &rank, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t gradient_args_shape(leat_inference_t* c) {
  leat_partial_shape_t checked, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &checked));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &checked));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &output));
  leat_inference_set_output(c, 0, output);
  leat_inference_set_output(c, 1, output);
  return leat_ok_status();
}

// Infers the broadcast shape as a value. A dimension is unknown where neither size decides it.
static leat_status_t args_value(leat_inference_t* c) {
  leat_partial_value_t x, y;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &x));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &y));
  if (x.rank != 1 || y.rank != 1) return leat_ok_status();
  int rank = LEAT_MAX(x.count, y.count);
  if (rank > LEAT_SHAPE_MAX_RANK) return leat_ok_status();
  int64_t items[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < rank; ++i) {
    int xi = i - (rank - x.count), yi = i - (rank - y.count);
    int64_t a = xi < 0 ? 1 : x.items[xi], b = yi < 0 ? 1 : y.items[yi];
    bool is_unknown = a == LEAT_VALUE_UNKNOWN || b == LEAT_VALUE_UNKNOWN;
    items[i] = a == 1 ? b : b == 1 || a == b ? a : is_unknown ? LEAT_VALUE_UNKNOWN : a;
  }
  return leat_inference_set_output_value(c, 0, 1, rank, items);
}

const leat_op_row_t leat_broadcast_ops[] = {
    {.name = "BroadcastArgs",
     .inputs = "s0: T; s1: T",
     .outputs = "r0: T",
     .attrs = "T: {int32, int64} = int32",
     .shape = args_shape,
     .value = args_value,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0), LEAT_RULE_VECTOR(1)),
     .doc = "The shape to which the shapes s0 and s1 broadcast."},
    {.name = "BroadcastGradientArgs",
     .inputs = "s0: T; s1: T",
     .outputs = "r0: T; r1: T",
     .attrs = "T: {int32, int64} = int32",
     .shape = gradient_args_shape,
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0), LEAT_RULE_VECTOR(1)),
     .doc = "The dimensions along which s0, and along which s1, was repeated in a broadcast."},
    LEAT_OP_ROWS_END,
};
