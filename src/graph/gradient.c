// What the gradient functions of many ops share: dense gradients out of rows, zeros, and the
// gradient of broadcasting. The gradient functions of the op families call this through
// graph/gradient.h, and the backward walk (src/gradient/) calls them.
//
// If y = f(x1, x2) repeats x1 along some axes to the shape of x2, then x1's gradient is the
// gradient in the shape of y, summed over those axes and reshaped:
//
//   dC/dx1 [shape of x1] = Reshape(Sum(g [shape of y], axes, keep_dims), shape of x1)
//
// The axes are constants where the static shapes tell them, which is the usual case and costs
// nothing at run time. Otherwise BroadcastGradientArgs computes them in the step. An axis whose
// size is 1 on one side and unknown on the other is summed in either case, because a sum over an
// axis of size 1 changes nothing.
#include "graph/gradient.h"

#include "base/checked.h"

static bool exists(leat_gradient_value_t value) { return leat_output_exists(value.dense); }

bool leat_gradient_has_output(const leat_gradient_t* g, int index) {
  return exists(g->output_gradients[index]);
}

leat_gradient_value_t leat_gradient_value_of_output(leat_gradient_t* g, int index) {
  return g->output_gradients[index];
}

leat_status_t leat_gradient_none(leat_gradient_t* g) {
  (void)g;
  return leat_ok_status();
}

// ---- dense --------------------------------------------------------------------------------------

// Element 0 of |vector|, as a scalar.
static leat_output_t first_of(leat_builder_t* b, leat_output_t vector) {
  leat_output_t begin = leat_build_int32_vector(b, (const int32_t[]){0}, 1);
  leat_output_t end = leat_build_int32_vector(b, (const int32_t[]){1}, 1);
  leat_output_t strides = leat_build_int32_vector(b, (const int32_t[]){1}, 1);
  return leat_build(b, "StridedSlice", LEAT_INPUTS(vector, begin, end, strides),
                    LEAT_ATTRS(LEAT_INT("shrink_axis_mask", 1)));
}

leat_output_t leat_gradient_value_to_dense(leat_builder_t* builder, leat_gradient_value_t value) {
  if (!exists(value) || !leat_output_exists(value.indices)) return value.dense;
  leat_output_t row_count = first_of(builder, value.dense_shape);
  return leat_build(builder, "UnsortedSegmentSum",
                    LEAT_INPUTS(value.dense, value.indices, row_count), LEAT_NO_ATTRS);
}

// The type of the variable that |handle| names. The handle is followed back, through ops that pass
// it on, to the op that makes it; float when that does not say. The steps are bounded, since loops
// are cycles.
static int type_of_variable(const leat_graph_t* graph, leat_output_t handle) {
  const leat_node_t* node = &graph->nodes[handle.node];
  for (size_t steps = 0; !(node->op->flags & LEAT_OP_VARIABLE) && steps < graph->node_count;
       ++steps) {
    int from = node->op->flags & LEAT_OP_CONTROL_FLOW ? 0 : handle.index;
    if (from >= node->input_count) break;
    handle = node->inputs[from];
    node = &graph->nodes[handle.node];
  }
  int dtype = leat_node_attr_type(node, "dtype");
  return dtype == LEAT_DTYPE_INVALID ? LEAT_DTYPE_FLOAT : dtype;
}

// ZerosLike is the shortest. Inside a loop's gradient (|place|) a Fill of the shape is better,
// because it needs the shape of |x| only and the loop then keeps no values.
leat_output_t leat_build_zeros_of(leat_builder_t* b, leat_output_t x) {
  if (b->status) return LEAT_OUTPUT_NONE;
  int dtype = leat_build_type_of(b, x);
  leat_output_t shape;
  if (dtype == LEAT_DTYPE_RESOURCE) {
    dtype = type_of_variable(b->graph, x);
    shape = leat_build_unary(b, "VariableShape", x);
  } else if (b->place && dtype != LEAT_DTYPE_VARIANT) {
    shape = leat_build_shape_of(b, x);
  } else {
    return leat_build_unary(b, "ZerosLike", x);
  }
  return leat_build_binary(b, "Fill", shape, leat_build_scalar(b, dtype, 0));
}

