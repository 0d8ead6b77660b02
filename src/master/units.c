// Makes units by union-find over the nodes, beginning with colocation groups. Chains and weights
// follow from simple rules. Clusters are grown as Kruskal's algorithm grows a spanning forest: over
// the edges from the largest value to the smallest, two clusters are united where together they do
// not exceed the limit, a share of the work of one device:
//
//   limit = share * (time of all nodes) / (number of devices, a slow one counting for less than 1)
//
// Edges that carry most thus end up inside clusters and cost no transfer. Among edges of equal
// size, those come first whose source and reader have few other edges: nodes that run one after the
// other belong together, while nodes that could run at once should stay apart.
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "master/greedy.h"

// The limits of clusters, as shares of the work of one device when it is divided evenly: first more
// than one device's part of the graph, then ever smaller ones.
static const double kLargestShare = 1.4, kNextShare = 0.7;
// Constants and variables that are smaller (a shape, a scalar) are not tied to their readers.
#define LEAST_TYING_BYTES 4096

typedef struct edge_s {
  int64_t bytes;
  uint32_t width;  // readers of the source, times nodes that the reader waits for
  int32_t source, reader;
} edge_t;

typedef struct maker_s {
  const leat_simulator_t* sim;
  const bool* floats;
  size_t count;
  edge_t* edges;
  size_t edge_count;
  int64_t* least_times;  // node
  int64_t* times;        // root -> time of the whole unit
  double share_ns;       // the work of one device
  int32_t* parents;      // the union-find of the units that are being made
} maker_t;

static int32_t find(maker_t* m, int32_t node) {
  LEAT_DCHECK(node >= 0 && (size_t)node < m->count);
  int32_t* p = m->parents;
  while (p[node] != node) node = p[node] = p[p[node]];
  return node;
}

static void tie(maker_t* m, int32_t a, int32_t b) { m->parents[find(m, b)] = find(m, a); }

// Ties |node| to its only reader, when that waits for no other node that takes time.
static void tie_chain(maker_t* m, int32_t node) {
  const leat_simulator_t* s = m->sim;
  uint32_t begin = s->edge_begin[node];
  if (m->floats[node] || s->edge_begin[node + 1] != begin + 1) return;
  int32_t reader = s->edges[begin].reader;
  LEAT_DCHECK(reader >= 0 && (size_t)reader < m->count);
  int working = 0;
  for (uint32_t k = s->source_begin[reader]; k < s->source_begin[reader + 1]; ++k) {
    working += !m->floats[s->sources[k]];
  }
  if (working == 1) tie(m, node, reader);
}

// Ties a node that waits for no computed value (a constant, a variable's read) to all its readers.
static void tie_readers(maker_t* m, int32_t node) {
  const leat_simulator_t* s = m->sim;
  if (s->made_bytes[node] < LEAST_TYING_BYTES) return;
  for (uint32_t k = s->source_begin[node]; k < s->source_begin[node + 1]; ++k) {
    if (!m->floats[s->sources[k]]) return;
  }
  for (uint32_t e = s->edge_begin[node]; e < s->edge_begin[node + 1]; ++e) {
    tie(m, node, s->edges[e].reader);
  }
}

// Orders edges by falling size, then by rising width; the rest makes the order unique.
static int more_bytes(const void* a, const void* b) {
  const edge_t *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  if (x->width != y->width) return x->width > y->width ? 1 : -1;
  return x->source != y->source ? (x->source > y->source) - (x->source < y->source)
                                : (x->reader > y->reader) - (x->reader < y->reader);
}

// Lists the data edges in the order in which clusters grow over them; control edges carry nothing.
static void list_edges(maker_t* m) {
  const leat_simulator_t* s = m->sim;
  for (size_t i = 0; i < m->count; ++i) {
    for (uint32_t e = s->edge_begin[i]; e < s->edge_begin[i + 1]; ++e) {
      leat_simulator_edge_t edge = s->edges[e];
      if (edge.value == s->values[i]) continue;
      LEAT_DCHECK(edge.value < s->values[m->count]);
      uint32_t waits = s->source_begin[edge.reader + 1] - s->source_begin[edge.reader];
      m->edges[m->edge_count++] =
          (edge_t){s->bytes[edge.value], waits * (s->edge_begin[i + 1] - s->edge_begin[i]),
                   (int32_t)i, edge.reader};
    }
  }
  LEAT_DCHECK(m->edge_count <= s->edge_begin[m->count]);
  qsort(m->edges, m->edge_count, sizeof *m->edges, more_bytes);
}

