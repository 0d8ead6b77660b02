// Nodes are taken from the start of the step, the longest way to the end first; each goes where it
// would end first, transfers counted, and takes its group along. Nodes that do no work themselves
// (a variable and its read, a constant, what only passes on) float: the first worker that reads
// them draws them to its device, so that weights lie with what multiplies by them. A device without
// room for what a node leaves there is passed over while another has room.
//
// The result is simulated beside three others: the simple placement, and everything on one device
// where that is allowed; the shortest step wins. Then single groups are moved as long as that
// shortens the step, within a budget of simulations.
#include "master/greedy.h"

#include <string.h>

#include "master/simulator.h"

typedef struct greedy_s {
  leat_simulator_t sim;
  leat_graph_t* graph;
  leat_groups_t* groups;
  int32_t* devices;       // node -> device or -1
  int32_t* best;
  int64_t best_ns;
  bool* floats;           // node
  int32_t* sequence;      // nodes by rank
  leat_placement_note_t* notes;  // NULL: nobody asks
} greedy_t;

static const leat_node_t* node_of(const greedy_t* g, int32_t index) {
  return &g->graph->nodes[index];
}

static int64_t time_on(const greedy_t* g, int32_t node, int device) {
  return g->sim.times[(size_t)node * (size_t)g->sim.device_count + (size_t)device];
}

static void find_floating(greedy_t* g) {
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    int32_t index = g->sim.order[i];
    const leat_node_t* node = node_of(g, index);
    const leat_group_t* group = leat_groups_of(g->groups, index);
    int choices = 0;
    bool floats = true;
    for (int d = 0; d < g->sim.device_count; ++d) {
      if (!leat_group_allows(group, d)) continue;
      ++choices;
      floats &= time_on(g, index, d) == 0;
    }
    for (int k = 0; k < node->input_count + node->control_count && floats; ++k) {
      floats = leat_simulator_waits(&g->sim, index, k) && g->floats[node->inputs[k].node];
    }
    g->floats[index] = floats && choices > 1;
  }
}

// What a group or node would keep on the device.
static int64_t room_needed(const greedy_t* g, int32_t node) {
  int64_t bytes = 0;
  for (uint32_t v = g->sim.values[node]; v < g->sim.values[node + 1]; ++v) bytes += g->sim.bytes[v];
  return bytes;
}

static bool has_room(const greedy_t* g, int32_t node, int device) {
  const leat_placement_device_t* d = &g->sim.options->devices[device];
  if (d->memory_limit_bytes <= 0 || !d->has_own_memory) return true;
  int64_t bytes = g->sim.memory[device] + room_needed(g, node);
  const leat_node_t* n = node_of(g, node);
  for (int k = 0; k < n->input_count; ++k) {
    int32_t source = n->inputs[k].node;
    if (g->devices[source] != device) bytes += room_needed(g, source);
  }
  return bytes <= d->memory_limit_bytes;
}

// Is |source| still free to come along to |device|?
static bool can_draw(const greedy_t* g, int32_t source, int device) {
  const leat_group_t* group = leat_groups_of(g->groups, source);
  return g->floats[source] && g->devices[source] < 0 &&
         (group->device < 0 ? leat_group_allows(group, device) : group->device == device);
}

static int64_t end_on(greedy_t* g, int32_t node, int device) {
  const leat_node_t* n = node_of(g, node);
  int64_t start = g->sim.free_at[device];
  for (int k = 0; k < n->input_count + n->control_count; ++k) {
    int32_t source = n->inputs[k].node;
    if (!leat_simulator_waits(&g->sim, node, k) || can_draw(g, source, device)) continue;
    int from = g->devices[source];
    if (from < 0) from = leat_groups_first_device(g->groups, leat_groups_of(g->groups, source));
    int64_t at = leat_simulator_arrival(&g->sim, n->inputs[k], from, device, false);
    if (at > start) start = at;
  }
  return start + time_on(g, node, device);
}

