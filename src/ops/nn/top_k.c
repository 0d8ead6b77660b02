// Definitions of TopK, ApproxTopK, NthElement and InTopK, which look for large elements along the
// last dimension.
//
//   TopK        input [..., n], k -> values [..., k], indices [..., k]
//   ApproxTopK  the same; on an accelerator a few may be missed
//   NthElement  input [..., n], place -> values [...]
//   InTopK      predictions [batch, classes], targets [batch] -> precision [batch] bool
//
// k is an attribute in the first version of an op and an input in the second. Where it is an input,
// it is known to the shape functions only if it is a constant. The gradient of TopK scatters dy to
// the places from which the values came, and that of NthElement is shared among equal elements.
// InTopK has none, since its output is bools. top_k_cpu.c has the kernels.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

// Gives the scalar at input |index| as a size, LEAT_DIM_UNKNOWN when it is not a constant.
static leat_status_t read_size(leat_inference_t* c, int index, int64_t* out_size) {
  leat_partial_shape_t scalar;
  leat_partial_value_t value;
  *out_size = LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 0, &scalar));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, index, &value));
  if (value.rank != 0 || value.count != 1 || value.items[0] == LEAT_VALUE_UNKNOWN) {
    return leat_ok_status();
  }
  if (value.items[0] < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension size, given by scalar input %d, must be non-negative but is "
                            "%lld", index, (long long)value.items[0]);
  }
  *out_size = value.items[0];
  return leat_ok_status();
}

// Gives the shape of input 0 with |size| as its last dimension, or without its last dimension when
// |size| is LEAT_VALUE_UNKNOWN.
static leat_status_t replace_last(leat_inference_t* c, int64_t size, leat_partial_shape_t* out) {
  leat_partial_shape_t outer, vector;
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, leat_inference_input(c, 0), 0, -1, &outer));
  *out = outer;
  if (size == LEAT_VALUE_UNKNOWN) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &size, &vector));
  return leat_inference_concatenate(c, outer, vector, out);
}

static leat_status_t top_k_shape(leat_inference_t* c) {
  const leat_partial_shape_t input = leat_inference_input(c, 0);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 1));
  int64_t k = leat_node_attr_int(c->node, "k", 0);
  if (leat_inference_input_count(c) > 1) LEAT_RETURN_IF_ERROR(read_size(c, 1, &k));
  const int64_t last = leat_partial_shape_dim(input, -1);
  if (last != LEAT_DIM_UNKNOWN && last < k) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "input must have last dimension >= k = %lld but is %lld", (long long)k,
                            (long long)last);
  }
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(replace_last(c, k, &output));
  leat_inference_set_output(c, 0, output);
  leat_inference_set_output(c, 1, output);
  return leat_ok_status();
}

// Other forms than the one that has a kernel are left open.
static leat_status_t approximate_shape(leat_inference_t* c) {
  if (leat_node_attr_int(c->node, "reduction_dimension", -1) != -1 ||
      !leat_node_attr_bool(c->node, "aggregate_to_topk", true)) {
    return leat_shape_unknown(c);
  }
  return top_k_shape(c);
}

static leat_status_t nth_element_shape(leat_inference_t* c) {
  const leat_partial_shape_t input = leat_inference_input(c, 0);
  int64_t n;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 1));
  const int rank = leat_inference_input(c, 1).rank;
  if (rank > 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Input n must be scalar but has rank %d", rank);
  }
  LEAT_RETURN_IF_ERROR(read_size(c, 1, &n));
  const int64_t last = leat_partial_shape_dim(input, -1);
  if (last != LEAT_DIM_UNKNOWN && n != LEAT_DIM_UNKNOWN && last <= n) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Input must have last dimension > n = %lld but is %lld", (long long)n,
                            (long long)last);
  }
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(replace_last(c, LEAT_VALUE_UNKNOWN, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t in_top_k_shape(leat_inference_t* c) {
  leat_partial_shape_t predictions, targets, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &predictions));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &targets));
  int64_t batch;
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(predictions.dims[0], targets.dims[0], &batch));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &batch, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

