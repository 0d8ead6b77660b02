// Nodes are taken from the start of the step, the longest way to the end first; each goes where it
// would end first, transfers counted, and takes its group along. Nodes that do no work themselves
// (a variable and its read, a constant, what only passes on) float: the first worker that reads
// them draws them to its device, so that weights lie with what multiplies by them. A device without
// room for what a node leaves there is passed over while another has room.
//
// Such a choice does not see far. So it is made several times, each time with other nodes tied into
// units that are placed as one: none; chains (each node the only reader of the one before); weights
// with all that read them; clusters, grown along the edges that carry most up to a share of a
// device's work. The simulated steps are compared, and those with everything on one device too. In
// the best, units are then moved as long as that shortens the step, within a budget of simulations.
#include "master/greedy.h"

#include <stdlib.h>
#include <string.h>

#include "master/simulator.h"

// What is placed as one, by union-find over nodes.
enum { UNITS_GROUPS, UNITS_CHAINS, UNITS_WEIGHTS, UNITS_CLUSTERS, UNITS_COUNT = 7 };
// The shares of clusters: of all the work a device has if it is divided evenly.
static const int kShares[] = {2, 5, 12, 32};
typedef struct edge_s {
  int64_t bytes;
  int32_t source, reader;
} edge_t;
// What is simulated at most while units are moved, in each of three rounds: half a second in all.
#define SIMULATED_NODES 2500000

typedef struct greedy_s {
  leat_simulator_t sim;
  leat_graph_t* graph;
  leat_groups_t* groups;
  int32_t* devices;       // node -> device or -1
  int32_t* best;
  int64_t best_ns;
  bool* floats;           // node
  int32_t* sequence;      // nodes by rank
  int32_t* unit_sets[UNITS_COUNT];  // node -> parent in its unit
  int32_t* units;                   // the one in use
  int* unit_devices;      // root -> device or -1
  int64_t* unit_times;    // of chains: [root][device]
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

static leat_status_t array(leat_arena_t* arena, size_t count, size_t item_bytes, void* out) {
  return leat_arena_allocate_array(arena, count + 1, item_bytes, (void**)out);
}

// ---- Units --------------------------------------------------------------------------------------

static int32_t unit_of(const greedy_t* g, int32_t node) {
  while (g->units[node] != node) node = g->units[node] = g->units[g->units[node]];
  return node;
}

static void tie(greedy_t* g, int32_t a, int32_t b) { g->units[unit_of(g, b)] = unit_of(g, a); }

// Ties |node| to its reader when that has no other input that works.
static void tie_chain(greedy_t* g, int32_t node) {
  uint32_t begin = g->sim.readers.begin[node];
  if (g->floats[node] || g->sim.readers.begin[node + 1] != begin + 1) return;
  int32_t reader = g->sim.readers.readers[begin].node;
  const leat_node_t* n = node_of(g, reader);
  int working = 0;
  for (int k = 0; k < n->input_count + n->control_count; ++k) {
    working += !g->floats[n->inputs[k].node];
  }
  if (working == 1) tie(g, node, reader);
}

static void tie_readers(greedy_t* g, int32_t node) {
  if (!g->floats[node]) return;
  for (uint32_t r = g->sim.readers.begin[node]; r < g->sim.readers.begin[node + 1]; ++r) {
    int32_t reader = g->sim.readers.readers[r].node;
    // What many read and nobody keeps (a shape, a scalar) ties nothing.
    if (room_needed(g, node) >= 4096) tie(g, node, reader);
  }
}

static int64_t least_time(const greedy_t* g, int32_t node) {
  int64_t least = INT64_MAX;
  for (int d = 0; d < g->sim.device_count; ++d) {
    int64_t time = time_on(g, node, d);
    if (time < least) least = time;
  }
  return least == INT64_MAX ? 0 : least;
}

static int more_bytes(const void* a, const void* b) {
  const edge_t *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->source != y->source ? (x->source > y->source) - (x->source < y->source)
                                : (x->reader > y->reader) - (x->reader < y->reader);
}

static size_t list_edges(const greedy_t* g, edge_t* edges) {
  size_t count = 0;
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    const leat_node_t* node = &g->graph->nodes[i];
    for (int k = 0; k < node->input_count; ++k) {
      uint32_t value = g->sim.values[node->inputs[k].node] + 1 + (uint32_t)node->inputs[k].index;
      edges[count++] = (edge_t){g->sim.bytes[value], node->inputs[k].node, (int32_t)i};
    }
  }
  qsort(edges, count, sizeof *edges, more_bytes);
  return count;
}

