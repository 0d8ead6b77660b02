// Under which conditions a node runs: conditionals, recovered from Switch and Merge nodes. A
// condition is a guard, a chain of items "pred is side" from the outermost to the innermost
// conditional:
//
//   x ── Switch(p) ─ true ── f ──┐            f runs under (p is 1)
//            └──── false ── g ───┴ Merge      Merge under what all inputs share: nothing
//
// A node runs when all of its inputs are live, so it runs under the union of their guards, control
// inputs included; an output of a Switch has one item more than the Switch. Inside a loop guards
// begin anew at its Enters, and Switches that LoopCond decides add nothing. Guards are interned in
// a tree, which makes equal conditions equal numbers if they nest in the same order.
#include "gradient/walk.h"

#include <string.h>

#define MAX_DEPTH 1000  // conditionals within conditionals: chains are walked

// The predicate without Identities before it, so that one predicate has one name.
static leat_output_t see_through(const leat_walk_t* w, leat_output_t pred) {
  const leat_node_t* node = &w->graph->nodes[pred.node];
  while (node->op->flags & LEAT_OP_PASS_THROUGH) {
    leat_output_t source = node->inputs[0];
    if (leat_dtype_is_ref(leat_graph_output_type(w->graph, source))) break;
    pred = source;
    node = &w->graph->nodes[pred.node];
  }
  return pred;
}

// The guard that says what |parent| says and that |pred| is |side|; made when it is new.
static leat_status_t extend(leat_walk_t* w, int32_t parent, leat_output_t pred, int32_t side,
                            int32_t* out_guard) {
  for (int32_t g = w->guards[parent].first_child; g >= 0; g = w->guards[g].next) {
    if (leat_output_equal(w->guards[g].pred, pred) && w->guards[g].side == side) {
      *out_guard = g;
      return leat_ok_status();
    }
  }
  LEAT_DCHECK(side == 0 || side == 1);
  if (w->guards[parent].depth >= MAX_DEPTH) {
    return leat_walk_error(w, LEAT_UNIMPLEMENTED, pred.node,
                           "it decides within 1000 conditionals, must within fewer");
  }
  if (w->guard_count == w->guard_capacity) {
    leat_guard_t* items;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 2 * (size_t)w->guard_capacity, &items));
    memcpy(items, w->guards, (size_t)w->guard_count * sizeof *items);
    w->guards = items;
    w->guard_capacity *= 2;
  }
  LEAT_DCHECK(w->guard_count < w->guard_capacity && parent < w->guard_count);
  leat_guard_t* of = &w->guards[parent];
  w->guards[w->guard_count] = (leat_guard_t){.parent = parent, .depth = of->depth + 1,
                                             .first_child = -1, .next = of->first_child,
                                             .pred = pred, .side = side};
  *out_guard = of->first_child = w->guard_count++;
  return leat_ok_status();
}

bool leat_guard_says(const leat_walk_t* w, int32_t guard, leat_output_t pred, int32_t side) {
  LEAT_DCHECK(guard < w->guard_count || guard == 0);
  for (; guard > 0; guard = w->guards[guard].parent) {
    if (leat_output_equal(w->guards[guard].pred, pred) && w->guards[guard].side == side) {
      return true;
    }
  }
  return false;
}

leat_status_t leat_guard_difference(leat_walk_t* w, int32_t guard, int32_t known,
                                    leat_guard_t** out_items, int* out_count) {
  leat_guard_t* items = NULL;
  const int depth = guard > 0 ? w->guards[guard].depth : 0;
  int first = depth;
  if (depth > 0) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)depth, &items));
  }
  for (; guard > 0 && guard != known; guard = w->guards[guard].parent) {
    const leat_guard_t* g = &w->guards[guard];
    if (!leat_guard_says(w, known, g->pred, g->side)) items[--first] = *g;
  }
  LEAT_DCHECK(first >= 0 && first <= depth);
  *out_items = depth > 0 ? items + first : NULL;
  *out_count = depth - first;
  return leat_ok_status();
}

leat_status_t leat_guard_join(leat_walk_t* w, int32_t a, int32_t b, int32_t* out_guard) {
  leat_guard_t* more;
  int count;
  *out_guard = a;
  if (a == b || b == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_guard_difference(w, b, a, &more, &count));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(extend(w, *out_guard, more[i].pred, more[i].side, out_guard));
  }
  return leat_ok_status();
}

