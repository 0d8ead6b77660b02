// Definitions of the ops that turn ragged tensors into sparse and dense ones. The kernels are in
// ragged_to_sparse_cpu.c and ragged_to_tensor_cpu.c.
//
//   RaggedTensorToSparse  nested splits, flat values -> sparse
//   RaggedTensorToTensor  shape, flat values, default value, row partitions -> dense
//
// A row partition of RaggedTensorToTensor says in one of several ways which values make a row; the
// first one may be the number of rows, and each other one makes a ragged dimension.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// ---- RaggedTensorToSparse -----------------------------------------------------------------------

static leat_status_t to_sparse_shape(leat_inference_t* c) {
  int splits = leat_inference_input_count(c) - 1;
  leat_partial_shape_t values = leat_inference_input(c, splits), any;
  int64_t rank = LEAT_DIM_UNKNOWN, count = LEAT_DIM_UNKNOWN;
  for (int i = 0; i < splits; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &any));
  }
  if (values.rank >= 0) {
    rank = values.rank + splits;
    count = 1;
    for (int d = 0; d < values.rank; ++d) {
      LEAT_RETURN_IF_ERROR(leat_inference_multiply(count, values.dims[d], &count));
    }
  }
  for (int i = 0; i < 3; ++i) {
    leat_partial_shape_t shape;
    int64_t dims[] = {i == 2 ? rank : count, rank};
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, i == 0 ? 2 : 1, dims, &shape));
    leat_inference_set_output(c, i, shape);
  }
  return leat_ok_status();
}

// The values are the flat values, in their order.
static leat_status_t to_sparse_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int values = leat_gradient_node(g)->input_count - 1;
  leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, values));
  leat_gradient_set_input(
      g, values, leat_build_binary(b, "Reshape", leat_gradient_of_output(g, 1), shape));
  return leat_ok_status();
}

// ---- RaggedTensorToTensor -----------------------------------------------------------------------

// How many of the partitions make a ragged dimension: all, but for a number of rows at the front.
static int ragged_rank(const leat_node_t* node) {
  const leat_attr_value_t* types = leat_node_attr(node, LEAT_SV("row_partition_types"));
  if (!types || !types->count) return 0;
  bool counts_rows = leat_string_view_equal(types->strings[0], LEAT_SV("FIRST_DIM_SIZE"));
  return (int)types->count - (counts_rows ? 1 : 0);
}

// The default value must broadcast to an element of the values. As in TensorFlow, its dimensions
// must also fit to the first ones of an element.
static leat_status_t check_default(leat_partial_shape_t values, leat_partial_shape_t fill) {
  if (values.rank < 0 || fill.rank < 0) return leat_ok_status();
  bool fits = fill.rank < values.rank;
  for (int d = 1; fits && d <= fill.rank; ++d) {
    int64_t size = fill.dims[fill.rank - d], wanted = values.dims[values.rank - d];
    int64_t first = fill.dims[d - 1], below = values.dims[d];
    fits = (size < 0 || wanted < 0 || size == 1 || size == wanted) &&
           (first < 0 || below < 0 || first == 1 || first == below);
  }
  if (fits) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "default_value.shape=%s and rt_input.flat_values.shape=%s are "
                          "incompatible",
                          LEAT_PARTIAL_SHAPE_TEXT(fill), LEAT_PARTIAL_SHAPE_TEXT(values));
}

static leat_status_t to_tensor_shape(leat_inference_t* c) {
  leat_partial_shape_t wanted = leat_inference_input(c, 0), values = leat_inference_input(c, 1);
  leat_partial_shape_t outer, result = leat_partial_shape_unknown();
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, wanted, 1));
  LEAT_RETURN_IF_ERROR(check_default(values, leat_inference_input(c, 2)));
  if (values.rank > 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, ragged_rank(c->node) + 1, &outer));
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, values, 1, INT32_MAX, &result));
    LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, outer, result, &result));
  }
  // A scalar says that nothing is wanted.
  if (wanted.rank != 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &wanted));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, result, wanted, &result));
  }
  leat_inference_set_output(c, 0, result);
  return leat_ok_status();
}

