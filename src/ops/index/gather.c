// The ops Gather and GatherV2: their shapes, values, gradients and registration. They take slices
// of params by number along an axis; GatherV2 does so for each index of |batch_dims| leading
// dimensions that params and indices share.
//
//   params [batch..., outer..., n, inner...], indices [batch..., taken...], axis = batch + outer
//     -> [batch..., outer..., taken..., inner...]
//
// Along axis 0 the gradient of params is a gradient of rows (TensorFlow's IndexedSlices): the
// indices and dC/dy, without the rows that were not taken. Otherwise it is dense: the axis of dC/dy
// is moved to directly behind the batch dimensions, UnsortedSegmentSum adds the slices up by index,
// and the axis is moved back.
#include "ops/index/gather.h"

#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

static leat_status_t gather_shape(leat_inference_t* c) {
  leat_partial_shape_t params = leat_inference_input(c, 0), rest, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, params, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, params, 1, INT32_MAX, &rest));
  LEAT_RETURN_IF_ERROR(
      leat_inference_concatenate(c, leat_inference_input(c, 1), rest, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Where the axis is unknown only the rank of the output may be known.
static leat_status_t shape_of_unknown_axis(leat_inference_t* c, leat_partial_shape_t params,
                                           leat_partial_shape_t indices) {
  int64_t batch_dims = leat_node_attr_int(c->node, "batch_dims", 0);
  if (params.rank < 0 || indices.rank < 0) return leat_ok_status();
  if (batch_dims < -LEAT_SHAPE_MAX_RANK || batch_dims > LEAT_SHAPE_MAX_RANK) {
    return leat_ok_status();  // the kernel reports it
  }
  if (batch_dims < 0) batch_dims += indices.rank;
  int64_t rank = params.rank + indices.rank - 1 - batch_dims;
  leat_partial_shape_t shape;
  if (rank < 0 || rank > LEAT_SHAPE_MAX_RANK) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, (int)rank, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Clamps |value| to a little more than any rank, so that it fits an int and is still out of range.
static int clamp_rank(int64_t value) {
  int64_t most = LEAT_SHAPE_MAX_RANK + 1;
  return (int)(value > most ? most : value < -most ? -most : value);
}

// Sets the output's shape for a known axis: the dimensions of params before the axis, those of the
// indices behind the batch, and those of params behind the axis.
static leat_status_t shape_of_axis(leat_inference_t* c, leat_partial_shape_t params,
                                   leat_partial_shape_t indices, int axis) {
  leat_partial_shape_t before, among, after, shape;
  int batch_dims = clamp_rank(leat_node_attr_int(c->node, "batch_dims", 0));
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank_at_least(c, params, axis < 0 ? -axis : axis + 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(
      c, indices, batch_dims < 0 ? -batch_dims : batch_dims));
  if (batch_dims < 0) batch_dims += indices.rank;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, params, batch_dims + 1));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, params, 0, axis, &before));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, indices, batch_dims, INT32_MAX, &among));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, before, among, &shape));
  if (axis != -1) {
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, params, axis + 1, INT32_MAX, &after));
    LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, shape, after, &shape));
  }
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t gather_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t params = leat_inference_input(c, 0), indices = leat_inference_input(c, 1);
  leat_partial_shape_t scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, params, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 0, &scalar));
  bool is_known;
  int64_t axis = 0;
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, 2, &is_known, &axis));
  if (!is_known) return shape_of_unknown_axis(c, params, indices);
  return shape_of_axis(c, params, indices, clamp_rank(axis));
}

#define MAX_VALUE_ITEMS 256

// Takes items of a vector of integers, where items that are unknown stay so.
static leat_status_t gather_value(leat_inference_t* c) {
  leat_partial_value_t params, indices;
  bool is_known;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &params));
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, 1, &is_known, &indices));
  if (params.rank != 1 || !is_known || indices.count > MAX_VALUE_ITEMS) return leat_ok_status();
  if (leat_node_attr_int(c->node, "batch_dims", 0) != 0) return leat_ok_status();
  int64_t items[MAX_VALUE_ITEMS];
  for (int i = 0; i < indices.count; ++i) {
    int64_t at = indices.items[i];
    if (at < 0 || at >= params.count) return leat_ok_status();
    items[i] = params.items[at];
  }
  if (indices.rank == 0 && items[0] == LEAT_VALUE_UNKNOWN) return leat_ok_status();
  return leat_inference_set_output_value(c, 0, indices.rank, indices.count, items);
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_output_t vector_of(leat_builder_t* b, int32_t item) {
  return leat_build_int32_vector(b, &item, 1);
}
static leat_output_t scalar_of(leat_builder_t* b, int32_t value) {
  return leat_build_scalar(b, LEAT_DTYPE_INT32, value);
}
static leat_output_t as_vector(leat_builder_t* b, leat_output_t scalar) {
  return leat_build_binary(b, "ExpandDims", scalar, scalar_of(b, 0));
}
// head() builds the first |count| items of |vector|, tail() those from |begin| on. |count| and
// |begin| are scalars.
static leat_output_t head(leat_builder_t* b, leat_output_t vector, leat_output_t count) {
  return leat_build(b, "Slice", LEAT_INPUTS(vector, vector_of(b, 0), as_vector(b, count)),
                    LEAT_NO_ATTRS);
}
static leat_output_t tail(leat_builder_t* b, leat_output_t vector, leat_output_t begin) {
  return leat_build(b, "Slice", LEAT_INPUTS(vector, as_vector(b, begin), vector_of(b, -1)),
                    LEAT_NO_ATTRS);
}
static leat_output_t range(leat_builder_t* b, leat_output_t begin, leat_output_t end) {
  return leat_build(b, "Range", LEAT_INPUTS(begin, end, scalar_of(b, 1)), LEAT_NO_ATTRS);
}
static leat_output_t join(leat_builder_t* b, leat_outputs_t vectors) {
  leat_output_t inputs[8];
  for (int i = 0; i < vectors.count; ++i) inputs[i] = vectors.items[i];
  inputs[vectors.count] = scalar_of(b, 0);
  return leat_build(b, "ConcatV2", (leat_outputs_t){inputs, vectors.count + 1}, LEAT_NO_ATTRS);
}

