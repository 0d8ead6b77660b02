// A function as a graph of its own, to be run alone: _Arg nodes for its arguments, its returns, and
// what must run besides.
#ifndef LEAT_FUNCTION_BODY_GRAPH_H_
#define LEAT_FUNCTION_BODY_GRAPH_H_

#include "graph/function_library.h"
#include "graph/lowering.h"

typedef struct leat_body_graph_s {
  leat_graph_t* graph;
  int argument_count;
  const leat_output_t* returns;
  int return_count;
  int32_t done;         // must run; -1: nothing
  int64_t call_count;   // functions whose bodies are in it: its own, and those that it calls
  bool lacks_function;  // why there is no graph: it, or one that it calls, is not defined
} leat_body_graph_t;

// What is known of the arguments; NULL: nothing.
typedef struct leat_argument_shapes_s {
  const leat_partial_shape_t* items;
  int count;
} leat_argument_shapes_t;

// |library| must outlive the graph. |device| is that of nodes that state none. NOT_FOUND when there
// is no such function. The caller owns |out_body->graph|.
LEAT_MUST_USE leat_status_t leat_body_graph_create(leat_op_registry_t* ops,
                                                   leat_function_library_t* library,
                                                   const leat_function_name_t* function,
                                                   leat_string_view_t device,
                                                   leat_allocator_t* allocator,
                                                   const leat_argument_shapes_t* shapes,
                                                   leat_body_graph_t* out_body);

#endif  // LEAT_FUNCTION_BODY_GRAPH_H_
