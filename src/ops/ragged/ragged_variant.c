// Definitions of the ops that put ragged tensors and other composite values into variant tensors,
// and take them out. ragged_variant_cpu.c has the kernels.
//
//   RaggedTensorToVariant    nested splits, flat values -> a variant [], or one for each row [rows]
//   RaggedTensorFromVariant  variants [...] -> nested splits, flat values
//   RaggedTensorToVariantGradient  variants of the gradient, row splits, shape -> flat values
//   CompositeTensorVariantFromComponents  tensors -> a variant []
//   CompositeTensorVariantToComponents    a variant -> tensors
//
// A variant hides the shapes of what it holds, so of a tensor that is taken out little is known
// before the step: splits are vectors of unknown length, and values have an unknown shape. What
// shape functions do check are the ragged ranks, of which each dimension of the variants adds one.
// The two ops on composite values are each other's gradient, and the gradient of
// RaggedTensorFromVariant is RaggedTensorToVariant. That of RaggedTensorToVariant is an op of its
// own, because a variant of a gradient may hold nothing and stand for zeros; how many of them, only
// the row splits and the shape of the values tell. As in TensorFlow, gradients of
// RaggedTensorFromVariant are limited to a scalar and a vector of variants. ops/families.c names
// the table for the registry of ops.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// ---- Ragged tensors -----------------------------------------------------------------------------

static leat_status_t to_variant_shape(leat_inference_t* c) {
  int splits = leat_inference_input_count(c) - 1;
  leat_partial_shape_t first, result = leat_partial_shape_scalar();
  for (int i = splits - 1; i >= 0; --i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &first));
  }
  if (leat_node_attr_bool(c->node, "batched_input", false)) {
    int64_t rows;
    if (splits == 0) {
      first = leat_inference_input(c, 0);
      LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, first, 1));
    }
    rows = leat_partial_shape_dim(first, 0);
    if (splits) LEAT_RETURN_IF_ERROR(leat_inference_add(rows, -1, &rows));
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &rows, &result));
  }
  leat_inference_set_output(c, 0, result);
  return leat_ok_status();
}

static leat_status_t from_variant_shape(leat_inference_t* c) {
  static const int64_t kUnknown = LEAT_DIM_UNKNOWN;
  int splits = c->node->output_count - 1, rank = leat_inference_input(c, 0).rank;
  int64_t inside = leat_node_attr_int(c->node, "input_ragged_rank", -1);
  leat_partial_shape_t vector;
  if (rank >= 0 && (splits < rank || (inside >= 0 && splits - rank != inside))) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "output_ragged_rank is %d, must be the rank of encoded_ragged, %d, + "
                            "input_ragged_rank, %lld",
                            splits, rank, (long long)inside);
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &kUnknown, &vector));
  for (int i = 0; i < splits; ++i) leat_inference_set_output(c, i, vector);
  return leat_ok_status();
}

static leat_status_t variant_gradient_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 2, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t to_variant_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int splits = leat_gradient_node(g)->input_count - 1;
  leat_output_t values = leat_gradient_input(g, splits);
  leat_output_t row_splits = splits ? leat_gradient_input(g, 0)
                                    : leat_build_scalar(b, LEAT_DTYPE_INT64, 0);
  leat_output_t gradient = leat_build(
      b, "RaggedTensorToVariantGradient",
      LEAT_INPUTS(leat_gradient_of_output(g, 0), row_splits, leat_build_shape_of(b, values)),
      LEAT_ATTRS(LEAT_TYPE("Tvalues", leat_build_type_of(b, values))));
  leat_gradient_set_input(g, splits, gradient);
  return leat_ok_status();
}

// As in TensorFlow, there is a gradient only for a scalar and a vector of variants.
static leat_status_t from_variant_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t inputs[LEAT_SHAPE_MAX_RANK];
  int count = leat_gradient_node(g)->output_count;
  int rank = leat_graph_output_shape(b->graph, leat_gradient_input(g, 0)).rank;
  if (rank > 1 || count > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "The gradient of RaggedTensorFromVariant for variants of rank %d is "
                            "not implemented",
                            rank);
  }
  bool is_batched = rank < 0 ? count > 1 : rank == 1;
  for (int i = 0; i < count - 1; ++i) inputs[i] = leat_gradient_output(g, i);
  inputs[count - 1] = leat_gradient_of_output(g, count - 1);
  leat_gradient_set_input(g, 0,
                          leat_build(b, "RaggedTensorToVariant", (leat_outputs_t){inputs, count},
                                     LEAT_ATTRS(LEAT_INT("RAGGED_RANK", count - 1),
                                                LEAT_BOOL("batched_input", is_batched))));
  return leat_ok_status();
}

