// The ops of lists of tensors: values that grow, shrink, and flow along edges as any tensor does,
// which is why functional while loops (unlike the older loops with their stacks) can save their
// intermediate results in them. Shape inference follows the element type and shape of a list along
// the edges.
//
// The gradient of a list is a list of the same length that holds the elements' gradients:
//
//   y = PushBack(x, e)     dx, de = PopBack(dy)
//   y, e = PopBack(x)      dx = PushBack(dy, de)
//   e = GetItem(x, i)      dx = SetItem(empty list, i, de)
//   y = SetItem(x, i, e)   dx = SetItem(dy, i, 0), de = GetItem(dy, i)
//
// An empty list, or an element without a tensor, stands for zeros, so these gradients cost no
// memory for the elements that they do not touch. The kernels are in tensor_list_cpu.c and
// tensor_list_batch_cpu.c.
#include "ops/list/tensor_list.h"

#include "graph/inference/inference.h"
#include "ops/op_rows.h"

leat_status_t leat_list_shape_of_input(leat_inference_t* c, int index,
                                       leat_partial_shape_t* out_shape) {
  leat_partial_value_t value;
  *out_shape = leat_partial_shape_unknown();
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, index, &value));
  if (value.rank == 1) return leat_inference_input_as_shape(c, index, out_shape);
  leat_partial_shape_t input = leat_inference_input(c, index);
  if (input.rank == 1 && input.dims[0] >= 0 && input.dims[0] <= LEAT_SHAPE_MAX_RANK) {
    return leat_inference_unknown_of_rank(c, (int)input.dims[0], out_shape);
  }
  if (input.rank <= 1) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be at most rank 1 but is rank %d",
                          input.rank);
}

// As leat_list_elements() for the list at input |index|.
static leat_status_t elements_of(leat_inference_t* c, int index, int dtype,
                                 leat_partial_shape_t* out_shape) {
  int own;
  if (!leat_inference_input_handle(c, index, &own, out_shape)) return leat_ok_status();
  if (!dtype || own == dtype) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Expected list with element dtype %s but got list with element dtype %s",
                          leat_dtype_name(dtype), leat_dtype_name(own));
}

leat_status_t leat_list_elements(leat_inference_t* c, int dtype, leat_partial_shape_t* out_shape) {
  return elements_of(c, 0, dtype, out_shape);
}

leat_status_t leat_list_merged_elements(leat_inference_t* c, int index,
                                        leat_partial_shape_t* out_shape) {
  leat_partial_shape_t stated;
  int dtype = leat_node_attr_type(c->node, "element_dtype");
  LEAT_RETURN_IF_ERROR(leat_list_elements(c, dtype, out_shape));
  LEAT_RETURN_IF_ERROR(leat_list_shape_of_input(c, index, &stated));
  return leat_inference_merge(c, *out_shape, stated, out_shape);
}

// Tells inference that output 0 is a list of |element_dtype|, whose elements have the shape that
// input |index| states.
static leat_status_t make_list(leat_inference_t* c, int index) {
  leat_referent_t element = {.dtype = leat_node_attr_type(c->node, "element_dtype")};
  LEAT_RETURN_IF_ERROR(leat_list_shape_of_input(c, index, &element.shape));
  return leat_inference_set_output_referents(c, 0, &element, 1);
}

leat_status_t leat_value_list_of_first(leat_inference_t* c) { return make_list(c, 0); }
leat_status_t leat_value_list_of_second(leat_inference_t* c) { return make_list(c, 1); }
leat_status_t leat_value_list_of_third(leat_inference_t* c) { return make_list(c, 2); }

// ---- Shapes -------------------------------------------------------------------------------------

// The element shape is read only to be checked; the result is one list.
static leat_status_t maker_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_list_shape_of_input(c, 0, &shape));
  return leat_shape_scalar_output(c);
}

static leat_status_t push_shape(leat_inference_t* c) {
  leat_partial_shape_t element;
  LEAT_RETURN_IF_ERROR(
      leat_list_elements(c, leat_node_attr_type(c->node, "element_dtype"), &element));
  return leat_shape_scalar_output(c);
}

// There is one list for each row of the tensor.
static leat_status_t push_batch_shape(leat_inference_t* c) {
  leat_partial_shape_t lists, tensor = leat_inference_input(c, 1);
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &lists));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, tensor, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(lists, 0),
                                                leat_partial_shape_dim(tensor, 0), &count));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &count, &lists));
  leat_inference_set_output(c, 0, lists);
  return leat_ok_status();
}

static leat_status_t pop_shape(leat_inference_t* c) {
  leat_partial_shape_t element;
  LEAT_RETURN_IF_ERROR(
      leat_list_elements(c, leat_node_attr_type(c->node, "element_dtype"), &element));
  leat_inference_set_output(c, 0, leat_partial_shape_scalar());
  leat_inference_set_output(c, 1, element);
  return leat_ok_status();
}

static leat_status_t get_item_shape(leat_inference_t* c) {
  leat_partial_shape_t element;
  LEAT_RETURN_IF_ERROR(leat_list_merged_elements(c, 2, &element));
  leat_inference_set_output(c, 0, element);
  return leat_ok_status();
}