// The guard that says what both |a| and |b| say, in the order of |a|.
static leat_status_t meet(leat_walk_t* w, int32_t a, int32_t b, int32_t* out_guard) {
  leat_guard_t* items;
  int count;
  *out_guard = 0;
  LEAT_RETURN_IF_ERROR(leat_guard_difference(w, a, 0, &items, &count));
  for (int i = 0; i < count; ++i) {
    if (!leat_guard_says(w, b, items[i].pred, items[i].side)) continue;
    LEAT_RETURN_IF_ERROR(extend(w, *out_guard, items[i].pred, items[i].side, out_guard));
  }
  return leat_ok_status();
}

// ---- Nodes --------------------------------------------------------------------------------------

// Whether the Switch |decide| belongs to a loop variable.
static bool is_decided_by_loop(const leat_walk_t* w, const leat_node_t* decide) {
  LEAT_DCHECK(decide->input_count == 2);
  int32_t pred = decide->inputs[1].node;
  return w->graph->nodes[pred].op->flags & LEAT_OP_LOOP_CONDITION;
}

// The guard under which |source| is live: an output, or a node as a control input.
static leat_status_t guard_of_source(leat_walk_t* w, leat_output_t source, int32_t* out_guard) {
  const leat_node_t* node = &w->graph->nodes[source.node];
  *out_guard = 0;
  if (node->op->flags & LEAT_OP_ENTER) return leat_ok_status();
  LEAT_DCHECK((size_t)source.node < w->place_count);
  *out_guard = w->places[source.node].guard;
  if (!(node->op->flags & LEAT_OP_SWITCH) || source.index < 0) return leat_ok_status();
  if (is_decided_by_loop(w, node)) return leat_ok_status();
  return extend(w, *out_guard, see_through(w, node->inputs[1]), source.index, out_guard);
}

int32_t leat_walk_guard_of(leat_walk_t* w, leat_output_t output) {
  if (!w->guards || (size_t)output.node >= w->place_count) return 0;
  int32_t guard;
  leat_status_t status = guard_of_source(w, output, &guard);  // find_guard has made it
  leat_status_free(status);
  return guard;
}

// Gives a Merge the guard that all its inputs imply, since any of them may be the one that is live.
// The input that closes a loop is left out, because it is live only where another one was.
static leat_status_t guard_of_merge(leat_walk_t* w, const leat_node_t* node, int32_t* out_guard) {
  int32_t own;
  for (int k = 0; k < node->input_count; ++k) {
    const leat_node_t* source = &w->graph->nodes[node->inputs[k].node];
    if (source->op->flags & LEAT_OP_NEXT_ITERATION) continue;
    LEAT_RETURN_IF_ERROR(guard_of_source(w, node->inputs[k], &own));
    if (k == 0) *out_guard = own;
    if (k > 0) LEAT_RETURN_IF_ERROR(meet(w, *out_guard, own, out_guard));
  }
  return leat_ok_status();
}

// Notes the guard of node |index|, whose inputs have theirs.
static leat_status_t find_guard(leat_walk_t* w, int32_t index) {
  const leat_node_t* node = &w->graph->nodes[index];
  int32_t guard = 0, own;
  int first = 0;
  if (node->op->flags & LEAT_OP_CONTROL_TRIGGER) return leat_ok_status();  // runs always
  if (node->op->flags & LEAT_OP_EXIT) {
    w->places[index].guard = w->loops[w->frames.runs_in[index]].guard;
    return leat_ok_status();
  }
  if (node->op->flags & LEAT_OP_MERGE) {
    LEAT_RETURN_IF_ERROR(guard_of_merge(w, node, &guard));
    first = node->input_count;
  }
  for (int k = first; k < node->input_count + node->control_count; ++k) {
    leat_output_t source = node->inputs[k];
    LEAT_RETURN_IF_ERROR(guard_of_source(w, source, &own));
    LEAT_RETURN_IF_ERROR(leat_guard_join(w, guard, own, &guard));
  }
  w->places[index].guard = guard;
  if (node->op->flags & LEAT_OP_ENTER) {
    leat_loop_t* loop = &w->loops[w->frames.outputs_in[index]];
    return leat_guard_join(w, loop->guard, guard, &loop->guard);
  }
  // The guards of both sides are made now, so that leat_walk_guard_of cannot fail later.
  if (!(node->op->flags & LEAT_OP_SWITCH)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(guard_of_source(w, (leat_output_t){index, 0}, &own));
  return guard_of_source(w, (leat_output_t){index, 1}, &own);
}

leat_status_t leat_walk_find_guards(leat_walk_t* w, const int32_t* order, size_t count) {
  w->guard_capacity = 16;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 16, &w->guards));
  w->guards[0] = (leat_guard_t){.parent = -1, .first_child = -1, .next = -1};
  w->guard_count = 1;
  for (size_t i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(find_guard(w, order[i]));
  return leat_ok_status();
}
