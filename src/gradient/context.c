// Where gradients are built, and how they find forward values there. In the frame of the ys a
// forward value is simply read. In the backward loop of a forward loop it is not at hand, because
// it belongs to another frame and the iterations run in the opposite order, so it is resolved:
//
//   a constant, a number that inference knows   a copy in the backward loop
//   a loop invariant                            entered into the backward loop
//   any other value of the loop                 kept by the forward loop (accumulator.c)
//   a value from outside                        resolved outside, then entered
//
// A gradient function knows none of this: it calls the builder with forward values, and the
// builder's hook (prepare) resolves the inputs of every node before it is added. Resolved values
// are remembered, so each is kept once. An op that only describes forward values (Shape, or an op
// that DESCRIBES) is built in the forward loop instead, so that its small output is kept and not
// its large input.
#include "gradient/walk.h"
#include "graph/inference/inference.h"

#include <string.h>

static uint64_t key_of(leat_output_t value) {
  LEAT_DCHECK(leat_output_exists(value) && value.index >= 0);
  return (uint64_t)(uint32_t)value.node << 32 | (uint32_t)value.index;
}

// Whether |value| has been resolved here, and to what.
static bool is_known(const leat_context_t* c, leat_output_t value, leat_output_t* out_here) {
  uint64_t word;
  if (!leat_word_map_get(&c->values, key_of(value), &word)) return false;
  *out_here = (leat_output_t){(int32_t)(word >> 32), (int32_t)(uint32_t)word};
  return true;
}

// ---- Resolving ----------------------------------------------------------------------------------

// Resolves |value| in the context around, and enters it as an invariant.
static leat_status_t enter_from_outside(leat_context_t* c, leat_output_t value,
                                        leat_output_t* out_here) {
  // Where the walk begins there is nothing to enter, unless that is in a loop.
  LEAT_DCHECK(c->site.frame > 0);
  if (c->outer) {
    LEAT_RETURN_IF_ERROR(leat_context_resolve(c->outer, value, &value));
  }
  leat_builder_t b = leat_site_builder(&c->site);
  *out_here = leat_site_enter(&c->site, &b, value, true);
  if (b.status) return b.status;
  leat_partial_shape_t shape = leat_graph_output_shape(c->walk->graph, value);
  return leat_graph_refine_shape(c->walk->graph, *out_here, shape);
}

static leat_status_t copy_constant(leat_context_t* c, const leat_node_t* node,
                                   leat_output_t* out_here) {
  leat_builder_t b = leat_context_builder(c, c->site.scope);
  const leat_attr_value_t* value = leat_node_attr(node, LEAT_SV("value"));
  LEAT_DCHECK(value && value->tensor);
  *out_here = leat_build(&b, "Const", LEAT_NO_INPUTS,
                         (leat_attrs_t){(leat_attr_t[]){{LEAT_SV("value"), *value},
                                                        LEAT_TYPE("dtype", value->tensor->dtype)},
                                        2});
  return b.status;
}

// Whether |value| can be had in the backward loop without keeping it.
static bool is_invariant(const leat_context_t* c, leat_output_t value) {
  const leat_node_t* node = &c->walk->graph->nodes[value.node];
  leat_output_t unused;
  if (node->op->flags & LEAT_OP_CONSTANT) return true;
  if (is_known(c, value, &unused)) return true;
  return (node->op->flags & LEAT_OP_ENTER) && leat_node_attr_bool(node, "is_constant", false);
}

// An output of a conditional's Switch whose data costs nothing to have: the Switch is repeated
// here.
static leat_status_t decide_again(leat_context_t* c, const leat_node_t* node, int side,
                                  leat_output_t* out_here) {
  leat_output_t data = node->inputs[0], pred = node->inputs[1];
  LEAT_DCHECK(side == 0 || side == 1);
  leat_builder_t b = leat_context_builder(c, c->site.scope);
  *out_here = leat_node_output(
      leat_build_node(&b, "Switch", LEAT_INPUTS(data, pred), LEAT_NO_ATTRS), side);
  return b.status;
}

