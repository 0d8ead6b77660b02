// The ops that convert between a list of tensors and one tensor that holds all of them, stacked
// along a new first dimension or concatenated along the existing one. Their gradients are each
// other:
//
//   Stack <-> FromTensor,  Concat <-> Split,  Gather <-> Scatter
//
// so that a gradient list has exactly the elements that the forward op used. Shape inference knows
// the element shape of a list from the op that made it, and the number of rows from constants. The
// kernels are in tensor_list_batch_cpu.c.
#include "graph/inference/inference.h"
#include "ops/list/tensor_list.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t stack_shape(leat_inference_t* c) {
  leat_partial_shape_t element, rows, output;
  int64_t count = leat_node_attr_int(c->node, "num_elements", -1);
  LEAT_RETURN_IF_ERROR(leat_list_merged_elements(c, 1, &element));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &count, &rows));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, rows, element, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t gather_shape(leat_inference_t* c) {
  leat_partial_shape_t element, output;
  LEAT_RETURN_IF_ERROR(leat_list_merged_elements(c, 2, &element));
  LEAT_RETURN_IF_ERROR(
      leat_inference_concatenate(c, leat_inference_input(c, 1), element, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// Sets output 0 to the shape |element| with its first size open, and output 1 to an open vector.
static leat_status_t set_joined(leat_inference_t* c, leat_partial_shape_t element) {
  leat_partial_shape_t rest, output, open;
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &open));
  leat_inference_set_output(c, 1, open);
  if (element.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, element, 1, INT32_MAX, &rest));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, open, rest, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t concat_shape(leat_inference_t* c) {
  leat_partial_shape_t element;
  const leat_attr_value_t* attr = leat_node_attr(c->node, LEAT_SV("element_shape"));
  LEAT_RETURN_IF_ERROR(
      leat_list_elements(c, leat_node_attr_type(c->node, "element_dtype"), &element));
  if (attr && attr->kind == LEAT_ATTR_SHAPE) {
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, attr->shape, element, &element));
  }
  return set_joined(c, element);
}

static leat_status_t concat_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t element;
  LEAT_RETURN_IF_ERROR(leat_list_merged_elements(c, 1, &element));
  return set_joined(c, element);
}

static leat_status_t from_tensor_shape(leat_inference_t* c) {
  leat_partial_shape_t tensor = leat_inference_input(c, 0), row, element;
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, tensor, 1, INT32_MAX, &row));
  LEAT_RETURN_IF_ERROR(leat_list_shape_of_input(c, 1, &element));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, row, element, &row));
  return leat_shape_scalar_output(c);
}

static leat_status_t split_shape(leat_inference_t* c) {
  leat_partial_shape_t tensor = leat_inference_input(c, 0), rest, open, row, element, lengths;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, tensor, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &lengths));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, tensor, 1, INT32_MAX, &rest));
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, 1, &open));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, open, rest, &row));
  LEAT_RETURN_IF_ERROR(leat_list_shape_of_input(c, 1, &element));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, row, element, &row));
  return leat_shape_scalar_output(c);
}

static leat_status_t scatter_shape(leat_inference_t* c) {
  leat_partial_shape_t element;
  LEAT_RETURN_IF_ERROR(leat_list_shape_of_input(c, 2, &element));
  return leat_shape_scalar_output(c);
}

static leat_status_t scatter_into_shape(leat_inference_t* c) {
  leat_partial_shape_t element, indices;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 1), 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &indices));
  LEAT_RETURN_IF_ERROR(
      leat_list_elements(c, leat_node_attr_type(c->node, "element_dtype"), &element));
  return leat_shape_scalar_output(c);
}

// ---- Gradients ----------------------------------------------------------------------------------

static int element_dtype(const leat_gradient_t* g) {
  return leat_node_attr_type(leat_gradient_node(g), "element_dtype");
}