static int choose(greedy_t* g, int32_t node, const leat_group_t* group) {
  if (group->device >= 0) return group->device;
  int best = -1;
  int64_t best_end = INT64_MAX;
  for (int roomy = 1; roomy >= 0 && best < 0; --roomy) {
    for (int i = 0; i < g->sim.device_count; ++i) {
      int device = g->groups->order[i];
      if (!leat_group_allows(group, device) || (roomy && !has_room(g, node, device))) continue;
      int64_t end = end_on(g, node, device);
      if (end >= best_end) continue;
      best_end = end;
      best = device;
    }
  }
  return best;
}

static void settle(greedy_t* g, int32_t node, int device) {
  g->devices[node] = device;
  leat_groups_of(g->groups, node)->device = device;
}

// Floating inputs come along, and theirs; those that cannot take their first device.
static void draw_inputs(greedy_t* g, int32_t node, int device) {
  const leat_node_t* n = node_of(g, node);
  for (int k = 0; k < n->input_count + n->control_count; ++k) {
    int32_t source = n->inputs[k].node;
    if (!g->floats[source] || g->devices[source] >= 0) continue;
    const leat_group_t* group = leat_groups_of(g->groups, source);
    int to = group->device >= 0                 ? group->device
             : leat_group_allows(group, device) ? device
                                                : leat_groups_first_device(g->groups, group);
    settle(g, source, to);
    draw_inputs(g, source, to);
    leat_simulator_occupy(&g->sim, source, to, 0);
  }
}

static void place_node(greedy_t* g, int32_t node) {
  int device = choose(g, node, leat_groups_of(g->groups, node));
  const leat_node_t* n = node_of(g, node);
  settle(g, node, device);
  draw_inputs(g, node, device);
  int64_t start = 0;
  for (int k = 0; k < n->input_count + n->control_count; ++k) {
    if (!leat_simulator_waits(&g->sim, node, k)) continue;
    int from = g->devices[n->inputs[k].node];
    int64_t at = leat_simulator_arrival(&g->sim, n->inputs[k], from, device, true);
    if (at > start) start = at;
  }
  if (start < g->sim.free_at[device] && time_on(g, node, device) > 0) {
    start = g->sim.free_at[device];
  }
  leat_simulator_occupy(&g->sim, node, device, start);
  leat_simulator_release_inputs(&g->sim, node, g->devices);
}

// Sorts by rank: a node comes before all that wait for it.
static void sift(greedy_t* g, int32_t root, int32_t end) {
  int32_t* s = g->sequence;
  for (int32_t child; (child = 2 * root + 1) < end; root = child) {
    if (child + 1 < end && g->sim.rank[s[child + 1]] < g->sim.rank[s[child]]) ++child;
    if (g->sim.rank[s[root]] <= g->sim.rank[s[child]]) return;
    int32_t swapped = s[root];
    s[root] = s[child];
    s[child] = swapped;
  }
}

static void sort_by_rank(greedy_t* g) {
  int32_t count = (int32_t)g->graph->node_count;
  for (int32_t i = 0; i < count; ++i) g->sequence[i] = g->sim.order[i];
  for (int32_t i = count / 2; i-- > 0;) sift(g, i, count);
  for (int32_t end = count; end-- > 1;) {
    int32_t first = g->sequence[0];
    g->sequence[0] = g->sequence[end];
    g->sequence[end] = first;
    sift(g, 0, end);
  }
}

static void place_in_order(greedy_t* g) {
  size_t count = g->graph->node_count;
  for (size_t i = 0; i < count; ++i) g->devices[i] = -1;
  leat_simulator_reset(&g->sim);
  for (size_t i = 0; i < count; ++i) {
    if (!g->floats[g->sequence[i]]) place_node(g, g->sequence[i]);
  }
  for (size_t i = 0; i < count; ++i) {
    int32_t node = g->sequence[i];
    if (g->devices[node] >= 0) continue;
    const leat_group_t* group = leat_groups_of(g->groups, node);
    settle(g, node, group->device >= 0 ? group->device
                                       : leat_groups_first_device(g->groups, group));
  }
}

// ---- Comparing ----------------------------------------------------------------------------------

static bool fits(const greedy_t* g) {
  for (int d = 0; d < g->sim.device_count; ++d) {
    const leat_placement_device_t* device = &g->sim.options->devices[d];
    if (device->has_own_memory && device->memory_limit_bytes > 0 &&
        g->sim.peak_bytes[d] > device->memory_limit_bytes) {
      return false;
    }
  }
  return true;
}

