// The ops ResourceGather and ResourceGatherNd: their shapes, gradients and registration. They take
// slices of a resource variable, so that only the rows that a step needs are read, as in a look-up
// in an embedding table.
//
//   params [batch..., n, inner...], indices [batch..., k...] -> [batch..., k..., inner...]
//
// The gradient of ResourceGather is a gradient of rows (IndexedSlices): the indices and dC/dy. With
// batch dimensions it is dense, because an index then names a row within its batch.
// Where the handle's variable is unknown while the graph is built, so is the shape.
#include "ops/index/gather.h"
#include "ops/op_rows.h"

// The variable's shape, unknown where nothing is known of the handle. INVALID_ARGUMENT when the
// variable is known to be of another type than the result.
static leat_status_t params_shape(leat_inference_t* c, leat_partial_shape_t* out_shape) {
  int own, dtype = leat_node_attr_type(c->node, "dtype");
  *out_shape = leat_partial_shape_unknown();
  if (!leat_inference_input_handle(c, 0, &own, out_shape) || own == dtype) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "dtype is %s, must be the variable's, %s",
                          leat_dtype_name(dtype), leat_dtype_name(own));
}

// The shape is params[:batch_dims] + indices[batch_dims:] + params[batch_dims + 1:].
static leat_status_t gather_shape(leat_inference_t* c) {
  int64_t batch_dims = leat_node_attr_int(c->node, "batch_dims", 0);
  leat_partial_shape_t indices = leat_inference_input(c, 1);
  leat_partial_shape_t params, batch, taken, inner, shape;
  LEAT_RETURN_IF_ERROR(params_shape(c, &params));
  if (batch_dims < 0 || batch_dims > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape inference failed: batch_dims is %lld, must be in [0, %d]",
                            (long long)batch_dims, LEAT_SHAPE_MAX_RANK);
  }
  int first = (int)batch_dims;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, params, first + 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, indices, first));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, params, 0, first, &batch));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, params, first + 1, INT32_MAX, &inner));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, indices, first, INT32_MAX, &taken));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, batch, taken, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, shape, inner, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t gather_nd_shape(leat_inference_t* c) {
  leat_partial_shape_t params;
  LEAT_RETURN_IF_ERROR(params_shape(c, &params));
  return leat_shape_gather_nd(c, params);
}

// ---- Gradients ----------------------------------------------------------------------------------

// Builds the variable's shape as a vector of |dtype|.
static leat_output_t variable_shape(leat_gradient_t* g, int dtype) {
  leat_builder_t* b = &g->builder;
  return leat_build(b, "VariableShape", LEAT_INPUTS(leat_gradient_input(g, 0)),
                    LEAT_ATTRS(LEAT_TYPE("out_type", dtype)));
}

// The rows of the variable that were taken get the rows of dC/dy. TensorFlow does not look at
// batch_dims here: its gradient of a gather with batch dimensions cannot be run, because dC/dy has
// not the size that it reshapes it to.
static leat_status_t gather_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t shape = variable_shape(g, LEAT_DTYPE_INT32);
  leat_output_t indices = leat_gradient_input(g, 1);
  // The shape function has checked that it is the number of some dimension.
  int32_t batch_dims = (int32_t)leat_node_attr_int(leat_gradient_node(g), "batch_dims", 0);
  if (batch_dims) {
    leat_output_t axis = leat_build_scalar(b, LEAT_DTYPE_INT32, batch_dims);
    leat_gradient_set_input(g, 0,
                            leat_gather_dense_gradient(b, leat_gradient_of_output(g, 0), shape,
                                                       indices, axis, batch_dims));
    return leat_ok_status();
  }
  const int32_t one = 1, all = -1;
  leat_output_t size =
      leat_build_binary(b, "ExpandDims", leat_build_unary(b, "Size", indices),
                        leat_build_scalar(b, LEAT_DTYPE_INT32, 0));
  leat_output_t row = leat_build(b, "Slice",
                                 LEAT_INPUTS(shape, leat_build_int32_vector(b, &one, 1),
                                             leat_build_int32_vector(b, &all, 1)),
                                 LEAT_NO_ATTRS);
  leat_output_t values_shape =
      leat_build(b, "ConcatV2", LEAT_INPUTS(size, row, leat_build_scalar(b, LEAT_DTYPE_INT32, 0)),
                 LEAT_NO_ATTRS);
  leat_output_t values =
      leat_build_binary(b, "Reshape", leat_gradient_of_output(g, 0), values_shape);
  leat_gradient_set_input_rows(g, 0, values, leat_build_binary(b, "Reshape", indices, size),
                               shape);
  return leat_ok_status();
}

static leat_status_t gather_nd_gradient(leat_gradient_t* g) {
  int dtype = leat_build_type_of(&g->builder, leat_gradient_input(g, 1));
  return leat_gather_nd_gradient(g, variable_shape(g, dtype), LEAT_NO_ATTRS);
}

const leat_op_row_t leat_resource_gather_ops[] = {
    {.name = "ResourceGather",
     .inputs = "resource: resource; indices: Tindices",
     .outputs = "output: dtype",
     .attrs = "batch_dims: int = 0; validate_indices: bool = true; dtype: type; "
              "Tindices: {int32, int64}",
     .flags = LEAT_OP_STATEFUL,
     .shape = gather_shape,
     .gradient = gather_gradient,
     .doc = "Slices of a variable along its first dimension after the batch."},
    {.name = "ResourceGatherNd",
     .inputs = "resource: resource; indices: Tindices",
     .outputs = "output: dtype",
     .attrs = "dtype: type; Tindices: {int32, int64}",
     .flags = LEAT_OP_STATEFUL,
     .shape = gather_nd_shape,
     .gradient = gather_nd_gradient,
     .doc = "Elements or slices of a variable, by tuples of indices."},
    LEAT_OP_ROWS_END,
};