// The item must fit the elements of the list, as far as both shapes are known.
static leat_status_t set_item_shape(leat_inference_t* c) {
  leat_partial_shape_t element;
  LEAT_RETURN_IF_ERROR(leat_list_elements(c, 0, &element));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, leat_inference_input(c, 2), element, &element));
  return leat_shape_scalar_output(c);
}

static leat_status_t resize_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  return leat_shape_scalar_output(c);
}

// A vector with an entry for each dimension. Where the rank is unknown, the kernel gives the scalar
// -1, so nothing is known here.
static leat_status_t element_shape_shape(leat_inference_t* c) {
  leat_partial_shape_t element, output;
  LEAT_RETURN_IF_ERROR(leat_list_elements(c, 0, &element));
  if (element.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &(int64_t){element.rank}, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// The lists must be of |element_dtype| and have elements of one shape, as far as that is known.
static leat_status_t concat_lists_shape(leat_inference_t* c) {
  leat_partial_shape_t lists, elements[2], both;
  for (int i = 0; i < 2; ++i) {
    LEAT_RETURN_IF_ERROR(
        elements_of(c, i, leat_node_attr_type(c->node, "element_dtype"), &elements[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, elements[0], elements[1], &both));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, leat_inference_input(c, 0),
                                            leat_inference_input(c, 1), &lists));
  leat_inference_set_output(c, 0, lists);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

leat_output_t leat_list_build_element_shape(leat_gradient_t* g, leat_output_t list) {
  return leat_build(&g->builder, "TensorListElementShape", LEAT_INPUTS(list),
                    LEAT_ATTRS(LEAT_TYPE("shape_type", LEAT_DTYPE_INT32)));
}

leat_output_t leat_list_build_length(leat_gradient_t* g, leat_output_t list) {
  return leat_build_unary(&g->builder, "TensorListLength", list);
}

leat_output_t leat_list_build_row_shape(leat_gradient_t* g, leat_output_t tensor) {
  leat_builder_t* b = &g->builder;
  return leat_build(b, "Slice",
                    LEAT_INPUTS(leat_build_shape_of(b, tensor),
                                leat_build_int32_vector(b, (const int32_t[]){1}, 1),
                                leat_build_int32_vector(b, (const int32_t[]){-1}, 1)),
                    LEAT_NO_ATTRS);
}

leat_output_t leat_list_build_unknown_shape(leat_gradient_t* g) {
  return leat_build_scalar(&g->builder, LEAT_DTYPE_INT32, -1);
}

static int element_dtype(const leat_gradient_t* g) {
  return leat_node_attr_type(leat_gradient_node(g), "element_dtype");
}

leat_output_t leat_list_build_reserved(leat_gradient_t* g, leat_output_t list) {
  return leat_build(
      &g->builder, "TensorListReserve",
      LEAT_INPUTS(leat_list_build_element_shape(g, list), leat_list_build_length(g, list)),
      LEAT_ATTRS(LEAT_TYPE("element_dtype", element_dtype(g))));
}

static leat_status_t push_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int32_t pop = leat_build_node(
      b, "TensorListPopBack",
      LEAT_INPUTS(leat_gradient_of_output(g, 0), leat_build_shape_of(b, leat_gradient_input(g, 1))),
      LEAT_ATTRS(LEAT_TYPE("element_dtype", element_dtype(g))));
  leat_gradient_set_input(g, 0, leat_node_output(pop, 0));
  leat_gradient_set_input(g, 1, leat_node_output(pop, 1));
  return leat_ok_status();
}

// Either gradient may be missing, because the list or the element was not used; zeros take its
// place.
static leat_status_t pop_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dlist, dy;
  if (leat_gradient_has_output(g, 0)) {
    dlist = leat_gradient_of_output(g, 0);
  } else {
    dlist = leat_build(b, "EmptyTensorList",
                       LEAT_INPUTS(leat_list_build_element_shape(g, leat_gradient_output(g, 0)),
                                   leat_build_scalar(b, LEAT_DTYPE_INT32, -1)),
                       LEAT_ATTRS(LEAT_TYPE("element_dtype", element_dtype(g))));
  }
  dy = leat_gradient_has_output(g, 1)
           ? leat_gradient_of_output(g, 1)
           : leat_build_zeros_of(b, leat_gradient_output(g, 1));
  leat_gradient_set_input(g, 0, leat_build_binary(b, "TensorListPushBack", dlist, dy));
  return leat_ok_status();
}

// The list's gradient has one element, at the index that was read; all others have no tensor.
static leat_status_t get_item_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t empty = leat_list_build_reserved(g, leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 0,
                          leat_build(b, "TensorListSetItem",
                                     LEAT_INPUTS(empty, leat_gradient_input(g, 1),
                                                 leat_gradient_of_output(g, 0)),
                                     LEAT_NO_ATTRS));
  return leat_ok_status();
}

