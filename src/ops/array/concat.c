// The ops Concat, ConcatV2 and ConcatOffset: their shapes, values, gradients and registration.
// Concat and ConcatV2 join tensors along an axis; they differ in the order of the inputs only,
// which layout_t hides from the rest of the file.
//
//   values N x [..., d_i, ...], axis -> [..., d_0 + ... + d_(N-1), ...]
//
// QuantizedConcat joins quantised values; its kernel is in ops/quantize/quantized_concat_cpu.c.
// ConcatOffset computes from the shapes of the values where each begins in the whole.
//
// The gradient cuts dC/d(output) apart again. A dense gradient is cut by Slices at the offsets that
// ConcatOffset computes, or by one SplitV where there are many values. A gradient of rows (indices
// and values, TensorFlow's IndexedSlices) stays one where the axis is known: along axis 0 each
// value takes the rows that fall into it, along another axis each takes its columns of all rows. A
// graph where the axis is known only when it runs gets the dense form, which needs nothing else.
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// Inputs [first, first + count) are the values, and input |axis_input| is the axis.
typedef struct layout_s {
  int first, count, axis_input;
} layout_t;

static layout_t layout_of(const leat_node_t* node) {
  bool axis_first = leat_string_view_equals(node->op->inputs[0].name, "concat_dim");
  int count = (int)leat_node_attr_int(node, "N", 0);
  return (layout_t){axis_first, count, axis_first ? 0 : count};
}

// ---- Shapes -------------------------------------------------------------------------------------

// Where the axis is unknown, the output has the rank of the values and unknown sizes.
static leat_status_t shape_of_unknown_axis(leat_inference_t* c, layout_t l) {
  leat_partial_shape_t shape = leat_partial_shape_unknown(), unused;
  for (int i = 0; i < l.count && shape.rank < 0; ++i) shape = leat_inference_input(c, l.first + i);
  if (shape.rank < 0) return leat_ok_status();
  if (shape.rank == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Can't concatenate scalars (use tf.stack instead)");
  }
  for (int i = 0; i < l.count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, l.first + i),
                                                  shape.rank, &unused));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, shape.rank, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// The shape of one value, cut into the dimensions before the axis, the axis, and those after.
typedef struct around_s {
  leat_partial_shape_t before, after;
  int64_t middle;
} around_t;

// Cuts |shape| at |axis|, which may be negative. Fails when the rank is too low.
static leat_status_t look_around(leat_inference_t* c, leat_partial_shape_t shape, int64_t axis,
                                 around_t* a) {
  int64_t least = axis < 0 ? -axis : axis + 1;
  if (least > LEAT_SHAPE_MAX_RANK) least = LEAT_SHAPE_MAX_RANK + 1;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, shape, (int)least));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, shape, 0, (int)axis, &a->before));
  a->middle = shape.rank < 0 ? LEAT_DIM_UNKNOWN : leat_partial_shape_dim(shape, (int)axis);
  a->after = leat_partial_shape_scalar();
  if (axis == -1) return leat_ok_status();
  return leat_inference_subshape(c, shape, (int)axis + 1, INT32_MAX, &a->after);
}

static leat_status_t concat_shape(leat_inference_t* c) {
  layout_t l = layout_of(c->node);
  leat_partial_shape_t shape;
  bool is_known;
  int64_t axis = 0;
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank(c, leat_inference_input(c, l.axis_input), 0, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, l.axis_input, &is_known, &axis));
  if (!is_known) return shape_of_unknown_axis(c, l);
  if (axis < -LEAT_SHAPE_MAX_RANK || axis >= LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Concatenation axis %lld is out of range",
                            (long long)axis);
  }
  around_t sum, one;
  LEAT_RETURN_IF_ERROR(
      look_around(c, leat_inference_input(c, l.first + l.count - 1), axis, &sum));
  for (int i = l.count - 2; i >= 0; --i) {
    LEAT_RETURN_IF_ERROR(look_around(c, leat_inference_input(c, l.first + i), axis, &one));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, one.before, sum.before, &sum.before));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, one.after, sum.after, &sum.after));
    if (one.middle == LEAT_DIM_UNKNOWN) sum.middle = LEAT_DIM_UNKNOWN;
    LEAT_RETURN_IF_ERROR(leat_inference_add(sum.middle, one.middle, &sum.middle));
  }
  leat_partial_shape_t middle = {1, &sum.middle};
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, sum.before, middle, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, shape, sum.after, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Behind the values come the ends of their ranges.
static leat_status_t quantized_concat_shape(leat_inference_t* c) {
  layout_t l = layout_of(c->node);
  LEAT_RETURN_IF_ERROR(concat_shape(c));
  for (int i = 1 + l.count; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  }
  leat_inference_set_output(c, 1, leat_partial_shape_scalar());
  leat_inference_set_output(c, 2, leat_partial_shape_scalar());
  return leat_ok_status();
}

