// The common course of those passes.
#include "optimize/placed.h"

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
