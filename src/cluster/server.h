// A server: one task of a cluster, which serves tensorflow.MasterService and
// tensorflow.WorkerService on the task's address. TF_NewServer and `leat server` make one.
#ifndef LEAT_CLUSTER_SERVER_H_
#define LEAT_CLUSTER_SERVER_H_

#include "base/status.h"
#include "base/string_builder.h"
#include "cluster/event.h"

struct leat_runtime_s;
typedef struct leat_server_s leat_server_t;

// Makes the server that a serialized ServerDef describes; it does not listen yet.
// INVALID_ARGUMENT for a ServerDef that is malformed or names no task of its cluster, and for
// certificates that are not right (security.h), or that the protocol "grpc+ucx" would not heed;
// UNIMPLEMENTED for a protocol other than "grpc" and "grpc+ucx", and for the latter where the
// module for UCX is absent.
LEAT_MUST_USE leat_status_t leat_server_create(const struct leat_runtime_s* runtime,
                                               leat_string_view_t server_def,
                                               leat_server_t** out_server);
// Has |observer| called for each event (include/leat/cluster.h). Before leat_server_start.
void leat_server_set_observer(leat_server_t* server, leat_task_observer_t observer, void* data);
// Appends the figures of the server, in the text format of Prometheus.
void leat_server_print_metrics(leat_server_t* server, leat_string_builder_t* out);
// The task that the server runs; borrowed. For tests.
struct leat_task_s* leat_server_task(leat_server_t* server);
// Listens on the task's port, or on a free one where that is 0: of the loopback address where the
// task's own is one, else of all addresses of the machine. UNIMPLEMENTED where the module for gRPC
// is absent, UNAVAILABLE where the port is taken. A server that listens already stays as it is; one
// that was stopped cannot start again (FAILED_PRECONDITION).
LEAT_MUST_USE leat_status_t leat_server_start(leat_server_t* server);
// Takes no more calls, ends those under way, and all steps and sessions, with CANCELLED. Blocks
// until they have ended.
void leat_server_stop(leat_server_t* server);
// Blocks until the server has been stopped.
void leat_server_join(leat_server_t* server);
// "grpc://host:port", by which sessions reach it, with the port that it listens on; borrowed, and
// not to be asked for while it is being started.
const char* leat_server_target(const leat_server_t* server);
// Stops the server first. NULL is allowed.
void leat_server_free(leat_server_t* server);

#endif  // LEAT_CLUSTER_SERVER_H_
