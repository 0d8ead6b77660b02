// The pass "recv_schedule" (section 5.2 of the white paper). A Recv has no inputs, so it would
// start with the step and hold its value in memory from then on, although the value may be needed
// much later. This pass makes each Recv wait, by a control edge, until just before its value is
// needed.
//
// The pass sees all partitions as one graph, joined where a Send feeds its Recv, and simulates the
// step with the times of the cost model. Backwards, it computes the tail of each node: the time
// from its start to the end of the step if it starts as late as possible (ALAP). Forwards, it is a
// list scheduler: of the nodes that are ready, the one with the longest tail comes first, and
// starts as soon as possible (ASAP), when its inputs are there and its device is free. A Recv whose
// first reader is c then waits for u, the last node on the device that ends early enough for the
// transfer to be over when c starts:
//
//   device:  ... │ t │ u │ v │ c │ ...      u ┄┄▶ Recv ─▶ c
//                        └─transfer─┘
//
// The edges close no cycle: the order in which nodes were scheduled, with each Recv moved right
// before its first reader, is a topological order of the old and the new edges. A node that may be
// dead or runs in a loop is neither delayed nor awaited, since a control edge from a dead node
// kills the Recv, and one from a loop has no place outside it.
#include <string.h>

#include "base/checked.h"
#include "base/heap.h"
#include "graph/cost/cost.h"
#include "optimize/edit.h"

#define NODES_AHEAD 2  // a Recv starts at least so many nodes before its reader

typedef struct schedule_s {
  leat_edit_t* edits;  // of the graphs
  const leat_pass_options_t* options;
  int graph_count;
  int32_t* first;       // graph -> its first node in the joined graph; [graph_count + 1]
  int32_t* graph_of;    // node -> graph
  int32_t* sender;      // Recv -> its Send, else -1
  int32_t* begin;       // node -> its first successor in |successors|; [count + 1]
  int32_t* successors;
  int32_t* pending;     // node -> how many edges lead to it
  int64_t* cost;        // node -> how long it takes, in ns
  int64_t* tail;        // node -> from its start to the end of the step, in ns
  int64_t* start;       // node -> when it starts, as soon as possible, in ns
  int32_t* order;       // the nodes as they were scheduled
  int32_t* place;       // node -> its place in |order|
  leat_heap_t ready;    // nodes whose inputs are there, the longest tail first
  int32_t count;        // nodes of all graphs
  bool* conditional;    // by node: it may be dead, or is in a loop
} schedule_t;

static const leat_node_t* node_of(const schedule_t* s, int32_t index) {
  LEAT_DCHECK(index >= 0 && index < s->count);
  int graph = s->graph_of[index];
  return &s->edits[graph].graph->nodes[index - s->first[graph]];
}

static bool is(const schedule_t* s, int32_t index, uint32_t flags) {
  return node_of(s, index)->op->flags & flags;
}

// The speed of the graph's device.
static leat_speed_t speed_of(const schedule_t* s, int graph) {
  const leat_graph_t* g = s->edits[graph].graph;
  size_t i = 0;
  while (i < g->node_count && g->nodes[i].assigned_device < 0) ++i;
  return leat_pass_speed(s->options, i < g->node_count ? g->nodes[i].assigned_device : -1);
}

// ---- Joining the graphs -------------------------------------------------------------------------

// Finds the Send of each Recv by the name of the transfer.
static leat_status_t find_senders(schedule_t* s, leat_string_map_t* sends, leat_arena_t* arena) {
  leat_string_view_t name;
  uint64_t sender;
  for (int32_t i = 0; i < s->count; ++i) {
    if (!is(s, i, LEAT_OP_SEND)) continue;
    LEAT_RETURN_IF_ERROR(leat_transfer_name(node_of(s, i), arena, &name));
    LEAT_RETURN_IF_ERROR(leat_string_map_set(sends, name, (uint64_t)i));
  }
  for (int32_t i = 0; i < s->count; ++i) {
    s->sender[i] = -1;
    if (!is(s, i, LEAT_OP_RECV)) continue;
    LEAT_RETURN_IF_ERROR(leat_transfer_name(node_of(s, i), arena, &name));
    if (leat_string_map_get(sends, name, &sender)) s->sender[i] = (int32_t)sender;
  }
  return leat_ok_status();
}

