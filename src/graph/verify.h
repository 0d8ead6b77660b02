// Is a graph well formed? The stages that make and rewrite graphs trust each other: a pass does not
// test that an input names a node that exists. In debug builds (LEAT_DEBUG) the graph is verified
// behind every such stage instead, so that the stage that broke it is the one that is named.
//
// The functions are in every build, for tests; the macros LEAT_VERIFY_* are what stages use, and
// are OK without looking where LEAT_DEBUG is off. Time and memory are linear in the graph. Reading
// only; the caller keeps the graph from changing meanwhile.
#ifndef LEAT_GRAPH_VERIFY_H_
#define LEAT_GRAPH_VERIFY_H_

#include "graph/graph.h"

// INTERNAL names |stage| ("pass fold"), the node and the rule that is broken:
//   - the op's attributes are all there, first and in its order, of their kind and allowed values;
//   - there are as many inputs and outputs as op and attributes say, of the types that they say;
//   - data inputs name an output of a node of the graph; control inputs stand behind them and have
//     the index LEAT_CONTROL_INDEX;
//   - output shapes are well formed;
//   - each name is one, is in the graph's index, and belongs to one node;
//   - there is no cycle but by edges that close a loop into a Merge. A cycle has the code of
//     leat_graph_sort, INVALID_ARGUMENT: a client can make one, and hears the same from the later
//     stages of a release build.
// How many edges close a loop into one Merge is no rule: a client's Merge may have several, each
// from another branch of the body, and such a loop runs, as it does in TensorFlow.
LEAT_MUST_USE leat_status_t leat_graph_verify(const leat_graph_t* graph, const char* stage);

// The graph that a client is building: a Merge may wait for the edge that closes its loop, and the
// client's own edges may form cycles, of which only running them complains.
LEAT_MUST_USE leat_status_t leat_graph_verify_unfinished(const leat_graph_t* graph,
                                                         const char* stage);

// leat_graph_verify, and every node's device is one of |device_count|.
LEAT_MUST_USE leat_status_t leat_graph_verify_placed(const leat_graph_t* graph, int device_count,
                                                     const char* stage);

#ifdef LEAT_DEBUG
#define LEAT_VERIFIES true
#else
#define LEAT_VERIFIES false
#endif
#define LEAT_VERIFY_GRAPH(graph, stage) \
  (LEAT_VERIFIES ? leat_graph_verify((graph), (stage)) : leat_ok_status())
#define LEAT_VERIFY_UNFINISHED(graph, stage) \
  (LEAT_VERIFIES ? leat_graph_verify_unfinished((graph), (stage)) : leat_ok_status())
#define LEAT_VERIFY_PLACED(graph, device_count, stage) \
  (LEAT_VERIFIES ? leat_graph_verify_placed((graph), (device_count), (stage)) : leat_ok_status())

#endif  // LEAT_GRAPH_VERIFY_H_
