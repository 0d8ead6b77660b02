// Local search over placements. The state is |devices|; a move puts all nodes of a unit (units.c)
// on one device, draws the floating inputs along, and simulates the step. A move that is not kept
// is taken back from the list of its changes, which is cheaper than copying the placement. Most
// moves are bad, so the simulation gives up as soon as the step is sure to be longer than the
// limit.
//
// First each unit of each kind is tried on each device, until a round improves nothing. This ends
// in a local minimum, which annealing leaves: it draws random moves and also accepts steps that are
// a little longer than the present one, by a slack that falls to zero:
//
//   slack = draw from [0, best / heat * (budget left / budget)^2]
//
// There are three rounds of annealing, each from the best placement so far and with less heat.
// Random numbers come from fixed seeds, so that a graph is always placed in the same way.
#include <string.h>

#include "master/greedy.h"

typedef struct leat_refinement_move_s {
  int32_t node;
  int32_t before;  // its device
} move_t;

// The budget of moving units, and of each round of annealing, in simulated nodes. Together they
// take about half a second.
#define VISITED_NODES 3000000
// A small graph has few placements, so its budget is this many nodes for each pair of its nodes.
#define VISITED_EACH 64
// In each round of annealing, a move may lengthen the step at first by the best step's time divided
// by this.
static const int kHeat[] = {15, 25, 50};
enum { ROUNDS = sizeof kHeat / sizeof kHeat[0] };
// A floating node with more readers than this is not drawn along.
#define MOST_READERS 64

leat_status_t leat_refinement_initialize(leat_refinement_t* r, leat_arena_t* arena) {
  size_t count = r->sim->graph->node_count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &r->devices));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &r->moved));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &r->tried));
  return LEAT_NEW(arena, count, &r->path);
}

static void copy(int32_t* to, const int32_t* from, size_t count) {
  memcpy(to, from, count * sizeof *to);
}

static const leat_group_t* group_of(const leat_refinement_t* r, int32_t node) {
  return &r->sim->groups->items[r->units[LEAT_UNITS_GROUPS].of[node]];
}

// Whether the step that was just simulated keeps the memory limits of all devices.
static bool fits(const leat_simulator_t* s) {
  for (int d = 0; d < s->device_count; ++d) {
    const leat_placement_device_t* device = &s->options->devices[d];
    if (device->has_own_memory && device->memory_limit_bytes > 0 &&
        s->peak_bytes[d] > device->memory_limit_bytes) {
      return false;
    }
  }
  return true;
}

void leat_refinement_consider(leat_refinement_t* r, const int32_t* devices) {
  if (!leat_simulator_run_within(r->sim, devices, r->best_ns - 1) || !fits(r->sim)) return;
  r->best_ns = r->sim->makespan_ns;
  copy(r->best, devices, r->sim->graph->node_count);
}

// ---- Moves --------------------------------------------------------------------------------------

// Moves the nodes of |unit| to |device|, as far as their groups allow it, and notes the changes.
static void move_unit(leat_refinement_t* r, const leat_units_t* units, int32_t unit, int device) {
  for (uint32_t i = units->begin[unit]; i < units->begin[unit + 1]; ++i) {
    int32_t node = units->nodes[i];
    if (r->devices[node] == device || !leat_group_allows(group_of(r, node), device)) continue;
    // A node moves once, to the one device.
    LEAT_DCHECK(r->moved_count <= r->sim->graph->node_count);
    r->moved[r->moved_count++] = (move_t){node, r->devices[node]};
    r->devices[node] = device;
  }
}

static bool all_readers_on(leat_refinement_t* r, int32_t node, int device) {
  const leat_simulator_t* s = r->sim;
  uint32_t begin = s->edge_begin[node], end = s->edge_begin[node + 1];
  if (end - begin > MOST_READERS) return false;
  for (uint32_t e = begin; e < end; ++e) {
    if (r->devices[s->edges[e].reader] != device) return false;
  }
  r->budget -= (end - begin) / 4;
  return true;
}

// Moves each floating input of the moved nodes, with its group, when all its readers are on
// |device|.
static void draw_inputs(leat_refinement_t* r, int device) {
  const leat_simulator_t* s = r->sim;
  const leat_units_t* groups = &r->units[LEAT_UNITS_GROUPS];
  for (size_t i = 0; i < r->moved_count; ++i) {
    int32_t node = r->moved[i].node;
    for (uint32_t k = s->source_begin[node]; k < s->source_begin[node + 1]; ++k) {
      int32_t source = s->sources[k];
      if (!r->floats[source] || r->devices[source] == device) continue;
      if (all_readers_on(r, source, device)) move_unit(r, groups, groups->of[source], device);
    }
  }
  r->budget -= (int64_t)r->moved_count;
}

static void take_back(leat_refinement_t* r) {
  while (r->moved_count > 0) {
    move_t move = r->moved[--r->moved_count];
    r->devices[move.node] = move.before;
    LEAT_DCHECK(move.before >= 0 && move.before < r->sim->device_count);
  }
}