// Visits every edge, from each Send to its Recv too, but none that closes a loop. Without |fill| it
// counts the successors of each node, with |fill| it lists them.
static void visit_edges(schedule_t* s, bool fill) {
  for (int32_t i = 0; i < s->count; ++i) {
    const leat_node_t* node = node_of(s, i);
    int32_t first = s->first[s->graph_of[i]];
    int inputs = node->input_count + node->control_count;
    for (int k = 0; k <= inputs; ++k) {
      int32_t source = k < inputs ? first + node->inputs[k].node : s->sender[i];
      if (source < 0 || (is(s, i, LEAT_OP_MERGE) && is(s, source, LEAT_OP_NEXT_ITERATION))) {
        continue;
      }
      if (fill) {
        LEAT_DCHECK(s->begin[source + 1] < s->begin[s->count + 1]);
        s->successors[s->begin[source + 1]++] = i;
        ++s->pending[i];
      } else {
        ++s->begin[source + 2];
      }
    }
  }
}

static leat_status_t allocate(schedule_t* s, leat_arena_t* arena) {
  size_t count = (size_t)s->count + 3;
  struct {
    void* array;
    size_t bytes;
  } arrays[] = {{&s->graph_of, 4}, {&s->sender, 4}, {&s->begin, 4}, {&s->pending, 4},
                {&s->cost, 8},     {&s->tail, 8},   {&s->start, 8}, {&s->order, 4},
                {&s->place, 4},    {&s->conditional, 1},
                {&s->ready.items, sizeof(leat_heap_item_t)}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(arrays); ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, count, arrays[i].bytes,
                                                   arrays[i].array));
  }
  return leat_ok_status();
}

static leat_status_t join_graphs(schedule_t* s, leat_arena_t* arena) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)s->graph_count + 1, &s->first));
  for (int g = 0; g < s->graph_count; ++g) {
    s->first[g + 1] = s->first[g] + (int32_t)s->edits[g].graph->node_count;
  }
  s->count = s->first[s->graph_count];
  LEAT_RETURN_IF_ERROR(allocate(s, arena));
  for (int g = 0; g < s->graph_count; ++g) {
    for (int32_t i = s->first[g]; i < s->first[g + 1]; ++i) s->graph_of[i] = g;
  }
  leat_string_map_t sends;
  leat_string_map_initialize(s->edits[0].graph->allocator, &sends);
  leat_status_t status = find_senders(s, &sends, arena);
  leat_string_map_deinitialize(&sends);
  if (status) return status;
  visit_edges(s, false);
  for (int32_t i = 0; i < s->count; ++i) s->begin[i + 2] += s->begin[i + 1];
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)s->begin[s->count + 1] + 1, &s->successors));
  visit_edges(s, true);
  return leat_ok_status();
}

// ---- Scheduling ---------------------------------------------------------------------------------

// Makes the node ready. The heap has the least key first.
static void push(schedule_t* s, int32_t node) { leat_heap_push(&s->ready, -s->tail[node], node); }

// Counts the node as done, and makes the successors ready that waited for it alone.
static void settle(schedule_t* s, int32_t node, int32_t* pending) {
  for (int32_t k = s->begin[node]; k < s->begin[node + 1]; ++k) {
    LEAT_DCHECK(pending[s->successors[k]] > 0);
    if (--pending[s->successors[k]] == 0) push(s, s->successors[k]);
  }
}

