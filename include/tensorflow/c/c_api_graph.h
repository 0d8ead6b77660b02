// Graphs and what is in them: looking at operations, their inputs and outputs, their neighbours.
// c_api_builder.h adds operations one by one, c_api_import.h adds serialised graphs, and
// c_api_session.h runs them. A graph only grows, so that a TF_Operation and a TF_Output stay valid
// as long as the graph is there, and names that were found once stay right. Part of the C API:
// c_api.h has the rules on errors, ownership and threads.

#ifndef TENSORFLOW_C_C_API_GRAPH_H_
#define TENSORFLOW_C_C_API_GRAPH_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// A dataflow graph: operations, joined by edges that carry tensors or only order. It grows;
// nothing is ever taken out. Several sessions may run the same graph, also while it grows. All
// functions on it may be called from any thread.
typedef struct TF_Graph TF_Graph;

// One operation of a graph. Borrowed from the graph: the address stays valid, and the same, until
// the graph is gone, whatever is added meanwhile.
typedef struct TF_Operation TF_Operation;

// The |index|-th input of an operation, as the place where an edge ends. Inputs that are lists
// count with each of their elements; control edges do not count.
typedef struct TF_Input {
  TF_Operation* oper;
  int index;
} TF_Input;

// The |index|-th output of an operation, as the place where edges begin: a tensor of the graph.
// Counted like inputs.
typedef struct TF_Output {
  TF_Operation* oper;
  int index;
} TF_Output;

// An empty graph. Free with TF_DeleteGraph.
TF_CAPI_EXPORT TF_Graph* TF_NewGraph(void);

// Gives up the caller's hold. Sessions made from the graph keep it alive, and the last of them
// takes it along; operations stay valid until then. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteGraph(TF_Graph* graph);

// --- Finding operations ----------------------------------------------------------------------

// The operation called |oper_name|, or NULL.
TF_CAPI_EXPORT TF_Operation* TF_GraphOperationByName(TF_Graph* graph, const char* oper_name);

// Walks over all operations in the order in which they were added:
//
//   size_t pos = 0;
//   for (TF_Operation* op; (op = TF_GraphNextOperation(graph, &pos)) != NULL;) ...
//
// |*pos| is opaque but for its start, 0. Operations that are added on the way come at the end.
TF_CAPI_EXPORT TF_Operation* TF_GraphNextOperation(TF_Graph* graph, size_t* pos);

// --- Shapes of tensors -----------------------------------------------------------------------
// What is known of a tensor's shape before the graph runs: nothing (unknown rank), the rank, or
// some or all of the sizes. An |output| that is not in |graph| is TF_INVALID_ARGUMENT.

// Adds to what is known: the shape |dims| of |num_dims| sizes, where -1 is a size that the caller
// does not know either; |num_dims| -1 says nothing at all. Old and new knowledge are merged, so
// that [-1, 2] on top of [2, -1] makes [2, 2]; operations added later see the result, those that
// are there already do not. TF_INVALID_ARGUMENT when the two contradict each other.
TF_CAPI_EXPORT void TF_GraphSetTensorShape(TF_Graph* graph, TF_Output output, const int64_t* dims,
                                           const int num_dims, TF_Status* status);

// The rank of |output|, or -1 when it is unknown (that is no error) or on failure.
TF_CAPI_EXPORT int TF_GraphGetTensorNumDims(TF_Graph* graph, TF_Output output, TF_Status* status);

// Writes the |num_dims| sizes of |output| to |dims|, -1 for each that is unknown. |num_dims| must
// be what TF_GraphGetTensorNumDims says, else TF_INVALID_ARGUMENT; with -1 or 0 nothing is written.
TF_CAPI_EXPORT void TF_GraphGetTensorShape(TF_Graph* graph, TF_Output output, int64_t* dims,
                                           int num_dims, TF_Status* status);

// For tensors that are handles (TF_RESOURCE, TF_VARIANT): shape and type of what they refer to, as
// a serialised HandleData message (cpp_shape_inference.proto) in a new buffer for the caller to
// delete, or NULL when nothing is known.
TF_CAPI_EXPORT TF_Buffer* TF_GetHandleShapeAndType(TF_Graph* graph, TF_Output output);

// Replaces that knowledge by the HandleData message of |proto_len| bytes at |proto|, for operations
// that are added from now on: a ReadVariableOp of a handle fed from outside has its variable's
// shape then. TF_INVALID_ARGUMENT for other bytes, or sizes below -1.
TF_CAPI_EXPORT void TF_SetHandleShapeAndType(TF_Graph* graph, TF_Output output, const void* proto,
                                             size_t proto_len, TF_Status* status);

// Whether an op without a shape function is refused with TF_INVALID_ARGUMENT (true, the start) or
// may be added, its outputs then being of unknown shape (false).
TF_CAPI_EXPORT void TF_SetRequireShapeInferenceFns(TF_Graph* graph, bool require);

// Tries to compute |output| without running a session, which works when all it depends on is
// constant and cheap. Returns 1 with the value in |*result| (the caller's to delete), or 0 with
// NULL there: because it is not constant (TF_OK) or because computing it failed (the error).
TF_CAPI_EXPORT unsigned char TF_TryEvaluateConstant(TF_Graph* graph, TF_Output output,
                                                    TF_Tensor** result, TF_Status* status);

// --- Export ----------------------------------------------------------------------------------

// Writes the whole graph, functions included, to |output_graph_def| as a GraphDef message.
TF_CAPI_EXPORT void TF_GraphToGraphDef(TF_Graph* graph, TF_Buffer* output_graph_def,
                                       TF_Status* status);

// Writes the OpDef message of |op_name|, a registered op or a function of this graph.
// TF_NOT_FOUND when it is neither.
TF_CAPI_EXPORT void TF_GraphGetOpDef(TF_Graph* graph, const char* op_name, TF_Buffer* output_op_def,
                                     TF_Status* status);

// Writes the VersionDef message of the graph: the producer and the oldest consumer that its format
// is made for.
TF_CAPI_EXPORT void TF_GraphVersions(TF_Graph* graph, TF_Buffer* output_version_def,
                                     TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_GRAPH_H_
