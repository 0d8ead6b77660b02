// The ops MirrorPad and MirrorPadGrad: their shapes, gradients and registration. A tensor is padded
// with its mirror image; each op is the gradient of the other (mirror_pad_cpu.c has a picture).
#include "graph/gradient.h"
#include "ops/array/paddings.h"
#include "ops/op_rows.h"

static leat_status_t mirror_pad_shape(leat_inference_t* c) { return leat_shape_padded(c, 1); }
static leat_status_t mirror_pad_grad_shape(leat_inference_t* c) { return leat_shape_padded(c, -1); }

static leat_status_t mirror_gradient(leat_gradient_t* g, const char* op) {
  leat_string_view_t mode = leat_node_attr_string(leat_gradient_node(g), "mode");
  leat_output_t paddings = leat_gradient_input(g, 1);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, op, LEAT_INPUTS(gradient, paddings),
                                     LEAT_ATTRS(LEAT_STRING("mode", mode))));
  return leat_ok_status();
}
static leat_status_t mirror_pad_gradient(leat_gradient_t* g) {
  return mirror_gradient(g, "MirrorPadGrad");
}
static leat_status_t mirror_pad_grad_gradient(leat_gradient_t* g) {
  return mirror_gradient(g, "MirrorPad");
}

#define MIRROR_ATTRS \
  "T: type; Tpaddings: {int32, int64} = int32; mode: {'REFLECT', 'SYMMETRIC'}"

const leat_op_row_t leat_mirror_pad_ops[] = {
    {.name = "MirrorPad",
     .inputs = "input: T; paddings: Tpaddings",
     .outputs = "output: T",
     .attrs = MIRROR_ATTRS,
     .shape = mirror_pad_shape,
     .gradient = mirror_pad_gradient,
     .doc = "The input with its mirror image around; the border itself is repeated if SYMMETRIC."},
    {.name = "MirrorPadGrad",
     .inputs = "input: T; paddings: Tpaddings",
     .outputs = "output: T",
     .attrs = MIRROR_ATTRS,
     .shape = mirror_pad_grad_shape,
     .gradient = mirror_pad_grad_gradient,
     .doc = "The gradient of MirrorPad: what was mirrored is added back and cut off."},
    LEAT_OP_ROWS_END,
};
