// A RunGraph starts a registered graph, and is answered when the graph has run. Two things may be
// added to that:
//
//   send, recv_key   values that are left in the step's rendezvous before the graph starts, and
//                    values that are taken out of it for the answer
//   is_partial       the first call of a step starts the graph, and further ones bring and take
//                    values; only the last one waits for its end
//
// So there are two objects: the run of the graph, and the answer of a call, which waits for its
// values and, but for the early calls of a partial run, for the end of the run. An answer counts
// what it waits for; whoever brings the last of it answers. A partial run is in a list of the task
// until its step is cleaned up, in which its further calls find it.
//
// A failure of the run ends the step's transfers, so that other tasks, which wait for values of
// this one, hear of it. When a master cancels a call, the step is aborted; the answer follows when
// its kernels have ended.
#include "cluster/worker_run.h"

#include <inttypes.h>

#include "base/clock.h"
#include "cluster/worker_session.h"
#include "formats/wire/tensor_content.h"
#include "trace/collector.h"

typedef struct answer_s answer_t;
typedef struct wanted_s wanted_t;

typedef struct leat_worker_run_s {
  struct leat_worker_run_s* next;  // in the task's list of partial runs
  leat_reference_count_t references;
  leat_task_t* task;
  leat_worker_graph_t* graph;  // retained
  int64_t step_id;
  int64_t begin_ns;
  int64_t last_use_ns;               // of a partial run; guarded by the task's mutex
  leat_step_collector_t* collector;  // |storage|, or NULL
  leat_step_collector_t storage;
  leat_mutex_t mutex;  // guards what follows
  bool is_ended;
  leat_status_t status;  // how it ended
  answer_t* waiter;      // the answer that waits for the end
} run_t;

struct answer_s {
  leat_service_call_t* call;
  run_t* run;  // retained
  bool stores_errors;  // failures travel in the answer's body
  bool wants_end;      // of the run, and with it the statistics
  bool may_end_step;   // the master's leave to do what its CleanupGraph would
  _Atomic(int) pending;
  leat_spinlock_t lock;
  leat_status_t status;  // the first failure, under |lock|
  const leat_pb_string_list_t* keys;  // of the request
  leat_slot_t* values;                // [keys->count]
  wanted_t* wanted;                   // [keys->count]
};

// A value that an answer waits for.
struct wanted_s {
  answer_t* answer;
  size_t index;
};

// ---- Runs ---------------------------------------------------------------------------------------

static void release_run(run_t* run) {
  if (!run || !leat_reference_count_release(&run->references)) return;
  if (run->collector) leat_step_collector_deinitialize(run->collector);
  leat_worker_graph_release(run->graph);
  leat_status_free(run->status);
  leat_mutex_deinitialize(&run->mutex);
  leat_allocator_free(leat_allocator_system(), run);
}

// |graph| is taken over on success.
static leat_status_t make_run(leat_task_t* task, leat_worker_graph_t* graph,
                              const leat_pb_run_graph_request_t* request, run_t** out_run) {
  run_t* run;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &run));
  *run = (run_t){.task = task, .graph = graph, .step_id = request->step_id};
  atomic_init(&run->references, 1);
  leat_mutex_initialize(&run->mutex);
  if (request->exec_opts && request->exec_opts->record_timeline) {
    leat_step_collector_initialize(leat_allocator_system(), &run->storage);
    run->collector = &run->storage;
  }
  *out_run = run;
  return leat_ok_status();
}

// The place of the step's run in the list; it holds NULL where there is none. The task's mutex is
// held.
static run_t** find_place(leat_task_t* task, int64_t step_id) {
  run_t** place = &task->partial_runs;
  while (*place && (*place)->step_id != step_id) place = &(*place)->next;
  return place;
}

static run_t* find_partial(leat_task_t* task, int64_t step_id) {
  leat_mutex_lock(&task->mutex);
  run_t* run = *find_place(task, step_id);
  if (run) {
    leat_reference_count_retain(&run->references);
    run->last_use_ns = leat_clock_now_ns();
  }
  leat_mutex_unlock(&task->mutex);
  return run;
}

static void add_partial(leat_task_t* task, run_t* run) {
  leat_reference_count_retain(&run->references);
  leat_mutex_lock(&task->mutex);
  run->last_use_ns = leat_clock_now_ns();
  run->next = task->partial_runs;
  task->partial_runs = run;
  leat_mutex_unlock(&task->mutex);
}

void leat_worker_runs_forget(leat_task_t* task, int64_t step_id) {
  leat_mutex_lock(&task->mutex);
  run_t** place = find_place(task, step_id);
  run_t* run = *place;
  if (run) *place = run->next;
  leat_mutex_unlock(&task->mutex);
  release_run(run);
}

