// The ops StridedSlice and StridedSliceGrad: their shapes, values, gradients and registration.
// StridedSlice is Python's x[a:b:c, ...] with NumPy's meaning; what the items and the five masks
// select is resolved in selection.c, for shape inference as for the kernels.
//
//   x [d...], begin [k], end [k], strides [k] -> the selected slice
//   StridedSliceGrad: shape [n], begin, end, strides, dy -> zeros of the shape with dy in the slice
//
// Strides must be known before anything can be inferred; unknown begins and ends make unknown
// sizes. The two ops are each the gradient of the other.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "graph/rewrite_rule.h"
#include "ops/index/selection.h"
#include "ops/op_rows.h"

_Static_assert(LEAT_SELECTION_UNKNOWN == LEAT_VALUE_UNKNOWN,
               "what inference does not know, a selection does not know");

static leat_selection_masks_t masks_of(const leat_node_t* node) {
  return (leat_selection_masks_t){
      .begin = (uint32_t)leat_node_attr_int(node, "begin_mask", 0),
      .end = (uint32_t)leat_node_attr_int(node, "end_mask", 0),
      .ellipsis = (uint32_t)leat_node_attr_int(node, "ellipsis_mask", 0),
      .new_axis = (uint32_t)leat_node_attr_int(node, "new_axis_mask", 0),
      .shrink = (uint32_t)leat_node_attr_int(node, "shrink_axis_mask", 0),
  };
}

// Checks that begin, end and strides may be vectors of one size; |out_count| is the size, if it is
// known.
static leat_status_t check_vectors(leat_inference_t* c, int64_t* out_count) {
  leat_partial_shape_t begin, end, strides;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &begin));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &end));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 1, &strides));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, begin, end, &begin));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, begin, strides, &begin));
  *out_count = leat_partial_shape_dim(begin, 0);
  return leat_ok_status();
}

// Reads |count| items of input |input|; LEAT_VALUE_UNKNOWN where they are not known.
static leat_status_t read_item(leat_inference_t* c, int input, int count, int64_t* out_items) {
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, input, &value));
  for (int i = 0; i < count; ++i) {
    out_items[i] = value.rank == 1 && i < value.count ? value.items[i] : LEAT_VALUE_UNKNOWN;
  }
  return leat_ok_status();
}

// Reads what is known of begin, end and strides. |out_is_known| says whether the strides are known.
static leat_status_t read_items(leat_inference_t* c, bool* out_is_known,
                                leat_selection_items_t* items) {
  leat_partial_value_t strides;
  *out_is_known = false;
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, 3, out_is_known, &strides));
  if (!*out_is_known) return leat_ok_status();
  if (strides.rank != 1 || strides.count > LEAT_SELECTION_MAX_ITEMS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Expected begin, end, and strides to be 1D equal size tensors of less "
                            "than 32 items");
  }
  items->count = strides.count;
  for (int i = 0; i < strides.count; ++i) items->strides[i] = strides.items[i];
  LEAT_RETURN_IF_ERROR(read_item(c, 1, strides.count, items->begin));
  return read_item(c, 2, strides.count, items->end);
}

static leat_status_t strided_slice_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), shape;
  int64_t count;
  LEAT_RETURN_IF_ERROR(check_vectors(c, &count));
  bool is_known;
  leat_selection_items_t items;
  LEAT_RETURN_IF_ERROR(read_items(c, &is_known, &items));
  if (input.rank < 0 || !is_known || count == LEAT_DIM_UNKNOWN) return leat_ok_status();
  leat_selection_t selection;
  LEAT_RETURN_IF_ERROR(leat_selection_make(&items, masks_of(c->node), input.rank,
                                           input.dims, &selection));
  LEAT_RETURN_IF_ERROR(
      leat_inference_make(c, selection.result_rank, selection.result, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define MAX_VALUE_ITEMS 512

// Slices a vector of integers whose items are known, at least in part.
static leat_status_t strided_slice_value(leat_inference_t* c) {
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &value));
  if (value.rank != 1) return leat_ok_status();
  bool is_known;
  leat_selection_items_t items;
  LEAT_RETURN_IF_ERROR(read_items(c, &is_known, &items));
  if (!is_known) return leat_ok_status();
  leat_selection_t s;
  int64_t dim = value.count;
  LEAT_RETURN_IF_ERROR(
      leat_selection_make(&items, masks_of(c->node), 1, &dim, &s));
  if (s.result_rank > 1 || s.sizes[0] < 0 || s.sizes[0] > MAX_VALUE_ITEMS) return leat_ok_status();
  // A single index that is unknown was resolved to 0, so that nothing may be concluded from it.
  for (int i = 0; i < items.count; ++i) {
    if (items.begin[i] == LEAT_VALUE_UNKNOWN || items.end[i] == LEAT_VALUE_UNKNOWN) {
      return leat_ok_status();
    }
  }
  int64_t selected[MAX_VALUE_ITEMS];
  for (int64_t i = 0; i < s.sizes[0]; ++i) {
    selected[i] = value.items[s.begin[0] + i * s.strides[0]];
  }
  return leat_inference_set_output_value(c, 0, s.result_rank, (int)s.sizes[0], selected);
}

static leat_status_t grad_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

#define MASK(name) LEAT_INT(name, leat_node_attr_int(leat_gradient_node(g), name, 0))
#define MASKS                                                                                    \
  LEAT_ATTRS(MASK("begin_mask"), MASK("end_mask"), MASK("ellipsis_mask"), MASK("new_axis_mask"), \
             MASK("shrink_axis_mask"))

