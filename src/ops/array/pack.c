// The ops Pack and Unpack: their shapes, values, gradients and registration. pack_cpu.c has the
// kernels. Pack stacks N tensors of one shape along a new axis, and Unpack takes the slices along
// an axis apart.
//
//   Pack    N x [d_0, ...] -> [d_0, ..., N, ...]
//   Unpack  [d_0, ..., N, ...] -> N x [d_0, ...]
//
// Each is the gradient of the other. Both have a value function: programs build shapes as Pack of
// scalars and read them with Unpack, and shape inference must see through that. Values of more than
// MAX_VALUE_ITEMS items are no shapes, and are not followed.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// Reads attribute "axis", which is one of |rank| dimensions, possibly negative.
static leat_status_t read_axis(const leat_node_t* node, int rank, int64_t* out_axis) {
  int64_t given = *out_axis = leat_node_attr_int(node, "axis", 0);
  if (leat_axis_resolve(out_axis, rank)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid axis: %lld; must be in [%d,%d)",
                          (long long)given, -rank, rank);
}

static leat_status_t pack_shape(leat_inference_t* c) {
  int count = leat_inference_input_count(c);
  leat_partial_shape_t shape = leat_inference_input(c, count - 1);
  for (int i = count - 2; i >= 0; --i) {
    leat_status_t status = leat_inference_merge(c, leat_inference_input(c, i), shape, &shape);
    if (status) return leat_status_annotate(status, "From merging shape %d with other shapes", i);
  }
  if (shape.rank < 0) return leat_ok_status();
  int64_t axis, dims[LEAT_SHAPE_MAX_RANK + 1];
  LEAT_RETURN_IF_ERROR(read_axis(c->node, shape.rank + 1, &axis));
  for (int d = 0; d <= shape.rank; ++d) {
    dims[d] = d == axis ? count : shape.dims[d < axis ? d : d - 1];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, shape.rank + 1, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

#define MAX_VALUE_ITEMS 512

// Makes a vector of scalars, where unknown items are marked as such.
static leat_status_t pack_value(leat_inference_t* c) {
  int count = leat_inference_input_count(c);
  int64_t items[MAX_VALUE_ITEMS];
  if (count > MAX_VALUE_ITEMS || c->outputs[0].rank != 1) return leat_ok_status();
  for (int i = 0; i < count; ++i) {
    leat_partial_value_t value;
    LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, i, &value));
    items[i] = value.rank == 0 ? value.items[0] : LEAT_VALUE_UNKNOWN;
  }
  return leat_inference_set_output_value(c, 0, 1, count, items);
}

static leat_status_t unpack_shape(leat_inference_t* c) {
  leat_partial_shape_t shape = leat_inference_input(c, 0);
  if (shape.rank < 0) return leat_ok_status();
  int64_t axis, unused, dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(read_axis(c->node, shape.rank, &axis));
  LEAT_RETURN_IF_ERROR(
      leat_inference_dim_with_value(shape.dims[axis], c->node->output_count, &unused));
  int rank = 0;
  for (int d = 0; d < shape.rank; ++d) {
    if (d != axis) dims[rank++] = shape.dims[d];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &shape));
  for (int i = 0; i < c->node->output_count; ++i) leat_inference_set_output(c, i, shape);
  return leat_ok_status();
}

// Gives each output the item of a known vector; outputs of unknown items stay unknown.
static leat_status_t unpack_value(leat_inference_t* c) {
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &value));
  if (value.rank != 1 || value.count != c->node->output_count) return leat_ok_status();
  for (int i = 0; i < value.count; ++i) {
    if (value.items[i] == LEAT_VALUE_UNKNOWN) continue;
    LEAT_RETURN_IF_ERROR(leat_inference_set_output_value(c, i, 0, 1, &value.items[i]));
  }
  return leat_ok_status();
}

static leat_status_t pack_gradient(leat_gradient_t* g) {
  int64_t axis = leat_node_attr_int(leat_gradient_node(g), "axis", 0);
  int count = leat_gradient_node(g)->input_count;
  const leat_output_t pieces = leat_build_named(
      &g->builder, "unstack", "Unpack", LEAT_INPUTS(leat_gradient_of_output(g, 0)),
      LEAT_ATTRS(LEAT_INT("num", count), LEAT_INT("axis", axis)));
  for (int i = 0; i < count; ++i) leat_gradient_set_input(g, i, leat_node_output(pieces.node, i));
  return leat_ok_status();
}

static leat_status_t unpack_gradient(leat_gradient_t* g) {
  int64_t axis = leat_node_attr_int(leat_gradient_node(g), "axis", 0);
  int count = leat_gradient_node(g)->output_count;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(g->builder.graph),
                                                 (size_t)count, sizeof(leat_output_t), &memory));
  leat_output_t* gradients = memory;
  for (int i = 0; i < count; ++i) gradients[i] = leat_gradient_of_output(g, i);
  leat_gradient_set_input(g, 0,
                          leat_build_named(&g->builder, "stack", "Pack",
                                           (leat_outputs_t){gradients, count},
                                           LEAT_ATTRS(LEAT_INT("axis", axis))));
  return leat_ok_status();
}

const leat_op_row_t leat_pack_ops[] = {
    {.name = "Pack",
     .inputs = "values: N * T",
     .outputs = "output: T",
     .attrs = "N: int >= 1; T: type; axis: int = 0",
     .shape = pack_shape,
     .value = pack_value,
     .gradient = pack_gradient,
     .doc = "The values stacked along a new dimension."},
    {.name = "Unpack",
     .inputs = "value: T",
     .outputs = "output: num * T",
     .attrs = "num: int >= 0; T: type; axis: int = 0",
     .shape = unpack_shape,
     .value = unpack_value,
     .gradient = unpack_gradient,
     .doc = "The num slices of the value along a dimension, which goes."},
    LEAT_OP_ROWS_END,
};