// Fills |order| with all nodes, inputs first, longer tails before shorter ones; false where the
// graph has a cycle. The first call comes before the tails are known, and then any order will do.
static bool sort(schedule_t* s, int32_t* pending) {
  int32_t done = 0;
  memcpy(pending, s->pending, (size_t)s->count * sizeof *pending);
  for (int32_t i = 0; i < s->count; ++i) {
    if (!pending[i]) push(s, i);
  }
  while (s->ready.count) {
    int32_t node = leat_heap_pop(&s->ready);
    s->order[done++] = node;
    settle(s, node, pending);
  }
  return done == s->count;
}

static void find_costs(schedule_t* s, leat_speed_t* speeds) {
  for (int g = 0; g < s->graph_count; ++g) speeds[g] = speed_of(s, g);
  for (int32_t i = 0; i < s->count; ++i) {
    const leat_graph_t* graph = s->edits[s->graph_of[i]].graph;
    int64_t time_ns = 0;
    if (s->sender[i] >= 0) {
      int from = s->graph_of[s->sender[i]];
      int64_t bytes = leat_cost_output_bytes(NULL, s->edits[from].graph,
                                             node_of(s, s->sender[i])->inputs[0]);
      time_ns = leat_cost_transfer_ns(bytes, &speeds[from], &speeds[s->graph_of[i]]);
    } else if (!is(s, i, LEAT_OP_SEND | LEAT_OP_CONSTANT | LEAT_OP_ARGUMENT)) {
      time_ns = leat_cost_time_ns(leat_cost_work(graph, node_of(s, i)), &speeds[s->graph_of[i]]);
    }
    s->cost[i] = LEAT_MIN(time_ns, INT64_MAX >> 16);
  }
}

static void find_tails(schedule_t* s) {
  for (int32_t i = s->count; i-- > 0;) {
    int32_t node = s->order[i];
    int64_t longest = 0;
    for (int32_t k = s->begin[node]; k < s->begin[node + 1]; ++k) {
      int64_t tail = s->tail[s->successors[k]];
      if (tail > longest) longest = tail;
    }
    s->tail[node] = LEAT_MIN(longest + s->cost[node], INT64_MAX / 4);
  }
}

// Finds when each node starts. |free_ns|: by graph, when its device has finished what was scheduled
// so far. Transfers and constants occupy no device.
static void lay_nodes(schedule_t* s, int64_t* free_ns) {
  for (int32_t i = 0; i < s->count; ++i) {
    int32_t node = s->order[i];
    bool transfers = is(s, node, LEAT_OP_RECV | LEAT_OP_SEND | LEAT_OP_CONSTANT |
                                     LEAT_OP_ARGUMENT);
    int64_t* is_free = &free_ns[s->graph_of[node]];
    s->place[node] = i;
    if (!transfers && s->start[node] < *is_free) s->start[node] = *is_free;
    LEAT_DCHECK(s->start[node] >= 0 && s->cost[node] >= 0);
    int64_t end = LEAT_MIN(s->start[node] + s->cost[node], INT64_MAX / 4);
    if (!transfers) *is_free = end;
    bool conditional = is(s, node, LEAT_OP_SWITCH | LEAT_OP_ENTER | LEAT_OP_MERGE) ||
                       s->conditional[node];
    s->conditional[node] = conditional;
    for (int32_t k = s->begin[node]; k < s->begin[node + 1]; ++k) {
      int32_t next = s->successors[k];
      if (s->start[next] < end) s->start[next] = end;
      s->conditional[next] |= conditional;
    }
  }
}

// ---- Delaying -----------------------------------------------------------------------------------

// The nodes of a device that a Recv may wait for, in the order in which they were scheduled.
typedef struct lane_s {
  int32_t* nodes;
  int32_t count;
} lane_t;

