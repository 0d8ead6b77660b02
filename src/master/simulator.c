// Events in order of time: the device that can start a node first does. A node waits in its
// device's heap of arrivals (by time) and then in that of ready nodes (by rank).
#include "master/simulator.h"

#include <string.h>

typedef struct heap_s {
  int32_t* items;
  int32_t* size;
  const int64_t* keys;
  bool largest_first;
} heap_t;

static bool before(const heap_t* h, int32_t a, int32_t b) {
  if (h->keys[a] == h->keys[b]) return a < b;
  return (h->keys[a] > h->keys[b]) == h->largest_first;
}

static void push(heap_t h, int32_t item) {
  int32_t i = (*h.size)++;
  for (; i > 0 && before(&h, item, h.items[(i - 1) / 2]); i = (i - 1) / 2) {
    h.items[i] = h.items[(i - 1) / 2];
  }
  h.items[i] = item;
}

static int32_t pop(heap_t h) {
  int32_t top = h.items[0], last = h.items[--*h.size], i = 0;
  for (int32_t child; (child = 2 * i + 1) < *h.size; i = child) {
    if (child + 1 < *h.size && before(&h, h.items[child + 1], h.items[child])) ++child;
    if (!before(&h, h.items[child], last)) break;
    h.items[i] = h.items[child];
  }
  if (*h.size > 0) h.items[i] = last;
  return top;
}

static heap_t heap_of(leat_simulator_t* s, int device, bool arrivals) {
  size_t index = (size_t)device * 2 + arrivals;
  return (heap_t){.items = s->heaps + index * s->graph->node_count,
                  .size = &s->heap_sizes[index],
                  .keys = arrivals ? s->ready : s->rank,
                  .largest_first = !arrivals};
}

// ---- Preparing ----------------------------------------------------------------------------------

static leat_status_t array(leat_arena_t* arena, size_t count, size_t item_bytes, void* out) {
  return leat_arena_allocate_array(arena, count + 1, item_bytes, (void**)out);
}

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
  return s->values[output.node] + (uint32_t)(output.index - LEAT_CONTROL_INDEX);
}

// A variable's value stays on its device.
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

static void rank_nodes(leat_simulator_t* s) {
  size_t count = s->graph->node_count;
  for (size_t i = count; i-- > 0;) {
    int32_t node = s->order[i];
    s->rank[node] += mean_time(s, node);
    for (int k = 0; k < s->graph->nodes[node].input_count + s->graph->nodes[node].control_count;
         ++k) {
      if (!leat_simulator_waits(s, node, k)) continue;
      int64_t* before = &s->rank[s->graph->nodes[node].inputs[k].node];
      // A tie goes to the node nearer the start.
      if (*before <= s->rank[node]) *before = s->rank[node] + 1;
    }
  }
}

leat_status_t leat_simulator_initialize(leat_groups_t* groups, leat_arena_t* arena,
                                        leat_simulator_t* out_simulator) {
  leat_simulator_t* s = out_simulator;
  const leat_graph_t* graph = groups->graph;
  size_t nodes = graph->node_count, devices = (size_t)groups->options->device_count;
  *s = (leat_simulator_t){.groups = groups, .graph = graph, .options = groups->options,
                          .device_count = (int)devices};
  LEAT_RETURN_IF_ERROR(leat_readers_initialize(graph, &s->readers));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(int32_t), &s->order));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(int32_t), &s->position));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(uint32_t), &s->values));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(graph, s->order));
  for (size_t i = 0; i < nodes; ++i) s->position[s->order[i]] = (int32_t)i;
  find_loops(s);
  for (size_t i = 0; i < nodes; ++i) {
    s->values[i + 1] = s->values[i] + 1 + (uint32_t)graph->nodes[i].output_count;
  }
  LEAT_RETURN_IF_ERROR(array(arena, s->values[nodes], sizeof(int64_t), &s->bytes));
  LEAT_RETURN_IF_ERROR(array(arena, nodes * devices, sizeof(int64_t), &s->times));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(int64_t), &s->rank));
  LEAT_RETURN_IF_ERROR(array(arena, devices, sizeof(int64_t), &s->busy_ns));
  LEAT_RETURN_IF_ERROR(array(arena, devices, sizeof(int64_t), &s->peak_bytes));
  LEAT_RETURN_IF_ERROR(array(arena, devices, sizeof(int64_t), &s->memory));
  LEAT_RETURN_IF_ERROR(array(arena, devices, sizeof(int64_t), &s->free_at));
  LEAT_RETURN_IF_ERROR(array(arena, devices * devices, sizeof(int64_t), &s->channel));
  LEAT_RETURN_IF_ERROR(array(arena, s->values[nodes] * devices, sizeof(int64_t), &s->arrival));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(int64_t), &s->finish));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(int64_t), &s->ready));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(int32_t), &s->previous));
  LEAT_RETURN_IF_ERROR(array(arena, devices, sizeof(int32_t), &s->last));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(int32_t), &s->pending));
  LEAT_RETURN_IF_ERROR(array(arena, nodes, sizeof(int32_t), &s->unread));
  LEAT_RETURN_IF_ERROR(array(arena, nodes * devices * 2, sizeof(int32_t), &s->heaps));
  LEAT_RETURN_IF_ERROR(array(arena, devices * 2, sizeof(int32_t), &s->heap_sizes));
  for (size_t i = 0; i < nodes; ++i) measure_node(s, (int32_t)i);
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
  memset(s->heap_sizes, 0, devices * 2 * sizeof(int32_t));
  for (size_t i = 0; i < nodes; ++i) {
    const leat_node_t* node = &s->graph->nodes[i];
    s->unread[i] = (int32_t)(s->readers.begin[i + 1] - s->readers.begin[i]);
    s->pending[i] = 0;
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      s->pending[i] += leat_simulator_waits(s, (int32_t)i, k);
    }
  }
}

