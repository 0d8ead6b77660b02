// Control edges say what must have happened before; those that say nothing go away, and so does
// work that only orders others. What has effects, or reads state, still comes before whoever
// waited.
//
// 1. A pure node whose values nobody reads, but for which somebody waits, becomes a NoOp that waits
//    for the node's inputs:
//      a ─▶ MatMul ┄┄▶ group ┄┄▶ update        a ┄┄▶ NoOp ┄┄▶ group ┄┄▶ update
// 2. A NoOp that waits for one node only is that node to whoever waits for it.
// 3. Nobody waits for what is there from the start (a constant, an argument), twice for one node,
//    or for a node whose value he reads.
#include <string.h>

#include "optimize/edit.h"

#define NOTHING (-2)  // in |alias|: there from the start

typedef struct dependency_s {
  leat_edit_t* edit;
  const leat_op_t* no_op;
  int32_t* nodes;  // inputs first
  size_t count;
  int32_t* alias;    // node -> whom to wait for instead; -1: itself
  int32_t* seen;     // source -> 1 + the node last found to wait for it
  int32_t* sources;  // of one node
} dependency_t;

// ---- 1: work that is only waited for ------------------------------------------------------------

static bool is_only_waited_for(const leat_edit_t* edit, int32_t index) {
  const leat_node_t* node = leat_edit_node(edit, index);
  if (leat_edit_is_kept(edit, index) || !leat_node_is_pure(edit->graph, node) ||
      leat_node_reads_switch(edit->graph, node)) {
    return false;
  }
  LEAT_EDIT_FOR_EACH_USE(edit, index, use) {
    if (!leat_edit_is_wait(edit, leat_edit_reader(edit, use))) return false;
  }
  return true;
}

// Readers come before what they read, so that chains fall as a whole.
static leat_status_t drop_work(dependency_t* d) {
  LEAT_RETURN_IF_ERROR(leat_edit_sort(d->edit, &d->nodes, &d->count));
  for (size_t i = d->count; i-- > 0;) {
    if (leat_edit_is_gone(d->edit, d->nodes[i]) || !is_only_waited_for(d->edit, d->nodes[i])) {
      continue;
    }
    LEAT_RETURN_IF_ERROR(leat_edit_pass_waiters(d->edit, d->nodes[i]));
  }
  return leat_ok_status();
}

// ---- 2, 3: edges that say nothing ---------------------------------------------------------------

static void find_alias(dependency_t* d, int32_t index) {
  const leat_node_t* node = leat_edit_node(d->edit, index);
  const int inputs = node->input_count + node->control_count;
  const bool does_nothing = node->op == d->no_op;
  d->alias[index] = -1;
  if (inputs == 0 &&
      (does_nothing || (node->op->flags & (LEAT_OP_CONSTANT | LEAT_OP_ARGUMENT)))) {
    d->alias[index] = NOTHING;
  } else if (does_nothing && inputs == 1) {
    d->alias[index] = node->inputs[0].node;
  }
}

// Halves the path that it walks.
static int32_t resolve(dependency_t* d, int32_t node) {
  while (node >= 0 && d->alias[node] != -1) {
    int32_t* next = &d->alias[node];
    if (*next >= 0 && d->alias[*next] != -1) *next = d->alias[*next];
    node = *next;
  }
  return node;
}

static leat_status_t clean_node(dependency_t* d, int32_t index) {
  const leat_node_t* node = leat_edit_node(d->edit, index);
  const leat_output_t* controls = node->inputs + node->input_count;
  int kept = 0;
  bool changes = false;
  for (int k = 0; k < node->input_count; ++k) d->seen[node->inputs[k].node] = index + 1;
  for (int k = 0; k < node->control_count; ++k) {
    const int32_t source = resolve(d, controls[k].node);
    changes |= source != controls[k].node;
    if (source < 0 || d->seen[source] == index + 1) continue;
    d->seen[source] = index + 1;
    d->sources[kept++] = source;
  }
  return changes || kept != node->control_count
             ? leat_edit_set_waits(d->edit, index, d->sources, kept)
             : leat_ok_status();
}

static leat_status_t clean_edges(dependency_t* d) {
  const size_t nodes = d->edit->graph->node_count + 1;
  leat_arena_t* arena = d->edit->scratch;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes, &d->alias));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes, &d->seen));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes, &d->sources));
  LEAT_RETURN_IF_ERROR(leat_edit_sort(d->edit, &d->nodes, &d->count));
  for (size_t i = 0; i < d->count; ++i) find_alias(d, d->nodes[i]);
  // Readers first: what only a cleaned node waited for is gone, and need not be cleaned.
  for (size_t i = d->count; i-- > 0;) {
    if (leat_edit_is_gone(d->edit, d->nodes[i])) continue;
    LEAT_RETURN_IF_ERROR(clean_node(d, d->nodes[i]));
  }
  return leat_ok_status();
}

static bool has_waits(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].control_count) return true;
  }
  return false;
}

static leat_status_t dependency(leat_edit_t* edit) {
  dependency_t d = {.edit = edit};
  if (!has_waits(edit->graph)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(edit->graph->ops, LEAT_OP_NAME_NO_OP, &d.no_op));
  LEAT_RETURN_IF_ERROR(drop_work(&d));
  return clean_edges(&d);
}

const leat_pass_t leat_pass_dependency = {
    .name = "dependency",
    .doc = "nobody waits for what need not be waited for",
    .after = "fold,arithmetic",
    .stage = LEAT_PASS_WHOLE,
    .bit = LEAT_PASS_BIT_DEPENDENCY,
    .run = dependency};
