// The placeholders: nodes that stand for a value. FakeParam gives zeros; the others are those whose
// value the caller of a step feeds. A Placeholder must be fed; a
// PlaceholderWithDefault gives its input where it is not, and is never folded, since a step may
// feed another value.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Up to this producer version, graphs wrote a scalar shape where they knew no shape.
#define LAST_VERSION_OF_VAGUE_SCALARS 21

static leat_status_t placeholder_shape(leat_inference_t* c) {
  const leat_attr_value_t* shape = leat_node_attr(c->node, LEAT_SV("shape"));
  if (!shape || shape->kind != LEAT_ATTR_SHAPE || shape->is_list) return leat_ok_status();
  if (shape->shape.rank <= 0 && c->graph->producer_version <= LAST_VERSION_OF_VAGUE_SCALARS) {
    return leat_ok_status();
  }
  return leat_shape_from_attr(c);
}

static leat_status_t with_default_shape(leat_inference_t* c) {
  const leat_attr_value_t* shape = leat_node_attr(c->node, LEAT_SV("shape"));
  if (!shape || shape->kind != LEAT_ATTR_SHAPE || shape->is_list) return leat_ok_status();
  leat_partial_shape_t merged;
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge(c, leat_inference_input(c, 0), shape->shape, &merged));
  leat_inference_set_output(c, 0, shape->shape);
  return leat_ok_status();
}

static leat_status_t pass_gradient(leat_gradient_t* g) {
  g->input_gradients[0] = leat_gradient_value_of_output(g, 0);
  return leat_ok_status();
}

const leat_op_row_t leat_placeholder_ops[] = {
    {.name = "Placeholder",
     .outputs = "output: dtype",
     .attrs = "dtype: type; shape: shape = {unknown_rank: true}",
     .flags = LEAT_OP_PLACEHOLDER,
     .shape = placeholder_shape,
     .doc = "A value that every step must be fed."},
    {.name = "PlaceholderV2",
     .outputs = "output: dtype",
     .attrs = "dtype: type; shape: shape",
     .flags = LEAT_OP_PLACEHOLDER,
     .shape = leat_shape_from_attr,
     .deprecated_since = 23,
     .deprecation = "Placeholder now behaves the same as PlaceholderV2.",
     .doc = "A value that every step must be fed."},
    {.name = "PlaceholderWithDefault",
     .inputs = "input: dtype",
     .outputs = "output: dtype",
     .attrs = "dtype: type; shape: shape",
     .flags = LEAT_OP_NEVER_FOLD,
     .shape = with_default_shape,
     .gradient = pass_gradient,
     .doc = "The input, unless the step is fed another value."},
    {.name = "FakeParam",
     .outputs = "output: dtype",
     .attrs = "dtype: type; shape: shape",
     .shape = leat_shape_from_attr,
     .doc = "A value that stands where a branch has none, and that nobody reads."},
    LEAT_OP_ROWS_END,
};
