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

#include "optimize/pass.h"

#define NOTHING (-2)  // in |alias|: there from the start

typedef struct dependency_s {
  leat_graph_t* graph;
  const leat_op_t* no_op;
  int32_t* order;
  uint32_t* data_readers;  // fetches and targets count
  bool* dropped;
  size_t dropped_count;
  int32_t* alias;  // node -> whom to wait for instead; -1: itself
  int32_t* seen;   // source -> 1 + the node last found to wait for it
  size_t changed;
} dependency_t;

// ---- 1: work that is only waited for ------------------------------------------------------------

static void count_readers(dependency_t* d, const leat_rewrite_t* rewrite) {
  for (size_t i = 0; i < d->graph->node_count; ++i) {
    const leat_node_t* node = &d->graph->nodes[i];
    for (int k = 0; k < node->input_count; ++k) ++d->data_readers[node->inputs[k].node];
  }
  for (int i = 0; i < rewrite->fetch_count; ++i) ++d->data_readers[rewrite->fetches[i].node];
  for (int i = 0; i < rewrite->target_count; ++i) ++d->data_readers[rewrite->targets[i]];
}

static bool may_drop(const dependency_t* d, int32_t index) {
  const leat_node_t* node = &d->graph->nodes[index];
  return !d->data_readers[index] && leat_node_is_pure(d->graph, node) &&
         !leat_node_reads_switch(d->graph, node);
}

// Readers come before what they read, so that chains fall as a whole.
static void find_dropped(dependency_t* d) {
  for (size_t i = d->graph->node_count; i-- > 0;) {
    int32_t index = d->order[i];
    const leat_node_t* node = &d->graph->nodes[index];
    if (!may_drop(d, index)) continue;
    LEAT_DCHECK(!d->dropped[index]);
    d->dropped[index] = true;
    ++d->dropped_count;
    LEAT_DCHECK(d->data_readers[index] == 0);
    for (int k = 0; k < node->input_count; ++k) --d->data_readers[node->inputs[k].node];
  }
}

// In the place of |node|: waits for what it read and what it waited for.
static leat_status_t add_waiter(const dependency_t* d, leat_graph_t* child,
                                const leat_node_t* node, const leat_node_map_t* map,
                                leat_arena_t* arena) {
  leat_node_spec_t spec = {.name = node->name, .device = node->device, .op = d->no_op};
  int total = node->input_count + node->control_count;
  int32_t* controls;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, (size_t)total + 1, sizeof *controls, (void**)&controls));
  for (int i = 0; i < total; ++i) controls[i] = map->nodes[node->inputs[i].node];
  spec.control_count = total;  // the graph drops those that are named twice
  spec.control_inputs = controls;
  int32_t added;
  return leat_graph_add_node(child, &spec, &added);
}

// Nodes in an order in which inputs come first, so that a waiter names only nodes that are there.
static leat_status_t rebuild(const dependency_t* d, leat_rewrite_t* rewrite, leat_arena_t* arena) {
  size_t count = d->graph->node_count;
  leat_node_map_t map = {0};
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count + 1, sizeof(int32_t), (void**)&map.nodes));
  for (size_t i = 0; i < count; ++i) map.nodes[d->order[i]] = (int32_t)i;
  leat_graph_t* child;
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(d->graph, &child));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < count && !status; ++i) {
    const leat_node_t* node = &d->graph->nodes[d->order[i]];
    int32_t copy;
    status = d->dropped[d->order[i]] ? add_waiter(d, child, node, &map, arena)
                                     : leat_node_map_copy_node(child, node, &map, &copy);
  }
  if (status) {
    leat_graph_free(child);
    return status;
  }
  leat_rewrite_replace(rewrite, child, &map);
  return leat_ok_status();
}

static leat_status_t drop_work(dependency_t* d, leat_rewrite_t* rewrite, leat_arena_t* arena) {
  size_t count = d->graph->node_count, unread = 0;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&d->data_readers));
  count_readers(d, rewrite);
  while (unread < count && !may_drop(d, (int32_t)unread)) ++unread;
  if (unread == count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&d->order));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 1, (void**)&d->dropped));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(d->graph, d->order));
  find_dropped(d);
  LEAT_RETURN_IF_ERROR(rebuild(d, rewrite, arena));
  d->graph = rewrite->graph;
  return leat_ok_status();
}

// ---- 2, 3: edges that say nothing ---------------------------------------------------------------

static void find_aliases(dependency_t* d) {
  for (size_t i = 0; i < d->graph->node_count; ++i) {
    const leat_node_t* node = &d->graph->nodes[i];
    int inputs = node->input_count + node->control_count;
    bool does_nothing = node->op == d->no_op;
    d->alias[i] = -1;
    if (inputs == 0 && (does_nothing || (node->op->flags &
                                         (LEAT_OP_CONSTANT | LEAT_OP_ARGUMENT)))) {
      d->alias[i] = NOTHING;
    } else if (does_nothing && inputs == 1) {
      d->alias[i] = node->inputs[0].node;
    }
  }
}

// Halves the path that it walks.
static int32_t resolve(dependency_t* d, int32_t node) {
  LEAT_DCHECK(node < (int32_t)d->graph->node_count);
  while (node >= 0 && d->alias[node] != -1) {
    int32_t* next = &d->alias[node];
    if (*next >= 0 && d->alias[*next] != -1) *next = d->alias[*next];
    node = *next;
  }
  return node;
}

static void clean_node(dependency_t* d, int32_t index) {
  LEAT_DCHECK(d->alias && d->seen);
  leat_node_t* node = &d->graph->nodes[index];
  leat_output_t* controls = node->inputs + node->input_count;
  int kept = 0;
  for (int k = 0; k < node->input_count; ++k) d->seen[node->inputs[k].node] = index + 1;
  for (int k = 0; k < node->control_count; ++k) {
    int32_t source = resolve(d, controls[k].node);
    d->changed += source != controls[k].node;
    if (source < 0 || d->seen[source] == index + 1) continue;
    d->seen[source] = index + 1;
    controls[kept++] = (leat_output_t){source, LEAT_CONTROL_INDEX};
  }
  d->changed += kept != node->control_count;
  node->control_count = kept;
}

static leat_status_t clean_edges(dependency_t* d, leat_rewrite_t* rewrite, leat_arena_t* arena) {
  size_t count = d->graph->node_count;
  bool waits = false;
  for (size_t i = 0; i < count && !waits; ++i) waits = d->graph->nodes[i].control_count;
  if (!waits) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&d->alias));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&d->seen));
  find_aliases(d);
  for (size_t i = 0; i < count; ++i) {
    if (d->graph->nodes[i].control_count) clean_node(d, (int32_t)i);
  }
  return d->changed ? leat_rewrite_sweep(rewrite) : leat_ok_status();
}

static leat_status_t dependency(leat_rewrite_t* rewrite, const leat_pass_options_t* options) {
  (void)options;
  leat_arena_t arena;
  dependency_t d = {.graph = rewrite->graph};
  leat_arena_initialize(rewrite->graph->allocator, 0, &arena);
  leat_status_t status =
      leat_op_registry_find(rewrite->graph->ops, LEAT_OP_NAME_NO_OP, &d.no_op);
  if (!status) status = drop_work(&d, rewrite, &arena);
  if (!status) status = clean_edges(&d, rewrite, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_pass_t leat_pass_dependency = {
    .name = "dependency",
    .doc = "nobody waits for what need not be waited for",
    .bit = LEAT_PASS_BIT_DEPENDENCY,
    .run = dependency};
