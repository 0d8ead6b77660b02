// The backward walk (section 4.1): reverse-mode differentiation of a graph. For C = sum(ys),
//
//   dC/dx = sum over readers r of x, and outputs y of r, of  dC/dy * dy/dx
//
// so the gradient of an output is complete when all of its readers on paths to the ys have been
// visited. The walk marks these nodes (between.c), counts for each how many readers it waits for,
// starts with the gradients of the ys, and visits a node when its count is zero (region.c): the
// contributions to its outputs are added (contributions.c), and its op's gradient function builds
// what its inputs get. Everything that is built is ordinary graph, so a gradient can be
// differentiated again.
//
// Control flow is recognised from its nodes alone, since a GraphDef has nothing else: conditionals
// by guards.c and conditional.c, loops by loop_form.c and loop.c. Frames are visited from the frame
// of the ys outwards, and a loop within a frame is visited as one item of it. Failure leaves nodes
// that nothing reads.
#include "gradient/gradient.h"

#include <stdio.h>

#include "gradient/walk.h"
#include "graph/inference/inference.h"
#include "graph/verify.h"

leat_status_t leat_builder_take_status(leat_builder_t* b) {
  leat_status_t status = b->status;
  b->status = leat_ok_status();
  return status;
}

leat_status_t leat_walk_error(const leat_walk_t* w, leat_status_code_t code, int32_t node,
                              const char* rule) {
  const leat_node_t* n = &w->graph->nodes[node];
  return leat_make_status(code, "AddGradients failed for node '%.*s' (%.*s): %s",
                          LEAT_SV_ARG(n->name), LEAT_SV_ARG(n->op->name), rule);
}

leat_status_t leat_walk_scope_of(leat_walk_t* w, int32_t node, leat_string_view_t* out_scope) {
  if (w->options && w->options->as_cpp) {
    return leat_arena_print(&w->arena, out_scope, "%.*s/", LEAT_SV_ARG(w->prefix));
  }
  return leat_arena_print(&w->arena, out_scope, "%.*s/%.*s_grad/", LEAT_SV_ARG(w->prefix),
                          LEAT_SV_ARG(w->graph->nodes[node].name));
}

// The walk stops at an x unless a path leads from another x through it, and at the outputs that the
// options name.
static void mark_stops(leat_walk_t* w) {
  for (int i = 0; i < w->x_count; ++i) {
    const leat_node_t* node = &w->graph->nodes[w->xs[i].node];
    bool last = true;
    for (int k = 0; k < node->input_count; ++k) {
      last &= !w->between[leat_walk_input(w, node, k).node];
    }
    if (last) w->stops[w->xs[i].node] = true;
  }
  for (int i = 0; w->options && i < w->options->stop_count; ++i) {
    w->stops[w->options->stop[i].node] = true;
  }
}

// ---- Control flow -------------------------------------------------------------------------------

static bool has_control_flow(const leat_walk_t* w) {
  for (size_t i = 0; i < w->node_count; ++i) {
    if (w->between[i] && (w->graph->nodes[i].op->flags & LEAT_OP_CONTROL_FLOW)) return true;
  }
  return false;
}

// The nodes on which the ys depend, inputs first.
static leat_status_t order_needed(leat_walk_t* w, int32_t** out_order, size_t* out_count) {
  bool* needed;
  int32_t* order;
  size_t depth = 0, count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, w->node_count + 1, &needed));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, w->node_count + 1, &order));
  for (int i = 0; i < w->y_count; ++i) {
    if (!needed[w->ys[i].node]) w->ready[depth++] = w->ys[i].node;
    needed[w->ys[i].node] = true;
  }
  while (depth) {
    const leat_node_t* node = &w->graph->nodes[w->ready[--depth]];
    for (int k = 0; k < 2 * (node->input_count + node->control_count); ++k) {
      // Both a call and the nodes that it was expanded to are needed.
      int32_t source = k % 2 ? leat_walk_input(w, node, k / 2).node : node->inputs[k / 2].node;
      if (needed[source]) continue;
      needed[source] = true;
      w->ready[depth++] = source;
    }
  }
  LEAT_RETURN_IF_ERROR(leat_graph_sort(w->graph, order));
  for (size_t i = 0; i < w->node_count; ++i) {
    if (needed[order[i]]) order[count++] = order[i];
  }
  *out_order = order;
  *out_count = count;
  return leat_ok_status();
}

// Finds frames, loops, shapes in loops and guards, if there is control flow between xs and ys.
static leat_status_t recover_control_flow(leat_walk_t* w) {
  int32_t* order;
  size_t count;
  if (!has_control_flow(w)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(order_needed(w, &order, &count));
  LEAT_RETURN_IF_ERROR(
      leat_frames_find(w->graph, order, count, "AddGradients", &w->arena, &w->frames));
  w->frame_count = w->frames.count;
  if (leat_walk_has_loops(w)) {
    LEAT_RETURN_IF_ERROR(leat_graph_narrow_shapes(w->graph, order, count, LEAT_OP_ENTER));
  }
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_walk_set_place(w, order[i], w->frames.outputs_in[order[i]], 0));
  }
  LEAT_RETURN_IF_ERROR(leat_loops_find(w, order, count));
  LEAT_RETURN_IF_ERROR(leat_walk_find_guards(w, order, count));
  for (int32_t f = 1; f < w->frames.count; ++f) {
    w->loops[f].site.exit_guard = w->loops[f].guard;
  }
  return leat_ok_status();
}

// ---- The walk -----------------------------------------------------------------------------------

