// The lines of a program that added the nodes of a graph, for those who show what ran: recordings
// (base/span.h) have the line of each kernel's node. Whoever builds a graph may tell them, and they
// are known of all graphs that are made from it, by the names of nodes. A graph that is sent to
// another task takes them along (graph/import/debug_info.c).
#ifndef LEAT_GRAPH_SOURCE_LINE_H_
#define LEAT_GRAPH_SOURCE_LINE_H_

#include "graph/graph.h"

// Tells that line |line| of |file|, which is copied, added |node|. RESOURCE_EXHAUSTED without
// memory.
LEAT_MUST_USE leat_status_t leat_graph_set_source_line(leat_graph_t* graph, int32_t node,
                                                       leat_string_view_t file, uint32_t line);
// Whether any line was told of the graph, or of one from which it was made.
bool leat_graph_has_source_lines(const leat_graph_t* graph);
// The line of the node called |name| of |graph|, or of a graph from which it was made; of a node
// that the optimizer put in the place of another, "layer/mul/_fused", that of the other one. False
// where nobody told it. |*out_file| lives as long as the graph. Any thread may ask, while the graph
// of the program grows.
bool leat_graph_find_source_line(const leat_graph_t* graph, leat_string_view_t name,
                                 leat_string_view_t* out_file, uint32_t* out_line);

#endif  // LEAT_GRAPH_SOURCE_LINE_H_