// A copy of small integers that inference knows, such as the Shape of a known shape; |*out_here|
// stays as it is when they are not known.
static leat_status_t copy_known(leat_context_t* c, leat_output_t value, leat_output_t* out_here) {
  leat_graph_t* graph = c->walk->graph;
  int dtype = leat_graph_output_type(graph, value);
  leat_partial_value_t known;
  int32_t narrow[LEAT_SHAPE_MAX_RANK];
  if (dtype != LEAT_DTYPE_INT32 && dtype != LEAT_DTYPE_INT64) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_value_of(graph, value, 0, &known));
  if (known.rank < 0 || known.count > LEAT_SHAPE_MAX_RANK) return leat_ok_status();
  for (int i = 0; i < known.count; ++i) {
    if (known.items[i] == LEAT_VALUE_UNKNOWN) return leat_ok_status();
    narrow[i] = (int32_t)known.items[i];
  }
  leat_builder_t b = leat_context_builder(c, c->site.scope);
  if (known.rank == 0) {
    *out_here = leat_build_scalar(&b, dtype, (double)known.items[0]);
  } else if (dtype == LEAT_DTYPE_INT32) {
    *out_here = leat_build_int32_vector(&b, narrow, known.count);
  }
  return b.status;
}

// Resolves a value of the forward loop itself.
static leat_status_t resolve_own(leat_context_t* c, leat_output_t value, leat_output_t* out_here) {
  const leat_walk_t* w = c->walk;
  const leat_node_t* node = &w->graph->nodes[value.node];
  if ((node->op->flags & LEAT_OP_CONSTANT) && leat_node_attr(node, LEAT_SV("value"))) {
    return copy_constant(c, node, out_here);
  }
  if (node->op->flags & LEAT_OP_ENTER) {
    if (leat_node_attr_bool(node, "is_constant", false)) {
      return enter_from_outside(c, leat_walk_input(w, node, 0), out_here);
    }
  } else if ((node->op->flags & LEAT_OP_SWITCH) && is_invariant(c, node->inputs[0]) &&
             !(w->graph->nodes[node->inputs[1].node].op->flags & LEAT_OP_LOOP_CONDITION)) {
    return decide_again(c, node, value.index, out_here);
  }
  *out_here = LEAT_OUTPUT_NONE;
  LEAT_RETURN_IF_ERROR(copy_known(c, value, out_here));
  if (leat_output_exists(*out_here)) return leat_ok_status();
  return leat_accumulator_keep(c, value, out_here);
}

// Follows |value| back through Identities that run under the same condition, so that one value is
// kept once.
static leat_output_t past_identities(const leat_context_t* c, leat_output_t value) {
  leat_walk_t* w = c->walk;
  for (;;) {
    value = leat_walk_past_calls(w, value);
    if (!leat_output_exists(value)) return value;
    const leat_node_t* node = &w->graph->nodes[value.node];
    if (!(node->op->flags & LEAT_OP_PASS_THROUGH) || node->input_count == 0) return value;
    leat_output_t source = leat_walk_past_calls(w, node->inputs[0]);
    if (leat_dtype_is_ref(leat_graph_output_type(w->graph, source)) ||
        leat_walk_guard_of(w, source) != leat_walk_guard_of(w, value)) {
      return value;
    }
    value = source;
  }
}

leat_status_t leat_context_resolve(leat_context_t* c, leat_output_t value,
                                   leat_output_t* out_here) {
  bool is_kept = c->loop && leat_walk_frame_of(c->walk, value.node) == c->region;
  value = is_kept ? past_identities(c, value) : leat_walk_past_calls(c->walk, value);
  int32_t frame = leat_walk_frame_of(c->walk, value.node);
  *out_here = value;
  if (frame == c->site.frame || is_known(c, value, out_here)) return leat_ok_status();
  if (c->loop && frame == c->region) {
    LEAT_RETURN_IF_ERROR(resolve_own(c, value, out_here));
  } else {
    LEAT_RETURN_IF_ERROR(enter_from_outside(c, value, out_here));
  }
  return leat_word_map_set(&c->values, key_of(value), key_of(*out_here));
}

