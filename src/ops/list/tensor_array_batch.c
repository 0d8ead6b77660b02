// The TensorArray ops on many slots at once: their shapes, gradients and registration.
// tensor_array_batch_cpu.c has the kernels.
//
//   Gather   slots, indices [n]    -> [n, element]         Scatter undoes it
//   Concat   slots [rows_i, rest]  -> [sum rows_i, rest]   Split undoes it
//
// Gather stacks slots along a new first dimension, and Concat joins them along the first one that
// they have. The gradient of each op is its counterpart on the gradient array (see tensor_array.c):
// that of Gather is a Scatter. The first two versions of each op are deprecated forms with an older
// kind of handle.
#include "graph/inference/inference.h"
#include "ops/list/tensor_array.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

// Checks the handle, the vector of indices (returned) and the flow of a gather.
static leat_status_t check_gather(leat_inference_t* c, leat_partial_shape_t* out_indices) {
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, out_indices));
  return leat_shape_check_scalar(c, 2);
}

// Output: [number of indices, shape of an element]. The array's own element shape is preferred to
// the node's attribute.
static leat_status_t gather_shape(leat_inference_t* c) {
  leat_partial_shape_t indices, element, output;
  LEAT_RETURN_IF_ERROR(check_gather(c, &indices));
  if (!leat_array_element_shape(c, &element)) {
    const leat_attr_value_t* attr = leat_node_attr(c->node, LEAT_SV("element_shape"));
    if (attr && attr->kind == LEAT_ATTR_SHAPE) element = attr->shape;
  }
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, indices, element, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t old_gather_shape(leat_inference_t* c) {
  leat_partial_shape_t indices;
  return check_gather(c, &indices);
}

static leat_status_t scatter_shape(leat_inference_t* c) {
  leat_partial_shape_t indices, value = leat_inference_input(c, 2), element, rows;
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &indices));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 3));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, value, 1));
  if (value.rank > 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(indices, 0),
                                                  value.dims[0], &count));
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, value, 1, INT32_MAX, &rows));
    if (leat_array_element_shape(c, &element)) {
      LEAT_RETURN_IF_ERROR(leat_inference_merge(c, element, rows, &rows));
    }
  }
  return leat_shape_scalar_output(c);
}

static leat_status_t old_scatter_shape(leat_inference_t* c) {
  leat_partial_shape_t indices;
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &indices));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 3));
  return leat_shape_scalar_output(c);
}

static leat_status_t concat_shape(leat_inference_t* c) {
  leat_partial_shape_t lengths;
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &lengths));
  leat_inference_set_output(c, 1, lengths);
  return leat_ok_status();
}

static leat_status_t split_shape(leat_inference_t* c) {
  leat_partial_shape_t lengths;
  LEAT_RETURN_IF_ERROR(leat_array_check_handle(c));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &lengths));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 3));
  return leat_shape_scalar_output(c);
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_status_t gather_gradient(leat_gradient_t* g) {
  return leat_array_gradient_to_rows(g, "TensorArrayScatter");
}
static leat_status_t scatter_gradient(leat_gradient_t* g) {
  return leat_array_gradient_of_rows(g, "TensorArrayGather");
}

static leat_status_t concat_gradient(leat_gradient_t* g) {
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_array_gradient_t array = leat_array_gradient(g, leat_gradient_input(g, 1));
  leat_gradient_set_input(g, 1,
                          leat_array_build(g, "TensorArraySplit", array.version,
                                           LEAT_INPUTS(array.handle, dy,
                                                       leat_gradient_output(g, 1), array.flow),
                                           LEAT_NO_ATTRS));
  return leat_ok_status();
}

static leat_status_t split_gradient(leat_gradient_t* g) {
  int dtype = leat_node_attr_type(leat_gradient_node(g), "T");
  leat_output_t flow = leat_array_flow_after_write(g);
  leat_array_gradient_t array = leat_array_gradient(g, flow);
  leat_gradient_set_input(g, 1,
                          leat_array_build(g, "TensorArrayConcat", array.version,
                                           LEAT_INPUTS(array.handle, array.flow),
                                           LEAT_ATTRS(LEAT_TYPE("dtype", dtype))));
  leat_gradient_set_input(g, 3, flow);
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define OLD LEAT_OP_STEP_RESOURCE
#define NEW LEAT_OP_STATEFUL

// The rows of an op's three versions. |since1| and |instead1| deprecate the first version, |since2|
// and |instead2| the second.
#define MANY_SLOTS(op_name, more_inputs, op_outputs, op_attrs, shape2, shape3, op_gradient,    \
                   since1, instead1, since2, instead2, words)                                  \
  LEAT_ARRAY_ROW(op_name, "Ref(string)", more_inputs, op_outputs, op_attrs, OLD,               \
                 leat_shape_unknown, op_gradient, since1, instead1, words),                    \
      LEAT_ARRAY_ROW(op_name "V2", "string", more_inputs, op_outputs, op_attrs, OLD, shape2,   \
                     op_gradient, since2, instead2, words),                                    \
      LEAT_ARRAY_ROW(op_name "V3", "resource", more_inputs, op_outputs, op_attrs, NEW, shape3, \
                     op_gradient, 0, NULL, words)

#define ELEMENT_SHAPE "dtype: type; element_shape: shape = {unknown_rank: true}"

const leat_op_row_t leat_tensor_array_batch_ops[] = {
    MANY_SLOTS("TensorArrayGather", "; indices: int32; flow_in: float", "value: dtype",
               ELEMENT_SHAPE, old_gather_shape, gather_shape, gather_gradient, 16,
               "Use TensorArrayGatherV3", 26, "Use TensorArrayGatherV3",
               "The tensors of some slots, stacked."),
    MANY_SLOTS("TensorArrayScatter", "; indices: int32; value: T; flow_in: float",
               "flow_out: float", "T: type", old_scatter_shape, scatter_shape, scatter_gradient, 19,
               "Use TensorArrayGradV3", 26, "Use TensorArrayScatterV3",
               "Puts the rows of a tensor into some slots."),
    MANY_SLOTS("TensorArrayConcat", "; flow_in: float", "value: dtype; lengths: int64",
               "dtype: type; element_shape_except0: shape = {unknown_rank: true}", concat_shape,
               concat_shape, concat_gradient, 16, "Use TensorArrayGradV3", 0, NULL,
               "The tensors of all slots, one behind the other, and their lengths."),
    MANY_SLOTS("TensorArraySplit", "; value: T; lengths: int64; flow_in: float", "flow_out: float",
               "T: type", split_shape, split_shape, split_gradient, 16, "Use TensorArraySplitV3",
               26, "Use TensorArraySplitV3",
               "Puts parts of a tensor, so many rows each, into all slots."),
    LEAT_ARRAY_ROW("TensorArrayPack", "Ref(string)", "; flow_in: float", "value: dtype",
                   ELEMENT_SHAPE, OLD, leat_shape_unknown, NULL, 16,
                   "Use TensorArrayGatherV3 with RangeOp", "The tensors of all slots, stacked."),
    LEAT_ARRAY_ROW("TensorArrayUnpack", "Ref(string)", "; value: T; flow_in: float",
                   "flow_out: float", "T: type", OLD, leat_shape_unknown, NULL, 20,
                   "Use TensorArrayScatterV3 with RangeOp",
                   "Puts the rows of a tensor into all slots."),
    LEAT_OP_ROWS_END,
};