static leat_status_t make_lanes(const schedule_t* s, leat_arena_t* arena, lane_t** out_lanes) {
  int32_t* storage;
  lane_t* lanes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)s->count + 1, &storage));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)s->graph_count, &lanes));
  for (int g = 0; g < s->graph_count; ++g) lanes[g].nodes = storage + s->first[g];
  for (int32_t i = 0; i < s->count; ++i) {
    int32_t node = s->order[i];
    bool transfers = is(s, node, LEAT_OP_RECV | LEAT_OP_SEND | LEAT_OP_CONSTANT |
                                     LEAT_OP_ARGUMENT);
    lane_t* lane = &lanes[s->graph_of[node]];
    if (!transfers && !s->conditional[node]) lane->nodes[lane->count++] = node;
  }
  *out_lanes = lanes;
  return leat_ok_status();
}

// How many of the lane's first nodes were scheduled before |place| and end by |time_ns|.
static int32_t count_before(const schedule_t* s, const lane_t* lane, int32_t place,
                            int64_t time_ns) {
  int32_t low = 0, high = lane->count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    int32_t node = lane->nodes[middle];
    if (s->place[node] < place && s->start[node] + s->cost[node] <= time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Makes the Recv wait for the last node of the lane that ends early enough, if there is one.
static leat_status_t delay(const schedule_t* s, const lane_t* lane, int32_t receive) {
  int32_t reader = -1;
  for (int32_t k = s->begin[receive]; k < s->begin[receive + 1]; ++k) {
    int32_t next = s->successors[k];
    if (reader < 0 || s->place[next] < s->place[reader]) reader = next;
  }
  if (reader < 0) return leat_ok_status();
  int32_t place = s->place[reader];
  int32_t ahead = count_before(s, lane, place, INT64_MAX) - NODES_AHEAD;
  int32_t in_time = count_before(s, lane, place, s->start[reader] - s->cost[receive]) - 1;
  int32_t at = LEAT_MIN(ahead, in_time);
  if (at < 0) return leat_ok_status();
  LEAT_DCHECK(at < lane->count);
  int32_t earlier = lane->nodes[at];
  int graph = s->graph_of[receive];
  // The node was scheduled before the first reader, so the new edge closes no cycle.
  LEAT_DCHECK(s->graph_of[earlier] == graph && s->place[earlier] < place);
  return leat_edit_add_wait(&s->edits[graph], receive - s->first[graph],
                            earlier - s->first[graph]);
}

static leat_status_t run(schedule_t* s, leat_arena_t* arena) {
  lane_t* lanes;
  int32_t* pending;
  int64_t* free_ns;
  leat_speed_t* speeds;
  LEAT_RETURN_IF_ERROR(join_graphs(s, arena));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)s->count + 1, &pending));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)s->graph_count, &free_ns));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)s->graph_count, &speeds));
  find_costs(s, speeds);
  if (!sort(s, pending)) return leat_ok_status();  // the worker reports the cycle
  find_tails(s);
  if (!sort(s, pending)) return leat_ok_status();
  lay_nodes(s, free_ns);
  LEAT_RETURN_IF_ERROR(make_lanes(s, arena, &lanes));
  for (int32_t i = 0; i < s->count; ++i) {
    bool waits = s->sender[i] < 0 || s->conditional[i] || node_of(s, i)->control_count;
    if (!waits) LEAT_RETURN_IF_ERROR(delay(s, &lanes[s->graph_of[i]], i));
  }
  return leat_ok_status();
}

static leat_status_t recv_schedule(leat_edit_t* edits, int count) {
  schedule_t s = {.edits = edits, .graph_count = count, .options = edits[0].options};
  return run(&s, edits[0].scratch);
}

const leat_pass_t leat_pass_recv_schedule = {
    .name = "recv_schedule",
    .doc = "values come from other devices just before they are needed (§5.2)",
    .after = "compress",
    .stage = LEAT_PASS_PARTITIONS,
    .bit = LEAT_PASS_BIT_RECV_SCHEDULE,
    .run_partitions = recv_schedule};