static void copy(int32_t* to, const int32_t* from, size_t count) {
  memcpy(to, from, count * sizeof *to);
}

// Keeps g->devices if a step with it is shorter.
static bool consider(greedy_t* g) {
  leat_simulator_run(&g->sim, g->devices);
  if (g->sim.makespan_ns >= g->best_ns || !fits(g)) return false;
  g->best_ns = g->sim.makespan_ns;
  copy(g->best, g->devices, g->graph->node_count);
  return true;
}

// Everything that may on |device|, the rest on its first.
static void consider_one_device(greedy_t* g, int device) {
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    const leat_group_t* group = leat_groups_of(g->groups, (int32_t)i);
    g->devices[i] = leat_group_allows(group, device)
                        ? device : leat_groups_first_device(g->groups, group);
  }
  consider(g);
}

static void move_group(greedy_t* g, int32_t root, int device) {
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    if (leat_groups_of(g->groups, (int32_t)i) == &g->groups->items[root]) g->devices[i] = device;
  }
}

// Moves of one group each; |budget| simulations in all.
static void improve(greedy_t* g, int budget) {
  bool better = true;
  while (better && budget > 0) {
    better = false;
    for (size_t i = 0; i < g->graph->node_count && budget > 0; ++i) {
      int32_t node = g->sequence[i];
      const leat_group_t* group = leat_groups_of(g->groups, node);
      int32_t root = (int32_t)(group - g->groups->items);
      if (root != node) continue;  // a group is moved when its root's turn comes
      for (int d = 0; d < g->sim.device_count && budget > 0; ++d) {
        if (d == g->best[node] || !leat_group_allows(group, d)) continue;
        copy(g->devices, g->best, g->graph->node_count);
        move_group(g, root, d);
        --budget;
        better |= consider(g);
      }
    }
  }
}

static void note_nodes(greedy_t* g) {
  leat_simulator_run(&g->sim, g->best);
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    const leat_group_t* group = leat_groups_of(g->groups, (int32_t)i);
    int choices = 0;
    for (int d = 0; d < g->sim.device_count; ++d) choices += leat_group_allows(group, d);
    g->notes[i] = (leat_placement_note_t){
        .reason = choices > 1              ? LEAT_PLACED_EARLIEST
                  : g->sim.device_count == 1 ? LEAT_PLACED_ONLY_DEVICE
                  : group->constrained     ? LEAT_PLACED_AS_ASKED
                                           : LEAT_PLACED_ONLY_KERNEL,
        .other = -1,
        .finish_ns = g->sim.finish[i]};
  }
}

static leat_status_t array(leat_arena_t* arena, size_t count, size_t item_bytes, void* out) {
  return leat_arena_allocate_array(arena, count + 1, item_bytes, (void**)out);
}

static leat_status_t place(greedy_t* g, leat_arena_t* arena) {
  size_t count = g->graph->node_count;
  LEAT_RETURN_IF_ERROR(leat_simulator_initialize(g->groups, arena, &g->sim));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &g->devices));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &g->best));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &g->sequence));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(bool), &g->floats));
  find_floating(g);
  sort_by_rank(g);
  place_in_order(g);
  copy(g->best, g->devices, count);  // where nothing fits, at least this
  consider(g);
  for (int d = 0; d < g->sim.device_count; ++d) consider_one_device(g, d);
  improve(g, count > 0 ? (int)(400000 / count) + 16 : 0);
  for (size_t i = 0; i < count; ++i) g->graph->nodes[i].assigned_device = g->best[i];
  if (g->notes) note_nodes(g);
  return leat_ok_status();
}

leat_status_t leat_place_greedily(leat_graph_t* graph, leat_groups_t* groups,
                                  leat_arena_t* arena) {
  greedy_t g = {.graph = graph, .groups = groups, .best_ns = INT64_MAX,
                .notes = groups->options->notes};
  leat_status_t status = place(&g, arena);
  leat_simulator_deinitialize(&g.sim);
  return status;
}
