// The ops Unique, UniqueV2, their variants with counts, and ListDiff: their shapes and
// registration.
//
//   Unique    x [n] -> y [?], idx [n]           UniqueV2 does so with slices along an axis
//   ListDiff  x [n], y [m] -> out [?], idx [?]
//
// How many different elements there are depends on the values, so that most sizes are unknown while
// the graph is built. Only idx of the Unique ops has a known size, that of the axis. UniqueV2 takes
// the axis as a vector of at most one number; without one x must be a vector. No op has a gradient.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

static leat_status_t unknown_vector(leat_inference_t* c, leat_partial_shape_t* out_shape) {
  int64_t unknown = LEAT_DIM_UNKNOWN;
  return leat_inference_make(c, 1, &unknown, out_shape);
}

// Sets the shapes of y, idx and, where the op has it, count.
static leat_status_t unique_shape(leat_inference_t* c) {
  leat_partial_shape_t vector, unused;
  LEAT_RETURN_IF_ERROR(unknown_vector(c, &vector));
  leat_inference_set_output(c, 0, vector);
  leat_inference_set_output(c, 1, leat_inference_input(c, 0));
  leat_inference_set_output(c, 2, vector);
  if (c->node->output_count > 2) return leat_ok_status();
  return leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &unused);
}

// Infers the shape of output idx, a vector as long as the axis.
static leat_status_t index_shape(leat_inference_t* c, leat_partial_shape_t* out_shape) {
  leat_partial_shape_t input = leat_inference_input(c, 0), axis = leat_inference_input(c, 1);
  bool is_known;
  leat_partial_value_t axes;
  LEAT_RETURN_IF_ERROR(unknown_vector(c, out_shape));
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, 1, &is_known, &axes));
  if (!is_known || input.rank < 0) return leat_ok_status();
  if (axis.rank != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "axis expects a 1D vector.");
  }
  if (axes.count == 0) {
    if (input.rank != 1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "x expects a 1D vector.");
    }
    *out_shape = input;
    return leat_ok_status();
  }
  if (axes.count > 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "axis does not support input tensors larger than 1 elements.");
  }
  int64_t at = axes.items[0];
  if (!leat_axis_resolve(&at, input.rank)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "axis expects to be in the range [%d, %d)",
                            -input.rank, input.rank);
  }
  return leat_inference_make(c, 1, &input.dims[at], out_shape);
}

static leat_status_t unique_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), shape = leat_partial_shape_unknown();
  if (input.rank >= 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, input.rank, &shape));
  }
  leat_inference_set_output(c, 0, shape);
  LEAT_RETURN_IF_ERROR(index_shape(c, &shape));
  leat_inference_set_output(c, 1, shape);
  LEAT_RETURN_IF_ERROR(unknown_vector(c, &shape));
  leat_inference_set_output(c, 2, shape);
  return leat_ok_status();
}

static leat_status_t list_diff_shape(leat_inference_t* c) {
  leat_partial_shape_t vector;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &vector));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &vector));
  LEAT_RETURN_IF_ERROR(unknown_vector(c, &vector));
  leat_inference_set_output(c, 0, vector);
  leat_inference_set_output(c, 1, vector);
  return leat_ok_status();
}

const leat_op_row_t leat_unique_ops[] = {
    {.name = "Unique",
     .inputs = "x: T",
     .outputs = "y: T; idx: out_idx",
     .attrs = "T: type; out_idx: {int32, int64} = int32",
     .shape = unique_shape,
     .doc = "The different elements as they first appear, and each element's number there."},
    {.name = "UniqueV2",
     .inputs = "x: T; axis: Taxis",
     .outputs = "y: T; idx: out_idx",
     .attrs = "T: type; Taxis: {int32, int64} = int64; out_idx: {int32, int64} = int32",
     .shape = unique_v2_shape,
     .doc = "The different slices along the axis, and each slice's number among them."},
    {.name = "UniqueWithCounts",
     .inputs = "x: T",
     .outputs = "y: T; idx: out_idx; count: out_idx",
     .attrs = "T: type; out_idx: {int32, int64} = int32",
     .shape = unique_shape,
     .doc = "As Unique, and how often each element appears."},
    {.name = "UniqueWithCountsV2",
     .inputs = "x: T; axis: Taxis",
     .outputs = "y: T; idx: out_idx; count: out_idx",
     .attrs = "T: type; Taxis: {int32, int64} = int64; out_idx: {int32, int64} = int32",
     .shape = unique_v2_shape,
     .doc = "As UniqueV2, and how often each slice appears."},
    {.name = "ListDiff",
     .inputs = "x: T; y: T",
     .outputs = "out: T; idx: out_idx",
     .attrs = "T: type; out_idx: {int32, int64} = int32",
     .shape = list_diff_shape,
     .doc = "The elements of x that are not in y, and where in x they are."},
    LEAT_OP_ROWS_END,
};
