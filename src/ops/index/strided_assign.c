// Assignment to a strided slice of a reference, of a resource variable, or of a copy of a tensor:
// the ops' shapes, gradient and registration. Only the op on a copy has a gradient.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

#define MASK(name) LEAT_INT(name, leat_node_attr_int(leat_gradient_node(g), name, 0))

// The input gets the gradient with zeros where it was overwritten. The value gets the gradient of
// the slice, summed over the dimensions in which it was broadcast.
static leat_status_t update_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t begin = leat_gradient_input(g, 1), end = leat_gradient_input(g, 2);
  leat_output_t strides = leat_gradient_input(g, 3), value = leat_gradient_input(g, 4);
  leat_attrs_t masks = LEAT_ATTRS(MASK("begin_mask"), MASK("end_mask"), MASK("ellipsis_mask"),
                                  MASK("new_axis_mask"), MASK("shrink_axis_mask"));
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_output_t dy =
      leat_build(b, "StridedSlice", LEAT_INPUTS(gradient, begin, end, strides), masks);
  leat_output_t zeros = leat_build_unary(b, "ZerosLike", dy);
  leat_gradient_set_input(g, 0,
                          leat_build(b, "TensorStridedSliceUpdate",
                                     LEAT_INPUTS(gradient, begin, end, strides, zeros), masks));
  leat_attrs_t index = LEAT_ATTRS(LEAT_TYPE("out_type", leat_build_type_of(b, begin)));
  leat_output_t slice_shape = leat_build(b, "Shape", LEAT_INPUTS(dy), index);
  leat_output_t value_shape = leat_build(b, "Shape", LEAT_INPUTS(value), index);
  int32_t axes = leat_build_node(b, "BroadcastGradientArgs",
                                 LEAT_INPUTS(slice_shape, value_shape), LEAT_NO_ATTRS);
  leat_output_t sum = leat_build(b, "Sum", LEAT_INPUTS(dy, leat_node_output(axes, 1)),
                                 LEAT_ATTRS(LEAT_BOOL("keep_dims", true)));
  leat_gradient_set_input(g, 4, leat_build_binary(b, "Reshape", sum, value_shape));
  return leat_ok_status();
}

#define ATTRS                                                                                  \
  "T: type; Index: {int32, int64}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: "    \
  "int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0"

const leat_op_row_t leat_strided_assign_ops[] = {
    {.name = "StridedSliceAssign",
     .inputs = "ref: Ref(T); begin: Index; end: Index; strides: Index; value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = ATTRS,
     .shape = leat_shape_unchanged,
     .doc = "Assigns the value, broadcast, to a strided slice of the reference."},
    {.name = "ResourceStridedSliceAssign",
     .inputs = "ref: resource; begin: Index; end: Index; strides: Index; value: T",
     .attrs = ATTRS,
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Assigns the value, broadcast, to a strided slice of the variable."},
    {.name = "TensorStridedSliceUpdate",
     .inputs = "input: T; begin: Index; end: Index; strides: Index; value: T",
     .outputs = "output: T",
     .attrs = ATTRS,
     .shape = leat_shape_unchanged,
     .gradient = update_gradient,
     .doc = "The input with the value, broadcast, in a strided slice."},
    LEAT_OP_ROWS_END,
};
