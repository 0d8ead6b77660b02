// Work that only orders others is dropped: a pure node whose values nobody reads, but for which
// somebody waits, becomes a NoOp that waits for the node's inputs. What has effects, or reads
// state, still comes before whoever waited.
//
//   a ─▶ MatMul ┄┄▶ group ┄┄▶ update        a ┄┄▶ NoOp ┄┄▶ group ┄┄▶ update
#include <string.h>

#include "optimize/pass.h"

typedef struct dependency_s {
  const leat_graph_t* graph;
  int32_t* order;
  uint32_t* data_readers;  // fetches and targets count
  bool* dropped;
  size_t dropped_count;
} dependency_t;

static void count_readers(dependency_t* d, const leat_rewrite_t* rewrite) {
  for (size_t i = 0; i < d->graph->node_count; ++i) {
    const leat_node_t* node = &d->graph->nodes[i];
    for (int k = 0; k < node->input_count; ++k) ++d->data_readers[node->inputs[k].node];
  }
  for (int i = 0; i < rewrite->fetch_count; ++i) ++d->data_readers[rewrite->fetches[i].node];
  for (int i = 0; i < rewrite->target_count; ++i) ++d->data_readers[rewrite->targets[i]];
}

// A Switch kills one of its outputs: a control edge could not tell which.
static bool reads_switch(const leat_graph_t* graph, const leat_node_t* node) {
  for (int k = 0; k < node->input_count; ++k) {
    if (graph->nodes[node->inputs[k].node].op->flags & LEAT_OP_SWITCH) return true;
  }
  return false;
}

// Readers come before what they read, so that chains fall as a whole.
static void find_dropped(dependency_t* d) {
  for (size_t i = d->graph->node_count; i-- > 0;) {
    int32_t index = d->order[i];
    const leat_node_t* node = &d->graph->nodes[index];
    if (d->data_readers[index] || !leat_node_is_pure(d->graph, node)) continue;
    if (reads_switch(d->graph, node)) continue;
    d->dropped[index] = true;
    ++d->dropped_count;
    for (int k = 0; k < node->input_count; ++k) --d->data_readers[node->inputs[k].node];
  }
}

// In the place of |node|: waits for what it read and what it waited for.
static leat_status_t add_waiter(leat_graph_t* child, const leat_node_t* node,
                                const leat_node_map_t* map, leat_arena_t* arena) {
  leat_node_spec_t spec = {.name = node->name, .device = node->device};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(child->ops, LEAT_OP_NAME_NO_OP, &spec.op));
  int total = node->input_count + node->control_count;
  int32_t* controls;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, (size_t)total + 1, sizeof *controls, (void**)&controls));
  for (int i = 0; i < total; ++i) {
    int32_t source = map->nodes[node->inputs[i].node];
    bool seen = false;
    for (int k = 0; k < spec.control_count && !seen; ++k) seen = controls[k] == source;
    if (!seen) controls[spec.control_count++] = source;
  }
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
    status = d->dropped[d->order[i]] ? add_waiter(child, node, &map, arena)
                                     : leat_node_map_copy_node(child, node, &map, &copy);
  }
  if (status) {
    leat_graph_free(child);
    return status;
  }
  leat_rewrite_replace(rewrite, child, &map);
  return leat_ok_status();
}

static leat_status_t run(leat_rewrite_t* rewrite, leat_arena_t* arena) {
  dependency_t d = {.graph = rewrite->graph};
  size_t count = d.graph->node_count;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&d.order));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 4, (void**)&d.data_readers));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count + 1, 1, (void**)&d.dropped));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(d.graph, d.order));
  count_readers(&d, rewrite);
  find_dropped(&d);
  return d.dropped_count ? rebuild(&d, rewrite, arena) : leat_ok_status();
}

static leat_status_t dependency(leat_rewrite_t* rewrite, const leat_pass_options_t* options) {
  (void)options;
  leat_arena_t arena;
  leat_arena_initialize(rewrite->graph->allocator, 0, &arena);
  leat_status_t status = run(rewrite, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_pass_t leat_pass_dependency = {
    "dependency", "work that is only waited for is not done", dependency};
