// Changing operations that are in a graph already. Part of the C API: c_api.h has the rules on
// errors, ownership and threads.
//
// For front ends that build loops and conditionals piece by piece; a graph that only grows is
// easier to reason about. A session takes an operation over at the first run after it was added,
// and does not look again: changing it later has no effect on that session, which says so in the
// log. Change first, run then.

#ifndef TENSORFLOW_C_C_API_MUTATION_H_
#define TENSORFLOW_C_C_API_MUTATION_H_

#include "tensorflow/c/c_api_graph.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Makes the tensor |new_src| feed the input |dst| in the place of what fed it. TF_OUT_OF_RANGE when
// either index is too large; TF_INVALID_ARGUMENT when the shapes cannot be the same, or an end is
// not in |graph|. Types are not compared here, and a cycle is found when a session takes the graph
// over.
TF_CAPI_EXPORT void TF_UpdateEdge(TF_Graph* graph, TF_Output new_src, TF_Input dst,
                                  TF_Status* status);

// Makes |op| wait for |input|. Doing it again changes nothing.
TF_CAPI_EXPORT void TF_AddOperationControlInput(TF_Graph* graph, TF_Operation* op,
                                                TF_Operation* input);

// Makes |op| wait for nothing but its inputs.
TF_CAPI_EXPORT void TF_RemoveAllControlInputs(TF_Graph* graph, TF_Operation* op);

// Adds the attribute, or replaces its value, by the serialised AttrValue in |attr_value_proto|. The
// op's definition is not consulted.
TF_CAPI_EXPORT void TF_SetAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name,
                               TF_Buffer* attr_value_proto, TF_Status* status);

// Removes the attribute; one that is not there is no error.
TF_CAPI_EXPORT void TF_ClearAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name,
                                 TF_Status* status);

// Sets the |experimental_type| field of the operation's NodeDef to the serialised FullTypeDef in
// |full_type_proto|. It is kept for those who read the graph; nothing here depends on it.
TF_CAPI_EXPORT void TF_SetFullType(TF_Graph* graph, TF_Operation* op,
                                   const TF_Buffer* full_type_proto);

// Replaces the device asked for, as TF_SetDevice would have set it.
TF_CAPI_EXPORT void TF_SetRequestedDevice(TF_Graph* graph, TF_Operation* op, const char* device);

// Adds |new_src| as the last input of |dst|, which must be a While operation whose attribute T has
// been given the type of the new input before. The gradient of a loop needs it.
TF_CAPI_EXPORT void TF_AddWhileInputHack(TF_Graph* graph, TF_Output new_src, TF_Operation* dst,
                                         TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_MUTATION_H_
