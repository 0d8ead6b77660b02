// A graph and its function library: where the library comes from, what an op's name means in a
// graph, and how additions to a graph are undone. Most graphs have no functions, so a library is
// made with the first one.
#ifndef LEAT_GRAPH_FUNCTION_GRAPH_FUNCTIONS_H_
#define LEAT_GRAPH_FUNCTION_GRAPH_FUNCTIONS_H_

#include "graph/function/function_library.h"
#include "graph/graph.h"

// The library that |graph| may change. It is made on first demand, as a copy of the parent's if
// there is one, and belongs to the graph's storage.
LEAT_MUST_USE leat_status_t leat_graph_own_functions(leat_graph_t* graph,
                                                     leat_function_library_t** out_library);
// Adds all functions and gradients of a message. Fails as leat_function_library_add_all does.
LEAT_MUST_USE leat_status_t leat_graph_add_functions(leat_graph_t* graph,
                                                     const leat_pb_function_def_library_t* source);
// Adds all functions and gradients of the library of |source|.
LEAT_MUST_USE leat_status_t leat_graph_copy_functions(leat_graph_t* graph,
                                                      const leat_graph_t* source);

// How far a graph has grown. leat_graph_return_to removes what was added since, so that an addition
// that fails leaves no trace. No older node may have been made to read one that goes.
typedef struct leat_graph_mark_s {
  size_t node_count;
  int32_t producer_version;
  int function_count, gradient_count;
} leat_graph_mark_t;
// A mark of the graph as it is, and the return to it. Caches of inferred values are emptied by the
// return, since they may know nodes that are gone.
leat_graph_mark_t leat_graph_mark(const leat_graph_t* graph);
void leat_graph_return_to(leat_graph_t* graph, const leat_graph_mark_t* mark);

// The op that a node of |graph| means by |name|: the registered one, else the function. NOT_FOUND.
LEAT_MUST_USE leat_status_t leat_graph_find_op(const leat_graph_t* graph, leat_string_view_t name,
                                               const leat_op_t** out_op);

#endif  // LEAT_GRAPH_FUNCTION_GRAPH_FUNCTIONS_H_