// ---- Composite values ---------------------------------------------------------------------------

// The gradient of either op: the other one, with the same metadata and types.
static leat_status_t from_components_gradient(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  int count = node->input_count;
  int32_t made = leat_build_node(
      &g->builder, "CompositeTensorVariantToComponents", LEAT_INPUTS(leat_gradient_of_output(g, 0)),
      LEAT_ATTRS(LEAT_COPY("metadata", leat_node_attr(node, LEAT_SV("metadata"))),
                 LEAT_COPY("Tcomponents", leat_node_attr(node, LEAT_SV("Tcomponents")))));
  for (int i = 0; i < count; ++i) leat_gradient_set_input(g, i, leat_node_output(made, i));
  return leat_ok_status();
}

// A component without a gradient of its own goes into the variant as it is.
static leat_status_t to_components_gradient(leat_gradient_t* g) {
  leat_output_t parts[LEAT_SHAPE_MAX_RANK];
  int count = leat_gradient_node(g)->output_count;
  if (count > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "there are too many components");
  }
  for (int i = 0; i < count; ++i) {
    parts[i] = leat_gradient_has_output(g, i) ? leat_gradient_of_output(g, i)
                                              : leat_gradient_output(g, i);
  }
  const leat_attr_value_t* metadata =
      leat_node_attr(leat_gradient_node(g), LEAT_SV("metadata"));
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, "CompositeTensorVariantFromComponents",
                                     (leat_outputs_t){parts, count},
                                     LEAT_ATTRS(LEAT_COPY("metadata", metadata))));
  return leat_ok_status();
}

#define COMPONENT_ATTRS "metadata: string; Tcomponents: list(type) >= 0"

const leat_op_row_t leat_ragged_variant_ops[] = {
    {.name = "RaggedTensorToVariant",
     .inputs = "rt_nested_splits: RAGGED_RANK * Tsplits; rt_dense_values: Tvalues",
     .outputs = "encoded_ragged: variant",
     .attrs = "RAGGED_RANK: int >= 0; Tvalues: type; Tsplits: {int32, int64} = int64; "
              "batched_input: bool",
     .shape = to_variant_shape,
     .gradient = to_variant_gradient,
     .doc = "A ragged tensor as a variant, or its rows as several."},
    {.name = "RaggedTensorFromVariant",
     .inputs = "encoded_ragged: variant",
     .outputs = "output_nested_splits: output_ragged_rank * Tsplits; "
                "output_dense_values: Tvalues",
     .attrs = "input_ragged_rank: int >= -1; output_ragged_rank: int >= 0; Tvalues: type; "
              "Tsplits: {int32, int64} = int64",
     .shape = from_variant_shape,
     .gradient = from_variant_gradient,
     .doc = "The ragged tensor whose rows are in variants."},
    {.name = "RaggedTensorToVariantGradient",
     .inputs = "encoded_ragged_grad: variant; row_splits: Tsplits; dense_values_shape: int32",
     .outputs = "dense_values_grad: Tvalues",
     .attrs = "Tvalues: type; Tsplits: {int32, int64} = int64",
     .shape = variant_gradient_shape,
     .doc = "The gradient of RaggedTensorToVariant."},
    {.name = "CompositeTensorVariantFromComponents",
     .inputs = "components: Tcomponents",
     .outputs = "encoded: variant",
     .attrs = COMPONENT_ATTRS,
     .shape = leat_shape_scalar_output,
     .gradient = from_components_gradient,
     .doc = "Several tensors as one variant."},
    {.name = "CompositeTensorVariantToComponents",
     .inputs = "encoded: variant",
     .outputs = "components: Tcomponents",
     .attrs = COMPONENT_ATTRS,
     .shape = leat_shape_unknown,
     .gradient = to_components_gradient,
     .doc = "The tensors that are in a variant."},
    LEAT_OP_ROWS_END,
};