static leat_status_t prepare(leat_walk_t* w) {
  size_t count = w->node_count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, count, &w->stops));
  return LEAT_NEW(&w->arena, count, &w->contributions);
}

// The frame of the ys, which must be one; their gradients are built there.
static leat_status_t find_start(const leat_walk_t* w, int32_t* out_frame) {
  *out_frame = 0;
  for (int i = 0; i < w->y_count; ++i) {
    int32_t frame = leat_walk_frame_of(w, w->ys[i].node);
    if (i > 0 && frame != *out_frame) {
      return leat_walk_error(w, LEAT_INVALID_ARGUMENT, w->ys[i].node,
                             "it is in another loop than the first y, all ys must be in one");
    }
    *out_frame = frame;
  }
  return leat_ok_status();
}

// Contributes the given gradients, or ones, to the ys.
static leat_status_t start_gradients(leat_context_t* c, const leat_output_t* grad_ys) {
  LEAT_DCHECK(c->walk->contributions && c->walk->stops);
  leat_walk_t* w = c->walk;
  leat_string_view_t scope;
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&w->arena, &scope, "%.*s/", LEAT_SV_ARG(w->prefix)));
  leat_builder_t builder = leat_context_builder(c, scope);
  for (int i = 0; i < w->y_count; ++i) {
    leat_gradient_value_t value = LEAT_GRADIENT_NONE;
    if (grad_ys && leat_output_exists(grad_ys[i])) {
      value.dense = grad_ys[i];
      if (builder.place) LEAT_RETURN_IF_ERROR(leat_context_resolve(c, value.dense, &value.dense));
    } else {
      char name[32] = "OnesLike";
      if (!w->options || !w->options->as_cpp) snprintf(name, sizeof(name), "grad_ys_%d", i);
      value.dense = leat_build_named(&builder, name, "OnesLike", LEAT_INPUTS(w->ys[i]),
                                     LEAT_NO_ATTRS);
    }
    LEAT_RETURN_IF_ERROR(leat_builder_take_status(&builder));
    LEAT_RETURN_IF_ERROR(leat_walk_add_contribution(w, w->ys[i], value));
  }
  return leat_ok_status();
}

// Visits the frame of the ys, then the frames around it.
static leat_status_t visit_all(leat_walk_t* w, const leat_output_t* grad_ys) {
  leat_context_t c;
  int32_t frame;
  LEAT_RETURN_IF_ERROR(find_start(w, &frame));
  leat_context_initialize(w, NULL, &c);
  if (frame > 0) {
    c.site = w->loops[frame].site;
    c.pivot = w->ys[0].node;
  }
  leat_status_t status = start_gradients(&c, grad_ys);
  for (c.region = frame; !status && c.region >= 0;) {
    status = leat_region_visit(&c);
    c.came_from = c.region;
    c.region = w->loops ? w->frames.items[c.region].parent : -1;
  }
  leat_context_deinitialize(&c);
  return status;
}

static leat_status_t check_outputs(const leat_graph_t* graph, const char* what,
                                   const leat_output_t* outputs, int count) {
  for (int i = 0; i < count; ++i) {
    leat_output_t o = outputs[i];
    if (o.node >= 0 && (size_t)o.node < graph->node_count && o.index >= 0 &&
        o.index < graph->nodes[o.node].output_count) {
      continue;
    }
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AddGradients failed: %s %d names no output of the graph", what, i);
  }
  return leat_ok_status();
}

// The sums of what was contributed to the xs.
static leat_status_t collect(leat_walk_t* w, leat_gradient_value_t* out_gradients) {
  for (int i = 0; i < w->x_count; ++i) {
    leat_builder_t builder = {.graph = w->graph};
    LEAT_RETURN_IF_ERROR(leat_walk_scope_of(w, w->xs[i].node, &builder.scope));
    if (w->options && w->options->colocate) {
      builder.colocate_with = leat_walk_colocated_with(&w->graph->nodes[w->xs[i].node]);
    }
    LEAT_RETURN_IF_ERROR(leat_walk_sum_contributions(w, &builder, w->xs[i], &out_gradients[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_add_gradients(leat_graph_t* graph, const leat_gradient_spec_t* spec,
                                 leat_gradient_value_t* out_gradients) {
  LEAT_RETURN_IF_ERROR(check_outputs(graph, "y", spec->ys, spec->y_count));
  LEAT_RETURN_IF_ERROR(check_outputs(graph, "x", spec->xs, spec->x_count));
  leat_walk_t w = {.graph = graph, .prefix = spec->prefix, .options = spec->options,
                   .x_count = spec->x_count, .y_count = spec->y_count};
  const size_t first = graph->node_count;
  leat_arena_initialize(graph->allocator, 0, &w.arena);
  leat_status_t status;
  LEAT_GOTO_IF_ERROR(status, leat_walk_find_between(&w, spec->ys, spec->xs));
  LEAT_GOTO_IF_ERROR(status, prepare(&w));
  mark_stops(&w);
  LEAT_GOTO_IF_ERROR(status, recover_control_flow(&w));
  LEAT_GOTO_IF_ERROR(status, leat_walk_count_pending(&w));
  LEAT_GOTO_IF_ERROR(status, visit_all(&w, spec->grad_ys));
  LEAT_GOTO_IF_ERROR(status, collect(&w, out_gradients));
  for (size_t i = first; i < graph->node_count; ++i) graph->nodes[i].is_gradient = true;
  status = LEAT_VERIFY_UNFINISHED(graph, "adding gradients");
cleanup:
  leat_arena_deinitialize(&w.arena);
  return status;
}
