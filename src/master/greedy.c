// The greedy placer of section 3.2.1: a list scheduler over the cost model. It takes the nodes in
// order of rank (the longest way to the end of the step first, so that a node comes after all that
// it waits for) and puts each on the feasible device where it would end first:
//
//   end(n, d) = max(free(d), max over inputs i of arrival(i, d)) + time(n, d)
//
// Transfers are counted in the arrivals, and a node's colocation group goes with it. Nodes that
// take no time on any device (a variable and its read, a constant, an identity) float: the first
// working node that reads them draws them to its device, so that weights lie with what multiplies
// by them. A device without room for what a node leaves there is passed over while another one has
// room.
//
// Such a choice does not look ahead. It is therefore made many times, each time with other nodes
// tied into units that are placed as one (units.c), from colocation groups to a device's whole
// share of the graph; and each time in two ways: by when a device is free, and by when it will have
// done all the work of the units begun on it. The simulated step of each placement is compared,
// also of those with everything on one device, and the shortest is refined (refinement.c).
#include "master/greedy.h"

#include <string.h>

#include "base/checked.h"
#include "base/sort.h"

// A large graph is placed in fewer ways, so that no more than MOST_PLACED nodes are placed in all;
// but the ways by groups and by chains are always taken.
#define MOST_PLACED 8000000
enum { LEAST_WAYS = 4 };

typedef struct greedy_s {
  leat_simulator_t sim;
  leat_graph_t* graph;
  leat_groups_t* groups;
  int32_t* devices;       // node -> device or -1
  bool* floats;           // node: takes no time itself and goes where its readers are
  int32_t* sequence;      // nodes by falling rank
  int32_t* drawn;         // scratch: nodes whose inputs are to be drawn
  leat_units_t unit_sets[LEAT_UNITS_COUNT];
  const int32_t* units;   // of the kind in use: node -> unit
  int* unit_devices;      // unit -> device or -1
  int64_t* unit_times;    // [unit][device]: ns of all its nodes
  bool reserves;          // a device counts as taken by the units begun on it
  int64_t* reserved;      // device -> ns that the units begun on it have still to do
  leat_placement_note_t* notes;  // NULL: nobody asks for them
} greedy_t;

static const leat_node_t* node_of(const greedy_t* g, int32_t index) {
  LEAT_DCHECK(index >= 0 && (size_t)index < g->graph->node_count);
  return &g->graph->nodes[index];
}

static int64_t time_on(const greedy_t* g, int32_t node, int device) {
  LEAT_DCHECK(device >= 0 && device < g->sim.device_count);
  return g->sim.times[(size_t)node * (size_t)g->sim.device_count + (size_t)device];
}

// A node floats when it may run on several devices, takes no time on any of them, and all that it
// waits for floats.
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

// The bytes that |node| leaves on its device: its outputs, and its value if it is a variable.
static int64_t room_needed(const greedy_t* g, int32_t node) {
  int64_t bytes = 0;
  for (uint32_t v = g->sim.values[node]; v < g->sim.values[node + 1]; ++v) bytes += g->sim.bytes[v];
  return bytes;
}

// Whether |device| has memory for |node| and for those of its inputs that lie elsewhere. The host's
// memory counts as unlimited.
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

// Whether |source| floats, has no device yet, and may come to |device|.
static bool can_draw(const greedy_t* g, int32_t source, int device) {
  const leat_group_t* group = leat_groups_of(g->groups, source);
  return g->floats[source] && g->devices[source] < 0 &&
         (group->device < 0 ? leat_group_allows(group, device) : group->device == device);
}

// The time on a device that cannot run the node counts as 0.
static int64_t own_time(const greedy_t* g, int32_t node, int device) {
  int64_t time = time_on(g, node, device);
  return time == INT64_MAX ? 0 : time;
}

static int64_t unit_time(const greedy_t* g, int32_t node, int device) {
  LEAT_DCHECK(g->units[node] >= 0 && (size_t)g->units[node] < g->graph->node_count);
  return g->unit_times[(size_t)g->units[node] * (size_t)g->sim.device_count + (size_t)device];
}

// Adds up the times of each unit's nodes.
static void add_unit_times(greedy_t* g) {
  size_t count = g->graph->node_count, devices = (size_t)g->sim.device_count;
  memset(g->unit_times, 0, count * devices * sizeof *g->unit_times);
  for (size_t i = 0; i < count; ++i) {
    int64_t* times = g->unit_times + (size_t)g->units[i] * devices;
    for (int d = 0; d < g->sim.device_count; ++d) times[d] += own_time(g, (int32_t)i, d);
  }
}

