// Definitions of the average pools of two and three dimensions: their shapes, gradients and
// registration. avg_pool_cpu.c has the kernels.
//
//   AvgPool      value [batch, rows, columns, channels] (or NCHW) -> the mean of each window
//   AvgPoolGrad  shape of value, dy -> dx
//
// The gradient takes the shape of the input, not the input: means do not depend on which elements
// are large, so that a training step need not keep it. It is linear in dy, and its own gradient is
// therefore the pool again. The pools and their gradients have the same window attributes, which
// the gradient nodes copy.
#include "ops/nn/pool_shape.h"
#include "ops/nn/window_op.h"
#include "ops/op_rows.h"

static leat_status_t pool_2d_shape(leat_inference_t* c) { return leat_pool_shape(c, 2, false); }
static leat_status_t pool_3d_shape(leat_inference_t* c) { return leat_pool_shape(c, 3, false); }

static leat_status_t from_sizes_2d(leat_inference_t* c) {
  return leat_window_shape_from_sizes(c, 0, 4);
}
static leat_status_t from_sizes_3d(leat_inference_t* c) {
  return leat_window_shape_from_sizes(c, 0, 5);
}

static leat_status_t forward_gradient(leat_gradient_t* g, const char* op) {
  const leat_output_t sizes = leat_build_shape_of(&g->builder, leat_gradient_input(g, 0));
  const leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, leat_window_build_like(g, op, LEAT_INPUTS(sizes, dy)));
  return leat_ok_status();
}
static leat_status_t avg_pool_gradient(leat_gradient_t* g) {
  return forward_gradient(g, "AvgPoolGrad");
}
static leat_status_t avg_pool_3d_gradient(leat_gradient_t* g) {
  return forward_gradient(g, "AvgPool3DGrad");
}

static leat_status_t gradient_of_gradient(leat_gradient_t* g, const char* op) {
  const leat_output_t ddx = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 1, leat_window_build_like(g, op, LEAT_INPUTS(ddx)));
  return leat_ok_status();
}
static leat_status_t grad_gradient(leat_gradient_t* g) {
  return gradient_of_gradient(g, "AvgPool");
}
static leat_status_t grad_3d_gradient(leat_gradient_t* g) {
  return gradient_of_gradient(g, "AvgPool3D");
}

#define ATTRS(rank, formats)                                                                   \
  "ksize: list(int) >= " #rank "; strides: list(int) >= " #rank "; padding: {'SAME', 'VALID'}; " \
  "data_format: " formats "; T: {half, bfloat16, float, double}"
#define FLAT "{'NHWC', 'NCHW'} = 'NHWC'"
#define SOLID "{'NDHWC', 'NCDHW'} = 'NDHWC'"

const leat_op_row_t leat_avg_pool_ops[] = {
    {.name = "AvgPool",
     .inputs = "value: T",
     .outputs = "output: T",
     .attrs = ATTRS(4, FLAT),
     .shape = pool_2d_shape,
     .gradient = avg_pool_gradient,
     .doc = "The mean of each window."},
    {.name = "AvgPoolGrad",
     .inputs = "orig_input_shape: int32; grad: T",
     .outputs = "output: T",
     .attrs = ATTRS(4, FLAT),
     .shape = from_sizes_2d,
     .gradient = grad_gradient,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0)),
     .doc = "The gradient of AvgPool."},
    {.name = "AvgPool3D",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ATTRS(5, SOLID),
     .shape = pool_3d_shape,
     .gradient = avg_pool_3d_gradient,
     .doc = "The mean of each window over planes, rows and columns."},
    {.name = "AvgPool3DGrad",
     .inputs = "orig_input_shape: int32; grad: T",
     .outputs = "output: T",
     .attrs = ATTRS(5, SOLID),
     .shape = from_sizes_3d,
     .gradient = grad_3d_gradient,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0)),
     .doc = "The gradient of AvgPool3D."},
    LEAT_OP_ROWS_END,
};
