// Graphs and nodes as GraphDef and NodeDef, default-valued attributes included.
#ifndef LEAT_GRAPH_EXPORT_H_
#define LEAT_GRAPH_EXPORT_H_

#include "base/string_builder.h"
#include "formats/generated/graph.h"
#include "graph/graph.h"

// Appends the encoded GraphDef: nodes in the graph's order, versions, function library.
LEAT_MUST_USE leat_status_t leat_graph_export(const leat_graph_t* graph,
                                              leat_string_builder_t* out);
// Fills |out_def|, which borrows from the graph; the rest lies in |arena|.
LEAT_MUST_USE leat_status_t leat_node_to_def(const leat_graph_t* graph, int32_t node,
                                             leat_arena_t* arena, leat_pb_node_def_t* out_def);
// The same of attributes alone.
LEAT_MUST_USE leat_status_t leat_attrs_to_def(const leat_attr_t* attrs, int attr_count,
                                              leat_arena_t* arena,
                                              leat_pb_node_def_attr_entry_list_t* out_list);
// Appends the encoded NodeDef.
LEAT_MUST_USE leat_status_t leat_node_export(const leat_graph_t* graph, int32_t node,
                                             leat_string_builder_t* out);
// The library as a message that borrows from it.
LEAT_MUST_USE leat_status_t leat_graph_functions_to_def(
    const leat_graph_t* graph, leat_arena_t* arena,
    leat_pb_function_def_library_t* out_library);

#endif  // LEAT_GRAPH_EXPORT_H_