// ---- Choosing -----------------------------------------------------------------------------------

// When |node| would end on |device|, together with the rest of its unit. With |reserves| it begins
// after all that the units begun on the device have still to do there.
static int64_t end_on(greedy_t* g, int32_t node, int device) {
  const leat_node_t* n = node_of(g, node);
  int64_t start = g->sim.free_at[device] + (g->reserves ? g->reserved[device] : 0);
  for (int k = 0; k < n->input_count + n->control_count; ++k) {
    int32_t source = n->inputs[k].node;
    if (!leat_simulator_waits(&g->sim, node, k) || can_draw(g, source, device)) continue;
    int from = g->devices[source];
    if (from < 0) from = leat_groups_first_device(g->groups, leat_groups_of(g->groups, source));
    int64_t at = leat_simulator_arrival(&g->sim, n->inputs[k], from, device, false);
    if (at > start) start = at;
  }
  return start + unit_time(g, node, device);
}

// Returns the device for |node|: that of its group or of its unit if there is one with room, else
// the one where it ends first. Devices without room count only in the second round.
static int choose(greedy_t* g, int32_t node, const leat_group_t* group) {
  if (group->device >= 0) return group->device;
  int of_unit = g->unit_devices[g->units[node]];
  if (of_unit >= 0 && leat_group_allows(group, of_unit) && has_room(g, node, of_unit)) {
    return of_unit;
  }
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
  // The second round passes over no device for want of room.
  LEAT_DCHECK(best >= 0);
  return best;
}

// Places |node| and its group on |device|. The first node of a unit that takes time decides for the
// unit; otherwise a placeholder, which only the CPU can run, would draw the whole unit there.
static void settle(greedy_t* g, int32_t node, int device) {
  LEAT_DCHECK(device >= 0 && leat_group_allows(leat_groups_of(g->groups, node), device));
  int* of_unit = &g->unit_devices[g->units[node]];
  g->devices[node] = device;
  int64_t time = own_time(g, node, device);
  if (*of_unit < 0 && time > 0) {
    *of_unit = device;
    g->reserved[device] += unit_time(g, node, device);
  }
  if (*of_unit == device) g->reserved[device] -= time;
  leat_groups_of(g->groups, node)->device = device;
}

// Places the floating inputs of |node| on its device, and their floating inputs in turn; those that
// may not be there get their first device.
static void draw_inputs(greedy_t* g, int32_t node) {
  int32_t drawn = 0;
  g->drawn[drawn++] = node;
  while (drawn > 0) {
    const leat_node_t* reader = node_of(g, g->drawn[--drawn]);
    LEAT_DCHECK(g->devices[reader - g->graph->nodes] >= 0);
    int device = g->devices[reader - g->graph->nodes];
    for (int k = 0; k < reader->input_count + reader->control_count; ++k) {
      int32_t source = reader->inputs[k].node;
      if (!g->floats[source] || g->devices[source] >= 0) continue;
      const leat_group_t* group = leat_groups_of(g->groups, source);
      settle(g, source,
             group->device >= 0                 ? group->device
             : leat_group_allows(group, device) ? device
                                                : leat_groups_first_device(g->groups, group));
      leat_simulator_occupy(&g->sim, source, g->devices[source], 0);
      // A node is drawn once, when it gets its device.
      LEAT_DCHECK(drawn < (int32_t)g->graph->node_count);
      g->drawn[drawn++] = source;
    }
  }
}

// Places one node and simulates its run, as far as the step is simulated by now.
static void place_node(greedy_t* g, int32_t node) {
  int device = choose(g, node, leat_groups_of(g->groups, node));
  const leat_node_t* n = node_of(g, node);
  settle(g, node, device);
  draw_inputs(g, node);
  int64_t start = 0;
  for (int k = 0; k < n->input_count + n->control_count; ++k) {
    if (!leat_simulator_waits(&g->sim, node, k)) continue;
    int from = g->devices[n->inputs[k].node];
    // What a node waits for has a higher rank, and so was placed before.
    LEAT_DCHECK(from >= 0);
    int64_t at = leat_simulator_arrival(&g->sim, n->inputs[k], from, device, true);
    if (at > start) start = at;
  }
  if (start < g->sim.free_at[device] && time_on(g, node, device) > 0) {
    start = g->sim.free_at[device];
  }
  leat_simulator_occupy(&g->sim, node, device, start);
  leat_simulator_release_inputs(&g->sim, node, g->devices);
}

