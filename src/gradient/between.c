// Which nodes the backward walk visits, and how many readers each waits for. A node is "between"
// when a path leads from some x to it and from it to some y, along tensors of types that can have a
// gradient: the first is found by a search forward from the xs, the second by a search backward
// from the ys among what the first one reached. All other nodes have gradient zero or are not asked
// for, and nothing is built for them.
//
// If a function call is between, it is expanded (options->expand), and edges that read the call's
// outputs are seen as reading the expanded nodes' outputs ("past calls"). Expansion adds nodes that
// may be calls again, so marking and expanding repeat until nothing is expanded; a function that
// calls itself is stopped by a limit.
#include "gradient/walk.h"

#include <string.h>

// Whether a gradient can flow along tensors of the type; handles stand for their variables.
static bool is_differentiable(int dtype) {
  const leat_dtype_set_t set = LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX |
                               LEAT_DTYPES_QUANTIZED | LEAT_DTYPE_BIT(RESOURCE) |
                               LEAT_DTYPE_BIT(VARIANT);
  return leat_dtype_in(leat_dtype_base(dtype), set);
}

// Whether a gradient can flow along an edge from |output|.
static bool flows(const leat_walk_t* w, leat_output_t output) {
  return output.index >= 0 && is_differentiable(leat_graph_output_type(w->graph, output));
}

// ---- Reached and between ------------------------------------------------------------------------

// The readers of each node, past calls, in compressed rows.
typedef struct readers_s {
  uint32_t* begin;
  int32_t* nodes;
} readers_t;

// Fills |readers| in two passes: the first counts, the second fills the rows.
static leat_status_t list_readers(leat_walk_t* w, leat_arena_t* arena, readers_t* readers) {
  const leat_graph_t* g = w->graph;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, g->node_count + 2, &readers->begin));
  for (int filling = 0; filling < 2; ++filling) {
    for (size_t i = 0; i < g->node_count; ++i) {
      const leat_node_t* node = &g->nodes[i];
      for (int k = 0; k < node->input_count; ++k) {
        leat_output_t source = leat_walk_input(w, node, k);
        if (!flows(w, source)) continue;
        if (filling) {
          readers->nodes[readers->begin[source.node + 1]++] = (int32_t)i;
        } else {
          ++readers->begin[source.node + 2];
        }
      }
    }
    if (filling) break;
    for (size_t i = 0; i <= g->node_count; ++i) readers->begin[i + 1] += readers->begin[i];
    LEAT_RETURN_IF_ERROR(
        LEAT_NEW(arena, (size_t)readers->begin[g->node_count + 1] + 1, &readers->nodes));
  }
  return leat_ok_status();
}

// Marks what the xs reach, by a depth-first search.
static leat_status_t mark_reached(leat_walk_t* w) {
  leat_arena_t arena;
  leat_arena_initialize(w->graph->allocator, 0, &arena);
  readers_t readers = {0};
  leat_status_t status = list_readers(w, &arena, &readers);
  size_t depth = 0;
  for (int i = 0; !status && i < w->x_count; ++i) {
    if (w->reached[w->xs[i].node]) continue;
    w->reached[w->xs[i].node] = true;
    w->ready[depth++] = w->xs[i].node;
  }
  while (depth) {
    int32_t index = w->ready[--depth];
    LEAT_DCHECK(w->reached[index]);
    for (uint32_t r = readers.begin[index]; r < readers.begin[index + 1]; ++r) {
      int32_t reader = readers.nodes[r];
      if (w->reached[reader]) continue;
      w->reached[reader] = true;
      w->ready[depth++] = reader;
    }
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// Marks what leads to the ys, among what the xs reach.
static void mark_between(leat_walk_t* w) {
  size_t depth = 0;
  for (int i = 0; i < w->y_count; ++i) {
    int32_t y = w->ys[i].node;
    if (w->between[y] || !w->reached[y]) continue;
    w->between[y] = true;
    w->ready[depth++] = y;
  }
  while (depth) {
    const leat_node_t* node = &w->graph->nodes[w->ready[--depth]];
    for (int k = 0; k < node->input_count; ++k) {
      int32_t source = leat_walk_input(w, node, k).node;
      if (!w->reached[source] || w->between[source]) continue;
      w->between[source] = true;
      w->ready[depth++] = source;
    }
  }
}

// Marks are made anew in each round, because expansion has added nodes.
static leat_status_t allocate_marks(leat_walk_t* w) {
  size_t count = w->graph->node_count + 1;
  w->node_count = w->graph->node_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, count, &w->reached));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, count, &w->between));
  return LEAT_NEW(&w->arena, count, &w->ready);
}

// Limits for a function that calls itself, whose expansion would not end.
#define MOST_ROUNDS 50
#define MOST_NODES ((size_t)1 << 18)