static leat_status_t concat_offset_shape(leat_inference_t* c) {
  for (int i = 1; i < leat_inference_input_count(c); ++i) {
    leat_inference_set_output(c, i - 1, leat_inference_input(c, i));
  }
  return leat_ok_status();
}

#define MAX_VALUE_ITEMS 512

// Joins vectors of integers, with the items that are unknown marked as such, so that shapes which a
// program joins of pieces can be inferred.
static leat_status_t concat_value(leat_inference_t* c) {
  layout_t l = layout_of(c->node);
  int64_t items[MAX_VALUE_ITEMS];
  int count = 0;
  for (int i = 0; i < l.count; ++i) {
    leat_partial_shape_t shape = leat_inference_input(c, l.first + i);
    leat_partial_value_t value;
    LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, l.first + i, &value));
    int64_t size = shape.rank == 1 ? shape.dims[0] : -1;
    if (value.rank == 1) size = value.count;
    if (size < 0 || count + size > MAX_VALUE_ITEMS) return leat_ok_status();
    for (int64_t k = 0; k < size; ++k) {
      items[count++] = value.rank == 1 ? value.items[k] : LEAT_VALUE_UNKNOWN;
    }
  }
  return leat_inference_set_output_value(c, 0, 1, count, items);
}

// ---- The gradient -------------------------------------------------------------------------------

// With more values than this the gradient is cut by one SplitV instead of a Slice for each.
#define MAX_SLICED 16

// What the gradient functions below share.
typedef struct way_back_s {
  leat_gradient_t* g;
  leat_builder_t* b;
  layout_t layout;
  leat_output_t axis;     // an int32 scalar that is not negative
  int64_t known_axis;     // >= 0, or negative where it is not known while the graph is built
  const leat_output_t* values;
  int32_t shapes;         // a ShapeN node, whose output i is the shape of value i
} way_back_t;

// Sets |axis| and |known_axis|. An axis that is not constant, or is negative where the rank is
// unknown, is made non-negative by nodes of the graph.
static leat_status_t find_axis(way_back_t* w) {
  leat_graph_t* graph = w->b->graph;
  leat_output_t axis = leat_gradient_input(w->g, w->layout.axis_input);
  int rank = leat_graph_output_shape(graph, w->values[0]).rank;
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_value_of(graph, axis, 0, &value));
  w->known_axis = value.rank >= 0 && value.count == 1 ? value.items[0] : -1;
  if (w->known_axis < 0 && w->known_axis != LEAT_VALUE_UNKNOWN && rank >= 0 && value.rank >= 0) {
    w->known_axis += rank;
  }
  if (w->known_axis >= 0) {
    w->axis = leat_build_scalar(w->b, LEAT_DTYPE_INT32, (double)w->known_axis);
    return leat_ok_status();
  }
  if (leat_build_type_of(w->b, axis) == LEAT_DTYPE_INT64) {
    axis = leat_build(w->b, "Cast", LEAT_INPUTS(axis),
                      LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT32)));
  }
  w->axis =
      leat_build_binary(w->b, "FloorMod", axis, leat_build_unary(w->b, "Rank", w->values[0]));
  return leat_ok_status();
}

static void set_value_gradient(way_back_t* w, int index, leat_output_t gradient) {
  leat_gradient_set_input(w->g, w->layout.first + index, gradient);
}

// Builds a Slice of the dense gradient for each value.
static leat_status_t slice_dense(way_back_t* w, leat_output_t gradient) {
  int count = w->layout.count;
  leat_output_t inputs[MAX_SLICED + 1] = {w->axis};
  for (int i = 0; i < count; ++i) inputs[i + 1] = leat_node_output(w->shapes, i);
  int32_t offsets =
      leat_build_node(w->b, "ConcatOffset", (leat_outputs_t){inputs, count + 1}, LEAT_NO_ATTRS);
  for (int i = 0; i < count; ++i) {
    set_value_gradient(w, i,
                       leat_build(w->b, "Slice",
                                  LEAT_INPUTS(gradient, leat_node_output(offsets, i),
                                              leat_node_output(w->shapes, i)),
                                  LEAT_NO_ATTRS));
  }
  return leat_ok_status();
}