static bool has_ended(run_t* run) {
  leat_mutex_lock(&run->mutex);
  const bool is_ended = run->is_ended;
  leat_mutex_unlock(&run->mutex);
  return is_ended;
}

// The first partial run that was not called since |before_ns|, has ended or not, and whose step is
// above |after|; retained. NULL where there is none.
static run_t* find_abandoned(leat_task_t* task, int64_t before_ns, int64_t after) {
  run_t* found = NULL;
  leat_mutex_lock(&task->mutex);
  for (run_t* run = task->partial_runs; run; run = run->next) {
    if (run->last_use_ns >= before_ns || run->step_id <= after) continue;
    if (!found || run->step_id < found->step_id) found = run;
  }
  if (found) leat_reference_count_retain(&found->references);
  leat_mutex_unlock(&task->mutex);
  return found;
}

// A run that has not ended is aborted, and forgotten when it has, at a later heartbeat: this thread
// does not wait for its kernels.
void leat_worker_runs_collect(leat_task_t* task, int64_t now_ns) {
  const int64_t patience_ns = task->patience.partial_run_ms * 1000000;
  int64_t step_id = INT64_MIN;
  if (patience_ns <= 0) return;
  for (run_t* run; (run = find_abandoned(task, now_ns - patience_ns, step_id));) {
    step_id = run->step_id;
    if (has_ended(run)) {
      leat_worker_runs_forget(task, step_id);
      leat_worker_sessions_cleanup(task, step_id);
    } else {
      leat_compiled_abort_step(leat_worker_graph_compiled(run->graph), step_id,
                               leat_make_status(LEAT_ABORTED,
                                                "RunGraph failed: nobody went on with the partial "
                                                "run of step %" PRId64 " for %" PRId64 " ms",
                                                step_id, task->patience.partial_run_ms));
    }
    release_run(run);
  }
}

void leat_worker_runs_end(leat_task_t* task) {
  leat_mutex_lock(&task->mutex);
  while (task->partial_runs) {
    run_t* run = task->partial_runs;
    task->partial_runs = run->next;
    leat_mutex_unlock(&task->mutex);
    release_run(run);
    leat_mutex_lock(&task->mutex);
  }
  while (task->running > 0) leat_condition_wait(&task->changed, &task->mutex);
  leat_mutex_unlock(&task->mutex);
}

// What uses the task while it is not sure that a call is still unanswered stands between these two;
// leat_worker_runs_end waits for the second.
static void enter_task(leat_task_t* task) {
  leat_mutex_lock(&task->mutex);
  ++task->running;
  leat_mutex_unlock(&task->mutex);
}

static void leave_task(leat_task_t* task) {
  leat_mutex_lock(&task->mutex);
  if (--task->running == 0) leat_condition_notify_all(&task->changed);
  leat_mutex_unlock(&task->mutex);
}

// ---- Answers ------------------------------------------------------------------------------------

static leat_status_t write_values(const answer_t* answer,
                                  leat_pb_run_graph_response_t* response) {
  leat_arena_t* arena = &answer->call->arena;
  const size_t count = answer->keys->count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &response->recv.items));
  for (size_t i = 0; i < count; ++i) {
    leat_pb_named_tensor_proto_t* item = &response->recv.items[i];
    if (!answer->values[i].alive) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "The tensor returned for %.*s was not valid: it is dead",
                              LEAT_SV_ARG(answer->keys->items[i]));
    }
    item->name = answer->keys->items[i];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &item->tensor));
    LEAT_RETURN_IF_ERROR(
        leat_tensor_to_content(&answer->values[i].tensor, arena, item->tensor));
  }
  response->recv.count = count;
  return leat_ok_status();
}

static leat_status_t write_response(const answer_t* answer, leat_pb_step_stats_t* stats,
                                    leat_pb_run_graph_response_t* response) {
  LEAT_RETURN_IF_ERROR(write_values(answer, response));
  if (!answer->wants_end || !answer->run->collector) return leat_ok_status();
  response->step_stats = stats;
  return leat_step_stats_describe(answer->run->collector, leat_trace_no_inputs, NULL, stats);
}

// Ends the step of a run that went well, where the master has given leave and no other task has yet
// to fetch a value of it: so the usual step is one call and not two. Whether it did.
static bool end_step(const answer_t* answer) {
  leat_task_t* task = answer->call->task;
  if (!answer->may_end_step) return false;
  if (!leat_rendezvous_table_is_empty(task->rendezvous, answer->run->step_id)) return false;
  leat_worker_sessions_cleanup(task, answer->run->step_id);
  return true;
}

