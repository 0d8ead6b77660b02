// The C API: build or import a dataflow graph, differentiate it, run it.
//
// This header brings in all of it. By subject:
//
//   c_api_graph.h      graphs, operations, tensor shapes; export
//   c_api_builder.h    adding one operation: its inputs and attributes
//   c_api_operation.h  looking at an operation: its edges and attributes
//   c_api_mutation.h   changing an operation that is in the graph already
//   c_api_import.h     adding a GraphDef to a graph
//   c_api_function.h   functions: named subgraphs
//   c_api_gradient.h   derivatives
//   c_api_while.h      while loops
//   c_api_session.h    running a graph, whole and in parts; SavedModels
//   c_api_device.h     the devices a session may use
//   c_api_registry.h   known ops and kernels; plugins; API definitions
//   c_api_server.h     a task of a cluster inside this process
//   c_api_deprecated.h sessions without a graph object, addressed by names
//   tf_tensor.h tf_tstring.h tf_datatype.h tf_attrtype.h tf_buffer.h tf_status.h   values
//
// A whole program: 3 + x for a fed x.
//
//   TF_Status* status = TF_NewStatus();
//   TF_Graph* graph = TF_NewGraph();
//
//   TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", "x");
//   TF_SetAttrType(desc, "dtype", TF_INT32);
//   TF_Output x = {TF_FinishOperation(desc, status), 0};
//
//   TF_Tensor* three = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof(int32_t));
//   *(int32_t*)TF_TensorData(three) = 3;
//   desc = TF_NewOperation(graph, "Const", "three");
//   TF_SetAttrType(desc, "dtype", TF_INT32);
//   TF_SetAttrTensor(desc, "value", three, status);
//   TF_Output c = {TF_FinishOperation(desc, status), 0};
//
//   desc = TF_NewOperation(graph, "AddV2", "sum");
//   TF_AddInput(desc, c);
//   TF_AddInput(desc, x);
//   TF_Output sum = {TF_FinishOperation(desc, status), 0};
//
//   TF_SessionOptions* options = TF_NewSessionOptions();
//   TF_Session* session = TF_NewSession(graph, options, status);
//   TF_Tensor* fed = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof(int32_t));
//   *(int32_t*)TF_TensorData(fed) = 39;
//   TF_Tensor* out = NULL;
//   TF_SessionRun(session, NULL, &x, &fed, 1, &sum, &out, 1, NULL, 0, NULL, status);
//   // *(int32_t*)TF_TensorData(out) == 42
//
// The rules, which the comments at the functions do not repeat:
//
// - Errors. A function with a TF_Status* sets it every time: TF_OK or what went wrong; a pointer or
//   number it returns has its meaning only with TF_OK (NULL or -1 otherwise, where nothing else is
//   said). The status must not be NULL. Nothing that a caller, a graph, a file or a peer does makes
//   the library end the process, with one limit: a pointer that should point to something of this
//   API must do so.
// - Ownership. TF_New..., TF_Allocate... and functions that say so hand an object to the caller,
//   who frees it with the TF_Delete... of its type; these accept NULL. Every other pointer that
//   comes back is borrowed, and lives as long as the object it was asked from. Strings, arrays and
//   messages that go in are copied before the function returns.
// - Threads. Functions on one TF_Graph or one TF_Session may be called from many threads at once;
//   they lock inside. Everything else (a description under construction, options, a status, a
//   buffer, a tensor handle) belongs to one thread at a time.
// - Time. Functions return at once, except those that run a graph, load, save or talk to a peer.
// - Booleans are unsigned char, 0 or 1. Lengths in bytes are size_t; counts and positions are int.
// - Messages (GraphDef, ConfigProto, ...) travel as their binary serialisation, in a TF_Buffer or
//   as pointer and length. Bytes that do not parse give TF_INVALID_ARGUMENT.
// - A buffer parameter that receives a message must be empty, as TF_NewBuffer makes it.
// - An array parameter may be NULL when its count is 0.

#ifndef TENSORFLOW_C_C_API_H_
#define TENSORFLOW_C_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_builder.h"
#include "tensorflow/c/c_api_deprecated.h"
#include "tensorflow/c/c_api_device.h"
#include "tensorflow/c/c_api_function.h"
#include "tensorflow/c/c_api_gradient.h"
#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_import.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/c_api_mutation.h"
#include "tensorflow/c/c_api_operation.h"
#include "tensorflow/c/c_api_registry.h"
#include "tensorflow/c/c_api_server.h"
#include "tensorflow/c/c_api_session.h"
#include "tensorflow/c/c_api_while.h"
#include "tensorflow/c/tf_attrtype.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"
#include "tensorflow/c/tf_tstring.h"

#ifdef __cplusplus
extern "C" {
#endif

// The version of TensorFlow whose C API and file formats this library speaks, as "2.21.0": bindings
// compare it. The string is static.
TF_CAPI_EXPORT const char* TF_Version(void);

// Bytes that the holder does not own: |len| of them, no NUL promised.
typedef struct TF_StringView {
  const char* data;
  size_t len;
} TF_StringView;

// Makes |to| (any tensor of the caller's, whose content is given up) the tensor that the serialised
// TensorProto in |from| describes. TF_INVALID_ARGUMENT when the message does not parse or
// contradicts itself; |to| is then unchanged.
TF_CAPI_EXPORT void TF_TensorFromProto(const TF_Buffer* from, TF_Tensor* to, TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_H_
