// A discrete-event simulation of one step. Events need no common queue: at each turn the device
// that can start a node first does so. Each device has two heaps. A node whose inputs are all on
// their way waits in the heap of arrivals, by the time when the last one comes; nodes whose inputs
// have come wait in the heap of ready nodes, by rank:
//
//   last input is sent ─▶ arrivals (by time) ─▶ ready (by rank) ─▶ runs ─▶ its outputs are sent
//
//   rank(n)   = mean time(n) + max over readers r of (rank(r) + 1)
//   finish(n) = max(free(device), arrival of the last input) + time(n, device)
//
// A placement is judged by many thousands of such steps, so all that does not depend on the
// placement (times, sizes, edges, ranks) is computed once and laid out in arrays. A step that
// cannot be good enough is given up early by two lower bounds: the way from the node that starts
// now, and the work that is left for its device. Edges that close a loop are ignored: each loop is
// simulated as one iteration.
#include "master/simulator.h"

#include <string.h>

#include "base/checked.h"

// ---- Preparing ----------------------------------------------------------------------------------

static void find_loops(leat_simulator_t* s) {
  bool acyclic = true;
  for (size_t i = 0; i < s->graph->node_count; ++i) {
    const leat_node_t* node = &s->graph->nodes[i];
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      acyclic &= leat_simulator_waits(s, (int32_t)i, k);
    }
  }
  s->acyclic = acyclic;
}

static uint32_t value_of(const leat_simulator_t* s, leat_output_t output) {
  LEAT_DCHECK(output.index >= LEAT_CONTROL_INDEX &&
              output.index < s->graph->nodes[output.node].output_count);
  return s->values[output.node] + (uint32_t)(output.index - LEAT_CONTROL_INDEX);
}

// The bytes that a variable keeps on its device for the whole step; 0 for other nodes.
static int64_t kept_bytes(const leat_node_t* node) {
  const leat_attr_value_t* shape = leat_node_attr(node, LEAT_SV("shape"));
  if (!(node->op->flags & LEAT_OP_VARIABLE) || !shape || shape->kind != LEAT_ATTR_SHAPE) return 0;
  int64_t count = (int64_t)leat_dtype_size(leat_dtype_base(leat_node_attr_type(node, "dtype")));
  for (int i = 0; i < shape->shape.rank; ++i) {
    int64_t dim = shape->shape.dims[i];
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) return 0;
  }
  return count;
}

// Fills in the node's times on all devices and the sizes of its values.
static void measure_node(leat_simulator_t* s, int32_t index) {
  const leat_node_t* node = &s->graph->nodes[index];
  const leat_group_t* group = leat_groups_of(s->groups, index);
  for (int d = 0; d < s->device_count; ++d) {
    const leat_placement_device_t* device = &s->options->devices[d];
    s->times[(size_t)index * (size_t)s->device_count + (size_t)d] =
        leat_group_allows(group, d) ? leat_cost_node_ns(s->options->costs, s->graph, node,
                                                        device->type, &device->speed)
                                    : INT64_MAX;
  }
  s->bytes[s->values[index]] = kept_bytes(node);
  for (int i = 0; i < node->output_count; ++i) {
    s->bytes[s->values[index] + 1 + (uint32_t)i] =
        leat_cost_output_bytes(s->options->costs, s->graph, (leat_output_t){index, i});
    s->made_bytes[index] += s->bytes[s->values[index] + 1 + (uint32_t)i];
  }
}

static int64_t mean_time(const leat_simulator_t* s, int32_t node) {
  int64_t sum = 0, count = 0;
  for (int d = 0; d < s->device_count; ++d) {
    int64_t time = s->times[(size_t)node * (size_t)s->device_count + (size_t)d];
    if (time == INT64_MAX) continue;
    sum += time;
    ++count;
  }
  return count ? sum / count : 0;
}

int64_t leat_simulator_least_time(const leat_simulator_t* s, int32_t node) {
  int64_t least = INT64_MAX;
  for (int d = 0; d < s->device_count; ++d) {
    least = LEAT_MIN(least, s->times[(size_t)node * (size_t)s->device_count + (size_t)d]);
  }
  return least == INT64_MAX ? 0 : least;
}

// Computes the ranks from the end of the step backwards.
static void rank_nodes(leat_simulator_t* s) {
  for (size_t i = s->graph->node_count; i-- > 0;) {
    int32_t node = s->order[i];
    s->rank[node] += mean_time(s, node);
    s->least[node] += leat_simulator_least_time(s, node);
    for (uint32_t k = s->source_begin[node]; k < s->source_begin[node + 1]; ++k) {
      int32_t source = s->sources[k];
      // One more, so that a node without time ranks above its readers.
      s->rank[source] = LEAT_MAX(s->rank[source], s->rank[node] + 1);
      s->least[source] = LEAT_MAX(s->least[source], s->least[node]);
    }
  }
}