// Sets a gradient of rows: the rows of params that were taken get the rows of dC/dy.
static void set_rows(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, 0));
  leat_output_t indices = leat_gradient_input(g, 1);
  leat_output_t size = as_vector(b, leat_build_unary(b, "Size", indices));
  leat_output_t values_shape = join(b, LEAT_INPUTS(size, tail(b, shape, scalar_of(b, 1))));
  leat_output_t values =
      leat_build_binary(b, "Reshape", leat_gradient_of_output(g, 0), values_shape);
  leat_gradient_set_input_rows(g, 0, values, leat_build_binary(b, "Reshape", indices, size),
                               shape);
}

static leat_status_t gather_gradient(leat_gradient_t* g) {
  set_rows(g);
  return leat_ok_status();
}

// What the functions of the dense gradient share.
typedef struct along_axis_s {
  leat_builder_t* b;
  int32_t batch_dims;
  leat_output_t axis;        // int32 scalar, not negative
  leat_output_t shape;       // the shape of params
  leat_output_t row_count;   // the size of params along the axis
  leat_output_t indices;
} along_axis_t;

// Builds the sum of |values| [batch..., taken, rest...] by index, [batch..., row_count, rest...].
// With batch dimensions the rows of all batches are numbered in one sequence: row i of batch b is b
// * row_count + i.
static leat_output_t sum_rows(const along_axis_t* a, leat_output_t values) {
  leat_builder_t* b = a->b;
  leat_output_t minus_one = vector_of(b, -1), batch_dims = scalar_of(b, a->batch_dims);
  if (a->batch_dims == 0) {
    leat_output_t flat = leat_build_binary(b, "Reshape", a->indices, minus_one);
    return leat_build(b, "UnsortedSegmentSum", LEAT_INPUTS(values, flat, a->row_count),
                      LEAT_NO_ATTRS);
  }
  leat_output_t values_shape = leat_build_shape_of(b, values);
  leat_output_t outer = head(b, values_shape, batch_dims);
  leat_output_t inner = tail(b, values_shape, scalar_of(b, a->batch_dims + 1));
  leat_output_t batch = leat_build_binary(b, "Prod", outer, vector_of(b, 0));
  leat_output_t firsts = leat_build_binary(
      b, "Mul", range(b, scalar_of(b, 0), batch), a->row_count);
  int dtype = leat_build_type_of(b, a->indices);
  if (dtype != LEAT_DTYPE_INT32) {
    firsts = leat_build(b, "Cast", LEAT_INPUTS(firsts), LEAT_ATTRS(LEAT_TYPE("DstT", dtype)));
  }
  leat_output_t column = join(b, LEAT_INPUTS(as_vector(b, batch), vector_of(b, 1)));
  leat_output_t matrix = join(b, LEAT_INPUTS(as_vector(b, batch), minus_one));
  leat_output_t numbered =
      leat_build_binary(b, "AddV2", leat_build_binary(b, "Reshape", a->indices, matrix),
                        leat_build_binary(b, "Reshape", firsts, column));
  leat_output_t flat_shape = join(b, LEAT_INPUTS(minus_one, inner));
  leat_output_t sum = leat_build(
      b, "UnsortedSegmentSum",
      LEAT_INPUTS(leat_build_binary(b, "Reshape", values, flat_shape),
                  leat_build_binary(b, "Reshape", numbered, minus_one),
                  leat_build_binary(b, "Mul", batch, a->row_count)),
      LEAT_NO_ATTRS);
  return leat_build_binary(b, "Reshape", sum, join(b, LEAT_INPUTS(outer, flat_shape)));
}