// Moves the unit of |node| and keeps that if the step then takes |limit_ns| at most.
static bool try_move(leat_refinement_t* r, int kind, int32_t node, int device, int64_t limit_ns) {
  r->moved_count = 0;
  move_unit(r, &r->units[kind], r->units[kind].of[node], device);
  draw_inputs(r, device);
  bool kept = leat_simulator_run_within(r->sim, r->devices, limit_ns) && fits(r->sim);
  r->budget -= (int64_t)r->sim->visited;
  if (!kept) {
    take_back(r);
  } else if (r->sim->makespan_ns < r->best_ns) {
    r->best_ns = r->sim->makespan_ns;
    copy(r->best, r->devices, r->sim->graph->node_count);
  }
  return kept;
}

// Tries each unit of |kind| on each device, in the order of the units' first nodes by rank, so that
// the longest ways come first. Returns whether anything got better.
static bool improve(leat_refinement_t* r, int kind) {
  bool better = false;
  size_t count = r->sim->graph->node_count;
  memset(r->tried, 0, count * sizeof *r->tried);
  for (size_t i = 0; i < count && r->budget > 0; ++i) {
    int32_t node = r->sequence[i];
    bool* tried = &r->tried[r->units[kind].of[node]];
    // Each unit is tried once, when the turn of its first node comes.
    if (*tried || r->floats[node]) continue;
    *tried = true;
    for (int d = 0; d < r->sim->device_count && r->budget > 0; ++d) {
      if (d == r->devices[node] || !leat_group_allows(group_of(r, node), d)) continue;
      better |= try_move(r, kind, node, d, r->best_ns - 1);
    }
  }
  return better;
}

// ---- Annealing ----------------------------------------------------------------------------------

// A xorshift generator with a fixed seed, so that a graph is always placed in the same way.
static uint64_t draw(uint64_t* seed, uint64_t below) {
  LEAT_DCHECK(below > 0 && *seed != 0);
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed % below;
}

// Draws a node and a device. Half of the moves are of a node on the critical path, and half of
// these go to the device of the node that it waited for, which removes a transfer from the path.
static void draw_move(const leat_refinement_t* r, uint64_t* seed, uint64_t luck, int32_t* out_node,
                      int* out_device) {
  size_t at = luck & 128 ? draw(seed, r->path_count) : 0;
  *out_node = luck & 128 ? r->path[at] : r->sequence[draw(seed, r->sim->graph->node_count)];
  *out_device = (int)draw(seed, (uint64_t)r->sim->device_count);
  if ((luck & 192) == 192 && at + 1 < r->path_count) *out_device = r->devices[r->path[at + 1]];
}

// One round of annealing. In the first half of the first round only clusters move, which changes
// much at once.
static void anneal(leat_refinement_t* r, int64_t budget, int round) {
  uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)round;
  copy(r->devices, r->best, r->sim->graph->node_count);
  leat_simulator_run(r->sim, r->devices);
  int64_t now_ns = r->sim->makespan_ns;
  r->path_count = leat_simulator_critical_path(r->sim, r->devices, r->path);
  for (r->budget = budget; r->budget > 0; --r->budget) {
    uint64_t luck = draw(&seed, 256);
    double left = (double)r->budget / (double)budget;
    bool coarse = round == 0 && left > 0.5;
    int kind = coarse ? LEAT_UNITS_CLUSTERS + (int)luck % (LEAT_UNITS_COUNT - LEAT_UNITS_CLUSTERS)
                      : (int)luck % LEAT_UNITS_COUNT;
    int32_t node;
    int device;
    draw_move(r, &seed, luck, &node, &device);
    if (r->floats[node] || device == r->devices[node] ||
        !leat_group_allows(group_of(r, node), device)) {
      continue;
    }
    int64_t slack = (int64_t)((double)r->best_ns / kHeat[round] * left * left);
    int64_t limit_ns = now_ns + (int64_t)draw(&seed, (uint64_t)slack + 1);
    if (!try_move(r, kind, node, device, limit_ns)) continue;
    now_ns = r->sim->makespan_ns;
    r->path_count = leat_simulator_critical_path(r->sim, r->devices, r->path);
  }
}

void leat_refinement_run(leat_refinement_t* r, int effort) {
  int64_t count = (int64_t)r->sim->graph->node_count;
  if (count == 0) return;
  int64_t budget = count < VISITED_NODES / VISITED_EACH / count ? VISITED_EACH * count * count
                                                                : VISITED_NODES;
  r->budget = budget;
  copy(r->devices, r->best, (size_t)count);
  for (bool better = true; better && r->budget > 0;) {
    better = false;
    for (int kind = LEAT_UNITS_COUNT; kind-- > 0;) better |= improve(r, kind);
  }
  for (int round = 0; round < ROUNDS; ++round) anneal(r, effort * budget, round);
}
