// Writes graphs that kernels describe (kernel/function_runtime.h) as GraphDefs, with the functions
// that they need. The function runtime of a session is the only caller.
#ifndef LEAT_MASTER_GRAPH_WRITER_H_
#define LEAT_MASTER_GRAPH_WRITER_H_

#include "graph/function/function_library.h"
#include "kernel/function_runtime.h"

// Finds the library of the functions that |node| names. It is called for nodes that name some.
typedef leat_status_t (*leat_find_library_fn_t)(void* data, const leat_described_node_t* node,
                                                const leat_function_library_t** out_library);

// Appends the encoded GraphDef to |out|; |out_stateful| is as in the runtime's export_graph.
// INVALID_ARGUMENT where two libraries have different functions of one name, NOT_FOUND where a
// function is not in its library.
LEAT_MUST_USE leat_status_t leat_described_graph_write(leat_op_registry_t* ops,
                                                       const leat_described_node_t* nodes,
                                                       int count, leat_find_library_fn_t find,
                                                       void* data, leat_string_builder_t* out,
                                                       leat_string_view_t* out_stateful);

#endif  // LEAT_MASTER_GRAPH_WRITER_H_
