// The common course of those passes.
#include "optimize/placed.h"

static leat_status_t prepare(leat_placed_t* p) {
  int32_t* order;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(p->arena, p->count + 1, 1, (void**)&p->kept));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(p->arena, p->count + 1, sizeof *order, (void**)&order));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(p->graph, order));
  LEAT_RETURN_IF_ERROR(leat_conditions_find(p->graph, p->options, order, p->arena, &p->conditions));
  leat_rewrite_mark_kept(p->rewrite, p->kept);
  return leat_readers_initialize(p->graph, &p->readers);
}

static leat_status_t run(leat_placed_t* p, leat_status_t (*try_node)(leat_placed_t*, int32_t)) {
  LEAT_RETURN_IF_ERROR(prepare(p));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < p->count && !status; ++i) status = try_node(p, (int32_t)i);
  leat_readers_deinitialize(&p->readers);
  return status || !p->any_changed ? status : leat_rewrite_sweep(p->rewrite);
}

leat_status_t leat_placed_rewrite(leat_rewrite_t* rewrite, const leat_pass_options_t* options,
                                  leat_status_t (*try_node)(leat_placed_t* placed, int32_t node)) {
  leat_arena_t arena;
  leat_arena_initialize(rewrite->graph->allocator, 0, &arena);
  leat_placed_t placed = {.options = options,
                          .rewrite = rewrite,
                          .graph = rewrite->graph,
                          .count = rewrite->graph->node_count,
                          .arena = &arena};
  leat_status_t status = run(&placed, try_node);
  leat_arena_deinitialize(&arena);
  return status;
}