// Builds one SplitV of the dense gradient. The sizes that it needs are row |axis| of the matrix
// whose columns are the shapes of the values.
static leat_status_t split_dense(way_back_t* w, leat_output_t gradient) {
  leat_builder_t* b = w->b;
  int count = w->layout.count;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(b->graph), (size_t)count,
                                                 sizeof(leat_output_t), &memory));
  leat_output_t* shapes = memory;
  for (int i = 0; i < count; ++i) shapes[i] = leat_node_output(w->shapes, i);
  leat_output_t table = leat_build(b, "Pack", (leat_outputs_t){shapes, count},
                                   LEAT_ATTRS(LEAT_INT("axis", 1)));
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t sizes =
      leat_build(b, "GatherV2", LEAT_INPUTS(table, w->axis, zero), LEAT_NO_ATTRS);
  int32_t pieces = leat_build_node(b, "SplitV", LEAT_INPUTS(gradient, sizes, w->axis),
                                   LEAT_ATTRS(LEAT_INT("num_split", count)));
  for (int i = 0; i < count; ++i) set_value_gradient(w, i, leat_node_output(pieces, i));
  return leat_ok_status();
}

// Builds a Slice of |values| from |begin| on, with all the rows and, in the other dimensions, the
// sizes that |shape| has.
static leat_output_t slice_columns(leat_builder_t* b, leat_output_t values, leat_output_t begin,
                                   leat_output_t shape) {
  leat_output_t one = leat_build_int32_vector(b, (const int32_t[]){1}, 1);
  leat_output_t rest = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t tail = leat_build(b, "Slice", LEAT_INPUTS(shape, one, rest), LEAT_NO_ATTRS);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t size = leat_build(b, "ConcatV2", LEAT_INPUTS(rest, tail, zero), LEAT_NO_ATTRS);
  return leat_build(b, "Slice", LEAT_INPUTS(values, begin, size), LEAT_NO_ATTRS);
}

// Cuts a gradient of rows where the axis is not 0: each value gets all the rows, and of them the
// columns that are its own part of the output. For more than MAX_SLICED values it is made dense.
static leat_status_t slice_rows(way_back_t* w, leat_gradient_value_t gradient) {
  leat_builder_t* b = w->b;
  int count = w->layout.count;
  leat_output_t inputs[MAX_SLICED + 1] = {w->axis};
  if (count > MAX_SLICED) return split_dense(w, leat_gradient_value_to_dense(b, gradient));
  for (int i = 0; i < count; ++i) inputs[i + 1] = leat_node_output(w->shapes, i);
  int32_t offsets =
      leat_build_node(b, "ConcatOffset", (leat_outputs_t){inputs, count + 1}, LEAT_NO_ATTRS);
  for (int i = 0; i < count; ++i) {
    leat_output_t shape = leat_node_output(w->shapes, i);
    leat_output_t values =
        slice_columns(b, gradient.dense, leat_node_output(offsets, i), shape);
    leat_gradient_set_input_rows(w->g, w->layout.first + i, values, gradient.indices, shape);
  }
  return leat_ok_status();
}

// Gives value |index| those rows of the gradient whose indices lie in [start, end), which are the
// rows of the output that came from it. Their indices are then counted from |start|.
static void select_rows(way_back_t* w, int index, leat_gradient_value_t gradient,
                        leat_output_t start, leat_output_t end) {
  leat_builder_t* b = w->b;
  leat_output_t from = leat_build_binary(b, "GreaterEqual", gradient.indices, start);
  leat_output_t below = leat_build_binary(b, "Less", gradient.indices, end);
  leat_output_t within = leat_build_binary(b, "LogicalAnd", from, below);
  leat_output_t where = leat_build_unary(b, "Where", within);
  leat_output_t flat = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t selected = leat_build_binary(b, "Reshape", where, flat);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t indices =
      leat_build(b, "GatherV2", LEAT_INPUTS(gradient.indices, selected, zero), LEAT_NO_ATTRS);
  leat_output_t values =
      leat_build(b, "GatherV2", LEAT_INPUTS(gradient.dense, selected, zero), LEAT_NO_ATTRS);
  leat_gradient_set_input_rows(w->g, w->layout.first + index, values,
                               leat_build_binary(b, "Sub", indices, start),
                               leat_node_output(w->shapes, index));
}