// Builds a constant of what is known of the shape of |tensor|'s rows: sizes, or the scalar -1 where
// the rank is not known.
static leat_output_t static_row_shape(leat_gradient_t* g, leat_output_t tensor) {
  leat_builder_t* b = &g->builder;
  if (b->status) return LEAT_OUTPUT_NONE;
  leat_partial_shape_t shape = leat_graph_output_shape(b->graph, tensor);
  if (shape.rank < 1) return leat_list_build_unknown_shape(g);
  int32_t sizes[LEAT_SHAPE_MAX_RANK];
  for (int i = 1; i < shape.rank; ++i) {
    sizes[i - 1] = shape.dims[i] > INT32_MAX ? -1 : (int32_t)shape.dims[i];
  }
  return leat_build_int32_vector(b, sizes, shape.rank - 1);
}

// The rows of |dy| have the shape of the elements, so that shape is known without running the list.
static leat_status_t stack_gradient(leat_gradient_t* g) {
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(
      g, 0,
      leat_build_binary(&g->builder, "TensorListFromTensor", dy, static_row_shape(g, dy)));
  return leat_ok_status();
}

// Output 1 of the forward op has the lengths at which its gradient is divided again.
static leat_status_t concat_gradient(leat_gradient_t* g) {
  leat_output_t shape = leat_list_build_element_shape(g, leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, "TensorListSplit",
                                     LEAT_INPUTS(leat_gradient_of_output(g, 0), shape,
                                                 leat_gradient_output(g, 1)),
                                     LEAT_NO_ATTRS));
  return leat_ok_status();
}

// The list's element shape is the tensor's with an open first size; input 2 has the lengths for
// elements of the gradient list that have no tensor.
static leat_status_t split_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t open = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t shape =
      leat_build(b, "ConcatV2",
                 LEAT_INPUTS(open, leat_list_build_row_shape(g, leat_gradient_input(g, 0)),
                             leat_build_scalar(b, LEAT_DTYPE_INT32, 0)),
                 LEAT_ATTRS(LEAT_INT("N", 2)));
  leat_gradient_set_input(
      g, 0,
      leat_build(b, "TensorListConcatV2",
                 LEAT_INPUTS(leat_gradient_of_output(g, 0), shape, leat_gradient_input(g, 2)),
                 LEAT_ATTRS(LEAT_TYPE("element_dtype", element_dtype(g)))));
  return leat_ok_status();
}

// The number of rows is given where it is known, so that shape inference knows it in the gradient
// too.
static leat_status_t from_tensor_gradient(leat_gradient_t* g) {
  leat_output_t tensor = leat_gradient_input(g, 0);
  int64_t count = -1;
  if (!g->builder.status) {
    leat_partial_shape_t shape = leat_graph_output_shape(g->builder.graph, tensor);
    if (shape.rank > 0) count = shape.dims[0];
  }
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, "TensorListStack",
                                     LEAT_INPUTS(leat_gradient_of_output(g, 0),
                                                 leat_list_build_row_shape(g, tensor)),
                                     LEAT_ATTRS(LEAT_TYPE("element_dtype", element_dtype(g)),
                                                LEAT_INT("num_elements", count))));
  return leat_ok_status();
}

static leat_status_t gather_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t empty = leat_list_build_reserved(g, leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 0,
                          leat_build(b, "TensorListScatterIntoExistingList",
                                     LEAT_INPUTS(empty, leat_gradient_of_output(g, 0),
                                                 leat_gradient_input(g, 1)),
                                     LEAT_NO_ATTRS));
  return leat_ok_status();
}

// Builds the rows of the gradient list that stand at |indices|, where the forward op put the rows
// of |tensor|.
static leat_output_t gather_rows(leat_gradient_t* g, leat_output_t dlist, leat_output_t tensor,
                                 leat_output_t indices) {
  return leat_build(&g->builder, "TensorListGather",
                    LEAT_INPUTS(dlist, indices, leat_list_build_row_shape(g, tensor)),
                    LEAT_ATTRS(LEAT_TYPE("element_dtype", element_dtype(g))));
}

static leat_status_t scatter_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0,
                          gather_rows(g, leat_gradient_of_output(g, 0), leat_gradient_input(g, 0),
                                      leat_gradient_input(g, 1)));
  return leat_ok_status();
}

