// The ops Select, SelectV2 and ClipByValue: each element of the output is taken from one of several
// tensors. Here are their shapes, gradients and registration; select_cpu.c has the kernels.
//
//   Select:       condition, t, e of one shape; or condition a scalar or a vector over the rows
//   SelectV2:     condition, t, e broadcast to one shape
//   ClipByValue:  t, low, high -> min(max(t, low), high); each bound a scalar or of t's shape
//
// A gradient goes to the operand from which the element was taken, and is 0 for the other ones.
// Where an operand was broadcast, its gradient is summed down to the operand's shape. The condition
// gets none.
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/op_rows.h"

static leat_status_t select_shape(leat_inference_t* c) {
  leat_partial_shape_t condition = leat_inference_input(c, 0), data;
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, leat_inference_input(c, 1),
                                            leat_inference_input(c, 2), &data));
  if (condition.rank > 0 && data.rank >= 0) {
    if (condition.rank == 1 && data.rank > 0) {
      int64_t rows;
      LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(condition.dims[0], data.dims[0], &rows));
    } else {
      LEAT_RETURN_IF_ERROR(leat_inference_merge(c, data, condition, &data));
    }
  }
  leat_inference_set_output(c, 0, data);
  return leat_ok_status();
}

static leat_status_t select_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, leat_inference_input(c, 1),
                                                leat_inference_input(c, 2), &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, leat_inference_input(c, 0), shape, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t select_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t condition = leat_gradient_input(g, 0), dz = leat_gradient_of_output(g, 0);
  leat_output_t zeros = leat_arithmetic_zeros_like(b, leat_gradient_input(g, 1));
  leat_output_t dt = leat_build(b, "Select", LEAT_INPUTS(condition, dz, zeros), LEAT_NO_ATTRS);
  leat_output_t de = leat_build(b, "Select", LEAT_INPUTS(condition, zeros, dz), LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 1, dt);
  leat_gradient_set_input(g, 2, de);
  return leat_ok_status();
}

// Builds |gradient|, which has the output's shape, summed down to the shape of input |index|.
static leat_output_t reduce_to_input(leat_gradient_t* g, int index, leat_output_t gradient) {
  leat_builder_t* b = &g->builder;
  leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, index));
  leat_output_t whole = leat_build_shape_of(b, leat_gradient_output(g, 0));
  int32_t args = leat_build_node(b, "BroadcastGradientArgs", LEAT_INPUTS(shape, whole),
                                 LEAT_NO_ATTRS);
  leat_output_t sum = leat_build(b, "Sum", LEAT_INPUTS(gradient, leat_node_output(args, 0)),
                                 LEAT_ATTRS(LEAT_BOOL("keep_dims", true)));
  return leat_build_binary(b, "Reshape", sum, shape);
}

static leat_status_t select_v2_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t condition = leat_gradient_input(g, 0), dz = leat_gradient_of_output(g, 0);
  leat_output_t zero = leat_arithmetic_constant_like(b, dz, 0);
  leat_output_t dt = leat_arithmetic_select(b, condition, dz, zero);
  leat_output_t de = leat_arithmetic_select(b, condition, zero, dz);
  leat_gradient_set_input(g, 1, reduce_to_input(g, 1, dt));
  leat_gradient_set_input(g, 2, reduce_to_input(g, 2, de));
  return leat_ok_status();
}

// A bound gets the gradient of the elements that it replaced.
static leat_status_t clip_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0), dz = leat_gradient_of_output(g, 0);
  leat_output_t zeros = leat_arithmetic_zeros_like(b, dz);
  leat_output_t below = leat_build_binary(b, "Less", x, leat_gradient_input(g, 1));
  leat_output_t above = leat_build_binary(b, "Greater", x, leat_gradient_input(g, 2));
  leat_output_t outside = leat_build_binary(b, "LogicalOr", below, above);
  leat_gradient_set_input(g, 0, leat_arithmetic_select(b, outside, zeros, dz));
  leat_output_t dlow = leat_arithmetic_select(b, below, dz, zeros);
  leat_output_t dhigh = leat_arithmetic_select(b, above, dz, zeros);
  leat_gradient_set_input(g, 1, reduce_to_input(g, 1, dlow));
  leat_gradient_set_input(g, 2, reduce_to_input(g, 2, dhigh));
  return leat_ok_status();
}

const leat_op_row_t leat_select_ops[] = {
    {.name = "Select",
     .inputs = "condition: bool; t: T; e: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = select_shape,
     .gradient = select_gradient,
     .doc = "t where the condition holds, else e; a vector of conditions selects rows."},
    {.name = "SelectV2",
     .inputs = "condition: bool; t: T; e: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = select_v2_shape,
     .gradient = select_v2_gradient,
     .doc = "t where the condition holds, else e; all three broadcast."},
    {.name = "ClipByValue",
     .inputs = "t: T; clip_value_min: T; clip_value_max: T",
     .outputs = "output: T",
     .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
              "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
     .shape = leat_shape_unchanged,
     .gradient = clip_gradient,
     .doc = "t brought between the bounds, each a scalar or of t's shape."},
    LEAT_OP_ROWS_END,
};
