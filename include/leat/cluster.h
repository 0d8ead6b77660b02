/* leat/cluster.h: what an operator wants to know of a cluster.
 *
 * A server (tensorflow/c/c_api_server.h) tells of events and gives figures, any machine can find
 * out about the tasks of a cluster, and a process about the cluster that it belongs to. `leat
 * server`, `leat launch` and `leat doctor --cluster` show them.
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

/* Finds the cluster of this process, and which of its tasks the process is. |source| is one of
 *
 *   ps=a:2222;worker=b:2222,c:2222   the cluster itself
 *   file:PATH      a file of such text, where jobs may also stand on lines of their own and a '#'
 *                  begins a comment; or of JSON: that of TF_CONFIG, or its "cluster" alone
 *   tf_config      the variable TF_CONFIG, {"cluster": {"ps": ["a:2222"], ...}, "task": {"type":
 *                  "ps", "index": 0}}, as TensorFlow's programs and Kubernetes' operators have it
 *   slurm:OPTIONS  SLURM_STEP_NODELIST, SLURM_STEP_TASKS_PER_NODE, SLURM_PROCID and others, which
 *                  srun sets
 *   mpi:OPTIONS    OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK and the like, which mpirun sets
 *   kubernetes:OPTIONS   the pods of StatefulSets, by their names
 *   ""             TF_CONFIG where it is set, else what mpirun or srun says
 *
 * OPTIONS are "NAME=VALUE,..."; one that is not below is a job with its number of tasks: "ps=1". Of
 * Slurm and MPI jobs take processes in the order in which they come; who is left is a worker.
 *
 *   port=P           of the first process of a host (8888), the others follow; of each pod (2222)
 *   tasks_per_node=  of Slurm: overrides the variable, with '+' for ',': "2(x3)+1"
 *   size=N           of MPI: the number of processes, where no variable has it
 *   folder=PATH      of MPI: where processes on several machines tell each other their addresses;
 *                    all must see it. Each waits for the others.
 *   timeout=S        for how long (60)
 *   run=NAME         of MPI: another one for each run, where no variable tells runs apart
 *   service=NAME     of Kubernetes: the headless service, "worker-0.NAME:2222"
 *   domain=NAME      behind it, "worker-0.SERVICE.NAME:2222"
 *   name=PREFIX      before the names of the jobs in those of the StatefulSets
 *
 * Returns a serialized ClusterDef, which the caller deletes. |job|, of |job_size| bytes, gets the
 * job of this process, "" where the source does not say, and |*task| its index. Addresses are not
 * checked: TF_NewServer and leat_cluster_doctor_json do. NULL on error: NOT_FOUND where the process
 * was told nothing by that source, INVALID_ARGUMENT with the variable or the file, the value and
 * the rule, DEADLINE_EXCEEDED with who is missing. Any thread. */
TF_CAPI_EXPORT extern TF_Buffer* leat_cluster_resolve(const char* source, char* job,
                                                      size_t job_size, int* task,
                                                      TF_Status* status);

/* The JSON that TF_CONFIG of task |task| of |job| has in the cluster of a serialized ClusterDef,
 * without the task where |job| is "". The caller deletes the buffer; NULL on error. */
TF_CAPI_EXPORT extern TF_Buffer* leat_cluster_tf_config(const void* cluster_def, size_t size,
                                                        const char* job, int task,
                                                        TF_Status* status);

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
