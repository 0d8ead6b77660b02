// The ops DynamicPartition, DynamicStitch and ParallelDynamicStitch: their shapes, values,
// gradients and registration. stitch_cpu.c has the kernels. DynamicPartition deals slices out to
// several outputs by number, and DynamicStitch puts slices together again by position:
//
//   data      a b c d e      partitions 0 1 1 0 1   ->  output 0: a d     output 1: b c e
//   indices   [0, 3], [1, 2, 4], data [a d], [b c e]  ->  a b c d e
//
// Where several slices go to one position the last wins in DynamicStitch, and any may win in
// ParallelDynamicStitch. The sizes depend on values, so that shape inference knows them only where
// partitions or indices are constants. Small integers are stitched while the graph is built too,
// because programs compute shapes so. The gradient of a partition stitches, and that of a stitch
// gathers.
#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// Checks that |shape| begins with |prefix|, as far as both are known.
static leat_status_t check_prefix(leat_inference_t* c, leat_partial_shape_t shape,
                                  leat_partial_shape_t prefix) {
  if (shape.rank < 0 || prefix.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, shape, prefix.rank));
  for (int d = 0; d < prefix.rank; ++d) {
    int64_t unused;
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(shape.dims[d], prefix.dims[d], &unused));
  }
  return leat_ok_status();
}

static leat_status_t partition_shape(leat_inference_t* c) {
  leat_partial_shape_t data = leat_inference_input(c, 0), partitions = leat_inference_input(c, 1);
  if (partitions.rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(check_prefix(c, data, partitions));
  leat_partial_shape_t rest, shape;
  int64_t unknown = LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, data, partitions.rank, INT32_MAX, &rest));
  LEAT_RETURN_IF_ERROR(
      leat_inference_concatenate(c, (leat_partial_shape_t){1, &unknown}, rest, &shape));
  for (int i = 0; i < c->node->output_count; ++i) leat_inference_set_output(c, i, shape);
  return leat_ok_status();
}

// Raises |inout_highest| to the highest index in constant input |input|; false when it is not
// constant.
static bool highest(leat_inference_t* c, int input, int64_t* inout_highest) {
  const leat_tensor_t* indices = leat_inference_input_tensor(c, input);
  if (!indices || indices->dtype != LEAT_DTYPE_INT32) return false;
  for (int64_t i = 0; i < indices->shape.element_count; ++i) {
    *inout_highest = LEAT_MAX(*inout_highest, leat_tensor_index_at(indices, i));
  }
  return true;
}