leat_output_t leat_gradient_of_output(leat_gradient_t* g, int index) {
  if (!leat_gradient_has_output(g, index)) {
    return leat_build_zeros_of(&g->builder, leat_gradient_output(g, index));
  }
  return leat_gradient_value_to_dense(&g->builder, g->output_gradients[index]);
}

// ---- broadcasting -------------------------------------------------------------------------------

// The axes along which each of the two sides was repeated, if the static shapes tell.
typedef struct reduction_s {
  bool is_known;
  int32_t axes[2][LEAT_SHAPE_MAX_RANK];
  int count[2];
} reduction_t;

// Dimension |axis| of |shape| when shapes are aligned at their last dimensions to |rank|.
static int64_t dim_at(leat_partial_shape_t shape, int rank, int axis) {
  int own = axis - (rank - shape.rank);
  return own < 0 ? 1 : shape.dims[own];
}

// Finds the axes of size 1 that stand beside another size, for each side. Not known when a
// dimension may or may not have been repeated.
static void find_axes(leat_partial_shape_t x, leat_partial_shape_t y, reduction_t* out_reduction) {
  out_reduction->is_known = false;
  out_reduction->count[0] = out_reduction->count[1] = 0;
  if (x.rank < 0 || y.rank < 0) return;
  int rank = LEAT_MAX(x.rank, y.rank);
  for (int axis = 0; axis < rank; ++axis) {
    int64_t in_x = dim_at(x, rank, axis), in_y = dim_at(y, rank, axis);
    if ((in_x == 1) != (in_y == 1)) {
      // If the other size is unknown it may be 1 as well, and a sum over an axis of size 1 changes
      // nothing.
      int side = in_x == 1 ? 0 : 1;
      out_reduction->axes[side][out_reduction->count[side]++] = axis;
    } else if (in_x == LEAT_DIM_UNKNOWN || in_y == LEAT_DIM_UNKNOWN) {
      return;
    }
  }
  out_reduction->is_known = true;
}

// Sums |gradient| over |axes| and gives it |shape|, which also drops leading axes.
static leat_output_t sum_to(leat_builder_t* b, leat_output_t gradient, leat_output_t axes,
                            leat_output_t shape) {
  leat_output_t sum = leat_build(b, "Sum", LEAT_INPUTS(gradient, axes),
                                 LEAT_ATTRS(LEAT_BOOL("keep_dims", true)));
  return leat_build_binary(b, "Reshape", sum, shape);
}

static void set_static(leat_gradient_t* g, const reduction_t* reduction, int side,
                       leat_output_t gradient) {
  leat_builder_t* b = &g->builder;
  leat_output_t input = leat_gradient_input(g, side), other = leat_gradient_input(g, 1 - side);
  int rank = leat_graph_output_shape(b->graph, input).rank;
  if (reduction->count[side] > 0 || rank < leat_graph_output_shape(b->graph, other).rank) {
    leat_output_t axes =
        leat_build_int32_vector(b, reduction->axes[side], reduction->count[side]);
    gradient = sum_to(b, gradient, axes, leat_build_shape_of(b, input));
  }
  leat_gradient_set_input(g, side, gradient);
}

void leat_gradient_set_broadcast_inputs(leat_gradient_t* g, leat_output_t gx, leat_output_t gy) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0), y = leat_gradient_input(g, 1);
  bool has_x = leat_output_exists(gx), has_y = leat_output_exists(gy);
  if (b->status || (!has_x && !has_y)) return;
  reduction_t reduction;
  find_axes(leat_graph_output_shape(b->graph, x), leat_graph_output_shape(b->graph, y),
            &reduction);
  if (reduction.is_known) {
    if (has_x) set_static(g, &reduction, 0, gx);
    if (has_y) set_static(g, &reduction, 1, gy);
    return;
  }
  leat_output_t x_shape = leat_build_shape_of(b, x), y_shape = leat_build_shape_of(b, y);
  int32_t axes = leat_build_node(b, "BroadcastGradientArgs", LEAT_INPUTS(x_shape, y_shape),
                                 LEAT_NO_ATTRS);
  if (has_x) leat_gradient_set_input(g, 0, sum_to(b, gx, leat_node_output(axes, 0), x_shape));
  if (has_y) leat_gradient_set_input(g, 1, sum_to(b, gy, leat_node_output(axes, 1), y_shape));
}