// Runs the op again over the numbers of the values, with -1 as the default value. The result says
// where each element came from.
static leat_output_t origins(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t inputs[LEAT_SHAPE_MAX_RANK];
  int count = leat_gradient_node(g)->input_count;
  const leat_attr_value_t* types =
      leat_node_attr(leat_gradient_node(g), LEAT_SV("row_partition_types"));
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  const int32_t outer_rank = ragged_rank(leat_gradient_node(g)) + 1;
  leat_output_t begin = leat_build_int32_vector(b, (int32_t[]){0}, 1);
  leat_output_t size = leat_build_int32_vector(b, &outer_rank, 1);
  leat_output_t shape = leat_build_shape_of(b, leat_gradient_output(g, 0));
  inputs[0] = leat_build(b, "Slice", LEAT_INPUTS(shape, begin, size), LEAT_NO_ATTRS);
  shape = leat_build_shape_of(b, leat_gradient_input(g, 1));
  leat_output_t rows = leat_build(b, "GatherV2", LEAT_INPUTS(shape, zero, zero), LEAT_NO_ATTRS);
  inputs[1] = leat_build(b, "Range", LEAT_INPUTS(zero, rows, one), LEAT_NO_ATTRS);
  inputs[2] = leat_build_scalar(b, LEAT_DTYPE_INT32, -1);
  for (int i = 3; i < count; ++i) inputs[i] = leat_gradient_input(g, i);
  return leat_build(b, "RaggedTensorToTensor", (leat_outputs_t){inputs, count},
                    LEAT_ATTRS(LEAT_COPY("row_partition_types", types)));
}

// An element that came from a value passes its gradient on to it; what came from the default value
// is added up, also over the axes along which the default value was repeated.
static leat_status_t to_tensor_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  if (leat_gradient_node(g)->input_count > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "there are too many row partitions");
  }
  leat_output_t dy = leat_gradient_of_output(g, 0), origin = origins(g);
  leat_output_t none = leat_build_scalar(b, LEAT_DTYPE_INT32, -1);
  leat_output_t from_values =
      leat_build_unary(b, "Where", leat_build_binary(b, "NotEqual", origin, none));
  leat_output_t from_default =
      leat_build_unary(b, "Where", leat_build_binary(b, "Equal", origin, none));
  leat_gradient_set_input_rows(g, 1, leat_build_binary(b, "GatherNd", dy, from_values),
                               leat_build_binary(b, "GatherNd", origin, from_values),
                               leat_build_shape_of(b, leat_gradient_input(g, 1)));
  leat_output_t whole = leat_build_binary(b, "GatherNd", dy, from_default);
  whole = leat_build_binary(b, "Sum", whole, leat_build_scalar(b, LEAT_DTYPE_INT32, 0));
  leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, 2));
  leat_output_t axes =
      leat_build_binary(b, "BroadcastGradientArgs", shape, leat_build_shape_of(b, whole));
  leat_gradient_set_input(
      g, 2, leat_build_binary(b, "Reshape", leat_build_binary(b, "Sum", whole, axes), shape));
  return leat_ok_status();
}

const leat_op_row_t leat_ragged_conversion_ops[] = {
    {.name = "RaggedTensorToSparse",
     .inputs = "rt_nested_splits: RAGGED_RANK * Tsplits; rt_dense_values: T",
     .outputs = "sparse_indices: int64; sparse_values: T; sparse_dense_shape: int64",
     .attrs = "RAGGED_RANK: int >= 1; T: type; Tsplits: {int32, int64} = int64",
     .shape = to_sparse_shape,
     .gradient = to_sparse_gradient,
     .doc = "The elements of a ragged tensor as a sparse one."},
    {.name = "RaggedTensorToTensor",
     .inputs = "shape: Tshape; values: T; default_value: T; "
               "row_partition_tensors: num_row_partition_tensors * Tindex",
     .outputs = "result: T",
     .attrs = "T: type; Tindex: {int64, int32}; Tshape: {int64, int32}; "
              "num_row_partition_tensors: int >= 1; row_partition_types: list(string)",
     .shape = to_tensor_shape,
     .gradient = to_tensor_gradient,
     .doc = "A ragged tensor as a dense one, filled up with a default value."},
    LEAT_OP_ROWS_END,
};
