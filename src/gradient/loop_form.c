// Recognises loops from their nodes. A frame is a loop if each Merge to which a NextIteration leads
// has exactly one Enter beside it, and one LoopCond decides the Switches:
//
//   Enter ─▶ Merge ─▶ Switch(LoopCond) ─┬ false ─▶ Exit
//              ▲                        └ true ─▶ body ─▶ NextIteration ─┐
//              └─────────────────────────────────────────────────────────┘
//
// Each such Merge is a loop variable. This is the form that TensorFlow's while_loop builds; the
// executor runs other forms too, but they have no gradient here and are INVALID_ARGUMENT if a
// gradient must pass. A Switch is assigned to its variable afterwards, because LoopCond may come
// behind it in the order.
#include "gradient/walk.h"

static leat_status_t bad_merge(const leat_walk_t* w, int32_t node) {
  return leat_walk_error(w, LEAT_INVALID_ARGUMENT, node,
                         "its inputs close a loop, must be one Enter and one NextIteration");
}

// Notes the variable of |merge|, which closes a loop; its Switch is found later.
static leat_status_t add_variable(leat_walk_t* w, int32_t merge) {
  const leat_node_t* node = &w->graph->nodes[merge];
  leat_loop_variable_t v = {-1, merge, -1, -1, {{0, 0}, {0, 0}, {0, 0}}};
  for (int k = 0; k < node->input_count; ++k) {
    int32_t source = node->inputs[k].node;
    uint32_t flags = w->graph->nodes[source].op->flags;
    int32_t* place = flags & LEAT_OP_ENTER            ? &v.enter
                     : flags & LEAT_OP_NEXT_ITERATION ? &v.next
                                                      : NULL;
    if (!place || *place >= 0) return bad_merge(w, merge);
    *place = source;
  }
  if (v.enter < 0 || v.next < 0) return bad_merge(w, merge);
  leat_loop_t* loop = &w->loops[w->frames.runs_in[merge]];
  LEAT_DCHECK(loop->variables && v.merge == merge);
  loop->variables[loop->variable_count++] = v;
  return leat_ok_status();
}

// Links the nodes of each loop, and finds its variables and its LoopCond.
static leat_status_t find_members(leat_walk_t* w, const int32_t* order, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const leat_node_t* node = &w->graph->nodes[order[i]];
    leat_loop_t* loop = &w->loops[leat_walk_loop_of(w, order[i])];
    w->next_in_loop[order[i]] = loop->first_node;
    loop->first_node = order[i];
    if (loop == w->loops) continue;
    if (leat_node_closing_input(w->graph, node) >= 0) {
      LEAT_RETURN_IF_ERROR(add_variable(w, order[i]));
    }
    if (!(node->op->flags & LEAT_OP_LOOP_CONDITION)) continue;
    if (leat_output_exists(loop->site.pred)) {
      return leat_walk_error(w, LEAT_INVALID_ARGUMENT, order[i],
                             "its loop has several LoopConds, must have one");
    }
    loop->site.pred = (leat_output_t){order[i], 0};
  }
  return leat_ok_status();
}

static leat_loop_variable_t* find_variable(leat_loop_t* loop, int32_t merge) {
  for (int i = 0; i < loop->variable_count; ++i) {
    if (loop->variables[i].merge == merge) return &loop->variables[i];
  }
  return NULL;
}

// Finds the Switch of each variable, which LoopCond decides.
static void find_switches(leat_walk_t* w, leat_loop_t* loop) {
  // Loop 0 stands for what is outside of all loops.
  LEAT_DCHECK(loop != w->loops);
  for (int32_t n = loop->first_node; n >= 0; n = w->next_in_loop[n]) {
    const leat_node_t* node = &w->graph->nodes[n];
    if (!(node->op->flags & LEAT_OP_SWITCH)) continue;
    if (!leat_output_equal(node->inputs[1], loop->site.pred)) continue;
    leat_loop_variable_t* v = find_variable(loop, node->inputs[0].node);
    if (v && v->decide < 0) v->decide = n;
  }
}

// Prepares the record of the loop in |frame|, with room for its variables.
static leat_status_t describe(leat_walk_t* w, int32_t frame, const int32_t* variable_counts) {
  LEAT_DCHECK(frame >= 0 && frame < w->frames.count && variable_counts[frame] >= 0);
  leat_loop_t* loop = &w->loops[frame];
  const leat_frame_t* from = &w->frames.items[frame];
  *loop = (leat_loop_t){.first_node = -1, .outside = -1, .minus_one = LEAT_OUTPUT_NONE};
  loop->site = (leat_site_t){.walk = w, .frame = frame, .parent_frame = from->parent,
                             .name = from->name,
                             .parallel_iterations = from->parallel_iterations,
                             .pred = LEAT_OUTPUT_NONE};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)variable_counts[frame] + 1, &loop->variables));
  return leat_arena_print(&w->arena, &loop->site.scope, "%.*s/%.*s/", LEAT_SV_ARG(w->prefix),
                          LEAT_SV_ARG(from->name));
}

leat_status_t leat_loops_find(leat_walk_t* w, const int32_t* order, size_t count) {
  size_t frames = (size_t)w->frames.count;
  int32_t* variables;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, frames, &variables));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, frames, &w->loops));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, w->node_count + 1, &w->next_in_loop));
  for (size_t i = 0; i < count; ++i) {
    const leat_node_t* node = &w->graph->nodes[order[i]];
    variables[w->frames.runs_in[order[i]]] += leat_node_closing_input(w->graph, node) >= 0;
  }
  for (size_t f = 0; f < frames; ++f) {
    LEAT_RETURN_IF_ERROR(describe(w, (int32_t)f, variables));
  }
  LEAT_RETURN_IF_ERROR(find_members(w, order, count));
  for (size_t f = 1; f < frames; ++f) find_switches(w, &w->loops[f]);
  return leat_ok_status();
}
