// A task of a cluster inside this process. Part of the C API: c_api.h has the rules on errors,
// ownership and threads.
//
//   TF_Server* server = TF_NewServer(server_def, server_def_length, status);
//   TF_ServerStart(server, status);
//   TF_SetTarget(options, TF_ServerTarget(server));  // a session that spans the cluster

#ifndef TENSORFLOW_C_C_API_SERVER_H_
#define TENSORFLOW_C_C_API_SERVER_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// One task of one job: a worker that runs its part of graphs on its devices for the others, and a
// master that clients can connect to.
typedef struct TF_Server TF_Server;

// A server for the task that the ServerDef message of |proto_len| bytes at |proto| describes: the
// jobs and addresses of the cluster, which of them this is, its protocol and devices. It holds its
// address but answers nobody yet. Free with TF_DeleteServer; NULL on failure: TF_NOT_FOUND for a
// protocol that nobody knows, TF_INVALID_ARGUMENT for a task that the cluster does not have,
// TF_UNKNOWN or TF_UNAVAILABLE when the address cannot be had.
TF_CAPI_EXPORT TF_Server* TF_NewServer(const void* proto, size_t proto_len, TF_Status* status);

// Begins to answer. No harm when it does already; TF_FAILED_PRECONDITION once it was stopped.
TF_CAPI_EXPORT void TF_ServerStart(TF_Server* server, TF_Status* status);

// Ends it: steps that run are aborted, peers see TF_UNAVAILABLE. A server that was stopped cannot
// be started again.
TF_CAPI_EXPORT void TF_ServerStop(TF_Server* server, TF_Status* status);

// Waits until the server has been stopped, by another thread: what the main thread of a task that
// only serves does.
TF_CAPI_EXPORT void TF_ServerJoin(TF_Server* server, TF_Status* status);

// What TF_SetTarget needs to reach this server's master. Lives as long as the server.
TF_CAPI_EXPORT const char* TF_ServerTarget(TF_Server* server);

// Stops the server if need be, waits for it, frees it. NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteServer(TF_Server* server);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_C_API_SERVER_H_
