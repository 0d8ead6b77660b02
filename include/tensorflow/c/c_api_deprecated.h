// Sessions as they were before there was TF_Graph: the session itself holds the graph, which is
// given as GraphDef messages, and everything is addressed by names. Part of the C API: c_api.h has
// the rules on errors, ownership and threads. New programs use c_api_session.h; these functions do
// the same work underneath.
//
// Names: an operation is "name"; a tensor is "name:1", or "name" for output 0. All NUL-terminated.

#ifndef TENSORFLOW_C_C_API_DEPRECATED_H_
#define TENSORFLOW_C_C_API_DEPRECATED_H_

#include <stddef.h>

#include "tensorflow/c/c_api_device.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/c_api_session.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// A session with a graph of its own, empty at first.
typedef struct TF_DeprecatedSession TF_DeprecatedSession;

// Free with TF_DeleteDeprecatedSession; NULL on failure.
TF_CAPI_EXPORT TF_DeprecatedSession* TF_NewDeprecatedSession(const TF_SessionOptions* options,
                                                             TF_Status* status);

// As TF_CloseSession.
TF_CAPI_EXPORT void TF_CloseDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status);

// As TF_DeleteSession.
TF_CAPI_EXPORT void TF_DeleteDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status);

// Throws away the variables and queues in the |ncontainers| containers named, or in the default one
// when there are none, on the machines of the target in |opt|, and closes the sessions there. The
// target "" is this process: all of its sessions are closed.
TF_CAPI_EXPORT void TF_Reset(const TF_SessionOptions* opt, const char** containers, int ncontainers,
                             TF_Status* status);

// Adds the nodes of the GraphDef message of |proto_len| bytes at |proto| to the session's graph.
// TF_INVALID_ARGUMENT when one has a name that is taken.
TF_CAPI_EXPORT void TF_ExtendGraph(TF_DeprecatedSession* session, const void* proto,
                                   size_t proto_len, TF_Status* status);

// As TF_SessionRun.
TF_CAPI_EXPORT void TF_Run(TF_DeprecatedSession* session, const TF_Buffer* run_options,
                           const char** input_names, TF_Tensor** inputs, int ninputs,
                           const char** output_names, TF_Tensor** outputs, int noutputs,
                           const char** target_oper_names, int ntargets, TF_Buffer* run_metadata,
                           TF_Status* status);

// As TF_SessionPRunSetup; the handle is freed with TF_DeletePRunHandle.
TF_CAPI_EXPORT void TF_PRunSetup(TF_DeprecatedSession* session, const char** input_names,
                                 int ninputs, const char** output_names, int noutputs,
                                 const char** target_oper_names, int ntargets, const char** handle,
                                 TF_Status* status);

// As TF_SessionPRun.
TF_CAPI_EXPORT void TF_PRun(TF_DeprecatedSession* session, const char* handle,
                            const char** input_names, TF_Tensor** inputs, int ninputs,
                            const char** output_names, TF_Tensor** outputs, int noutputs,
                            const char** target_oper_names, int ntargets, TF_Status* status);

// As TF_SessionListDevices.
TF_CAPI_EXPORT TF_DeviceList* TF_DeprecatedSessionListDevices(TF_DeprecatedSession* session,
                                                              TF_Status* status);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_DEPRECATED_H_