// Answers, when nothing is wanting any more. Nothing of the task is used afterwards.
static void give(answer_t* answer) {
  leat_service_call_t* call = answer->call;
  leat_pb_step_stats_t stats;
  leat_pb_run_graph_response_t response = {0};
  leat_rpc_piece_t piece;
  leat_rpc_bytes_t bytes;
  leat_status_t status = answer->status, told = NULL;
  if (!status) status = write_response(answer, &stats, &response);
  if (!status) response.has_ended_step = end_step(answer);
  if (status && answer->stores_errors) {
    told = status;
    status = leat_ok_status();
    response = (leat_pb_run_graph_response_t){
        .status_code = leat_status_code(told),
        .status_error_message = leat_string_view_from(leat_status_message(told))};
  }
  status = leat_service_encode(status, &leat_pb_run_graph_response_descriptor, &response, &piece,
                               &bytes);
  leat_status_free(told);
  leat_rpc_request_on_cancel(call->request, NULL, NULL);
  for (size_t i = 0; answer->values && i < answer->keys->count; ++i) {
    leat_slot_release(&answer->values[i]);
  }
  release_run(answer->run);
  leat_allocator_free(leat_allocator_system(), answer);
  if (leat_status_code(status) == LEAT_ABORTED) {
    leat_service_answer_failure(call, status, LEAT_FAILURE_RESTARTED);
  } else {
    leat_service_answer_bytes(call, status, bytes);
  }
}

// One thing less is wanting; |status| (taken) says how it came.
static void settle(answer_t* answer, leat_status_t status) {
  if (status) leat_spinlock_join_status(&answer->lock, &answer->status, status);
  if (atomic_fetch_sub(&answer->pending, 1) == 1) give(answer);
}

// A leat_rendezvous_receive_fn_t.
static void received(void* data, leat_status_t status, leat_slot_t value) {
  const wanted_t* wanted = data;
  answer_t* answer = wanted->answer;
  if (!status) answer->values[wanted->index] = value;
  settle(answer, status);
}

// The abort may end the run and answer the call on this very thread, so that the run, with its
// graph and session, and the task are held meanwhile.
static void cancel_call(void* data) {
  const answer_t* answer = data;
  run_t* run = answer->run;
  leat_task_t* task = run->task;
  leat_reference_count_retain(&run->references);
  enter_task(task);
  leat_compiled_abort_step(leat_worker_graph_compiled(run->graph), run->step_id,
                           leat_make_status(LEAT_CANCELLED,
                                            "RunGraph failed: the master cancelled step %" PRId64,
                                            run->step_id));
  release_run(run);
  leave_task(task);
}

// A leat_worker_done_fn_t: the graph has run. A failure ends the step's transfers.
static void end_run(void* data, leat_status_t status) {
  run_t* run = data;
  leat_task_t* task = run->task;
  leat_worker_graph_end_run(run->graph, run->begin_ns, status);
  if (status) {
    leat_rendezvous_table_abort(task->rendezvous, run->step_id, leat_status_clone(status));
  }
  leat_mutex_lock(&run->mutex);
  run->is_ended = true;
  run->status = status;
  answer_t* waiter = run->waiter;
  leat_status_t told = waiter ? leat_status_clone(status) : NULL;
  leat_mutex_unlock(&run->mutex);
  release_run(run);  // before the task, which waits for its runs, may go
  leave_task(task);
  if (waiter) settle(waiter, told);
}

// Has the answer hear of the run's end, which may have come. One answer hears of it.
static void await_end(answer_t* answer) {
  run_t* run = answer->run;
  leat_mutex_lock(&run->mutex);
  const bool is_known = run->is_ended || run->waiter;
  leat_status_t told = run->is_ended ? leat_status_clone(run->status) : NULL;
  if (!is_known) run->waiter = answer;
  if (is_known && !run->is_ended) {
    told = leat_make_status(LEAT_INVALID_ARGUMENT,
                            "RunGraph failed: two calls of step %" PRId64 " are the last, must be "
                            "one",
                            run->step_id);
  }
  leat_mutex_unlock(&run->mutex);
  if (is_known) settle(answer, told);
}

static void start_run(run_t* run) {
  const leat_compiled_call_t step = {.deadline_ns = LEAT_DEADLINE_NEVER,
                                     .step_id = run->step_id,
                                     .leaves_cleanup = true,
                                     .collector = run->collector};
  enter_task(run->task);
  leat_reference_count_retain(&run->references);
  run->begin_ns = leat_clock_now_ns();
  leat_worker_graph_begin_run(run->graph);
  leat_compiled_start(leat_worker_graph_compiled(run->graph), &step, end_run, run);
}

