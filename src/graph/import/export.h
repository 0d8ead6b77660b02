// Graphs and nodes as GraphDef and NodeDef messages, for the C API, checkpoints' meta graphs and
// the wire to other workers. Attributes that have their default value are written too, so that a
// reader need not know the op's defaults. Reading only; the caller keeps the graph from changing
// during a call. What is appended to a builder before a failure stays there.
#ifndef LEAT_GRAPH_IMPORT_EXPORT_H_
#define LEAT_GRAPH_IMPORT_EXPORT_H_

#include "base/string_builder.h"
#include "formats/generated/graph.h"
#include "graph/graph.h"

// Appends the encoded GraphDef to |out|: the nodes in the graph's order, the versions, the library.
LEAT_MUST_USE leat_status_t leat_graph_export(const leat_graph_t* graph,
                                              leat_string_builder_t* out);
// The same without the nodes before |first_node|, for a reader who has these.
LEAT_MUST_USE leat_status_t leat_graph_export_from(const leat_graph_t* graph, size_t first_node,
                                                   leat_string_builder_t* out);
// Appends the lines of a program that are known of the nodes from |first_node| on
// (graph/source_line.h), for another task that runs them; nothing where none is. They merge with
// the GraphDef that |out| holds.
LEAT_MUST_USE leat_status_t leat_graph_export_lines(const leat_graph_t* graph, size_t first_node,
                                                    leat_string_builder_t* out);
// Fills |out_def|, which borrows texts from the graph; what it needs besides lies in |arena|.
LEAT_MUST_USE leat_status_t leat_node_to_def(const leat_graph_t* graph, int32_t node,
                                             leat_arena_t* arena, leat_pb_node_def_t* out_def);
// Writes a list of attributes that belongs to no node, as those of a function do.
LEAT_MUST_USE leat_status_t leat_attrs_to_def(const leat_attr_t* attrs, int attr_count,
                                              leat_arena_t* arena,
                                              leat_pb_node_def_attr_entry_list_t* out_list);
// A function library as a message, which borrows from the library. NULL is a library without
// functions.
LEAT_MUST_USE leat_status_t leat_functions_to_def(const struct leat_function_library_s* library,
                                                  leat_arena_t* arena,
                                                  leat_pb_function_def_library_t* out_library);

#endif  // LEAT_GRAPH_IMPORT_EXPORT_H_