// The element that was replaced gets zeros. A list that the op made longer is cut to its old
// length.
static leat_status_t set_item_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dlist = leat_gradient_of_output(g, 0), index = leat_gradient_input(g, 1);
  leat_output_t item = leat_gradient_input(g, 2);
  leat_output_t rest = leat_build(
      b, "TensorListSetItem",
      LEAT_INPUTS(dlist, index, leat_build_unary(b, "ZerosLike", item)), LEAT_NO_ATTRS);
  leat_output_t ditem =
      leat_build(b, "TensorListGetItem",
                 LEAT_INPUTS(dlist, index, leat_build_shape_of(b, item)),
                 LEAT_ATTRS(LEAT_TYPE("element_dtype", element_dtype(g))));
  if (leat_node_attr_bool(leat_gradient_node(g), "resize_if_index_out_of_bounds", false)) {
    leat_output_t length = leat_list_build_length(g, leat_gradient_input(g, 0));
    rest = leat_build_binary(b, "TensorListResize", rest, length);
  }
  leat_gradient_set_input(g, 0, rest);
  leat_gradient_set_input(g, 2, ditem);
  return leat_ok_status();
}

// The gradient is cut or lengthened to the length that the list had before.
static leat_status_t resize_gradient(leat_gradient_t* g) {
  leat_output_t length = leat_list_build_length(g, leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 0,
                          leat_build_binary(&g->builder, "TensorListResize",
                                            leat_gradient_of_output(g, 0), length));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define SHAPE_TYPES "element_dtype: type; shape_type: {int32, int64}"

const leat_op_row_t leat_tensor_list_ops[] = {
    {.name = "EmptyTensorList",
     .inputs = "element_shape: shape_type; max_num_elements: int32",
     .outputs = "handle: variant",
     .attrs = SHAPE_TYPES,
     .shape = maker_shape,
     .value = leat_value_list_of_first,
     .doc = "A list of no tensors; a negative max_num_elements does not bound it."},
    {.name = "TensorListReserve",
     .inputs = "element_shape: shape_type; num_elements: int32",
     .outputs = "handle: variant",
     .attrs = SHAPE_TYPES,
     .shape = maker_shape,
     .value = leat_value_list_of_first,
     .doc = "A list of tensors that are still to be set."},
    {.name = "TensorListPushBack",
     .inputs = "input_handle: variant; tensor: element_dtype",
     .outputs = "output_handle: variant",
     .attrs = "element_dtype: type",
     .shape = push_shape,
     .value = leat_value_forwarded,
     .gradient = push_gradient,
     .doc = "The list with one more tensor."},
    {.name = "TensorListPushBackBatch",
     .inputs = "input_handles: variant; tensor: element_dtype",
     .outputs = "output_handles: variant",
     .attrs = "element_dtype: type",
     .shape = push_batch_shape,
     .gradient = leat_gradient_none,
     .doc = "Several lists, each with one row of the tensor more."},
    {.name = "TensorListPopBack",
     .inputs = "input_handle: variant; element_shape: int32",
     .outputs = "output_handle: variant; tensor: element_dtype",
     .attrs = "element_dtype: type",
     .shape = pop_shape,
     .value = leat_value_forwarded,
     .gradient = pop_gradient,
     .doc = "The list without its last tensor, and that tensor."},
    {.name = "TensorListLength",
     .inputs = "input_handle: variant",
     .outputs = "length: int32",
     .flags = LEAT_OP_DESCRIBES,
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "How many tensors are in a list."},
    {.name = "TensorListElementShape",
     .inputs = "input_handle: variant",
     .outputs = "element_shape: shape_type",
     .attrs = "shape_type: {int32, int64}",
     .flags = LEAT_OP_DESCRIBES,
     .shape = element_shape_shape,
     .gradient = leat_gradient_none,
     .doc = "The shape of a list's tensors, as far as it is known."},
    {.name = "TensorListResize",
     .inputs = "input_handle: variant; size: int32",
     .outputs = "output_handle: variant",
     .shape = resize_shape,
     .value = leat_value_forwarded,
     .gradient = resize_gradient,
     .doc = "The list with as many tensors; new ones are still to be set."},
    {.name = "TensorListGetItem",
     .inputs = "input_handle: variant; index: int32; element_shape: Tshape",
     .outputs = "item: element_dtype",
     .attrs = "element_dtype: type; Tshape: {int32, int64} = int32",
     .shape = get_item_shape,
     .gradient = get_item_gradient,
     .doc = "A tensor of a list; zeros where it was not set."},
    {.name = "TensorListSetItem",
     .inputs = "input_handle: variant; index: int32; item: element_dtype",
     .outputs = "output_handle: variant",
     .attrs = "element_dtype: type; resize_if_index_out_of_bounds: bool = false",
     .shape = set_item_shape,
     .value = leat_value_forwarded,
     .gradient = set_item_gradient,
     .doc = "The list with one tensor set."},
    {.name = "TensorListConcatLists",
     .inputs = "input_a: variant; input_b: variant",
     .outputs = "output: variant",
     .attrs = "element_dtype: type",
     .shape = concat_lists_shape,
     .value = leat_value_forwarded,
     .gradient = leat_gradient_none,
     .doc = "The tensors of one list behind those of another."},
    LEAT_OP_ROWS_END,
};
