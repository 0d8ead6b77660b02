// Simulates a step over the cost model (section 3.2.1), to tell how long it takes with a given
// placement. Each device runs one node at a time: of the nodes whose inputs have come, the one of
// the highest rank. Each pair of devices has a channel each way, which carries one value at a time,
// and each value once for each destination.
//
// The greedy placer and its refinement ask for the time of many thousands of placements of one
// graph, so what does not depend on the placement is computed once:
//
//   leat_simulator_t sim;
//   status = leat_simulator_initialize(&groups, arena, &sim);
//   for each placement |devices|:
//     if (leat_simulator_run_within(&sim, devices, best_ns)) best_ns = sim.makespan_ns;
//   leat_simulator_deinitialize(&sim);
//
// Loops are simulated as one iteration. A simulator belongs to one thread; all its arrays lie in an
// arena. Times are in nanoseconds from the start of the step.
#ifndef LEAT_MASTER_SIMULATOR_H_
#define LEAT_MASTER_SIMULATOR_H_

#include "base/heap.h"
#include "master/groups.h"

// A value, and a node that waits for it.
typedef struct leat_simulator_edge_s {
  int32_t reader;
  uint32_t value;
} leat_simulator_edge_t;

// [node], [value] and so on say by what an array is indexed. All is read-only for the callers.
typedef struct leat_simulator_s {
  leat_groups_t* groups;
  const leat_graph_t* graph;
  const leat_placer_options_t* options;
  int device_count;
  leat_readers_t readers;
  int32_t* order;      // inputs first; edges that close a loop count for nothing
  int32_t* position;   // in |order|
  bool acyclic;        // no edge closes a loop
  uint32_t* values;    // node -> the number of its control value; those of its outputs follow
  int64_t* bytes;      // value -> size; at a control value: what the node, a variable, keeps
  int64_t* times;      // [node][device] ns; INT64_MAX where it cannot run
  int64_t* rank;       // node -> time from its start to the end of the step, on average
  int64_t* least;      // node -> lower bound of that: on the fastest devices, without transfers
  int64_t* made_bytes;            // node -> the bytes of all its outputs
  leat_link_t* links;             // [from][to]
  uint32_t* edge_begin;           // node -> its first edge to a reader
  leat_simulator_edge_t* edges;
  uint32_t* source_begin;         // node -> the first of the nodes that it waits for
  int32_t* sources;
  // Results of the last step; arrays by device. How long the step takes, how long each device
  // works, and the most memory that it needs.
  int64_t makespan_ns;
  int64_t* busy_ns;
  int64_t* peak_bytes;
  size_t visited;      // the cost of simulating it: nodes run, and a quarter of all for the start
  // The state of the step.
  int64_t* memory;     // device -> bytes in use
  int64_t* free_at;
  int64_t* channel;    // [from][to]: when the channel is free
  int64_t* arrival;    // [value][device]; -1 = not sent there yet
  int64_t* finish;     // node
  int64_t* ready;      // node -> its last input's arrival
  int32_t* previous;   // node -> the one that worked before it on its device, or -1
  int32_t* last;       // device -> the node that worked last, or -1
  int32_t* pending;    // node -> inputs to come
  int32_t* unread;     // node -> readers to come
  int64_t* to_do;      // device -> work not begun
  leat_heap_item_t* heap_items;  // [2][node]: the heaps' memory, shared out by device
  leat_heap_t* arrivals;  // device -> nodes whose inputs are all made, by when the last one arrives
  leat_heap_t* runnable;  // device -> nodes whose inputs are there, the highest rank first
} leat_simulator_t;

// Prepares for the graph of |groups|. leat_simulator_deinitialize must follow, whatever this
// returns.
LEAT_MUST_USE leat_status_t leat_simulator_initialize(leat_groups_t* groups, leat_arena_t* arena,
                                                      leat_simulator_t* out_simulator);
void leat_simulator_deinitialize(leat_simulator_t* simulator);
// Simulates a step with |devices| [node]; the results are in makespan_ns, busy_ns, peak_bytes and
// finish. Returns false, without results, when the step is sure to take longer than |limit_ns|.
bool leat_simulator_run_within(leat_simulator_t* simulator, const int32_t* devices,
                               int64_t limit_ns);
// Simulates a step as leat_simulator_run_within does, but to its end however long it takes, so that
// there are always results.
void leat_simulator_run(leat_simulator_t* simulator, const int32_t* devices);

// The time of |node| on the device that is fastest for it.
int64_t leat_simulator_least_time(const leat_simulator_t* simulator, int32_t node);
// Lists the nodes of the critical path of the last step, from its last node back to the start.
// |out_nodes| has room for all nodes.
size_t leat_simulator_critical_path(const leat_simulator_t* simulator, const int32_t* devices,
                                    int32_t* out_nodes);

// ---- For a placer that simulates while it places -----------------------------------------------

// Begins a step in which nothing has run yet. The caller then takes the nodes in an order in which
// inputs come first and calls the functions below for each.
void leat_simulator_reset(leat_simulator_t* simulator);
// Whether |node| waits for its input |index| in a step; not so for an edge that closes a loop.
static inline bool leat_simulator_waits(const leat_simulator_t* s, int32_t node, int index) {
  return s->acyclic || s->position[s->graph->nodes[node].inputs[index].node] < s->position[node];
}
// When the value of |source|, which is made on |from|, would be on |to|. With |commit| it is sent,
// so that the channel is taken.
int64_t leat_simulator_arrival(leat_simulator_t* simulator, leat_output_t source, int from, int to,
                               bool commit);
// Notes that |node| runs on |device| from |start_ns|.
void leat_simulator_occupy(leat_simulator_t* simulator, int32_t node, int device,
                           int64_t start_ns);
// Notes that the inputs of |node| have been read: outputs that nobody will read any more are freed.
void leat_simulator_release_inputs(leat_simulator_t* simulator, int32_t node,
                                   const int32_t* devices);

#endif  // LEAT_MASTER_SIMULATOR_H_
