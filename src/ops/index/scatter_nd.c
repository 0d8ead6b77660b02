// The ops ScatterNd, TensorScatter* and ScatterNdNonAliasingAdd: their shapes, gradients and
// registration. Updates go where index tuples say:
//
//   indices [..., depth], updates [..., d_depth, ..., d_n] into a tensor [d_0, ..., d_n]
//
// ScatterNd adds into zeros, the others assign, add, subtract or take the extremum in a copy of
// input 0. Gradients with respect to the updates gather by the same indices. A minimum or maximum
// shares its gradient among all that attain it.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/index/scatter_nd.h"
#include "ops/op_rows.h"

static bool is_empty(leat_partial_shape_t shape) {
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] == 0) return true;
  }
  return false;
}
static bool has_elements(leat_partial_shape_t shape) {
  return leat_partial_shape_is_full(shape) && !is_empty(shape);
}

// The dimensions of |indices| before the last must be the first ones of |updates|; the rest of
// |updates| must be a slice of |whole|.
leat_status_t leat_scatter_nd_check_shapes(leat_inference_t* c, leat_partial_shape_t indices,
                                           leat_partial_shape_t updates,
                                           leat_partial_shape_t whole) {
  if (is_empty(whole) && (has_elements(indices) || has_elements(updates))) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Indices and updates specified for empty input");
  }
  if (indices.rank < 0 || updates.rank <= 0) return leat_ok_status();
  int outer = indices.rank - 1;
  int64_t depth = leat_partial_shape_dim(indices, -1);
  if (depth == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (depth > LEAT_SHAPE_MAX_RANK) depth = LEAT_SHAPE_MAX_RANK + 1;
  leat_partial_shape_t a, b, unused;
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, indices, 0, outer, &a));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, updates, 0, outer, &b));
  leat_status_t status = leat_inference_merge(c, a, b, &unused);
  if (status) {
    return leat_status_annotate(
        status, "Dimensions [0,%d) of indices[shape=%s] must match those of updates[shape=%s]",
        outer, LEAT_PARTIAL_SHAPE_TEXT(indices), LEAT_PARTIAL_SHAPE_TEXT(updates));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, whole, (int)depth, INT32_MAX, &a));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, updates, outer, INT32_MAX, &b));
  status = leat_inference_merge(c, a, b, &unused);
  if (status) {
    return leat_status_annotate(
        status, "Dimensions from %lld of input[shape=%s] must match those from %d of "
        "updates[shape=%s]",
        (long long)depth, LEAT_PARTIAL_SHAPE_TEXT(whole), outer, LEAT_PARTIAL_SHAPE_TEXT(updates));
  }
  return leat_ok_status();
}

static leat_status_t scatter_nd_shape(leat_inference_t* c) {
  leat_partial_shape_t indices = leat_inference_input(c, 0), updates = leat_inference_input(c, 1);
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, indices, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, updates, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 2, &shape));
  LEAT_RETURN_IF_ERROR(leat_scatter_nd_check_shapes(c, indices, updates, shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t tensor_scatter_shape(leat_inference_t* c) {
  leat_partial_shape_t tensor = leat_inference_input(c, 0), indices = leat_inference_input(c, 1);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, tensor, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, indices, 1));
  LEAT_RETURN_IF_ERROR(
      leat_scatter_nd_check_shapes(c, indices, leat_inference_input(c, 2), tensor));
  leat_inference_set_output(c, 0, tensor);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------
//
// The nodes of a gradient treat indices out of bounds as the node itself does: with "IGNORE" an
// update that went nowhere has the gradient 0. TensorFlow hands the policy on for the minimum and
// the maximum alone, so that its gradients of the others fail where the ops themselves do not.

static leat_attr_t policy_of(const leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  return (leat_attr_t)LEAT_STRING("bad_indices_policy",
                                  leat_node_attr_string(node, "bad_indices_policy"));
}

static leat_output_t gather(leat_gradient_t* g, leat_output_t from, leat_output_t indices) {
  return leat_build(&g->builder, "GatherNd", LEAT_INPUTS(from, indices), LEAT_ATTRS(policy_of(g)));
}

static leat_status_t scatter_nd_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 1,
                          gather(g, leat_gradient_of_output(g, 0), leat_gradient_input(g, 0)));
  return leat_ok_status();
}

// What was overwritten gets no gradient; the updates get the gradient where they were written.
static leat_status_t update_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t indices = leat_gradient_input(g, 1), updates = leat_gradient_input(g, 2);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_output_t zeros = leat_build_unary(b, "ZerosLike", updates);
  leat_gradient_set_input(g, 0, leat_build(b, "TensorScatterUpdate",
                                           LEAT_INPUTS(gradient, indices, zeros),
                                           LEAT_ATTRS(policy_of(g))));
  leat_gradient_set_input(g, 2, gather(g, gradient, indices));
  return leat_ok_status();
}

