// The common course of those passes.
#include "optimize/placed.h"

#include <string.h>

typedef leat_status_t (*rewrite_graph_t)(leat_placed_t* placed);
typedef leat_status_t (*try_node_t)(leat_placed_t* placed, int32_t node);

static leat_status_t prepare(leat_placed_t* p) {
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(p->arena, p->count + 1, 1, (void**)&p->kept));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(p->arena, p->count + 1, sizeof *p->order,
                                                 (void**)&p->order));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(p->graph, p->order));
  LEAT_RETURN_IF_ERROR(
      leat_conditions_find(p->graph, p->options, p->order, p->arena, &p->conditions));
  leat_rewrite_mark_kept(p->rewrite, p->kept);
  return leat_readers_initialize(p->graph, &p->readers);
}

static leat_status_t try_each(leat_placed_t* p, try_node_t try_node) {
  for (size_t i = 0; i < p->count; ++i) LEAT_RETURN_IF_ERROR(try_node(p, (int32_t)i));
  return leat_ok_status();
}

// One of the two functions is there.
static leat_status_t run(leat_placed_t* p, rewrite_graph_t rewrite_graph, try_node_t try_node) {
  LEAT_DCHECK(!rewrite_graph != !try_node);
  LEAT_RETURN_IF_ERROR(prepare(p));
  leat_status_t status = rewrite_graph ? rewrite_graph(p) : try_each(p, try_node);
  leat_readers_deinitialize(&p->readers);
  return status || !p->any_changed ? status : leat_rewrite_sweep(p->rewrite);
}

static leat_status_t open_and_run(leat_rewrite_t* rewrite, const leat_pass_options_t* options,
                                  rewrite_graph_t rewrite_graph, try_node_t try_node) {
  leat_arena_t arena;
  leat_arena_initialize(rewrite->graph->allocator, 0, &arena);
  leat_placed_t placed = {.options = options,
                          .rewrite = rewrite,
                          .graph = rewrite->graph,
                          .count = rewrite->graph->node_count,
                          .arena = &arena};
  leat_status_t status = run(&placed, rewrite_graph, try_node);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_placed_rewrite_graph(leat_rewrite_t* rewrite, const leat_pass_options_t* options,
                                        rewrite_graph_t rewrite_graph) {
  return open_and_run(rewrite, options, rewrite_graph, NULL);
}

leat_status_t leat_placed_rewrite(leat_rewrite_t* rewrite, const leat_pass_options_t* options,
                                  try_node_t try_node) {
  return open_and_run(rewrite, options, NULL, try_node);
}

// ---- Readers and waiters ------------------------------------------------------------------------

leat_status_t leat_waits_add(const leat_placed_t* p, int32_t node, leat_waits_t* inout_waits) {
  LEAT_DCHECK(node >= 0 && (size_t)node < p->graph->node_count);
  LEAT_DCHECK(inout_waits->count <= inout_waits->room);
  if (inout_waits->count == inout_waits->room) {
    int32_t* nodes;
    const int room = 2 * inout_waits->room + 4;
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate_array(p->arena, (size_t)room, sizeof *nodes, (void**)&nodes));
    if (inout_waits->count) {
      memcpy(nodes, inout_waits->nodes, (size_t)inout_waits->count * sizeof *nodes);
    }
    inout_waits->nodes = nodes;
    inout_waits->room = room;
  }
  inout_waits->nodes[inout_waits->count++] = node;
  return leat_ok_status();
}

leat_status_t leat_waits_add_controls(const leat_placed_t* p, int32_t index,
                                      leat_waits_t* inout_waits) {
  const leat_node_t* node = &p->graph->nodes[index];
  for (int i = 0; i < node->control_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_waits_add(p, node->inputs[node->input_count + i].node, inout_waits));
  }
  return leat_ok_status();
}

static bool waits(const leat_graph_t* graph, leat_reader_t reader) {
  LEAT_DCHECK((size_t)reader.node < graph->node_count);
  return reader.position >= graph->nodes[reader.node].input_count;
}

bool leat_placed_has_one_reader(const leat_placed_t* p, int32_t node) {
  uint32_t waiting = 0;
  if ((size_t)node >= p->count || p->kept[node]) return false;
  const uint32_t begin = p->readers.begin[node], end = p->readers.begin[node + 1];
  for (uint32_t r = begin; r < end; ++r) waiting += waits(p->graph, p->readers.readers[r]);
  const leat_node_t* read = &p->graph->nodes[node];
  return end - begin - waiting == 1 &&
         (!waiting || !(leat_node_hands_on(read) || leat_node_reads_switch(p->graph, read)));
}

leat_status_t leat_placed_move_waiters(leat_placed_t* p, int32_t node,
                                       const leat_waits_t* sources) {
  // Readers are known of nodes that were there at first.
  LEAT_DCHECK(node >= 0 && (size_t)node < p->count);
  int32_t waiter = -1;
  const leat_op_t* no_op;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(p->graph->ops, LEAT_OP_NAME_NO_OP, &no_op));
  leat_node_spec_t spec = {
      .op = no_op, .control_inputs = sources->nodes, .control_count = sources->count};
  for (uint32_t r = p->readers.begin[node]; r < p->readers.begin[node + 1]; ++r) {
    const leat_reader_t reader = p->readers.readers[r];
    const leat_node_t* waiting = &p->graph->nodes[reader.node];
    if (!waits(p->graph, reader) || waiting->inputs[reader.position].node != node) continue;
    if (waiter < 0) {
      LEAT_RETURN_IF_ERROR(leat_rewrite_add_beside(p->rewrite, node, "/_waited", &spec, &waiter));
    }
    p->graph->nodes[reader.node].inputs[reader.position].node = waiter;
  }
  return leat_ok_status();
}

leat_status_t leat_placed_pass_waiters(leat_placed_t* p, int32_t index) {
  const leat_node_t* node = &p->graph->nodes[index];
  leat_waits_t sources = {0};
  for (int i = 0; i < node->input_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add(p, node->inputs[i].node, &sources));
  }
  LEAT_RETURN_IF_ERROR(leat_waits_add_controls(p, index, &sources));
  return leat_placed_move_waiters(p, index, &sources);
}
