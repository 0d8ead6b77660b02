// A node of a GPU is recorded twice: on its device, where the time is that of the launch, and on
// the device's streams, where it is that of the kernels, under "node:op". The time of the kernels
// counts where there is one. The stream "all" has the kernels of all others once more and is the
// one that is read; copies lie on streams of their own and belong to no node. The sums of an item
// are those of all nodes below it, so that a closed scope shows what it costs.
#include "board/graph_steps.h"

#include "base/map.h"

typedef struct work_s {
  const board_graph_t* graph;
  leat_string_map_t items;  // by the name of the node
  uint64_t* kernels_ns;
  board_graph_steps_t* steps;
} work_t;

static bool contains(leat_string_view_t text, leat_string_view_t part) {
  for (size_t i = 0; i + part.size <= text.size; ++i) {
    if (leat_string_view_starts_with(leat_string_view_from_index(text, i), part)) return true;
  }
  return false;
}

static leat_status_t map_names(work_t* work) {
  for (uint32_t i = 1; i < work->graph->item_count; ++i) {
    const board_graph_item_t* item = &work->graph->items[i];
    if (item->kind == BOARD_ITEM_FUNCTION) {
      i = item->end - 1;
    } else if (item->node) {
      LEAT_RETURN_IF_ERROR(leat_string_map_insert(&work->items, item->path, i, NULL, NULL));
    }
  }
  return leat_ok_status();
}

// Newer writers tell nanoseconds, older ones microseconds alone. What is negative counts nothing.
static uint64_t duration_of(const leat_pb_node_exec_stats_t* node) {
  int64_t nanos = node->all_end_rel_nanos;
  if (nanos <= 0) nanos = node->all_end_rel_micros < INT64_MAX / 1000
                              ? node->all_end_rel_micros * 1000 : 0;
  return nanos > 0 ? (uint64_t)nanos : 0;
}

static void add_node(work_t* work, const leat_pb_node_exec_stats_t* node, bool is_stream) {
  leat_string_view_t name = node->node_name;
  size_t colon = leat_string_view_find(name, ':');
  uint64_t item;
  if (colon < name.size) name.size = colon;
  if (!leat_string_map_get(&work->items, name, &item)) return;
  (is_stream ? work->kernels_ns : work->steps->time_ns)[item] += duration_of(node);
  for (size_t i = 0; i < node->memory.count; ++i) {
    int64_t bytes = node->memory.items[i].total_bytes;
    if (bytes > 0) work->steps->bytes[item] += (uint64_t)bytes;
  }
}

static void add_devices(work_t* work, const leat_pb_step_stats_t* stats) {
  for (size_t d = 0; d < stats->dev_stats.count; ++d) {
    const leat_pb_device_step_stats_t* device = &stats->dev_stats.items[d];
    bool is_stream = contains(device->device, LEAT_SV("/stream:"));
    if (is_stream && !leat_string_view_ends_with(device->device, LEAT_SV(":all"))) continue;
    if (contains(device->device, LEAT_SV("/memcpy"))) continue;
    for (size_t n = 0; n < device->node_stats.count; ++n) {
      add_node(work, &device->node_stats.items[n], is_stream);
    }
  }
}

leat_status_t board_graph_steps_read(const board_graph_t* graph,
                                     const leat_pb_run_metadata_t* metadata, leat_arena_t* arena,
                                     board_graph_steps_t* out_steps) {
  work_t work = {.graph = graph, .steps = out_steps};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, graph->item_count, &out_steps->time_ns));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, graph->item_count, &out_steps->bytes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, graph->item_count, &work.kernels_ns));
  leat_string_map_initialize(leat_allocator_system(), &work.items);
  leat_status_t status = map_names(&work);
  if (!status && metadata->step_stats) add_devices(&work, metadata->step_stats);
  leat_string_map_deinitialize(&work.items);
  for (size_t i = graph->item_count; i-- > 1;) {
    if (work.kernels_ns[i]) out_steps->time_ns[i] = work.kernels_ns[i];
    out_steps->time_ns[graph->items[i].parent] += out_steps->time_ns[i];
    out_steps->bytes[graph->items[i].parent] += out_steps->bytes[i];
  }
  return status;
}