// ---- The builder's place ------------------------------------------------------------------------

// Whether a node that is to be built belongs into the forward loop: it describes values of that
// loop, at least one of which would have to be kept otherwise.
static bool stays_forward(const leat_context_t* c, const leat_node_spec_t* spec) {
  if (!c->loop || !(spec->op->flags & (LEAT_OP_ONLY_SHAPE | LEAT_OP_DESCRIBES))) return false;
  bool any_kept = false;
  for (int k = 0; k < spec->input_count; ++k) {
    if (leat_walk_frame_of(c->walk, spec->inputs[k].node) != c->region) return false;
    any_kept |= !is_invariant(c, spec->inputs[k]);
  }
  return any_kept;
}

// The node runs under all conditions under which its inputs are live.
static leat_status_t prepare_forward(leat_context_t* c, leat_node_spec_t* spec) {
  int32_t guard = 0;
  for (int k = 0; k < spec->input_count; ++k) {
    LEAT_RETURN_IF_ERROR(
        leat_guard_join(c->walk, guard, leat_walk_guard_of(c->walk, spec->inputs[k]), &guard));
  }
  spec->control_count = 0;
  c->next_frame = c->region;
  c->next_guard = guard;
  return leat_ok_status();
}

// The builder's hook before a node: resolves its inputs. A node that reads nothing waits for
// |pivot|, so that it is in the loop.
static leat_status_t prepare(void* data, leat_node_spec_t* spec) {
  leat_context_t* c = data;
  if (stays_forward(c, spec)) return prepare_forward(c, spec);
  leat_output_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&c->walk->arena, (size_t)spec->input_count + 1, &inputs));
  for (int k = 0; k < spec->input_count; ++k) {
    LEAT_RETURN_IF_ERROR(leat_context_resolve(c, spec->inputs[k], &inputs[k]));
  }
  spec->inputs = inputs;
  if (spec->input_count + spec->control_count == 0 && c->pivot >= 0) {
    spec->control_inputs = &c->pivot;
    spec->control_count = 1;
  }
  c->next_frame = c->site.frame;
  c->next_guard = 0;
  return leat_ok_status();
}

// The builder's hook behind a node: notes its place.
static leat_status_t placed(void* data, int32_t node) {
  leat_context_t* c = data;
  LEAT_DCHECK((size_t)node + 1 == c->walk->graph->node_count);
  return leat_walk_set_place(c->walk, node, c->next_frame, c->next_guard);
}

// The hook is left out where every value is read as it is.
leat_builder_t leat_context_builder(leat_context_t* c, leat_string_view_t scope) {
  leat_builder_t b = {.graph = c->walk->graph, .scope = scope};
  if (c->site.frame > 0 || c->walk->calls) b.place = &c->place;
  return b;
}

void leat_context_initialize(leat_walk_t* w, leat_context_t* outer, leat_context_t* out_context) {
  *out_context = (leat_context_t){.walk = w, .outer = outer, .pivot = -1,
                                  .minus_one = LEAT_OUTPUT_NONE};
  out_context->site.walk = w;
  out_context->place = (leat_build_place_t){out_context, prepare, placed};
  leat_word_map_initialize(w->graph->allocator, &out_context->values);
}

void leat_context_deinitialize(leat_context_t* c) { leat_word_map_deinitialize(&c->values); }

// ---- Places -------------------------------------------------------------------------------------

leat_status_t leat_walk_set_place(leat_walk_t* w, int32_t node, int32_t frame, int32_t guard) {
  if ((size_t)node >= w->place_capacity) {
    size_t capacity = 2 * (size_t)node + 16;
    leat_node_place_t* places;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, capacity, &places));
    if (w->place_count) memcpy(places, w->places, w->place_count * sizeof *places);
    w->places = places;
    w->place_capacity = capacity;
  }
  LEAT_DCHECK(node >= 0 && (size_t)node < w->place_capacity);
  w->places[node] = (leat_node_place_t){frame, guard};
  if ((size_t)node >= w->place_count) w->place_count = (size_t)node + 1;
  return leat_ok_status();
}
