// Finding out about the tasks of a cluster: whether they answer, what they are, and how far and how
// fast the way to them is. `leat doctor --cluster` shows it. Latency and incarnations can be had of
// any task; version, clock and bandwidth are told by the service leat.Diagnosis, which Leat's tasks
// have. A task of Leat's is also asked to probe the others in turn, which gives the ways between
// each pair.
#ifndef LEAT_CLUSTER_PROBE_H_
#define LEAT_CLUSTER_PROBE_H_

#include "base/string_builder.h"
#include "base/sync.h"
#include "cluster/rpc.h"
#include "formats/generated/diagnosis.h"

// A call that somebody waits for, and the times at which it was made and answered. The last three
// fields say where the answer goes: its struct, which lies in |arena|; |descriptor| NULL: nowhere.
typedef struct leat_timed_call_s {
  leat_notification_t ended;
  int64_t begin_ns, end_ns;
  leat_status_t status;
  leat_arena_t* arena;
  const leat_message_descriptor_t* descriptor;
  void* answer;
} leat_timed_call_t;
// Calls |method| with |message|, the struct of |descriptor| (NULL: no bytes), and waits for its
// end. The answer is read after its time was taken.
LEAT_MUST_USE leat_status_t leat_timed_call(leat_rpc_channel_t* channel, const char* method,
                                            const leat_message_descriptor_t* descriptor,
                                            const void* message, int64_t deadline_ns,
                                            leat_timed_call_t* timed);

typedef struct leat_probe_options_s {
  int64_t load_bytes;   // sent each way to measure the bandwidth; 0: it is not measured
  int64_t deadline_ns;  // of everything
} leat_probe_options_t;
#define LEAT_PROBE_MAX_LOAD_BYTES (INT64_C(256) << 20)

// Probes the task at the other end of |channel|. Blocks for some tens of calls. That a task cannot
// be reached stands in |out_probe|, which lies in |arena|; the status tells of our own failures.
LEAT_MUST_USE leat_status_t leat_probe_channel(leat_rpc_channel_t* channel,
                                               const leat_probe_options_t* options,
                                               leat_arena_t* arena,
                                               leat_pb_task_probe_t* out_probe);

typedef struct leat_cluster_probe_options_s {
  leat_string_view_t cluster;  // a ClusterDef
  int64_t load_bytes;
  int64_t timeout_ms;          // for each way
  bool probes_pairs;           // ask the tasks for their ways to each other
} leat_cluster_probe_options_t;
// Probes all tasks of a cluster, one after the other, so that no measurement disturbs another. JSON
// (include/leat/cluster.h has its members) is appended to |out|.
LEAT_MUST_USE leat_status_t leat_cluster_probe(const leat_cluster_probe_options_t* options,
                                               leat_string_builder_t* out);

#endif  // LEAT_CLUSTER_PROBE_H_