int64_t leat_simulator_arrival(leat_simulator_t* s, leat_output_t source, int from, int to,
                               bool commit) {
  int64_t made = s->finish[source.node];
  if (from == to) return made;
  size_t devices = (size_t)s->device_count;
  uint32_t value = value_of(s, source);
  int64_t* known = &s->arrival[value * devices + (size_t)to];
  if (*known >= 0) return *known;
  int64_t* channel = &s->channel[(size_t)from * devices + (size_t)to];
  const leat_placement_device_t* all = s->options->devices;
  int64_t bytes = source.index == LEAT_CONTROL_INDEX ? 0 : s->bytes[value];
  int64_t time = leat_cost_transfer_ns(bytes, &all[from].speed, &all[to].speed);
  int64_t latency = leat_cost_transfer_ns(0, &all[from].speed, &all[to].speed);
  int64_t start = made > *channel ? made : *channel;
  if (commit) {
    *known = start + time;
    *channel = start + time - latency;  // the next may follow while this one is on its way
  }
  return start + time;
}

static int64_t output_bytes(const leat_simulator_t* s, int32_t node, bool kept) {
  int64_t bytes = 0;
  for (uint32_t v = s->values[node] + !kept; v < s->values[node + 1]; ++v) bytes += s->bytes[v];
  return bytes;
}

void leat_simulator_occupy(leat_simulator_t* s, int32_t node, int device, int64_t start_ns) {
  int64_t time = s->times[(size_t)node * (size_t)s->device_count + (size_t)device];
  if (time == INT64_MAX) time = 0;  // asked for where it cannot run
  s->finish[node] = start_ns + time;
  s->previous[node] = s->last[device];
  if (time > 0) {
    s->free_at[device] = start_ns + time;
    s->last[device] = node;
  }
  s->busy_ns[device] += time;
  if (s->finish[node] > s->makespan_ns) s->makespan_ns = s->finish[node];
  s->memory[device] += output_bytes(s, node, true);
  if (s->memory[device] > s->peak_bytes[device]) s->peak_bytes[device] = s->memory[device];
}

void leat_simulator_release_inputs(leat_simulator_t* s, int32_t node, const int32_t* devices) {
  const leat_node_t* n = &s->graph->nodes[node];
  for (int k = 0; k < n->input_count + n->control_count; ++k) {
    int32_t source = n->inputs[k].node;
    if (--s->unread[source] == 0 && devices[source] >= 0 && leat_simulator_waits(s, node, k)) {
      s->memory[devices[source]] -= output_bytes(s, source, false);
    }
  }
}

static void finish_node(leat_simulator_t* s, int32_t node, const int32_t* devices) {
  leat_simulator_release_inputs(s, node, devices);
  for (uint32_t r = s->readers.begin[node]; r < s->readers.begin[node + 1]; ++r) {
    leat_reader_t reader = s->readers.readers[r];
    if (!leat_simulator_waits(s, reader.node, reader.position)) continue;
    leat_output_t source = s->graph->nodes[reader.node].inputs[reader.position];
    int to = devices[reader.node];
    int64_t at = leat_simulator_arrival(s, source, devices[node], to, true);
    if (at > s->ready[reader.node]) s->ready[reader.node] = at;
    if (--s->pending[reader.node] == 0) push(heap_of(s, to, true), reader.node);
  }
}

// When |device| could start something; INT64_MAX when it has nothing.
static inline int64_t next_start(const leat_simulator_t* s, size_t device) {
  if (s->heap_sizes[device * 2] > 0) return s->free_at[device];
  if (s->heap_sizes[device * 2 + 1] == 0) return INT64_MAX;
  int64_t at = s->ready[s->heaps[(device * 2 + 1) * s->graph->node_count]];
  return at > s->free_at[device] ? at : s->free_at[device];
}

void leat_simulator_run(leat_simulator_t* s, const int32_t* devices) {
  leat_simulator_reset(s);
  for (size_t i = 0; i < s->graph->node_count; ++i) {
    if (s->pending[i] == 0) push(heap_of(s, devices[i], true), (int32_t)i);
  }
  for (;;) {
    int first = -1;
    int64_t start = INT64_MAX;
    for (int d = 0; d < s->device_count; ++d) {
      int64_t at = next_start(s, (size_t)d);
      if (at >= start) continue;
      start = at;
      first = d;
    }
    if (first < 0) return;
    heap_t ready = heap_of(s, first, false), arrivals = heap_of(s, first, true);
    while (*arrivals.size > 0 && s->ready[arrivals.items[0]] <= start) push(ready, pop(arrivals));
    int32_t node = pop(ready);
    leat_simulator_occupy(s, node, first, start);
    finish_node(s, node, devices);
  }
}

// What |node| waited for: the device, or an input; -1 at the start of the step.
static int32_t waited_for(const leat_simulator_t* s, const int32_t* devices, int32_t node) {
  size_t count = (size_t)s->device_count;
  int to = devices[node];
  int64_t time = s->times[(size_t)node * count + (size_t)to];
  int64_t start = s->finish[node] - (time == INT64_MAX ? 0 : time);
  if (start > s->ready[node]) return s->previous[node];
  const leat_node_t* n = &s->graph->nodes[node];
  for (int k = 0; k < n->input_count + n->control_count; ++k) {
    int32_t source = n->inputs[k].node;
    if (!leat_simulator_waits(s, node, k)) continue;
    int64_t at = devices[source] == to ? s->finish[source]
                                       : s->arrival[value_of(s, n->inputs[k]) * count + (size_t)to];
    if (at == start) return source;
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
