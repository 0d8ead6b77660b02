// The ops Tile and BroadcastTo: their shapes, values, gradients and registration.
//
//   Tile         x [n_0, ...], multiples [m_0, ...] -> [m_0 n_0, ...]
//   BroadcastTo  x, shape -> [shape], as NumPy broadcasts x
//
// The gradient sums dC/dy over the copies. For Tile dC/dy is seen as [m_0, n_0, m_1, n_1, ...] and
// summed over the even axes; for BroadcastTo the axes are those that BroadcastGradientArgs finds.
// Small vectors of known integers are repeated by the value function, since programs build shapes
// so.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

static leat_status_t tile_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), multiples, vector;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 1, &multiples));
  if (input.rank >= 0) {
    int64_t rank = input.rank;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, multiples, input.rank, &multiples));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, leat_inference_input(c, 1),
                                              (leat_partial_shape_t){1, &rank}, &vector));
  }
  if (multiples.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, input, multiples.rank, &input));
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < multiples.rank; ++d) {
    LEAT_RETURN_IF_ERROR(leat_inference_multiply(input.dims[d], multiples.dims[d], &dims[d]));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, multiples.rank, dims, &vector));
  leat_inference_set_output(c, 0, vector);
  return leat_ok_status();
}

static leat_status_t broadcast_to_shape(leat_inference_t* c) {
  leat_partial_shape_t in = leat_inference_input(c, 0), out, unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 1, &out));
  if (out.rank >= 0 && in.rank >= 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, in, out.rank));
    int64_t dims[LEAT_SHAPE_MAX_RANK];
    for (int d = 0; d < out.rank; ++d) {
      int at = d - (out.rank - in.rank);
      dims[d] = out.dims[d];
      if (at < 0 || in.dims[at] <= 1) continue;
      LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(in.dims[at], out.dims[d], &dims[d]));
    }
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, out.rank, dims, &out));
  }
  leat_inference_set_output(c, 0, out);
  return leat_ok_status();
}

#define MAX_VALUE_ITEMS 256

// Repeats a scalar or vector of known integers to the output's size, where that is a small vector.
static leat_status_t repeated_value(leat_inference_t* c) {
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &value));
  leat_partial_shape_t shape = c->outputs[0];
  if (value.rank < 0 || value.count == 0 || shape.rank != 1) return leat_ok_status();
  int64_t count = shape.dims[0], items[MAX_VALUE_ITEMS];
  if (count < 0 || count > MAX_VALUE_ITEMS || count % value.count != 0) return leat_ok_status();
  for (int64_t i = 0; i < count; ++i) items[i] = value.items[i % value.count];
  return leat_inference_set_output_value(c, 0, 1, (int)count, items);
}

// Builds the numbers 0, 2, ... of the even axes of what has the shape |pairs|, twice as many as |x|
// has: a constant where these are known, from which inference finds the rank of the sum.
static leat_output_t even_axes(leat_builder_t* b, leat_output_t x, leat_output_t pairs) {
  int32_t axes[LEAT_SHAPE_MAX_RANK];
  const int rank = b->status ? -1 : leat_graph_output_shape(b->graph, x).rank;
  for (int i = 0; i < rank; ++i) axes[i] = 2 * i;
  if (rank >= 0) return leat_build_int32_vector(b, axes, rank);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t two = leat_build_scalar(b, LEAT_DTYPE_INT32, 2);
  return leat_build(b, "Range", LEAT_INPUTS(zero, leat_build_unary(b, "Size", pairs), two),
                    LEAT_NO_ATTRS);
}

// Sees the gradient as [multiple, size, multiple, size, ...] and sums it over the multiples, which
// are the even axes.
static leat_status_t tile_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t input = leat_gradient_input(g, 0), multiples = leat_gradient_input(g, 1);
  leat_output_t shape =
      leat_build(b, "Shape", LEAT_INPUTS(input),
                 LEAT_ATTRS(LEAT_TYPE("out_type", leat_build_type_of(b, multiples))));
  leat_output_t pairs =
      leat_build(b, "Pack", LEAT_INPUTS(multiples, shape), LEAT_ATTRS(LEAT_INT("axis", 1)));
  leat_output_t flat = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t split = leat_build_binary(b, "Reshape", pairs, flat);
  leat_output_t copies = leat_build_binary(b, "Reshape", leat_gradient_of_output(g, 0), split);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Sum", copies, even_axes(b, input, split)));
  return leat_ok_status();
}

static leat_status_t broadcast_to_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t shape = leat_gradient_input(g, 1);
  leat_output_t input_shape =
      leat_build(b, "Shape", LEAT_INPUTS(leat_gradient_input(g, 0)),
                 LEAT_ATTRS(LEAT_TYPE("out_type", leat_build_type_of(b, shape))));
  int32_t axes = leat_build_node(b, "BroadcastGradientArgs", LEAT_INPUTS(shape, input_shape),
                                 LEAT_NO_ATTRS);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_output_t sum = leat_build(b, "Sum", LEAT_INPUTS(gradient, leat_node_output(axes, 1)),
                                 LEAT_ATTRS(LEAT_BOOL("keep_dims", true)));
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Reshape", sum, input_shape));
  return leat_ok_status();
}

const leat_op_row_t leat_tile_ops[] = {
    {.name = "Tile",
     .inputs = "input: T; multiples: Tmultiples",
     .outputs = "output: T",
     .attrs = "T: type; Tmultiples: {int32, int64} = int32",
     .shape = tile_shape,
     .value = repeated_value,
     .gradient = tile_gradient,
     .identities = LEAT_IDENTITY_SAME_SHAPE | LEAT_IDENTITY_NO_NEGATIVES,
     .flags = LEAT_OP_CHEAP,
     .doc = "The input repeated multiples[i] times along dimension i."},
    {.name = "TileGrad",
     .inputs = "input: T; multiples: int32",
     .outputs = "output: T",
     .attrs = "T: type",
     .shape = leat_shape_unknown,
     .deprecated_since = 3,
     .deprecation = "TileGrad has been replaced with reduce_sum",
     .doc = "The sum of the tiles of the input."},
    {.name = "BroadcastTo",
     .inputs = "input: T; shape: Tidx",
     .outputs = "output: T",
     .attrs = "T: type; Tidx: {int32, int64} = int32",
     .shape = broadcast_to_shape,
     .value = repeated_value,
     .gradient = broadcast_to_gradient,
     .identities = LEAT_IDENTITY_SAME_SHAPE | LEAT_IDENTITY_NO_NEGATIVES,
     .flags = LEAT_OP_CHEAP,
     .doc = "The input repeated along new dimensions and those of size 1, to the shape."},
    LEAT_OP_ROWS_END,
};