// Cuts a gradient of rows where the axis is 0: each row goes to one value.
static leat_status_t share_rows(way_back_t* w, leat_gradient_value_t gradient) {
  leat_builder_t* b = w->b;
  int dtype = leat_build_type_of(b, gradient.indices);
  leat_output_t start = leat_build_scalar(b, dtype, 0);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  for (int i = 0; i < w->layout.count; ++i) {
    leat_output_t size = leat_build(
        b, "GatherV2", LEAT_INPUTS(leat_node_output(w->shapes, i), w->axis, zero), LEAT_NO_ATTRS);
    if (dtype != LEAT_DTYPE_INT32) {
      size = leat_build(b, "Cast", LEAT_INPUTS(size), LEAT_ATTRS(LEAT_TYPE("DstT", dtype)));
    }
    leat_output_t end = leat_build_binary(b, "AddV2", start, size);
    select_rows(w, i, gradient, start, end);
    start = end;
  }
  return leat_ok_status();
}

static leat_status_t concat_gradient(leat_gradient_t* g) {
  way_back_t w = {.g = g, .b = &g->builder, .layout = layout_of(leat_gradient_node(g))};
  int count = w.layout.count;
  // The array of nodes may move while nodes are added to the graph, so that the inputs are copied
  // before.
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(w.b->graph), (size_t)count,
                                                 sizeof(leat_output_t), &memory));
  leat_output_t* values = memory;
  for (int i = 0; i < count; ++i) values[i] = leat_gradient_input(g, w.layout.first + i);
  w.values = values;
  LEAT_RETURN_IF_ERROR(find_axis(&w));
  w.shapes = leat_build_node(w.b, "ShapeN", (leat_outputs_t){values, count}, LEAT_NO_ATTRS);
  leat_gradient_value_t gradient = leat_gradient_value_of_output(g, 0);
  if (leat_output_exists(gradient.indices) && w.known_axis >= 0) {
    return w.known_axis == 0 ? share_rows(&w, gradient) : slice_rows(&w, gradient);
  }
  leat_output_t dense = leat_gradient_of_output(g, 0);
  return count <= MAX_SLICED ? slice_dense(&w, dense) : split_dense(&w, dense);
}

const leat_op_row_t leat_concat_ops[] = {
    {.name = "Concat",
     .inputs = "concat_dim: int32; values: N * T",
     .outputs = "output: T",
     .attrs = "N: int >= 2; T: type",
     .shape = concat_shape,
     .value = concat_value,
     .gradient = concat_gradient,
     .doc = "The values joined along dimension concat_dim."},
    {.name = "ConcatV2",
     .inputs = "values: N * T; axis: Tidx",
     .outputs = "output: T",
     .attrs = "N: int >= 2; T: type; Tidx: {int32, int64} = int32",
     .shape = concat_shape,
     .value = concat_value,
     .gradient = concat_gradient,
     .doc = "The values joined along the axis."},
    {.name = "QuantizedConcat",
     .inputs = "concat_dim: int32; values: N * T; input_mins: N * float; input_maxes: N * float",
     .outputs = "output: T; output_min: float; output_max: float",
     .attrs = "N: int >= 2; T: type",
     .shape = quantized_concat_shape,
     .doc = "Quantised values joined along dimension concat_dim, over a range that fits all."},
    {.name = "QuantizedConcatV2",
     .inputs = "values: N * T; axis: Tidx; input_mins: N * float; input_maxes: N * float",
     .outputs = "output: T; output_min: float; output_max: float",
     .attrs = "N: int >= 2; T: type; Tidx: {int32, int64} = int32",
     .shape = quantized_concat_shape,
     .doc = "Quantised values joined along the axis, over [0, end] or, if signed, [-end, end]."},
    {.name = "ConcatOffset",
     .inputs = "concat_dim: int32; shape: N * shape_type",
     .outputs = "offset: N * shape_type",
     .attrs = "N: int >= 2; shape_type: {int32, int64} = int32",
     .shape = concat_offset_shape,
     .gradient = leat_gradient_none,
     .doc = "Where each of the tensors of these shapes begins in their concatenation."},
    LEAT_OP_ROWS_END,
};
