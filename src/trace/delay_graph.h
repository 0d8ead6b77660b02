// What leads to what in a recording besides the order of time, for trace/delay_path.c: of each
// kernel of a step the kernels that it takes values from or waits for, by the edges of the graphs
// that ran; the phases of messages, by their numbers, in whatever process they were; and where work
// on a stream was launched.
#ifndef LEAT_TRACE_DELAY_GRAPH_H_
#define LEAT_TRACE_DELAY_GRAPH_H_

#include "trace/delay.h"

#define LEAT_NO_NODE UINT32_MAX

// A span of a kind whose value is a number of a message or of work on a stream.
typedef struct leat_span_link_s {
  int64_t number;
  int64_t key;  // by which it is looked for: the number, or 0 for RECEIVE
  uint32_t kind, row;
  const leat_slice_t* slice;
} leat_span_link_t;

// A kernel that ran in a step.
typedef struct leat_instance_s {
  uint32_t node, row;
  const leat_slice_t* slice;  // NULL: there is none
  int64_t end_ns;             // of |slice|
  // Its place among those of the step, and that of the last that it waited for, each plus 1. 0: not
  // known; LEAT_NO_NODE: it waited for none.
  uint32_t place, producer;
} leat_instance_t;

// Of a whole timeline.
struct leat_delay_graph_s {
  const leat_timeline_t* timeline;
  uint32_t* node_of_name;  // of each name of the timeline the node, or LEAT_NO_NODE
  uint32_t* first_of;      // of each node the first of its graph
  uint8_t* runs;           // of each node: whether it has kernels in the recording
  uint8_t* is_read;        // of each node: whether another one waits for it
  leat_span_link_t* links;      // by kind, key and time
  size_t link_count;
};

// Fills |out_graph| but for its links; its arrays lie in |arena|.
LEAT_MUST_USE leat_status_t leat_delay_graph_index(const leat_timeline_t* timeline,
                                                   leat_arena_t* arena,
                                                   leat_delay_graph_t* out_graph);
// Finds the links, for which all slices are looked at.
LEAT_MUST_USE leat_status_t leat_delay_graph_find_links(leat_delay_graph_t* graph,
                                                        leat_arena_t* arena);
// The last span of |kind| with that number that begins at |until_ns| or before; NULL: none does.
const leat_span_link_t* leat_delay_graph_link(const leat_delay_graph_t* graph, uint32_t kind,
                                              int64_t number, int64_t until_ns);
// The number of the message that a Recv got, whose kernel is |slice|; 0: it is not known.
int64_t leat_delay_graph_message(const leat_delay_graph_t* graph, const leat_slice_t* slice);
static inline uint32_t leat_delay_graph_node(const leat_delay_graph_t* graph,
                                             const leat_slice_t* slice) {
  return graph->node_of_name[slice->name];
}

// The kernels of a step, by node and time.
typedef struct leat_instances_s {
  const leat_delay_graph_t* graph;
  leat_instance_t* items;
  size_t count, capacity;
} leat_instances_t;
// The caller frees |out_instances->items| with the system's allocator, on failure too.
LEAT_MUST_USE leat_status_t leat_instances_find(const leat_delay_graph_t* graph,
                                                const leat_step_t* step,
                                                leat_instances_t* out_instances);
// Of those that |node| takes values from or waits for, those that ended last and last but one
// before |time_ns|. A node without kernels, such as a Switch, stands for its own producers. False
// where none ended before; where |node| has none at all |*out_has_any| is false.
bool leat_instances_producers(const leat_instances_t* instances, uint32_t node, int64_t time_ns,
                              leat_instance_t* out_last, leat_instance_t* out_second,
                              bool* out_has_any);
// Of the kernels of the graph of |of| that no other waits for, without |of| itself, the one that
// ended last before |of| did.
leat_instance_t leat_instances_last_end(const leat_instances_t* instances,
                                        const leat_instance_t* of);
// The moment from which on what leads to |a| no longer leads to |b| too, as far as the last
// producers of each tell. 0: they have nothing in common.
int64_t leat_instances_parting(const leat_instances_t* instances, leat_instance_t a,
                               leat_instance_t b);

#endif  // LEAT_TRACE_DELAY_GRAPH_H_