static leat_status_t stitch_shape(leat_inference_t* c) {
  int count = leat_inference_input_count(c) / 2;
  leat_partial_shape_t extra = leat_partial_shape_unknown(), rest, shape;
  bool is_known = true;
  int64_t last = -1;
  for (int i = 0; i < count; ++i) {
    leat_partial_shape_t indices = leat_inference_input(c, i);
    leat_partial_shape_t data = leat_inference_input(c, count + i);
    is_known = highest(c, i, &last) && is_known;
    if (indices.rank < 0) continue;
    LEAT_RETURN_IF_ERROR(check_prefix(c, data, indices));
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, data, indices.rank, INT32_MAX, &rest));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, extra, rest, &extra));
  }
  int64_t size = is_known ? last + 1 : LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(
      leat_inference_concatenate(c, (leat_partial_shape_t){1, &size}, extra, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define MAX_VALUE_ITEMS 256

// Puts integers together where all indices are known, because programs build shapes so: the sizes
// of a tensor first, then ones at the reduced axes. Positions that no index names stay unknown.
static leat_status_t stitch_value(leat_inference_t* c) {
  int count = leat_inference_input_count(c) / 2, size = 0;
  int64_t items[MAX_VALUE_ITEMS];
  for (int i = 0; i < MAX_VALUE_ITEMS; ++i) items[i] = LEAT_VALUE_UNKNOWN;
  for (int i = 0; i < count; ++i) {
    leat_partial_value_t indices, data;
    bool is_known;
    LEAT_RETURN_IF_ERROR(leat_inference_indices(c, i, &is_known, &indices));
    LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, count + i, &data));
    if (!is_known) return leat_ok_status();
    bool fits = data.rank == indices.rank && data.count == indices.count;
    for (int k = 0; k < indices.count; ++k) {
      int64_t at = indices.items[k];
      if (at < 0 || at >= MAX_VALUE_ITEMS) return leat_ok_status();
      items[at] = fits ? data.items[k] : LEAT_VALUE_UNKNOWN;
      size = LEAT_MAX(size, (int)at + 1);
    }
  }
  if (c->outputs[0].rank != 1) return leat_ok_status();
  return leat_inference_set_output_value(c, 0, 1, size, items);
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_status_t allocate_outputs(leat_builder_t* b, int count, leat_output_t** out_outputs) {
  return LEAT_NEW(leat_graph_arena(b->graph), (size_t)count, out_outputs);
}

// The positions of the slices are dealt out by the same partitions, so that the gradients of the
// outputs can be stitched together by them.
static leat_status_t partition_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int count = leat_gradient_node(g)->output_count;
  leat_output_t data = leat_gradient_input(g, 0), partitions = leat_gradient_input(g, 1);
  leat_output_t shape = leat_build_shape_of(b, partitions);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t size = leat_build_binary(b, "Prod", shape,
                                         leat_build_int32_vector(b, (const int32_t[]){0}, 1));
  leat_output_t range = leat_build(b, "Range", LEAT_INPUTS(zero, size, one), LEAT_NO_ATTRS);
  leat_output_t positions = leat_build_binary(b, "Reshape", range, shape);
  int32_t dealt = leat_build_node(b, "DynamicPartition", LEAT_INPUTS(positions, partitions),
                                  LEAT_ATTRS(LEAT_INT("num_partitions", count)));
  leat_output_t* inputs;
  LEAT_RETURN_IF_ERROR(allocate_outputs(b, 2 * count, &inputs));
  for (int i = 0; i < count; ++i) {
    inputs[i] = leat_node_output(dealt, i);
    inputs[count + i] = leat_gradient_of_output(g, i);
  }
  leat_output_t together = leat_build(b, "ParallelDynamicStitch",
                                      (leat_outputs_t){inputs, 2 * count},
                                      LEAT_ATTRS(LEAT_INT("N", count)));
  leat_gradient_set_input(
      g, 0, leat_build_binary(b, "Reshape", together, leat_build_shape_of(b, data)));
  return leat_ok_status();
}

// Each data input gets the slices of the gradient at its indices.
static leat_status_t stitch_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int count = leat_gradient_node(g)->input_count / 2;
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  for (int i = 0; i < count; ++i) {
    leat_gradient_set_input(g, count + i,
                            leat_build(b, "GatherV2",
                                       LEAT_INPUTS(gradient, leat_gradient_input(g, i), zero),
                                       LEAT_NO_ATTRS));
  }
  return leat_ok_status();
}

const leat_op_row_t leat_stitch_ops[] = {
    {.name = "DynamicPartition",
     .inputs = "data: T; partitions: int32",
     .outputs = "outputs: num_partitions * T",
     .attrs = "num_partitions: int >= 1; T: type",
     .shape = partition_shape,
     .gradient = partition_gradient,
     .doc = "The slices of data dealt out to num_partitions tensors as partitions says."},
    {.name = "DynamicStitch",
     .inputs = "indices: N * int32; data: N * T",
     .outputs = "merged: T",
     .attrs = "N: int >= 1; T: type",
     .shape = stitch_shape,
     .value = stitch_value,
     .gradient = stitch_gradient,
     .doc = "The slices of the data at the places that the indices say; later ones win."},
    {.name = "ParallelDynamicStitch",
     .inputs = "indices: N * int32; data: N * T",
     .outputs = "merged: T",
     .attrs = "N: int >= 1; T: type",
     .shape = stitch_shape,
     .value = stitch_value,
     .gradient = stitch_gradient,
     .doc = "The slices of the data at the places that the indices say; of several any."},
    LEAT_OP_ROWS_END,
};