// |times|: scratch, by root.
static void grow_clusters(greedy_t* g, const edge_t* edges, size_t edge_count, int share,
                          int64_t* times) {
  int64_t all = 0;
  memset(times, 0, g->graph->node_count * sizeof *times);
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    int64_t time = least_time(g, (int32_t)i);
    times[unit_of(g, (int32_t)i)] += time;
    all += time;
  }
  int64_t limit = all / g->sim.device_count / share;
  for (size_t e = 0; e < edge_count; ++e) {
    int32_t a = unit_of(g, edges[e].source), b = unit_of(g, edges[e].reader);
    if (a == b || times[a] + times[b] > limit) continue;
    g->units[b] = a;
    times[a] += times[b];
  }
}

static void make_units(greedy_t* g, int kind, const edge_t* edges, size_t edge_count,
                       int64_t* times) {
  size_t count = g->graph->node_count;
  g->units = g->unit_sets[kind];
  for (size_t i = 0; i < count; ++i) {
    g->units[i] = (int32_t)(leat_groups_of(g->groups, (int32_t)i) - g->groups->items);
  }
  for (size_t i = 0; i < count; ++i) {
    if (kind == UNITS_CHAINS) tie_chain(g, (int32_t)i);
    if (kind == UNITS_WEIGHTS) tie_readers(g, (int32_t)i);
  }
  if (kind < UNITS_CLUSTERS) return;
  grow_clusters(g, edges, edge_count, kShares[kind - UNITS_CLUSTERS], times);
}

static leat_status_t make_all_units(greedy_t* g, leat_arena_t* arena) {
  edge_t* edges;
  int64_t* times;
  size_t count = g->graph->node_count, most = 0;
  for (size_t i = 0; i < count; ++i) most += (size_t)g->graph->nodes[i].input_count;
  LEAT_RETURN_IF_ERROR(array(arena, most, sizeof *edges, &edges));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof *times, &times));
  size_t edge_count = list_edges(g, edges);
  for (int kind = 0; kind < UNITS_COUNT; ++kind) {
    LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &g->unit_sets[kind]));
    make_units(g, kind, edges, edge_count, times);
  }
  return leat_ok_status();
}

static void add_unit_times(greedy_t* g) {
  size_t count = g->graph->node_count, devices = (size_t)g->sim.device_count;
  for (size_t i = 0; i < count; ++i) {
    int64_t* times = g->unit_times + (size_t)unit_of(g, (int32_t)i) * devices;
    for (int d = 0; d < g->sim.device_count; ++d) {
      int64_t time = time_on(g, (int32_t)i, d);
      if (time != INT64_MAX) times[d] += time;
    }
  }
}

static void use_units(greedy_t* g, int kind) {
  g->units = g->unit_sets[kind];
  for (size_t i = 0; i < g->graph->node_count; ++i) g->unit_devices[i] = -1;
}

// ---- Choosing -----------------------------------------------------------------------------------

// |whole|: with the rest of the unit.
static int64_t end_on(greedy_t* g, int32_t node, int device, bool whole) {
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
  return start + (whole ? g->unit_times[(size_t)unit_of(g, node) * (size_t)g->sim.device_count +
                                        (size_t)device]
                        : time_on(g, node, device));
}

