// Reads graphs that graph_writer.h has written, or another implementation of TensorFlow: GraphDefs
// whose one _Retval says what they are for. The function runtime of a session is the only caller.
#ifndef LEAT_MASTER_GRAPH_READER_H_
#define LEAT_MASTER_GRAPH_READER_H_

#include "graph/graph.h"

// Imports |graph_def|. |*out_fetch| is what its _Retval takes, which must be of |dtype|. Nodes that
// ask for no device get |device|, which must outlive the graph. INVALID_ARGUMENT for bytes that are
// no GraphDef, or one without a single _Retval. The graph is the caller's, also after a failure,
// when it may be NULL.
LEAT_MUST_USE leat_status_t leat_returning_graph_read(leat_op_registry_t* ops,
                                                      leat_allocator_t* allocator,
                                                      leat_string_view_t graph_def, int dtype,
                                                      leat_string_view_t device,
                                                      leat_graph_t** out_graph,
                                                      leat_output_t* out_fetch);

#endif  // LEAT_MASTER_GRAPH_READER_H_