// Lists the edges in arrays of their own: stepping through the graph's nodes would be slower, and a
// step is simulated often.
static void list_edges(leat_simulator_t* s) {
  uint32_t edges = 0, sources = 0;
  for (size_t i = 0; i < s->graph->node_count; ++i) {
    const leat_node_t* node = &s->graph->nodes[i];
    for (uint32_t r = s->readers.begin[i]; r < s->readers.begin[i + 1]; ++r) {
      leat_reader_t reader = s->readers.readers[r];
      if (!leat_simulator_waits(s, reader.node, reader.position)) continue;
      leat_output_t source = s->graph->nodes[reader.node].inputs[reader.position];
      s->edges[edges++] = (leat_simulator_edge_t){reader.node, value_of(s, source)};
    }
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      if (leat_simulator_waits(s, (int32_t)i, k)) s->sources[sources++] = node->inputs[k].node;
    }
    LEAT_DCHECK(LEAT_MAX(edges, sources) <= s->readers.begin[s->graph->node_count]);
    s->edge_begin[i + 1] = edges;
    s->source_begin[i + 1] = sources;
  }
}

static void link_devices(leat_simulator_t* s) {
  const leat_placement_device_t* all = s->options->devices;
  for (int from = 0; from < s->device_count; ++from) {
    for (int to = 0; to < s->device_count; ++to) {
      s->links[from * s->device_count + to] = leat_cost_link(&all[from].speed, &all[to].speed);
    }
  }
}

static leat_status_t allocate_fixed(leat_simulator_t* s, leat_arena_t* arena) {
  size_t nodes = s->graph->node_count, devices = (size_t)s->device_count;
  size_t edges = s->readers.begin[nodes];
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, s->values[nodes] + 1, &s->bytes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes * devices + 1, &s->times));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->rank));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->least));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->made_bytes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices * devices + 1, &s->links));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->edge_begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, edges + 1, &s->edges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->source_begin));
  return LEAT_NEW(arena, edges + 1, &s->sources);
}

static leat_status_t allocate_step(leat_simulator_t* s, leat_arena_t* arena) {
  size_t nodes = s->graph->node_count, devices = (size_t)s->device_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices + 1, &s->busy_ns));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices + 1, &s->peak_bytes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices + 1, &s->memory));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices + 1, &s->free_at));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices + 1, &s->to_do));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices * devices + 1, &s->channel));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, s->values[nodes] * devices + 1, &s->arrival));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->finish));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->ready));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->previous));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices + 1, &s->last));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->pending));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->unread));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes * 2 + 1, &s->heap_items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, devices + 1, &s->arrivals));
  return LEAT_NEW(arena, devices + 1, &s->runnable);
}

leat_status_t leat_simulator_initialize(leat_groups_t* groups, leat_arena_t* arena,
                                        leat_simulator_t* out_simulator) {
  leat_simulator_t* s = out_simulator;
  const leat_graph_t* graph = groups->graph;
  size_t nodes = graph->node_count;
  *s = (leat_simulator_t){.groups = groups, .graph = graph, .options = groups->options,
                          .device_count = groups->options->device_count};
  LEAT_RETURN_IF_ERROR(leat_readers_initialize(graph, &s->readers));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->order));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->position));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, nodes + 1, &s->values));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(graph, s->order));
  for (size_t i = 0; i < nodes; ++i) s->position[s->order[i]] = (int32_t)i;
  find_loops(s);
  for (size_t i = 0; i < nodes; ++i) {
    s->values[i + 1] = s->values[i] + 1 + (uint32_t)graph->nodes[i].output_count;
  }
  LEAT_RETURN_IF_ERROR(allocate_fixed(s, arena));
  LEAT_RETURN_IF_ERROR(allocate_step(s, arena));
  for (size_t i = 0; i < nodes; ++i) measure_node(s, (int32_t)i);
  list_edges(s);
  link_devices(s);
  rank_nodes(s);
  return leat_ok_status();
}

void leat_simulator_deinitialize(leat_simulator_t* s) { leat_readers_deinitialize(&s->readers); }

// ---- A step -------------------------------------------------------------------------------------