// Scatters dy into zeros of the input's shape. Indices count within a row; adding row * columns
// makes them positions in the flattened input.
static leat_status_t top_k_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const int32_t minus_one = -1;
  const leat_output_t flat = leat_build_int32_vector(b, &minus_one, 1);
  const leat_output_t shape = leat_build_shape_of(b, leat_gradient_input(g, 0));
  const leat_output_t places =
      leat_subgraph_cast(b, leat_gradient_output(g, 1), LEAT_DTYPE_INT32);
  const leat_output_t row_shape =
      leat_subgraph_join(b, flat, leat_subgraph_slice(b, leat_build_shape_of(b, places), -1, 0),
                         LEAT_OUTPUT_NONE);
  const leat_output_t rows = leat_build_binary(b, "Reshape", places, row_shape);
  const leat_output_t columns = leat_subgraph_item(b, shape, -1);
  const leat_output_t count = leat_subgraph_item(b, leat_build_shape_of(b, rows), 0);
  const leat_output_t numbers =
      leat_build(b, "Range",
                 LEAT_INPUTS(leat_build_scalar(b, LEAT_DTYPE_INT32, 0), count,
                             leat_build_scalar(b, LEAT_DTYPE_INT32, 1)),
                 LEAT_NO_ATTRS);
  const leat_output_t starts = leat_build_binary(b, "Mul", numbers, columns);
  const leat_output_t linear = leat_build_binary(
      b, "Reshape", leat_build_binary(b, "AddV2", rows, leat_subgraph_expand(b, starts, -1)), flat);
  const leat_output_t values =
      leat_build_binary(b, "Reshape", leat_gradient_of_output(g, 0), flat);
  const leat_output_t size = leat_build(
      b, "Prod", LEAT_INPUTS(shape, leat_build_scalar(b, LEAT_DTYPE_INT32, 0)),
      LEAT_ATTRS(LEAT_BOOL("keep_dims", true)));
  const leat_output_t scattered =
      leat_build(b, "ScatterNd", LEAT_INPUTS(leat_subgraph_expand(b, linear, -1), values, size),
                 LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Reshape", scattered, shape));
  return leat_ok_status();
}

// Where several elements of a row equal the one that was selected, they share its gradient equally.
static leat_status_t nth_element_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_output_t x = leat_gradient_input(g, 0), dy = leat_gradient_of_output(g, 0);
  const leat_output_t equal = leat_build_binary(
      b, "Equal", leat_subgraph_expand(b, leat_gradient_output(g, 0), -1), x);
  const leat_output_t chosen = leat_subgraph_cast(b, equal, leat_build_type_of(b, dy));
  const leat_output_t count = leat_subgraph_sum(b, chosen, -1, true);
  const leat_output_t share = leat_build_binary(b, "RealDiv", chosen, count);
  leat_gradient_set_input(g, 0,
                          leat_build_binary(b, "Mul", share, leat_subgraph_expand(b, dy, -1)));
  return leat_ok_status();
}

#define REAL                                                                                   \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "      \
  "uint64}"

const leat_op_row_t leat_top_k_ops[] = {
    {.name = "ApproxTopK",
     .inputs = "input: T",
     .outputs = "values: T; indices: int32",
     .attrs = "k: int >= 0; reduction_dimension: int = -1; recall_target: float = 0.95; "
              "is_max_k: bool = true; reduction_input_size_override: int = -1; "
              "aggregate_to_topk: bool = true; T: {half, bfloat16, float}",
     .shape = approximate_shape,
     .gradient = top_k_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1)),
     .doc = "The k largest elements along the last dimension; here they are exact."},
    {.name = "TopK",
     .inputs = "input: T",
     .outputs = "values: T; indices: int32",
     .attrs = "k: int >= 0; sorted: bool = true; " REAL,
     .shape = top_k_shape,
     .gradient = top_k_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1)),
     .deprecated_since = 7,
     .deprecation = "Use TopKV2 instead",
     .doc = "The k largest elements along the last dimension and their places."},
    {.name = "TopKV2",
     .inputs = "input: T; k: Tk",
     .outputs = "values: T; indices: index_type",
     .attrs = "sorted: bool = true; " REAL
              "; Tk: {int16, int32, int64} = int32; index_type: {int16, int32, int64} = int32",
     .shape = top_k_shape,
     .gradient = top_k_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1), LEAT_RULE_SCALAR(1)),
     .doc = "TopK whose k is an input."},
    {.name = "NthElement",
     .inputs = "input: T; n: int32",
     .outputs = "values: T",
     .attrs = "reverse: bool = false; " REAL,
     .shape = nth_element_shape,
     .gradient = nth_element_gradient,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1), LEAT_RULE_SCALAR(1)),
     .doc = "The element that sorting would put at place n of the last dimension."},
    {.name = "InTopK",
     .inputs = "predictions: float; targets: T",
     .outputs = "precision: bool",
     .attrs = "k: int; T: {int32, int64} = int32",
     .shape = in_top_k_shape,
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_VECTOR(1),
                            LEAT_RULE_SAME_DIM(0, 0, 1, 0)),
     .doc = "Whether fewer than k predictions of a row exceed the target's."},
    {.name = "InTopKV2",
     .inputs = "predictions: float; targets: T; k: T",
     .outputs = "precision: bool",
     .attrs = "T: {int32, int64} = int32",
     .shape = in_top_k_shape,
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_VECTOR(1),
                            LEAT_RULE_SAME_DIM(0, 0, 1, 0), LEAT_RULE_SCALAR(2)),
     .doc = "InTopK whose k is an input."},
    LEAT_OP_ROWS_END,
};
