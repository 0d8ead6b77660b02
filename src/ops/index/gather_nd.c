// The op GatherNd, which takes elements or slices by tuples of indices: its shape, gradient and
// registration. ResourceGatherNd shares both functions (gather.h).
#include "ops/index/gather.h"

#include "ops/op_rows.h"

leat_status_t leat_shape_gather_nd(leat_inference_t* c, leat_partial_shape_t params) {
  leat_partial_shape_t indices = leat_inference_input(c, 1), outer, slice, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, indices, 1));
  int64_t depth = leat_partial_shape_dim(indices, -1);
  if (params.rank < 0 || depth == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (depth > params.rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "indices.shape[-1] must be <= params.rank, but saw indices shape: %s "
                            "and params shape: %s",
                            LEAT_PARTIAL_SHAPE_TEXT(indices), LEAT_PARTIAL_SHAPE_TEXT(params));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, indices, 0, -1, &outer));
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, params, (int)depth, INT32_MAX, &slice));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, outer, slice, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t gather_nd_shape(leat_inference_t* c) {
  return leat_shape_gather_nd(c, leat_inference_input(c, 0));
}

leat_status_t leat_gather_nd_gradient(leat_gradient_t* g, leat_output_t shape, leat_attrs_t attrs) {
  leat_builder_t* b = &g->builder;
  leat_output_t indices = leat_gradient_input(g, 1);
  leat_partial_shape_t known = leat_graph_output_shape(b->graph, indices);
  leat_output_t gradient = leat_gradient_of_output(g, 0);
  if (known.rank == 2 && known.dims[1] == 1) {
    const int64_t last = -1;
    const leat_attr_t dims = LEAT_LIST("squeeze_dims", INT, 1, ints, &last);
    leat_output_t rows = leat_build(b, "Squeeze", LEAT_INPUTS(indices), LEAT_ATTRS(dims));
    leat_gradient_set_input_rows(g, 0, gradient, rows, shape);
    return leat_ok_status();
  }
  leat_gradient_set_input(g, 0,
                          leat_build(b, "ScatterNd", LEAT_INPUTS(indices, gradient, shape), attrs));
  return leat_ok_status();
}

static leat_status_t gather_nd_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int dtype = leat_build_type_of(b, leat_gradient_input(g, 1));
  leat_string_view_t policy = leat_node_attr_string(leat_gradient_node(g), "bad_indices_policy");
  leat_output_t shape = leat_build(b, "Shape", LEAT_INPUTS(leat_gradient_input(g, 0)),
                                   LEAT_ATTRS(LEAT_TYPE("out_type", dtype)));
  return leat_gather_nd_gradient(g, shape, LEAT_ATTRS(LEAT_STRING("bad_indices_policy", policy)));
}

const leat_op_row_t leat_gather_nd_ops[] = {
    {.name = "GatherNd",
     .inputs = "params: Tparams; indices: Tindices",
     .outputs = "output: Tparams",
     .attrs = "Tparams: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''",
     .shape = gather_nd_shape,
     .gradient = gather_nd_gradient,
     .doc = "Elements or slices of params, by tuples of indices."},
    LEAT_OP_ROWS_END,
};