void leat_simulator_reset(leat_simulator_t* s) {
  size_t nodes = s->graph->node_count, devices = (size_t)s->device_count;
  s->makespan_ns = 0;
  memset(s->busy_ns, 0, devices * sizeof(int64_t));
  memset(s->peak_bytes, 0, devices * sizeof(int64_t));
  memset(s->memory, 0, devices * sizeof(int64_t));
  memset(s->free_at, 0, devices * sizeof(int64_t));
  memset(s->channel, 0, devices * devices * sizeof(int64_t));
  memset(s->arrival, 0xff, s->values[nodes] * devices * sizeof(int64_t));
  memset(s->ready, 0, nodes * sizeof(int64_t));
  memset(s->last, 0xff, devices * sizeof(int32_t));
  for (size_t i = 0; i < nodes; ++i) {
    s->unread[i] = (int32_t)(s->edge_begin[i + 1] - s->edge_begin[i]);
    s->pending[i] = (int32_t)(s->source_begin[i + 1] - s->source_begin[i]);
  }
}

// When |value| of |source| is on device |to|. A value is sent once to each device, and |arrival|
// keeps the time. The sender's channel is free again when the value has left it, a latency before
// it arrives.
static inline int64_t arrive(leat_simulator_t* s, int32_t source, uint32_t value, int from, int to,
                             bool commit) {
  LEAT_DCHECK(value >= s->values[source] && value < s->values[source + 1]);
  LEAT_DCHECK(from >= 0 && from < s->device_count && to >= 0 && to < s->device_count);
  int64_t made = s->finish[source];
  if (from == to) return made;
  size_t devices = (size_t)s->device_count, way = (size_t)from * devices + (size_t)to;
  int64_t* known = &s->arrival[value * devices + (size_t)to];
  if (*known >= 0) return *known;
  bool controls = value == s->values[source];
  int64_t time = leat_link_transfer_ns(&s->links[way], controls ? 0 : s->bytes[value]);
  int64_t end = LEAT_MAX(made, s->channel[way]) + time;
  if (commit) {
    *known = end;
    s->channel[way] = end - s->links[way].latency_ns;  // the next follows while this is on its way
  }
  return end;
}

int64_t leat_simulator_arrival(leat_simulator_t* s, leat_output_t source, int from, int to,
                               bool commit) {
  return arrive(s, source.node, value_of(s, source), from, to, commit);
}

static inline int64_t time_on(const leat_simulator_t* s, int32_t node, int device) {
  int64_t time = s->times[(size_t)node * (size_t)s->device_count + (size_t)device];
  return time == INT64_MAX ? 0 : time;  // asked for where it cannot run
}

// A node without time does not occupy the device.
void leat_simulator_occupy(leat_simulator_t* s, int32_t node, int device, int64_t start_ns) {
  LEAT_DCHECK(device >= 0 && device < s->device_count && start_ns >= 0);
  int64_t time = time_on(s, node, device);
  s->finish[node] = start_ns + time;
  s->previous[node] = s->last[device];
  if (time > 0) {
    s->free_at[device] = start_ns + time;
    s->last[device] = node;
  }
  s->busy_ns[device] += time;
  s->makespan_ns = LEAT_MAX(s->makespan_ns, s->finish[node]);
  s->memory[device] += s->bytes[s->values[node]] + s->made_bytes[node];
  s->peak_bytes[device] = LEAT_MAX(s->peak_bytes[device], s->memory[device]);
}

void leat_simulator_release_inputs(leat_simulator_t* s, int32_t node, const int32_t* devices) {
  for (uint32_t k = s->source_begin[node]; k < s->source_begin[node + 1]; ++k) {
    int32_t source = s->sources[k];
    // Each reader is counted once.
    LEAT_DCHECK(s->unread[source] > 0);
    if (--s->unread[source] == 0 && devices[source] >= 0) {
      s->memory[devices[source]] -= s->made_bytes[source];
    }
  }
}

static inline void await(leat_simulator_t* s, int32_t node, int device) {
  leat_heap_push(&s->arrivals[device], s->ready[node], node);
}

// Sends the outputs of |node| and lets readers wait for their arrival.
static void finish_node(leat_simulator_t* s, int32_t node, const int32_t* devices) {
  leat_simulator_release_inputs(s, node, devices);
  for (uint32_t e = s->edge_begin[node]; e < s->edge_begin[node + 1]; ++e) {
    int32_t reader = s->edges[e].reader;
    int to = devices[reader];
    int64_t at = arrive(s, node, s->edges[e].value, devices[node], to, true);
    s->ready[reader] = LEAT_MAX(s->ready[reader], at);
    LEAT_DCHECK(s->pending[reader] > 0);
    if (--s->pending[reader] == 0) await(s, reader, to);
  }
}