// ---- Calls --------------------------------------------------------------------------------------

static leat_status_t expand(leat_walk_t* w, int32_t index, bool* out_any) {
  leat_string_view_t scope;
  const leat_node_t* node = &w->graph->nodes[index];
  LEAT_RETURN_IF_ERROR(leat_arena_print(&w->arena, &scope, "%.*s/%.*s/", LEAT_SV_ARG(w->prefix),
                                        LEAT_SV_ARG(node->name)));
  leat_output_t* outputs;
  int output_count = node->output_count;  // the array may move
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)output_count + 1, &outputs));
  LEAT_RETURN_IF_ERROR(
      w->options->expand(w->options->data, w->graph, index, scope, outputs));
  bool is_left = output_count > 0 && !leat_output_exists(outputs[0]);
  // A call is expanded once.
  LEAT_DCHECK(!w->calls[index]);
  if (!is_left) w->calls[index] = outputs;
  *out_any |= !is_left;
  return leat_ok_status();
}

// Makes room for the nodes that were added since.
static leat_status_t grow_calls(leat_walk_t* w) {
  leat_output_t** former = w->calls;
  LEAT_DCHECK(w->node_count <= w->graph->node_count);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, w->graph->node_count + 1, &w->calls));
  if (former) memcpy(w->calls, former, w->node_count * sizeof *former);
  return leat_ok_status();
}

// Expands the calls between xs and ys that have not been tried.
static leat_status_t expand_calls(leat_walk_t* w, bool* out_any) {
  *out_any = false;
  if (!w->options || !w->options->expand) return leat_ok_status();
  size_t count = w->node_count;
  for (size_t i = 0; i < count; ++i) {
    if (!w->between[i] || !(w->graph->nodes[i].op->flags & LEAT_OP_CALLS)) continue;
    if (!w->calls) LEAT_RETURN_IF_ERROR(grow_calls(w));
    if (w->calls[i]) continue;
    LEAT_RETURN_IF_ERROR(expand(w, (int32_t)i, out_any));
  }
  return *out_any ? grow_calls(w) : leat_ok_status();
}

// |out_seen| [count] become the outputs for which |asked| stand.
static void see_past_calls(const leat_walk_t* w, const leat_output_t* asked, int count,
                           leat_output_t* out_seen) {
  for (int i = 0; i < count; ++i) out_seen[i] = leat_walk_past_calls(w, asked[i]);
}

leat_status_t leat_walk_find_between(leat_walk_t* w, const leat_output_t* ys,
                                     const leat_output_t* xs) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)w->y_count + 1, &w->ys));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)w->x_count + 1, &w->xs));
  size_t before = w->graph->node_count;
  int rounds = 0;
  for (bool again = true; again; ++rounds) {
    if (rounds == MOST_ROUNDS || w->graph->node_count - before > MOST_NODES) {
      return leat_make_status(LEAT_UNIMPLEMENTED,
                              "Adding gradients failed: a call has been expanded %d times over, "
                              "must not be of a function that calls itself",
                              rounds);
    }
    see_past_calls(w, ys, w->y_count, w->ys);
    see_past_calls(w, xs, w->x_count, w->xs);
    LEAT_RETURN_IF_ERROR(allocate_marks(w));
    LEAT_RETURN_IF_ERROR(mark_reached(w));
    mark_between(w);
    LEAT_RETURN_IF_ERROR(expand_calls(w, &again));
  }
  return leat_ok_status();
}

// ---- Pending ------------------------------------------------------------------------------------

bool leat_walk_edge_counts(const leat_walk_t* w, const leat_node_t* reader, leat_output_t source) {
  return !leat_edge_closes_loop(w->graph, reader, source) && w->between[source.node];
}

int32_t leat_walk_item_of(const leat_walk_t* w, leat_output_t source) {
  int32_t loop = leat_walk_loop_of(w, source.node);
  LEAT_DCHECK(loop >= 0 && (loop == 0 || loop < w->frames.count));
  if (!leat_walk_has_loops(w) || loop == w->frames.outputs_in[source.node]) return source.node;
  return (int32_t)w->node_count + loop;
}

leat_status_t leat_walk_count_pending(leat_walk_t* w) {
  size_t items = w->node_count + (size_t)w->frames.count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, items, &w->pending));
  for (size_t i = 0; i < w->node_count; ++i) {
    const leat_node_t* node = &w->graph->nodes[i];
    if (!w->between[i]) continue;
    for (int k = 0; k < node->input_count; ++k) {
      leat_output_t source = leat_walk_input(w, node, k);
      if (leat_walk_edge_counts(w, node, source)) ++w->pending[leat_walk_item_of(w, source)];
    }
  }
  return leat_ok_status();
}
