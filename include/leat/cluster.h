/* leat/cluster.h: what an operator wants to know of a cluster.
 *
 * A server (tensorflow/c/c_api_server.h) tells of events and gives figures, and any machine can
 * find out about the tasks of a cluster. `leat server` and `leat doctor --cluster` show all three.
 * The texts are for people and for Prometheus; a program that wants to react to a failure looks at
 * the status of its step.
 *
 * The environment names the certificates of the process: LEAT_CERTIFICATE, LEAT_KEY and
 * LEAT_AUTHORITY are paths of PEM files. Whatever talks to other processes reads them when it is
 * made: TF_NewServer, TF_NewSession with a target "grpc://...", leat_cluster_doctor_json. A server
 * then serves nobody without a certificate of the authority, and a client talks to no server
 * without one for its host. They fail with INVALID_ARGUMENT, naming the variable, the file and the
 * rule, where a file is not what it must be. */
#ifndef LEAT_CLUSTER_H_
#define LEAT_CLUSTER_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_server.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Something that happened at a server. Texts are never NULL, but may be empty, and are borrowed for
 * the call.
 *
 *   name                    what happened                           what else is set
 *   session_created         a client's session, this is its master  session, address (the client's)
 *   session_closed          the same                                session, message (why)
 *   session_refused         a client's session could not be made    address, message
 *   worker_session_created  a master's session with this task       session, task (the master)
 *   worker_session_deleted  the same                                session, message (why)
 *   graph_registered        a part of a step was compiled here      session, count (so far)
 *   worker_lost             another task fell silent                task, address
 *   worker_regained         it answers again                        task, address
 *   call_refused            no method, or bytes that are none       address, message, count (that
 *                                                                   were not told one by one)   */
typedef struct leat_server_event_t {
  size_t struct_size; /* what lies beyond is absent */
  const char* name;
  const char* session; /* its handle */
  const char* task;    /* "/job:ps/replica:0/task:0" */
  const char* address;
  const char* message;
  int64_t count;
} leat_server_event_t;

/* Has |fn|(|data|, event) called for each event, on any thread, several at once. It must not block
 * for long, nor call functions of the server. Must be called before TF_ServerStart, and |data| must
 * live until the server has been deleted. */
TF_CAPI_EXPORT extern void leat_server_observe(TF_Server* server,
                                               void (*fn)(void* data,
                                                          const leat_server_event_t* event),
                                               void* data);

/* The server's figures since its start, in the text format of Prometheus: steps by their code and
 * their latencies, graphs run, bytes sent and received, calls, sessions, graphs, entries of the
 * rendezvous, lost tasks. The caller deletes the buffer; NULL on error. Any thread. */
TF_CAPI_EXPORT extern TF_Buffer* leat_server_metrics(TF_Server* server, TF_Status* status);

/* Finds out about each task of the cluster that |cluster_def|, a serialized ClusterDef, describes,
 * one after the other; each has |timeout_ms|. With |load_bytes| > 0 the bandwidth is measured with
 * messages of that size (256 MiB at most), and with |pairs| != 0 tasks that run Leat are asked for
 * their ways to the others too. JSON:
 *
 *   {"tasks": [{"task", "address", "version", "answers_as", "incarnations": [...], WAY}, ...],
 *    "pairs": [{"from", "to", WAY}, ...]}
 *
 * WAY is "reachable", "code" and "message" where that is false, "latency_min_us" and
 * "latency_median_us" of an empty call, and where the other side is Leat "clock_offset_us" (its
 * clock less ours), "upload_mb_per_s" and "download_mb_per_s". A task without "version" is not
 * Leat; one with "answers_as" was started as that other task. The caller deletes the buffer; NULL
 * on error, which a task that cannot be reached is not. Blocks. */
TF_CAPI_EXPORT extern TF_Buffer* leat_cluster_doctor_json(const void* cluster_def, size_t size,
                                                          int64_t load_bytes, int64_t timeout_ms,
                                                          int pairs, TF_Status* status);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_CLUSTER_H_ */
