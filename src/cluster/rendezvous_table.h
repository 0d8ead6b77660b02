// The rendezvous of a task's steps, for all of its sessions (section 3.3 of the white paper).
// Values move by the receiver's pull, as in TensorFlow: a Send leaves its value with its own task,
// and a Recv of another task asks that task for it by the number of the step and the key. A request
// may come before its step, so the rendezvous of a step belongs to the task and not to the worker
// that runs the step:
//
//   Send ─▶ rendezvous of the step ◀─ Recv of this task, whose sender is of this task
//                     ▲      │
//     RecvTensor of ──┘      └─▶ fetcher: Recv of this task, whose sender is another
//     another task               task, which is asked for the value
//
// All functions may be called from any thread. A step that is over is remembered for a while, so
// that a receiver which comes late is refused and does not wait for ever.
#ifndef LEAT_CLUSTER_RENDEZVOUS_TABLE_H_
#define LEAT_CLUSTER_RENDEZVOUS_TABLE_H_

#include "cluster/task_call.h"
#include "worker/step_table.h"

// Asks other tasks for values.
typedef struct leat_fetcher_s {
  // Whether the sender that |key| names is of another task.
  bool (*is_remote)(const struct leat_fetcher_s* self, leat_string_view_t key);
  // Asks for a value. |fn| is called once, perhaps before this returns. |*out_call| is set before;
  // the caller cancels and frees what is in it.
  void (*fetch)(struct leat_fetcher_s* self, int64_t step_id, leat_string_view_t key,
                leat_rendezvous_receive_fn_t fn, void* data, leat_task_call_t* out_call);
} leat_fetcher_t;

typedef struct leat_rendezvous_table_s leat_rendezvous_table_t;
// |fetcher| is borrowed.
LEAT_MUST_USE leat_status_t leat_rendezvous_table_create(leat_fetcher_t* fetcher,
                                                         leat_allocator_t* allocator,
                                                         leat_rendezvous_table_t** out_table);
// No step may be running, and no fetch under way. NULL is allowed.
void leat_rendezvous_table_free(leat_rendezvous_table_t* table);
// What the workers of the task get their rendezvous from.
leat_rendezvous_source_t* leat_rendezvous_table_source(leat_rendezvous_table_t* table);
// Another source of the same table, whose steps ask other tasks by another fetcher: that of a task
// under the name that it has in another cluster (task.h).
typedef struct leat_rendezvous_view_s {
  leat_rendezvous_source_t source;
  leat_rendezvous_table_t* table;
  leat_fetcher_t* fetcher;
} leat_rendezvous_view_t;
// |table| and |fetcher| are borrowed.
void leat_rendezvous_view_initialize(leat_rendezvous_table_t* table, leat_fetcher_t* fetcher,
                                     leat_rendezvous_view_t* out_view);

// Reads a key in text. INVALID_ARGUMENT where it is malformed.
LEAT_MUST_USE leat_status_t leat_rendezvous_key_parse(leat_string_view_t key,
                                                      leat_string_view_t* out_sender,
                                                      uint64_t* out_incarnation);
LEAT_MUST_USE static inline leat_status_t leat_rendezvous_key_check(leat_string_view_t key) {
  leat_string_view_t sender;
  uint64_t incarnation;
  return leat_rendezvous_key_parse(key, &sender, &incarnation);
}

// Leaves a value (taken) under |key|, as a Send of this task does. ABORTED where the step is over.
LEAT_MUST_USE leat_status_t leat_rendezvous_table_send(leat_rendezvous_table_t* table,
                                                       int64_t step_id, leat_string_view_t key,
                                                       leat_slot_t value);
// Gives |fn| the value that a Send of this task leaves under |key|, for another task: when it is
// there, which may be before this returns, or with the failure that ended the step. ABORTED where
// the step is over.
void leat_rendezvous_table_receive(leat_rendezvous_table_t* table, int64_t step_id,
                                   leat_string_view_t key, leat_rendezvous_receive_fn_t fn,
                                   void* data);
// Ends the step's transfers with |status| (taken).
void leat_rendezvous_table_abort(leat_rendezvous_table_t* table, int64_t step_id,
                                 leat_status_t status);
// The step is over: whoever still waits, or comes late, gets ABORTED.
void leat_rendezvous_table_close(leat_rendezvous_table_t* table, int64_t step_id);
// Whether nothing of the step is left here: all that Sends have left was received, and nobody waits
// for a value.
bool leat_rendezvous_table_is_empty(leat_rendezvous_table_t* table, int64_t step_id);
// Whether the step is over, as far as that is remembered.
bool leat_rendezvous_table_is_over(leat_rendezvous_table_t* table, int64_t step_id);
// Forgets the steps that nobody runs and that were first named before |before_ns|: their master
// died before it could clean up, or they never came.
void leat_rendezvous_table_collect(leat_rendezvous_table_t* table, int64_t before_ns);
// How many steps there are.
size_t leat_rendezvous_table_count(leat_rendezvous_table_t* table);
// Ends the transfers of all steps with |status| (taken).
void leat_rendezvous_table_abort_all(leat_rendezvous_table_t* table, leat_status_t status);

#endif  // LEAT_CLUSTER_RENDEZVOUS_TABLE_H_