// ---- RunGraph -----------------------------------------------------------------------------------

// Leaves a value in the step's rendezvous, as a Send does.
static leat_status_t send_value(leat_service_call_t* call, int64_t step_id, int index,
                                const leat_pb_named_tensor_proto_t* item) {
  static const leat_pb_tensor_proto_t kNone;
  leat_slot_t value = {.alive = true};
  LEAT_RETURN_IF_ERROR(leat_rendezvous_key_check(item->name));
  leat_status_t status = leat_tensor_from_content(item->tensor ? item->tensor : &kNone,
                                                  &call->arena, leat_buffer_source_host(),
                                                  &value.tensor);
  if (status) return leat_status_annotate(status, "Invalid TensorProto for feed value %d", index);
  return leat_rendezvous_table_send(call->task->rendezvous, step_id, item->name, value);
}

static leat_status_t find_graph(leat_service_call_t* call,
                                const leat_pb_run_graph_request_t* request,
                                leat_worker_graph_t** out_graph) {
  leat_worker_session_t* session;
  LEAT_RETURN_IF_ERROR(leat_worker_session_find(call->task, request->session_handle, &session));
  leat_status_t status =
      leat_worker_session_find_graph(session, request->graph_handle, out_graph);
  leat_worker_session_release(session);
  return status;
}

// Finds the run that a call is of, or makes it. |*out_is_new| says which.
static leat_status_t find_run(leat_service_call_t* call,
                              const leat_pb_run_graph_request_t* request, run_t** out_run,
                              bool* out_is_new) {
  leat_worker_graph_t* graph;
  LEAT_RETURN_IF_ERROR(
      leat_task_note_request(call->task, request->request_id, "RunGraph (Worker)"));
  LEAT_RETURN_IF_ERROR(find_graph(call, request, &graph));
  *out_run = request->is_partial ? find_partial(call->task, request->step_id) : NULL;
  *out_is_new = !*out_run;
  leat_status_t status = leat_ok_status();
  if (*out_is_new) status = make_run(call->task, graph, request, out_run);
  if (status || !*out_is_new) leat_worker_graph_release(graph);
  return status;
}

// Asks for the values that the answer shall have. It cannot fail, since a run that others have
// found must start.
static void ask(answer_t* answer, int64_t step_id) {
  const size_t count = answer->keys->count;
  for (size_t i = 0; i < count; ++i) {
    answer->wanted[i] = (wanted_t){answer, i};
    atomic_fetch_add(&answer->pending, 1);
    leat_rendezvous_table_receive(answer->call->task->rendezvous, step_id, answer->keys->items[i],
                                  received, &answer->wanted[i]);
  }
}

// Fills an answer, which is given as a failure where |status| is one.
static leat_status_t prepare(answer_t* answer, const leat_pb_run_graph_request_t* request,
                             bool* out_is_new) {
  leat_service_call_t* call = answer->call;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&call->arena, answer->keys->count + 1, &answer->values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&call->arena, answer->keys->count + 1, &answer->wanted));
  for (size_t i = 0; i < answer->keys->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_rendezvous_key_check(answer->keys->items[i]));
  }
  LEAT_RETURN_IF_ERROR(find_run(call, request, &answer->run, out_is_new));
  for (size_t i = 0; i < request->send.count; ++i) {
    LEAT_RETURN_IF_ERROR(
        send_value(call, request->step_id, (int)i, &request->send.items[i]));
  }
  return leat_ok_status();
}

void leat_worker_run_graph(leat_service_call_t* call, const void* message) {
  const leat_pb_run_graph_request_t* request = message;
  answer_t* answer;
  bool is_new = false;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &answer);
  if (status) {
    leat_service_answer(call, status, NULL, NULL);
    return;
  }
  // This function itself is one of those that the answer waits for.
  *answer = (answer_t){.call = call,
                       .keys = &request->recv_key,
                       .stores_errors = request->store_errors_in_response_body,
                       .wants_end = !request->is_partial || request->is_last_partial_run,
                       .may_end_step = request->may_end_step && !request->is_partial,
                       .pending = 1};
  const int64_t step_id = request->step_id;
  const bool is_partial = request->is_partial;
  status = prepare(answer, request, &is_new);
  if (!status) {
    run_t* run = answer->run;
    if (is_new && is_partial) add_partial(call->task, run);
    leat_rpc_request_on_cancel(call->request, cancel_call, answer);
    if (answer->wants_end) {
      atomic_fetch_add(&answer->pending, 1);
      await_end(answer);
    }
    ask(answer, step_id);
    if (is_new) start_run(run);
  }
  settle(answer, status);
}