// Computes the work of one device. A slow device counts as the fraction of a device whose work it
// does in the same time.
static void find_share(maker_t* m) {
  double all = 0, devices = 0;
  for (size_t i = 0; i < m->count; ++i) all += (double)m->least_times[i];
  for (int d = 0; d < m->sim->device_count; ++d) {
    double least = 0, here = 0;
    for (size_t i = 0; i < m->count; ++i) {
      int64_t time = m->sim->times[i * (size_t)m->sim->device_count + (size_t)d];
      if (time == INT64_MAX) continue;
      here += (double)time;
      least += (double)m->least_times[i];
    }
    if (here > 0) devices += least / here;
  }
  m->share_ns = devices > 0 ? all / devices : 0;
}

// Unites units along the edges up to |limit_ns|.
static void grow_clusters(maker_t* m, int64_t limit_ns) {
  memset(m->times, 0, m->count * sizeof *m->times);
  for (size_t i = 0; i < m->count; ++i) m->times[find(m, (int32_t)i)] += m->least_times[i];
  for (size_t e = 0; e < m->edge_count; ++e) {
    int32_t a = find(m, m->edges[e].source), b = find(m, m->edges[e].reader);
    if (a == b || m->times[a] + m->times[b] > limit_ns) continue;
    // Both are roots, so their times are those of the whole units.
    LEAT_DCHECK(m->parents[a] == a && m->parents[b] == b);
    m->parents[b] = a;
    m->times[a] += m->times[b];
  }
}

// Lists the nodes of each unit; |units->of| is the union-find that becomes a plain map.
static leat_status_t list_nodes(maker_t* m, leat_arena_t* arena, leat_units_t* units) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, m->count + 2, &units->begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, m->count + 1, &units->nodes));
  for (size_t i = 0; i < m->count; ++i) units->of[i] = find(m, (int32_t)i);
  for (size_t i = 0; i < m->count; ++i) ++units->begin[units->of[i] + 2];
  for (size_t i = 0; i < m->count; ++i) units->begin[i + 1] += units->begin[i];
  for (size_t i = 0; i < m->count; ++i) {
    units->nodes[units->begin[units->of[i] + 1]++] = (int32_t)i;
  }
  LEAT_DCHECK(units->begin[m->count] == m->count);
  return leat_ok_status();
}

static leat_status_t make(maker_t* m, int kind, double share, leat_arena_t* arena,
                          leat_units_t* units) {
  leat_groups_t* groups = m->sim->groups;
  LEAT_DCHECK(kind >= 0 && kind < LEAT_UNITS_COUNT && share > 0);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, m->count + 1, &units->of));
  m->parents = units->of;
  for (size_t i = 0; i < m->count; ++i) {
    m->parents[i] = (int32_t)(leat_groups_of(groups, (int32_t)i) - groups->items);
  }
  for (size_t i = 0; i < m->count; ++i) {
    if (kind == LEAT_UNITS_CHAINS) tie_chain(m, (int32_t)i);
    if (kind == LEAT_UNITS_WEIGHTS) tie_readers(m, (int32_t)i);
  }
  if (kind >= LEAT_UNITS_CLUSTERS) grow_clusters(m, (int64_t)(m->share_ns * share));
  return list_nodes(m, arena, units);
}

leat_status_t leat_units_make(const leat_simulator_t* simulator, const bool* floats,
                              leat_arena_t* arena, leat_units_t out_units[LEAT_UNITS_COUNT]) {
  LEAT_DCHECK(simulator->order && simulator->edge_begin);
  maker_t m = {.sim = simulator, .floats = floats, .count = simulator->graph->node_count};
  size_t edges = simulator->edge_begin[m.count];
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, edges + 1, &m.edges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, m.count + 1, &m.least_times));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, m.count + 1, &m.times));
  for (size_t i = 0; i < m.count; ++i) {
    m.least_times[i] = leat_simulator_least_time(simulator, (int32_t)i);
  }
  list_edges(&m);
  find_share(&m);
  double share = kLargestShare;
  for (int kind = 0; kind < LEAT_UNITS_COUNT; ++kind) {
    LEAT_RETURN_IF_ERROR(make(&m, kind, share, arena, &out_units[kind]));
    if (kind >= LEAT_UNITS_CLUSTERS) share *= kNextShare;
  }
  return leat_ok_status();
}