static int choose(greedy_t* g, int32_t node, const leat_group_t* group, bool whole) {
  if (group->device >= 0) return group->device;
  int of_unit = g->unit_devices[unit_of(g, node)];
  if (of_unit >= 0 && leat_group_allows(group, of_unit) && has_room(g, node, of_unit)) {
    return of_unit;
  }
  int best = -1;
  int64_t best_end = INT64_MAX;
  for (int roomy = 1; roomy >= 0 && best < 0; --roomy) {
    for (int i = 0; i < g->sim.device_count; ++i) {
      int device = g->groups->order[i];
      if (!leat_group_allows(group, device) || (roomy && !has_room(g, node, device))) continue;
      int64_t end = end_on(g, node, device, whole);
      if (end >= best_end) continue;
      best_end = end;
      best = device;
    }
  }
  return best;
}

static void settle(greedy_t* g, int32_t node, int device) {
  int* of_unit = &g->unit_devices[unit_of(g, node)];
  g->devices[node] = device;
  if (*of_unit < 0) *of_unit = device;
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

static void place_node(greedy_t* g, int32_t node, bool whole) {
  int device = choose(g, node, leat_groups_of(g->groups, node), whole);
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

static void place_in_order(greedy_t* g, int kind) {
  size_t count = g->graph->node_count;
  use_units(g, kind);
  for (size_t i = 0; i < count; ++i) {
    g->devices[i] = -1;
    g->groups->items[i].device = -1;
  }
  leat_simulator_reset(&g->sim);
  for (size_t i = 0; i < count; ++i) {
    if (!g->floats[g->sequence[i]]) place_node(g, g->sequence[i], kind == UNITS_CHAINS);
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

// A unit, with the groups that only it draws.
static void move_unit(greedy_t* g, int32_t root, int device) {
  for (size_t i = g->graph->node_count; i-- > 0;) {
    int32_t node = g->sim.order[i];
    bool moves = unit_of(g, node) == root;
    if (!moves && g->floats[node]) {
      uint32_t r = g->sim.readers.begin[node], end = g->sim.readers.begin[node + 1];
      moves = r < end;
      for (; r < end && moves; ++r) {
        moves = unit_of(g, g->sim.readers.readers[r].node) == root;
      }
    }
    leat_group_t* group = leat_groups_of(g->groups, node);
    if (moves && leat_group_allows(group, device)) group->device = device;
  }
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    const leat_group_t* group = leat_groups_of(g->groups, (int32_t)i);
    if (group->device >= 0) g->devices[i] = group->device;
  }
}

static void follow(greedy_t* g, const int32_t* devices) {
  copy(g->devices, devices, g->graph->node_count);
  for (size_t i = 0; i < g->graph->node_count; ++i) {
    leat_groups_of(g->groups, (int32_t)i)->device = devices[i];
  }
}

// Moves of one unit each, the one on the longest way first.
static bool improve(greedy_t* g, int kind, int* budget) {
  bool better = false;
  use_units(g, kind);
  for (size_t i = 0; i < g->graph->node_count && *budget > 0; ++i) {
    int32_t node = g->sequence[i], root = unit_of(g, node);
    // A unit is tried when its first node's turn comes.
    if (g->unit_devices[root] >= 0 || g->floats[node]) continue;
    g->unit_devices[root] = 0;
    const leat_group_t* group = leat_groups_of(g->groups, node);
    for (int d = 0; d < g->sim.device_count && *budget > 0; ++d) {
      if (d == g->best[node] || !leat_group_allows(group, d)) continue;
      follow(g, g->best);
      move_unit(g, root, d);
      --*budget;
      better |= consider(g);
    }
  }
  return better;
}

// Then moves that may make the step longer at first, less and less of them (annealing, with a fixed
// sequence of random numbers: the same graph is placed the same way), of clusters first.
static uint64_t draw(uint64_t* seed, uint64_t below) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed % below;
}

// Every other move is of a node that the step's end waits for, mostly to the device of the one that
// it waits for.
static void anneal(greedy_t* g, int32_t* now, int32_t* path, int budget, int round) {
  size_t count = g->graph->node_count, path_count = 0;
  uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)round;
  int64_t now_ns = INT64_MAX;
  copy(now, g->best, count);
  for (int left = budget; left > 0; --left) {
    if (now_ns == INT64_MAX) {
      leat_simulator_run(&g->sim, now);
      now_ns = g->sim.makespan_ns;
      path_count = leat_simulator_critical_path(&g->sim, now, path);
    }
    uint64_t luck = draw(&seed, 256);
    bool coarse = round == 0 && left > budget / 2;  // at first clusters alone
    g->units = g->unit_sets[coarse ? UNITS_CLUSTERS + luck % (UNITS_COUNT - UNITS_CLUSTERS)
                                   : luck % UNITS_COUNT];
    size_t at = luck & 128 ? draw(&seed, path_count) : 0;
    int32_t node = luck & 128 ? path[at] : g->sequence[draw(&seed, count)];
    int device = (int)draw(&seed, (uint64_t)g->sim.device_count);
    if ((luck & 192) == 192 && at + 1 < path_count) device = now[path[at + 1]];
    if (g->floats[node] || device == now[node] ||
        !leat_group_allows(leat_groups_of(g->groups, node), device)) {
      continue;
    }
    follow(g, now);
    move_unit(g, unit_of(g, node), device);
    consider(g);
    // Longer by up to 7 % at first (in the second round 2 %), by nothing in the end.
    int64_t slack = g->best_ns / (round ? 50 : 15) * left / budget * left / budget;
    if (!fits(g) || g->sim.makespan_ns > now_ns + (int64_t)draw(&seed, (uint64_t)slack + 1)) {
      continue;
    }
    now_ns = g->sim.makespan_ns;
    copy(now, g->devices, count);
    path_count = leat_simulator_critical_path(&g->sim, now, path);
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

// Of a graph of |count| nodes; a small one has few ways to go.
static int move_budget(size_t count) {
  size_t most = 64 * count;
  if (count > 0 && most > SIMULATED_NODES / count) most = SIMULATED_NODES / count + 16;
  return (int)most;
}

static leat_status_t place(greedy_t* g, leat_arena_t* arena) {
  size_t count = g->graph->node_count;
  int32_t *now, *path;
  LEAT_RETURN_IF_ERROR(leat_simulator_initialize(g->groups, arena, &g->sim));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &now));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &path));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &g->devices));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &g->best));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int32_t), &g->sequence));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(bool), &g->floats));
  LEAT_RETURN_IF_ERROR(array(arena, count, sizeof(int), &g->unit_devices));
  LEAT_RETURN_IF_ERROR(array(arena, count * (size_t)g->sim.device_count, sizeof(int64_t),
                             &g->unit_times));
  find_floating(g);
  sort_by_rank(g);
  LEAT_RETURN_IF_ERROR(make_all_units(g, arena));
  g->units = g->unit_sets[UNITS_CHAINS];
  add_unit_times(g);
  for (int kind = 0; kind < UNITS_COUNT; ++kind) {
    place_in_order(g, kind);
    if (kind == 0) copy(g->best, g->devices, count);  // where nothing fits, at least this
    consider(g);
  }
  for (int d = 0; d < g->sim.device_count; ++d) consider_one_device(g, d);
  int moves = move_budget(count), budget = moves;
  for (bool better = true; better && budget > 0;) {
    better = false;
    for (int kind = UNITS_COUNT; kind-- > 0;) better |= improve(g, kind, &budget);
  }
  int effort = g->sim.options->effort > 0 ? g->sim.options->effort : 1;
  for (int round = 0; round < 2 && count > 0; ++round) {
    anneal(g, now, path, effort * moves, round);
  }
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
