// The table of anchors: the device of each stateful node, by name. Names identify such nodes,
// because state belongs to the session, and a session's nodes keep their names in every signature.
#include "master/anchors.h"

#include <string.h>

#include "base/map.h"
#include "base/sync.h"

struct leat_anchors_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;
  leat_arena_t arena;         // names
  leat_string_map_t devices;  // name -> index
};

leat_status_t leat_anchors_create(leat_allocator_t* allocator, leat_anchors_t** out_anchors) {
  leat_anchors_t* anchors;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &anchors));
  anchors->allocator = allocator;
  leat_mutex_initialize(&anchors->mutex);
  leat_arena_initialize(allocator, 0, &anchors->arena);
  leat_string_map_initialize(allocator, &anchors->devices);
  *out_anchors = anchors;
  return leat_ok_status();
}

void leat_anchors_free(leat_anchors_t* anchors) {
  if (!anchors) return;
  leat_string_map_deinitialize(&anchors->devices);
  leat_arena_deinitialize(&anchors->arena);
  leat_mutex_deinitialize(&anchors->mutex);
  leat_allocator_free(anchors->allocator, anchors);
}

void leat_anchors_lock(leat_anchors_t* anchors) { leat_mutex_lock(&anchors->mutex); }
void leat_anchors_unlock(leat_anchors_t* anchors) { leat_mutex_unlock(&anchors->mutex); }

void leat_anchors_hold(const leat_anchors_t* anchors, leat_groups_t* groups) {
  for (size_t i = 0; i < groups->graph->node_count; ++i) {
    const leat_node_t* node = &groups->graph->nodes[i];
    uint64_t device;
    if (!leat_node_makes_reference(node) ||
        !leat_string_map_get(&anchors->devices, node->name, &device)) {
      continue;
    }
    // All placements of a session have the same list of devices, so an index stays valid.
    LEAT_DCHECK(device < (uint64_t)groups->options->device_count);
    leat_group_t* group = leat_groups_of(groups, (int32_t)i);
    if (!leat_group_allows(group, (int)device)) continue;
    memset(group->feasible, 0, (size_t)groups->set_words * sizeof *group->feasible);
    group->feasible[device / 64] |= UINT64_C(1) << device % 64;
  }
}

bool leat_anchors_know(leat_anchors_t* anchors, const leat_graph_t* graph) {
  bool is_known = false;
  uint64_t device;
  leat_anchors_lock(anchors);
  for (size_t i = 0; i < graph->node_count && !is_known; ++i) {
    is_known = leat_node_makes_reference(&graph->nodes[i]) &&
               leat_string_map_get(&anchors->devices, graph->nodes[i].name, &device);
  }
  leat_anchors_unlock(anchors);
  return is_known;
}

static leat_status_t drop(leat_anchors_t* anchors, const leat_node_t* node) {
  LEAT_DCHECK(node->assigned_device >= 0);
  leat_string_view_t name = node->name;
  uint64_t known;
  if (leat_string_map_get(&anchors->devices, name, &known)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&anchors->arena, name, &name));
  return leat_string_map_set(&anchors->devices, name, (uint64_t)node->assigned_device);
}

leat_status_t leat_anchors_drop(leat_anchors_t* anchors, const leat_graph_t* graph) {
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < graph->node_count && !status; ++i) {
    if (leat_node_makes_reference(&graph->nodes[i])) status = drop(anchors, &graph->nodes[i]);
  }
  return status;
}