// Returns the device that can start a node first, and when; -1 when nothing is left.
static inline int find_first(const leat_simulator_t* s, int64_t* out_start) {
  int first = -1;
  int64_t start = INT64_MAX;
  for (int d = 0; d < s->device_count; ++d) {
    int64_t at = s->free_at[d];
    if (s->runnable[d].count == 0) {
      if (s->arrivals[d].count == 0) continue;
      at = LEAT_MAX(at, s->arrivals[d].items[0].key);
    }
    if (at >= start) continue;
    start = at;
    first = d;
  }
  *out_start = start;
  return first;
}

// Resets the state, and divides the memory of the heaps among the devices by their numbers of
// nodes.
static void begin_step(leat_simulator_t* s, const int32_t* devices) {
  size_t nodes = s->graph->node_count;
  leat_simulator_reset(s);
  memset(s->to_do, 0, (size_t)s->device_count * sizeof *s->to_do);
  memset(s->arrivals, 0, (size_t)s->device_count * sizeof *s->arrivals);
  memset(s->runnable, 0, (size_t)s->device_count * sizeof *s->runnable);
  for (size_t i = 0; i < nodes; ++i) {
    LEAT_DCHECK(devices[i] >= 0 && devices[i] < s->device_count);
    s->to_do[devices[i]] += time_on(s, (int32_t)i, devices[i]);
    ++s->runnable[devices[i]].count;
  }
  leat_heap_item_t* share = s->heap_items;
  for (int d = 0; d < s->device_count; ++d) {
    s->arrivals[d].items = share;
    s->runnable[d].items = share + nodes;
    share += s->runnable[d].count;
    s->runnable[d].count = 0;
  }
  for (size_t i = 0; i < nodes; ++i) {
    if (s->pending[i] == 0) await(s, (int32_t)i, devices[i]);
  }
}

// When a device starts |node| at |start|, the step cannot end before the way from that node to the
// end, nor before the device's remaining work, is done.
bool leat_simulator_run_within(leat_simulator_t* s, const int32_t* devices, int64_t limit_ns) {
  begin_step(s, devices);
  s->visited = s->graph->node_count / 4;
  int64_t start;
  for (int device; (device = find_first(s, &start)) >= 0;) {
    leat_heap_t *runnable = &s->runnable[device], *arrivals = &s->arrivals[device];
    while (arrivals->count > 0 && arrivals->items[0].key <= start) {
      int32_t node = leat_heap_pop(arrivals);
      leat_heap_push(runnable, -s->rank[node], node);
    }
    int32_t node = leat_heap_pop(runnable);
    if (start + LEAT_MAX(s->least[node], s->to_do[device]) > limit_ns) return false;
    LEAT_DCHECK(devices[node] == device && s->pending[node] == 0);
    s->to_do[device] -= time_on(s, node, device);
    leat_simulator_occupy(s, node, device, start);
    finish_node(s, node, devices);
    ++s->visited;
  }
  return true;
}

void leat_simulator_run(leat_simulator_t* s, const int32_t* devices) {
  (void)leat_simulator_run_within(s, devices, INT64_MAX);
}

// Returns what |node| waited for before it started: the node before it on its device, or an input;
// -1 at the start of the step.
static int32_t waited_for(const leat_simulator_t* s, const int32_t* devices, int32_t node) {
  int to = devices[node];
  int64_t start = s->finish[node] - time_on(s, node, to);
  if (start > s->ready[node]) return s->previous[node];
  for (uint32_t k = s->source_begin[node]; k < s->source_begin[node + 1]; ++k) {
    int32_t source = s->sources[k];
    if (devices[source] == to && s->finish[source] == start) return source;
    if (devices[source] == to) continue;
    for (uint32_t v = s->values[source]; v < s->values[source + 1]; ++v) {
      if (s->arrival[v * (size_t)s->device_count + (size_t)to] == start) return source;
    }
  }
  return -1;
}

size_t leat_simulator_critical_path(const leat_simulator_t* s, const int32_t* devices,
                                    int32_t* out_nodes) {
  size_t nodes = s->graph->node_count, count = 0;
  int32_t node = nodes ? 0 : -1;
  for (size_t i = 1; i < nodes; ++i) {
    if (s->finish[i] > s->finish[node]) node = (int32_t)i;
  }
  for (; node >= 0 && count < nodes; node = waited_for(s, devices, node)) out_nodes[count++] = node;
  return count;
}