// Rows that were scattered take their gradients from there, and the list below them gets zeros in
// their places.
static leat_status_t scatter_into_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dlist = leat_gradient_of_output(g, 0), tensor = leat_gradient_input(g, 1);
  leat_output_t indices = leat_gradient_input(g, 2);
  leat_gradient_set_input(g, 1, gather_rows(g, dlist, tensor, indices));
  leat_gradient_set_input(
      g, 0,
      leat_build(b, "TensorListScatterIntoExistingList",
                 LEAT_INPUTS(dlist, leat_build_unary(b, "ZerosLike", tensor), indices),
                 LEAT_NO_ATTRS));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define SHAPE_TYPES "element_dtype: type; shape_type: {int32, int64}"

const leat_op_row_t leat_tensor_list_batch_ops[] = {
    {.name = "TensorListStack",
     .inputs = "input_handle: variant; element_shape: int32",
     .outputs = "tensor: element_dtype",
     .attrs = "element_dtype: type; num_elements: int = -1",
     .shape = stack_shape,
     .gradient = stack_gradient,
     .doc = "The tensors of a list, stacked."},
    {.name = "TensorListGather",
     .inputs = "input_handle: variant; indices: int32; element_shape: int32",
     .outputs = "values: element_dtype",
     .attrs = "element_dtype: type",
     .shape = gather_shape,
     .gradient = gather_gradient,
     .doc = "Some tensors of a list, stacked."},
    {.name = "TensorListConcat",
     .inputs = "input_handle: variant",
     .outputs = "tensor: element_dtype; lengths: int64",
     .attrs = "element_dtype: type; element_shape: shape = {unknown_rank: true}",
     .shape = concat_shape,
     .gradient = concat_gradient,
     .doc = "The tensors of a list, one behind the other, and their lengths."},
    {.name = "TensorListConcatV2",
     .inputs = "input_handle: variant; element_shape: shape_type; leading_dims: int64",
     .outputs = "tensor: element_dtype; lengths: int64",
     .attrs = SHAPE_TYPES,
     .shape = concat_v2_shape,
     .gradient = concat_gradient,
     .doc = "The same; leading_dims are the lengths of tensors that were not set."},
    {.name = "TensorListFromTensor",
     .inputs = "tensor: element_dtype; element_shape: shape_type",
     .outputs = "output_handle: variant",
     .attrs = SHAPE_TYPES,
     .shape = from_tensor_shape,
     .value = leat_value_list_of_second,
     .gradient = from_tensor_gradient,
     .doc = "A list of the rows of a tensor."},
    {.name = "TensorListSplit",
     .inputs = "tensor: element_dtype; element_shape: shape_type; lengths: int64",
     .outputs = "output_handle: variant",
     .attrs = SHAPE_TYPES,
     .shape = split_shape,
     .value = leat_value_list_of_second,
     .gradient = split_gradient,
     .doc = "A list of parts of a tensor, so many rows each."},
    {.name = "TensorListScatter",
     .inputs = "tensor: element_dtype; indices: int32; element_shape: shape_type",
     .outputs = "output_handle: variant",
     .attrs = SHAPE_TYPES,
     .shape = scatter_shape,
     .value = leat_value_list_of_third,
     .gradient = scatter_gradient,
     .doc = "A list with the rows of a tensor at some places."},
    {.name = "TensorListScatterV2",
     .inputs = "tensor: element_dtype; indices: int32; element_shape: shape_type; "
               "num_elements: int32",
     .outputs = "output_handle: variant",
     .attrs = SHAPE_TYPES,
     .shape = scatter_shape,
     .value = leat_value_list_of_third,
     .gradient = scatter_gradient,
     .doc = "The same; the list has num_elements tensors, or as many as it needs (-1)."},
    {.name = "TensorListScatterIntoExistingList",
     .inputs = "input_handle: variant; tensor: element_dtype; indices: int32",
     .outputs = "output_handle: variant",
     .attrs = "element_dtype: type",
     .shape = scatter_into_shape,
     .value = leat_value_forwarded,
     .gradient = scatter_into_gradient,
     .doc = "The list with the rows of a tensor set at some places."},
    LEAT_OP_ROWS_END,
};
