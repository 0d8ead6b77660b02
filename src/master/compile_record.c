#include "master/compile_record.h"

#include <string.h>

// Pruning to all nodes is a copy that keeps their order. What were the targets must be the copy's
// targets too, because passes may take a node away that nobody reads and that is none.
leat_status_t leat_rewrite_copy(const leat_rewrite_t* rewrite, leat_rewrite_t* out_copy) {
  leat_allocator_t* allocator = leat_allocator_system();
  const size_t count = rewrite->graph->node_count;
  const size_t target_count = (size_t)rewrite->target_count;
  int32_t *all, *targets = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, count + 1, &all));
  for (size_t i = 0; i < count; ++i) all[i] = (int32_t)i;
  leat_status_t status = LEAT_ALLOCATE(allocator, target_count + 1, &targets);
  if (!status) {
    status = leat_prune(rewrite->graph, NULL, 0, rewrite->fetches, rewrite->fetch_count, all,
                        (int)count, out_copy);
  }
  leat_allocator_free(allocator, all);
  if (status) {
    leat_allocator_free(allocator, targets);
    return status;
  }
  LEAT_DCHECK(out_copy->graph->node_count == count);
  if (target_count) memcpy(targets, rewrite->targets, target_count * sizeof *targets);
  leat_allocator_free(allocator, out_copy->targets);
  out_copy->targets = targets;
  out_copy->target_count = rewrite->target_count;
  return leat_ok_status();
}

leat_status_t leat_compile_record_begin(const leat_rewrite_t* source,
                                        leat_compile_record_t* out_record) {
  LEAT_DCHECK(!out_record->source.graph);
  leat_arena_initialize(leat_allocator_system(), 0, &out_record->arena);
  leat_status_t status = leat_rewrite_copy(source, &out_record->source);
  if (status) leat_arena_deinitialize(&out_record->arena);
  return status;
}

// The on_placed of a leat_compile_view_t. Costs and anchors are the session's, and change.
static leat_status_t keep_placement(void* data, const leat_graph_t* graph,
                                    const leat_placer_options_t* placement) {
  leat_compile_record_t* record = data;
  const size_t count = graph->node_count;
  const size_t cells = count * (size_t)placement->device_count;
  LEAT_DCHECK(placement->notes && !record->placement.notes);
  record->placement = *placement;
  record->placement.costs = NULL;
  record->placement.anchors = NULL;
  record->placement.times_ns = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&record->arena, count + 1, &record->placement.notes));
  memcpy(record->placement.notes, placement->notes, count * sizeof *placement->notes);
  if (!placement->times_ns) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&record->arena, cells + 1, &record->placement.times_ns));
  memcpy(record->placement.times_ns, placement->times_ns, cells * sizeof *placement->times_ns);
  return leat_ok_status();
}

leat_status_t leat_compile_record_place(leat_compile_record_t* record, leat_rewrite_t* rewrite,
                                        const leat_placer_options_t* options) {
  LEAT_DCHECK(record->source.graph && !record->placed.graph);
  const leat_compile_view_t view = {.data = record, .on_placed = keep_placement};
  LEAT_RETURN_IF_ERROR(leat_place_and_explain(rewrite->graph, options, &view));
  return leat_rewrite_copy(rewrite, &record->placed);
}

void leat_compile_record_deinitialize(leat_compile_record_t* record) {
  if (!record->source.graph) return;
  leat_rewrite_deinitialize(&record->source);
  if (record->placed.graph) leat_rewrite_deinitialize(&record->placed);
  leat_arena_deinitialize(&record->arena);
}