static leat_status_t strided_slice_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t begin = leat_gradient_input(g, 1);
  leat_output_t end = leat_gradient_input(g, 2), strides = leat_gradient_input(g, 3);
  leat_output_t shape =
      leat_build(b, "Shape", LEAT_INPUTS(leat_gradient_input(g, 0)),
                 LEAT_ATTRS(LEAT_TYPE("out_type", leat_build_type_of(b, begin))));
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(
      g, 0,
      leat_build(b, "StridedSliceGrad", LEAT_INPUTS(shape, begin, end, strides, gradient), MASKS));
  return leat_ok_status();
}

static leat_status_t strided_slice_grad_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t begin = leat_gradient_input(g, 1);
  leat_output_t end = leat_gradient_input(g, 2), strides = leat_gradient_input(g, 3);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_gradient_set_input(
      g, 4, leat_build(b, "StridedSlice", LEAT_INPUTS(gradient, begin, end, strides), MASKS));
  return leat_ok_status();
}

#define MASK_ATTRS                                                                         \
  "begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0; " \
  "shrink_axis_mask: int = 0"

const leat_op_row_t leat_strided_slice_ops[] = {
    {.name = "StridedSlice",
     .inputs = "input: T; begin: Index; end: Index; strides: Index",
     .outputs = "output: T",
     .attrs = "T: type; Index: {int16, int32, int64}; " MASK_ATTRS,
     .shape = strided_slice_shape,
     .value = strided_slice_value,
     .gradient = strided_slice_gradient,
     .doc = "Elements at begin, begin + stride, ... before end of each dimension, as in NumPy."},
    {.name = "StridedSliceGrad",
     .inputs = "shape: Index; begin: Index; end: Index; strides: Index; dy: T",
     .outputs = "output: T",
     .attrs = "T: type; Index: {int32, int64}; " MASK_ATTRS,
     .shape = grad_shape,
     .gradient = strided_slice_grad_gradient,
     .doc = "Zeros of the shape with dy where StridedSlice would have taken it."},
    LEAT_OP_ROWS_END,
};

// ---- Rewriting ----------------------------------------------------------------------------------
//
// A selection of steps 1 that keeps every dimension is a Slice, of which other rewrites know more
// (optimize/concat_sinking.c): x[2:, :5] is Slice(x, [2, 0], [n - 2, 5]).

// The constant at input |index|, in any order of time; NULL: it waits for something, or is none.
static const leat_tensor_t* free_constant(const leat_rewrite_match_t* m, int index) {
  const leat_node_t* source =
      leat_graph_node(m->graph, leat_rewrite_root(m)->inputs[index].node);
  return source->control_count ? NULL : leat_node_constant(source);
}

// Resolves what the root selects; false where that is not known, or is no box of the input's rank.
static bool find_box(const leat_rewrite_match_t* m, leat_selection_t* out_selection) {
  const leat_node_t* root = leat_rewrite_root(m);
  const leat_partial_shape_t input = leat_graph_output_shape(m->graph, root->inputs[0]);
  leat_selection_items_t items;
  if (!leat_partial_shape_is_full(input)) return false;
  for (int k = 1; k <= 3; ++k) {
    const leat_tensor_t* constant = free_constant(m, k);
    int64_t* numbers = k == 1 ? items.begin : k == 2 ? items.end : items.strides;
    // An index of 16 bits is allowed too, and left alone.
    if (!constant || constant->shape.rank != 1 ||
        !leat_dtype_in(constant->dtype, LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(INT64)) ||
        constant->shape.element_count > LEAT_SELECTION_MAX_ITEMS ||
        (k > 1 && constant->shape.element_count != items.count)) {
      return false;
    }
    items.count = (int)constant->shape.element_count;
    for (int i = 0; i < items.count; ++i) numbers[i] = leat_tensor_index_at(constant, i);
  }
  leat_status_t status =
      leat_selection_make(&items, masks_of(root), input.rank, input.dims, out_selection);
  leat_status_free(status);
  if (status || out_selection->result_rank != input.rank) return false;
  for (int d = 0; d < input.rank; ++d) {
    if (out_selection->source[d] != d || out_selection->strides[d] != 1) return false;
  }
  return true;
}

static bool is_box(const leat_rewrite_match_t* m) {
  leat_selection_t selection;
  return find_box(m, &selection);
}

static leat_status_t make_slice(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_output_t input = leat_rewrite_root(m)->inputs[0];
  const leat_attr_t attrs[] = {LEAT_TYPE("T", leat_rewrite_root(m)->output_types[0]),
                               LEAT_TYPE("Index", LEAT_DTYPE_INT64)};
  leat_selection_t selection;
  leat_output_t begin, size;
  const bool found = find_box(m, &selection);
  LEAT_DCHECK(found);
  if (!found) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_rewrite_add_vector(m, selection.begin, selection.rank, &begin));
  LEAT_RETURN_IF_ERROR(leat_rewrite_add_vector(m, selection.sizes, selection.rank, &size));
  const leat_output_t inputs[] = {input, begin, size};
  leat_node_spec_t spec = {.inputs = inputs, .input_count = 3, .attrs = attrs, .attr_count = 2};
  return m->add(m, "Slice", &spec, out_by);
}

const leat_rewrite_rule_t leat_strided_slice_rules[] = {
    {.name = "box_of_slice",
     .root = "StridedSlice",
     .normalizes = true,
     .applies = is_box,
     .make = make_slice,
     .doc = "a selection of steps 1 that keeps all dimensions is a Slice"},
    LEAT_REWRITE_RULES_END,
};
