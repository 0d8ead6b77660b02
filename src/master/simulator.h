// A step simulated over the cost model (section 3.2.1): what a placement takes. Each device runs
// one node at a time, of those whose inputs have come the one on the longest way to the end; each
// pair of devices has a channel each way that carries one value at a time, once for each
// destination.
#ifndef LEAT_MASTER_SIMULATOR_H_
#define LEAT_MASTER_SIMULATOR_H_

#include "base/heap.h"
#include "master/groups.h"

// A value's way to one that waits for it.
typedef struct leat_simulator_edge_s {
  int32_t reader;
  uint32_t value;
} leat_simulator_edge_t;

typedef struct leat_simulator_s {
  leat_groups_t* groups;
  const leat_graph_t* graph;
  const leat_placer_options_t* options;
  int device_count;
  leat_readers_t readers;
  int32_t* order;      // inputs first; edges that close a loop count for nothing
  int32_t* position;   // in |order|
  bool acyclic;        // no edge closes a loop
  uint32_t* values;    // node -> its control value; its outputs follow
  int64_t* bytes;      // value -> size; what a variable keeps is at its control value
  int64_t* times;      // [node][device] ns; INT64_MAX where it cannot run
  int64_t* rank;       // node -> time from its start to the end of the step, on average
  int64_t* least;      // node -> the same at least: on the fastest devices, nothing moved
  int64_t* made_bytes;            // node -> all that it gives out
  leat_link_t* links;             // [from][to]
  uint32_t* edge_begin;           // node -> its edges
  leat_simulator_edge_t* edges;
  uint32_t* source_begin;         // node -> what it waits for
  int32_t* sources;
  // Of the simulated step, by device.
  int64_t makespan_ns;
  int64_t* busy_ns;
  int64_t* peak_bytes;
  size_t visited;      // what the last one took: nodes run, and a quarter of all to begin
  // Of the simulated step, inner.
  int64_t* memory;     // in use
  int64_t* free_at;
  int64_t* channel;    // [from][to] free at
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

// Ends with deinitialize, whatever it returns; arrays lie in |arena|.
LEAT_MUST_USE leat_status_t leat_simulator_initialize(leat_groups_t* groups, leat_arena_t* arena,
                                                      leat_simulator_t* out_simulator);
void leat_simulator_deinitialize(leat_simulator_t* simulator);
// A step with |devices| [node]. The result is in makespan_ns, busy_ns, peak_bytes, finish. A step
// that is sure to last longer than |limit_ns| is given up: false.
bool leat_simulator_run_within(leat_simulator_t* simulator, const int32_t* devices,
                               int64_t limit_ns);
void leat_simulator_run(leat_simulator_t* simulator, const int32_t* devices);

// On the fastest device.
int64_t leat_simulator_least_time(const leat_simulator_t* simulator, int32_t node);
// The nodes whose end the step's end waited for, from the last back; |out_nodes| has room for all.
size_t leat_simulator_critical_path(const leat_simulator_t* simulator, const int32_t* devices,
                                    int32_t* out_nodes);

// ---- Also of use to a placer that simulates as it goes ------------------------------------------

void leat_simulator_reset(leat_simulator_t* simulator);
// Is input |index| of |node| one that the step waits for?
static inline bool leat_simulator_waits(const leat_simulator_t* s, int32_t node, int index) {
  return s->acyclic || s->position[s->graph->nodes[node].inputs[index].node] < s->position[node];
}
// When |source|'s value would be on |to|, |from| being where it is made; |commit| sends it.
int64_t leat_simulator_arrival(leat_simulator_t* simulator, leat_output_t source, int from, int to,
                               bool commit);
// Notes that |node| runs on |device| from |start_ns|.
void leat_simulator_occupy(leat_simulator_t* simulator, int32_t node, int device,
                           int64_t start_ns);
// Its inputs are read: what nobody reads any more is given back.
void leat_simulator_release_inputs(leat_simulator_t* simulator, int32_t node,
                                   const int32_t* devices);

#endif  // LEAT_MASTER_SIMULATOR_H_
