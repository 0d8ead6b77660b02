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
  uint32_t place;             // among those of the step, plus 1; 0: not known
} leat_instance_t;

// From a kernel of a step back along what was waited for last, to one that waited for none. Places
// are as above; 0: there is none.
typedef struct leat_instance_way_s {
  uint32_t producer;  // the last that it waited for
  uint32_t jump;      // one further back on the way
  uint32_t depth;     // how many kernels the way has; 0: it is not yet found
} leat_instance_way_t;

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

// Where those of a node are.
typedef struct leat_instance_range_s {
  uint32_t turn;  // of the step for which it holds
  uint32_t first, count;
} leat_instance_range_t;

// The kernels of a step: those of a node together, by time. Whoever looks at one step after the
// other keeps its memory.
typedef struct leat_instances_s {
  const leat_delay_graph_t* graph;
  leat_instance_t* items;
  size_t count, capacity;
  leat_instance_way_t* ways;  // [count + 1] by place
  size_t way_capacity;
  leat_instance_t* listed;  // as they were met
  size_t listed_capacity;
  leat_instance_range_t* ranges;  // of the nodes
  uint32_t turn;
} leat_instances_t;
// To be deinitialized, on failure too.
LEAT_MUST_USE leat_status_t leat_instances_initialize(const leat_delay_graph_t* graph,
                                                      leat_instances_t* out_instances);
void leat_instances_deinitialize(leat_instances_t* instances);
// Replaces them by those of |step|.
LEAT_MUST_USE leat_status_t leat_instances_find(leat_instances_t* instances,
                                                const leat_step_t* step);
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
// The moment from which on what leads to |first| no longer leads to |second| too, as far as the
// last producers of each tell. 0: they have nothing in common.
int64_t leat_instances_parting(const leat_instances_t* instances, const leat_instance_t* first,
                               const leat_instance_t* second);

#endif  // LEAT_TRACE_DELAY_GRAPH_H_