// Compares two nodes by rank: the higher one is placed first.
static bool rank_is_higher(const void* ranks, const void* a, const void* b) {
  const int64_t* rank = ranks;
  return rank[*(const int32_t*)a] > rank[*(const int32_t*)b];
}

// Places all nodes with the units of |kind|. Floating nodes that nobody drew are placed at the end.
static void place_in_order(greedy_t* g, int kind, bool reserves) {
  LEAT_DCHECK(kind >= 0 && kind < LEAT_UNITS_COUNT);
  size_t count = g->graph->node_count;
  g->units = g->unit_sets[kind].of;
  g->reserves = reserves;
  add_unit_times(g);
  memset(g->reserved, 0, (size_t)g->sim.device_count * sizeof *g->reserved);
  for (size_t i = 0; i < count; ++i) {
    g->devices[i] = g->unit_devices[i] = -1;
    g->groups->items[i].device = -1;
  }
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

// Places everything that may be there on |device|, and the rest on its first device.
static void place_on_one(greedy_t* g, int device) {
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    const leat_group_t* group = leat_groups_of(g->groups, (int32_t)i);
    g->devices[i] = leat_group_allows(group, device)
                        ? device : leat_groups_first_device(g->groups, group);
  }
}

// Notes why each node lies where it lies, for those who look on.
static void note_nodes(greedy_t* g, const int32_t* devices) {
  leat_simulator_run(&g->sim, devices);
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
  int64_t* times = g->sim.options->times_ns;
  const size_t cells = g->graph->node_count * (size_t)g->sim.device_count;
  if (times) memcpy(times, g->sim.times, cells * sizeof *times);
}

// Makes all placements that it has time for, refines the best, and writes it to the nodes. Large
// graphs are placed in fewer ways, so that the time stays within bounds.
static leat_status_t place(greedy_t* g, leat_arena_t* arena) {
  size_t count = g->graph->node_count;
  int32_t* best;
  LEAT_RETURN_IF_ERROR(leat_simulator_initialize(g->groups, arena, &g->sim));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &g->devices));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &best));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &g->sequence));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &g->drawn));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &g->floats));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &g->unit_devices));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count * (size_t)g->sim.device_count + 1, &g->unit_times));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)g->sim.device_count + 1, &g->reserved));
  find_floating(g);
  for (size_t i = 0; i < g->graph->node_count; ++i) g->sequence[i] = g->sim.order[i];
  leat_sort(g->sequence, g->graph->node_count, sizeof *g->sequence, rank_is_higher, g->sim.rank);
  LEAT_RETURN_IF_ERROR(leat_units_make(&g->sim, g->floats, arena, g->unit_sets));
  leat_refinement_t refinement = {.sim = &g->sim, .units = g->unit_sets, .floats = g->floats,
                                  .sequence = g->sequence, .best = best, .best_ns = INT64_MAX};
  LEAT_RETURN_IF_ERROR(leat_refinement_initialize(&refinement, arena));
  for (size_t way = 0; way < 2 * LEAT_UNITS_COUNT; ++way) {
    if (way >= LEAST_WAYS && way * count > MOST_PLACED) break;
    place_in_order(g, (int)way / 2, way % 2);
    if (way == 0) memcpy(best, g->devices, count * sizeof *best);  // kept if no placement fits
    leat_refinement_consider(&refinement, g->devices);
  }
  for (int d = 0; d < g->sim.device_count; ++d) {
    place_on_one(g, d);
    leat_refinement_consider(&refinement, g->devices);
  }
  leat_refinement_run(&refinement, LEAT_MAX(1, g->sim.options->effort));
  for (size_t i = 0; i < count; ++i) g->graph->nodes[i].assigned_device = best[i];
  if (g->notes) note_nodes(g, best);
  return leat_ok_status();
}

leat_status_t leat_place_greedily(leat_graph_t* graph, leat_groups_t* groups,
                                  leat_arena_t* arena) {
  greedy_t g = {.graph = graph, .groups = groups, .notes = groups->options->notes};
  leat_status_t status = place(&g, arena);
  leat_simulator_deinitialize(&g.sim);
  return status;
}
