// Gradients of conditionals, which are Switch and Merge nodes (section 4.4). Each is the other
// one's mirror image:
//
//   forward    x ─▶ Switch(p) ─▶ (f | g) ─▶ Merge ─▶ y
//   backward   dx ◀─ Merge ◀─ (f' | g') ◀─ Switch(p) ◀─ dy
//
// A Merge took the value of the branch that ran, so its gradient goes into that branch only:
// through Switches on the same predicates. A Switch gave its value to one side, so its gradient is
// the Merge of the gradients of both sides. If one side has no gradient, zeros take its place; they
// must be made on that side only, since a Merge waits for one live input, and the shape that they
// need must be live there (leat_conditional_lift). Gradients that are rows get no rows instead of
// zeros. A Merge whose inputs no Switch tells apart is asked which input it took (its output 1).
#include "gradient/walk.h"

// |value|, live only where |pred| is |side|.
static leat_output_t on_side(leat_builder_t* b, leat_output_t value, leat_output_t pred,
                             int32_t side) {
  LEAT_DCHECK(side == 0 || side == 1);
  return leat_node_output(leat_build_node(b, "Switch", LEAT_INPUTS(value, pred), LEAT_NO_ATTRS),
                          side);
}

// |value|, live only where all |items| hold.
static leat_output_t descend(leat_builder_t* b, leat_output_t value, const leat_guard_t* items,
                             int count) {
  for (int i = 0; i < count; ++i) value = on_side(b, value, items[i].pred, items[i].side);
  return value;
}

// Takes a gradient down the same sides as descend does a tensor; of rows (IndexedSlices) the
// values, the indices and the shape each go.
static leat_gradient_value_t descend_value(leat_builder_t* b, leat_gradient_value_t value,
                                           const leat_guard_t* items, int count) {
  value.dense = descend(b, value.dense, items, count);
  if (!leat_gradient_is_rows(value)) return value;
  value.indices = descend(b, value.indices, items, count);
  value.dense_shape = descend(b, value.dense_shape, items, count);
  return value;
}

// ---- Zeros --------------------------------------------------------------------------------------

// What zeros are made of on the sides that were not taken.
typedef struct zeros_source_s {
  leat_output_t source;
  leat_output_t zero;  // to fill the shape |source| with; none: ZerosLike of |source|
} zeros_source_t;

// The shape of |output|, live when the output is.
static leat_status_t find_shape(leat_context_t* c, leat_builder_t* b, leat_output_t output,
                                leat_output_t* out_shape) {
  leat_guard_t* items;
  int count;
  LEAT_RETURN_IF_ERROR(leat_builder_take_status(b));
  if (leat_build_type_of(b, output) == LEAT_DTYPE_RESOURCE) {
    *out_shape = leat_build_unary(b, "VariableShape", output);
    return leat_ok_status();
  }
  *out_shape = leat_build_shape_of(b, output);
  LEAT_RETURN_IF_ERROR(leat_builder_take_status(b));
  // A constant is live in any case and must be restricted; a Shape is live when |output| is.
  bool is_constant = c->walk->graph->nodes[out_shape->node].op->flags & LEAT_OP_CONSTANT;
  LEAT_RETURN_IF_ERROR(leat_guard_difference(
      c->walk, is_constant ? leat_walk_guard_of(c->walk, output) : 0, 0, &items, &count));
  *out_shape = descend(b, *out_shape, items, count);
  return leat_ok_status();
}

// Zeros are made from a shape where the value of |output| would have to be kept or is a handle, or
// for rows; else by ZerosLike.
static leat_status_t find_zeros_source(leat_context_t* c, leat_builder_t* b, leat_output_t output,
                                       leat_gradient_value_t gradient, zeros_source_t* out) {
  int dtype = leat_build_type_of(b, output);
  *out = (zeros_source_t){output, LEAT_OUTPUT_NONE};
  if (dtype == LEAT_DTYPE_VARIANT ||
      (!b->place && dtype != LEAT_DTYPE_RESOURCE && !leat_gradient_is_rows(gradient))) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(find_shape(c, b, output, &out->source));
  out->zero = leat_build_scalar(b, leat_build_type_of(b, gradient.dense), 0);
  return leat_ok_status();
}

static leat_output_t make_zeros(leat_builder_t* b, const zeros_source_t* from,
                                leat_output_t source) {
  if (!leat_output_exists(from->zero)) return leat_build_unary(b, "ZerosLike", source);
  return leat_build_binary(b, "Fill", source, from->zero);
}

// Elements [begin, begin + count) of a vector; count -1: to the end.
static leat_output_t part_of(leat_builder_t* b, leat_output_t vector, int begin, int count) {
  leat_output_t first = leat_build_int32_vector(b, (const int32_t[]){begin}, 1);
  leat_output_t size = leat_build_int32_vector(b, (const int32_t[]){count}, 1);
  return leat_build(b, "Slice", LEAT_INPUTS(vector, first, size), LEAT_NO_ATTRS);
}

// A gradient of zero rows of a tensor of |shape|, with indices of the type of |like|.
static leat_gradient_value_t make_no_rows(leat_builder_t* b, const zeros_source_t* from,
                                          leat_output_t shape, leat_gradient_value_t like) {
  leat_output_t none = leat_build_int32_vector(b, (const int32_t[]){0}, 1);
  leat_output_t rest = leat_build(
      b, "ConcatV2",
      LEAT_INPUTS(none, part_of(b, shape, 1, -1), leat_build_scalar(b, LEAT_DTYPE_INT32, 0)),
      LEAT_ATTRS(LEAT_INT("N", 2)));
  leat_output_t indices = leat_build(
      b, "Cast", LEAT_INPUTS(part_of(b, shape, 0, 0)),
      LEAT_ATTRS(LEAT_TYPE("DstT", leat_build_type_of(b, like.indices))));
  return (leat_gradient_value_t){leat_build_binary(b, "Fill", rest, from->zero), indices, shape};
}

