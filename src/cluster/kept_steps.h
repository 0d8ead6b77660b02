// The parts of a client's session (master_session.h) that its own files share.
#ifndef LEAT_CLUSTER_KEPT_STEPS_H_
#define LEAT_CLUSTER_KEPT_STEPS_H_

#include "cluster/master_session.h"

struct leat_master_session_s {
  leat_master_session_t* next;
  leat_reference_count_t references;
  leat_task_t* task;   // as it is called in the session's cluster
  bool shares_state;   // though the session has a cluster of its own
  char handle[24];
  _Atomic(int64_t) last_use_ns;
  leat_shared_graph_t* graph;
  leat_session_t* session;
  leat_mutex_t mutex;  // guards what follows
  int64_t version;
  struct callable_s* callables;
  int64_t next_callable;
  struct partial_s* partials;
};

// Takes a partial run that nobody has used since |before_ns| out of the session, which the caller
// ends; NULL where there is none.
struct partial_s* leat_kept_steps_take_abandoned(leat_master_session_t* session,
                                                 int64_t before_ns);
// Ends the partial run, with CANCELLED where it still waits, and blocks until it has ended.
void leat_kept_steps_end(leat_master_session_t* session, struct partial_s* partial);
// Frees the callables and the partial runs of a session, which nobody uses any more.
void leat_kept_steps_free(leat_master_session_t* session);

#endif  // LEAT_CLUSTER_KEPT_STEPS_H_