static leat_status_t add_gradient(leat_gradient_t* g) {
  leat_output_t indices = leat_gradient_input(g, 1);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, gradient);
  leat_gradient_set_input(g, 2, gather(g, gradient, indices));
  return leat_ok_status();
}

static leat_status_t sub_gradient(leat_gradient_t* g) {
  leat_output_t indices = leat_gradient_input(g, 1);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(g, 0, gradient);
  leat_gradient_set_input(
      g, 2, leat_build_unary(&g->builder, "Neg", gather(g, gradient, indices)));
  return leat_ok_status();
}

// Builds 1 where |x| and |y| are equal and 0 elsewhere, in |dtype|.
static leat_output_t indicator(leat_builder_t* b, int dtype, leat_output_t x, leat_output_t y) {
  return leat_build(b, "Cast", LEAT_INPUTS(leat_build_binary(b, "Equal", x, y)),
                    LEAT_ATTRS(LEAT_TYPE("DstT", dtype)));
}

// The input's element and all updates that are equal to the output's element share its gradient:
// each gets gradient / (how many they are).
static leat_status_t extremum_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t x = leat_gradient_input(g, 0), indices = leat_gradient_input(g, 1);
  leat_output_t y = leat_gradient_input(g, 2), output = leat_gradient_output(g, 0);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  int dtype = leat_build_type_of(b, gradient);
  leat_output_t of_x = indicator(b, dtype, x, output);
  leat_output_t of_y = indicator(b, dtype, y, gather(g, output, indices));
  leat_output_t shape =
      leat_build(b, "Shape", LEAT_INPUTS(x),
                 LEAT_ATTRS(LEAT_TYPE("out_type", leat_build_type_of(b, indices))));
  leat_output_t spread =
      leat_build(b, "ScatterNd", LEAT_INPUTS(indices, of_y, shape), LEAT_ATTRS(policy_of(g)));
  leat_output_t sharers = leat_build_binary(b, "AddV2", of_x, spread);
  leat_gradient_set_input(g, 0,
                          leat_build_binary(b, "RealDiv",
                                            leat_build_binary(b, "Mul", gradient, of_x), sharers));
  leat_output_t share = leat_build_binary(b, "RealDiv", gradient, sharers);
  leat_gradient_set_input(
      g, 2, leat_build_binary(b, "Mul", gather(g, share, indices), of_y));
  return leat_ok_status();
}

#define TENSOR_SCATTER(op_name, index_types, gradient_fn, text)                               \
  {.name = op_name,                                                                           \
   .inputs = "tensor: T; indices: Tindices; updates: T",                                      \
   .outputs = "output: T",                                                                    \
   .attrs = "T: type; Tindices: {" index_types "}; bad_indices_policy: string = ''",          \
   .shape = tensor_scatter_shape,                                                             \
   .gradient = gradient_fn,                                                                   \
   .doc = text}

const leat_op_row_t leat_scatter_nd_ops[] = {
    {.name = "ScatterNd",
     .inputs = "indices: Tindices; updates: T; shape: Tindices",
     .outputs = "output: T",
     .attrs = "T: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''",
     .shape = scatter_nd_shape,
     .gradient = scatter_nd_gradient,
     .doc = "Zeros of the shape with the updates added where the index tuples say."},
    TENSOR_SCATTER("TensorScatterUpdate", "int16, int32, int64, uint16", update_gradient,
                   "The tensor with the updates where the index tuples say."),
    TENSOR_SCATTER("TensorScatterAdd", "int32, int64", add_gradient,
                   "The tensor with the updates added where the index tuples say."),
    TENSOR_SCATTER("TensorScatterSub", "int32, int64", sub_gradient,
                   "The tensor with the updates subtracted where the index tuples say."),
    TENSOR_SCATTER("TensorScatterMin", "int32, int64", extremum_gradient,
                   "The tensor, no more than the updates where the index tuples say."),
    TENSOR_SCATTER("TensorScatterMax", "int32, int64", extremum_gradient,
                   "The tensor, no less than the updates where the index tuples say."),
    {.name = "ScatterNdNonAliasingAdd",
     .inputs = "input: T; indices: Tindices; updates: T",
     .outputs = "output: T",
     .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
              "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; "
              "Tindices: {int32, int64}; bad_indices_policy: string = ''",
     .shape = tensor_scatter_shape,
     .gradient = add_gradient,
     .doc = "The input with the updates added where the index tuples say."},
    LEAT_OP_ROWS_END,
};