static leat_output_t merge(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build(b, "Merge", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}

// Merges |value| with zeros, or no rows, that are live where |past| is.
static leat_gradient_value_t complete(leat_builder_t* b, const zeros_source_t* from,
                                      leat_output_t past, leat_gradient_value_t value) {
  if (!leat_gradient_is_rows(value)) {
    return leat_gradient_dense(merge(b, value.dense, make_zeros(b, from, past)));
  }
  leat_gradient_value_t none = make_no_rows(b, from, past, value);
  return (leat_gradient_value_t){merge(b, value.dense, none.dense),
                                 merge(b, value.indices, none.indices), from->source};
}

leat_status_t leat_conditional_lift(leat_context_t* c, leat_builder_t* b, leat_output_t output,
                                    int32_t guard, leat_gradient_value_t* inout_value) {
  leat_walk_t* w = c->walk;
  leat_guard_t* items;
  int count;
  if (!leat_output_exists(inout_value->dense)) return leat_ok_status();
  int32_t wanted = leat_walk_guard_of(w, output);
  if (guard == wanted) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_guard_difference(w, guard, wanted, &items, &count));
  if (count == 0) return leat_ok_status();
  zeros_source_t from;
  leat_output_t* past;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)count, &past));
  LEAT_RETURN_IF_ERROR(find_zeros_source(c, b, output, *inout_value, &from));
  leat_output_t source = from.source;
  for (int i = 0; i < count; ++i) {
    int32_t decide =
        leat_build_node(b, "Switch", LEAT_INPUTS(source, items[i].pred), LEAT_NO_ATTRS);
    past[i] = leat_node_output(decide, 1 - items[i].side);
    source = leat_node_output(decide, items[i].side);
  }
  for (int i = count - 1; i >= 0; --i) *inout_value = complete(b, &from, past[i], *inout_value);
  return leat_builder_take_status(b);
}

// ---- Switch -------------------------------------------------------------------------------------

// Merges the gradients of both sides of a Switch.
static leat_gradient_value_t merge_sides(leat_builder_t* b, leat_gradient_value_t* sides) {
  if (leat_gradient_is_rows(sides[0]) && leat_gradient_is_rows(sides[1])) {
    return (leat_gradient_value_t){merge(b, sides[0].dense, sides[1].dense),
                                   merge(b, sides[0].indices, sides[1].indices),
                                   merge(b, sides[0].dense_shape, sides[1].dense_shape)};
  }
  return leat_gradient_dense(merge(b, leat_gradient_value_to_dense(b, sides[0]),
                                   leat_gradient_value_to_dense(b, sides[1])));
}

leat_status_t leat_conditional_visit_switch(leat_context_t* c, int32_t node, leat_builder_t* b) {
  leat_walk_t* w = c->walk;
  leat_gradient_value_t sides[2], value;
  bool has[2];
  for (int k = 0; k < 2; ++k) {
    LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, b, (leat_output_t){node, k}, &sides[k]));
    has[k] = leat_output_exists(sides[k].dense);
  }
  if (!has[0] && !has[1]) return leat_ok_status();
  leat_output_t data = leat_walk_input(w, &w->graph->nodes[node], 0);
  int32_t guard = w->places[node].guard;
  if (has[0] && has[1]) {
    value = merge_sides(b, sides);
  } else {
    guard = leat_walk_guard_of(w, (leat_output_t){node, has[1]});
    value = sides[has[1]];
  }
  LEAT_RETURN_IF_ERROR(leat_conditional_lift(c, b, data, guard, &value));
  LEAT_RETURN_IF_ERROR(leat_builder_take_status(b));
  return leat_walk_add_contribution(w, data, value);
}

// ---- Merge --------------------------------------------------------------------------------------

leat_status_t leat_conditional_visit_merge(leat_context_t* c, int32_t node, leat_builder_t* b) {
  leat_walk_t* w = c->walk;
  leat_gradient_value_t dy, contribution;
  LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, b, (leat_output_t){node, 0}, &dy));
  if (!leat_output_exists(dy.dense)) return leat_ok_status();
  for (int k = 0; k < w->graph->nodes[node].input_count; ++k) {
    leat_output_t input = leat_walk_input(w, &w->graph->nodes[node], k);
    if ((size_t)input.node >= w->node_count || !w->between[input.node]) continue;
    leat_guard_t* items;
    leat_guard_t by_index = {.side = 1};
    int count;
    LEAT_RETURN_IF_ERROR(leat_guard_difference(w, leat_walk_guard_of(w, input),
                                               w->places[node].guard, &items, &count));
    if (count == 0) {  // only the Merge itself tells which input it took
      by_index.pred = leat_build_binary(b, "Equal", (leat_output_t){node, 1},
                                        leat_build_scalar(b, LEAT_DTYPE_INT32, k));
      items = &by_index;
      count = 1;
    }
    contribution = descend_value(b, dy, items, count);
    LEAT_RETURN_IF_ERROR(leat_builder_take_status(b));
    LEAT_RETURN_IF_ERROR(leat_walk_add_contribution(w, input, contribution));
  }
  return leat_ok_status();
}