// The axis is moved to directly behind the batch dimensions, and back after the sum.
static leat_output_t gradient_along_axis(const along_axis_t* a, leat_output_t gradient) {
  leat_builder_t* b = a->b;
  leat_output_t zero = scalar_of(b, 0), one = scalar_of(b, 1);
  leat_output_t batch_dims = scalar_of(b, a->batch_dims);
  leat_output_t next = leat_build_binary(b, "AddV2", a->axis, one);
  leat_output_t rank = leat_build_unary(b, "Size", a->shape);
  leat_output_t values_shape = join(
      b, LEAT_INPUTS(head(b, a->shape, a->axis), vector_of(b, -1), tail(b, a->shape, next)));
  leat_output_t values = leat_build_binary(b, "Reshape", gradient, values_shape);
  leat_output_t batch_axes = range(b, zero, batch_dims);
  leat_output_t middle_axes = range(b, batch_dims, a->axis);
  leat_output_t rest_axes = range(b, next, rank);
  leat_output_t forth =
      join(b, LEAT_INPUTS(batch_axes, as_vector(b, a->axis), middle_axes, rest_axes));
  leat_output_t back =
      join(b, LEAT_INPUTS(batch_axes, leat_build_binary(b, "AddV2", middle_axes, one),
                          as_vector(b, batch_dims), rest_axes));
  leat_output_t sum = sum_rows(a, leat_build_binary(b, "Transpose", values, forth));
  leat_output_t params = leat_build_binary(b, "Transpose", sum, back);
  return leat_build_binary(b, "Reshape", params, a->shape);
}

leat_output_t leat_gather_dense_gradient(leat_builder_t* b, leat_output_t gradient,
                                         leat_output_t shape, leat_output_t indices,
                                         leat_output_t axis, int32_t batch_dims) {
  along_axis_t a = {
      .b = b, .batch_dims = batch_dims, .axis = axis, .shape = shape, .indices = indices};
  a.row_count =
      leat_build(b, "GatherV2", LEAT_INPUTS(shape, axis, scalar_of(b, 0)), LEAT_NO_ATTRS);
  return gradient_along_axis(&a, gradient);
}

// Makes |batch_dims| non-negative, for which the rank of the indices may be needed.
static leat_status_t resolve_batch_dims(leat_gradient_t* g, int32_t* out_batch_dims) {
  int64_t batch_dims = leat_node_attr_int(leat_gradient_node(g), "batch_dims", 0);
  int rank = leat_graph_output_shape(g->builder.graph, leat_gradient_input(g, 1)).rank;
  if (batch_dims < 0 && rank < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Gradient of GatherV2 with batch_dims %lld needs the rank of indices",
                            (long long)batch_dims);
  }
  if (rank >= 0 && (batch_dims > rank || batch_dims < -rank)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Gradient of GatherV2 failed: batch_dims is %lld, must be in [-%d, %d]",
                            (long long)batch_dims, rank, rank);
  }
  *out_batch_dims = (int32_t)(batch_dims < 0 ? batch_dims + rank : batch_dims);
  return leat_ok_status();
}

// An axis that is known to be 0 has a gradient of rows. A negative axis counts from the end, and is
// made a positive one by the remainder modulo the rank.
static leat_status_t gather_v2_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t axis = leat_gradient_input(g, 2);
  leat_partial_value_t value;
  int32_t batch_dims;
  LEAT_RETURN_IF_ERROR(resolve_batch_dims(g, &batch_dims));
  LEAT_RETURN_IF_ERROR(leat_inference_value_of(b->graph, axis, 0, &value));
  if (value.rank == 0 && value.items[0] == 0) return gather_gradient(g);
  leat_output_t params = leat_gradient_input(g, 0);
  leat_output_t shape = leat_build_shape_of(b, params);
  if (leat_build_type_of(b, axis) == LEAT_DTYPE_INT64) {
    axis = leat_build(b, "Cast", LEAT_INPUTS(axis),
                      LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT32)));
  }
  if (value.rank == 0 && value.items[0] > 0) {
    axis = scalar_of(b, (int32_t)value.items[0]);
  } else {
    axis = leat_build_binary(b, "FloorMod", axis, leat_build_unary(b, "Rank", params));
  }
  leat_gradient_set_input(
      g, 0, leat_gather_dense_gradient(b, leat_gradient_of_output(g, 0), shape,
                                       leat_gradient_input(g, 1), axis, batch_dims));
  return leat_ok_status();
}

const leat_op_row_t leat_gather_ops[] = {
    {.name = "Gather",
     .inputs = "params: Tparams; indices: Tindices",
     .outputs = "output: Tparams",
     .attrs = "validate_indices: bool = true; Tparams: type; Tindices: {int32, int64}",
     .shape = gather_shape,
     .value = gather_value,
     .gradient = gather_gradient,
     .doc = "Rows of params, by number."},
    {.name = "GatherV2",
     .inputs = "params: Tparams; indices: Tindices; axis: Taxis",
     .outputs = "output: Tparams",
     .attrs = "batch_dims: int = 0; Tparams: type; Tindices: {int16, int32, int64}; Taxis: "
              "{int32, int64}",
     .shape = gather_v2_shape,
     .value = gather_value,
     .gradient = gather_v2_gradient,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(2)),
     .doc = "Slices of params along the axis, by number; batch_dims dimensions go in step."},
    LEAT_OP_ROWS_END,
};
