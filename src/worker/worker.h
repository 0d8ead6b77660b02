// The interface of a worker, which runs graphs on its devices (section 3 of the white paper). It is
// written as if the worker were always on another machine: requests and responses are values,
// graphs are named by handles and steps by numbers, and every call may complete later and on
// another thread. The exceptions are the pointers to functions, counters and statistics in a
// request; a transport within a process keeps their objects in a table (cluster/object_table.h).
// The master joins the local worker (worker/local_worker.h) by direct calls, and any other one
// through a transport (cluster/transport.h), with the same code.
#ifndef LEAT_WORKER_WORKER_H_
#define LEAT_WORKER_WORKER_H_

#include "device/device.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/registry.h"

typedef struct leat_worker_s leat_worker_t;
// Called exactly once, on any thread, perhaps before the call returns.
typedef void (*leat_worker_done_fn_t)(void* data, leat_status_t status);

typedef enum leat_executor_kind_e {
  LEAT_EXECUTOR_AUTOMATIC,  // a sequence where the graph allows it and threads would not help
  LEAT_EXECUTOR_SEQUENCE,   // one thread; UNIMPLEMENTED where the graph cannot be put in an order
  LEAT_EXECUTOR_DATAFLOW,   // runs whatever is ready, on as many threads as there are
} leat_executor_kind_t;

// A partition: a graph whose nodes all lie on one device of the worker. Its ARGUMENT nodes take
// the feeds by their "index" attribute.
typedef struct leat_register_request_s {
  leat_graph_t* graph;  // taken over, even on failure
  leat_string_view_t device;
  int feed_count;
  const leat_output_t* fetches;
  int fetch_count;
  leat_executor_kind_t executor;
  int inter_op_threads;  // threads that records of a step may keep busy; 0 = as many as there are
  bool deterministic;
  bool receives_dead;  // a Recv may bring a dead value (section 4.4)
  // How many transfers between the graphs of a step have numbers (LEAT_ATTR_NAME_TRANSFER), the
  // same for all these graphs; 0: all meet by text. Numbers are for workers of this process alone,
  // so a transport does not send the count.
  uint32_t transfer_count;
  struct leat_function_runtime_s* functions;  // that its kernels call; NULL = none
  // Of a step that fetches a dead tensor; OK: INVALID_ARGUMENT. Not sent by a transport either.
  leat_status_code_t dead_fetch_code;
} leat_register_request_t;

// A thread that waits for a step and lends itself to it. When a kernel for which the step waited is
// done (a dequeue, for example), the rest of the step runs on this thread and not on the one that
// ended the wait, whose own step would be held up. This works within one process only, so a
// transport leaves it out.
typedef struct leat_step_waiter_s {
  // |fn|(|data|) is to run on the waiting thread. From any thread; again only when |fn| has begun
  // to wait for another kernel.
  void (*go_on)(struct leat_step_waiter_s* self, void (*fn)(void* data), void* data);
} leat_step_waiter_t;

// A request to run a step. The caller keeps all that it points to until |done| is called.
typedef struct leat_run_request_s {
  uint64_t handle;
  int64_t step_id;
  int64_t container_step_id;   // whose step container it shares: a call's, its caller's; 0 = own
  int32_t function_depth;      // of calls that led here
  _Atomic(int64_t)* calls;     // counts the calls of the step that made this one; NULL: its own
  struct leat_draw_counts_s* draw_counts;  // see leat_step_services_t
  int inter_op_threads;        // as of the registration, for this step alone; 0 = no other
  const leat_tensor_t* feeds;  // feed_count; shared
  leat_tensor_t* fetches;      // fetch_count; filled when the status is OK
  int64_t deadline_ns;         // leat_clock_now_ns; LEAT_DEADLINE_NEVER
  bool is_whole_step;          // nothing else of the step comes to the worker until cleanup_step
  void* collector;             // struct leat_step_collector_s, or NULL
  leat_step_waiter_t* waiter;  // NULL = nobody
} leat_run_request_t;

// Methods with a |done| are requests with a response; the others are messages without one. A
// transport may deliver two calls at the same time, or in another order than they were made in,
// except where a comment says otherwise. A caller that needs an order waits for the |done| of the
// first call. The worker of this process may do the work of a call before it returns: it compiles
// and runs on the calling thread.
typedef struct leat_worker_vtable_s {
  // After every |done|; what was told before is done first.
  void (*destroy)(leat_worker_t* self);
  // |*out_handle| is set before |done|.
  void (*register_graph)(leat_worker_t* self, const leat_register_request_t* request,
                         uint64_t* out_handle, leat_worker_done_fn_t done, void* data);
  // Steps that run on go to their end first. No later run_graph names the handle.
  void (*deregister_graph)(leat_worker_t* self, uint64_t handle);
  // Runs a step of a registered graph and fills |request|->fetches. ABORTED when |handle| names no
  // graph (any more), as after a restart of the worker.
  void (*run_graph)(leat_worker_t* self, const leat_run_request_t* request,
                    leat_worker_done_fn_t done, void* data);
  // Ends a step everywhere on this worker with |status| (taken). May come before run_graph, is
  // idempotent and remembered until cleanup.
  void (*abort_step)(leat_worker_t* self, int64_t step_id, leat_status_t status);
  // Ends every step of the session with |status| (taken), also those whose run_graph is still on
  // its way: the session is over.
  void (*abort_all)(leat_worker_t* self, leat_status_t status);
  // Forgets a step: its rendezvous and its step container. Comes behind every earlier call of the
  // step, so that no abort is remembered of a step that is over; its runs are done.
  void (*cleanup_step)(leat_worker_t* self, int64_t step_id);
  // A tensor that a Send of |step_id| left or will leave under |key|.
  void (*receive_tensor)(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                         leat_slot_t* out_value, leat_worker_done_fn_t done, void* data);
  // Leaves |value| (taken; no reference) under |key|, as a Send of |step_id| does.
  void (*send_tensor)(leat_worker_t* self, int64_t step_id, leat_string_view_t key,
                      leat_slot_t value, leat_worker_done_fn_t done, void* data);
  // Forgets containers (TF_Reset); "" = the default one. Every later call finds them empty.
  void (*clear_container)(leat_worker_t* self, leat_string_view_t container);
} leat_worker_vtable_t;

struct leat_worker_s {
  const leat_worker_vtable_t* vtable;
};

#endif  // LEAT_WORKER_WORKER_H_
