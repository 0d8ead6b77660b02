// The dataflow executor (section 3.1 of the white paper): a record of the plan runs when its
// pending count is zero, on any thread. Three files share this header. dataflow.c runs records and
// passes their results on; frames.c says what control flow (section 4.4) does with a record that
// has run; iteration.c keeps the memory of iterations, of which the graph outside loops counts as
// one.
//
// Pending counts and values of an iteration lie in arrays of their own, so that several iterations
// of a loop may run at once. A step ends when no record is ready or running.
#ifndef LEAT_WORKER_DATAFLOW_H_
#define LEAT_WORKER_DATAFLOW_H_

#include "worker/execution.h"

#define LEAT_NO_RECORD UINT32_MAX

typedef struct leat_iteration_s leat_iteration_t;
typedef struct leat_frame_run_s leat_frame_run_t;

// A record of an iteration that may run, as an entry of a ready list. The entries lie in the
// iteration, one for each record, so that making a record ready allocates nothing.
typedef struct leat_ready_s {
  struct leat_ready_s* next;
  leat_iteration_t* iteration;
  uint32_t record;
  uint32_t live_input;  // of a Merge that is not dead: the first that came
  bool dead;
} leat_ready_t;

// Ready entries of one thread, newest first: the inputs of the newest are still in the core's
// cache. No other thread sees the list.
typedef struct leat_ready_list_s {
  leat_ready_t* first;
} leat_ready_list_t;

// One iteration of a frame: slots and counters by place in the frame. The root iteration is the
// graph outside loops.
struct leat_iteration_s {
  leat_slot_t* slots;
  // By place: inputs that have not come; the record is ready when there are none.
  _Atomic(uint32_t)* pending;
  // By slot: reads that have not happened; the last one empties the slot.
  _Atomic(uint32_t)* readers;
  leat_ready_t* entries;
  const leat_dataflow_frame_t* table;  // the frame's, in the plan
  uint32_t* queue;  // of the root of a step that one thread runs alone: records that are ready
  // Only in plans with control flow.
  uint32_t* dead_inputs;        // by place
  leat_frame_run_t* frame;      // NULL outside loops
  int64_t number;
  int64_t span;                 // when it began; 0: nothing was recorded then
  int64_t outstanding;          // records ready or running
  leat_frame_run_t* children;   // frames begun from here
  leat_iteration_t* next_free;
};

// One run of a plan, on the heap. The last activity to end frees it.
typedef struct leat_dataflow_s {
  leat_execution_t* execution;
  const leat_plan_t* plan;
  const leat_dataflow_tables_t* tables;
  leat_plan_instance_t* instance;
  leat_iteration_t* root;
  bool parallel;  // several threads may work on this run, at once or one after the other
  int thread_limit;  // that may run records at once
  _Atomic(int) threads;
  _Atomic(int64_t) activities;  // running lists, asynchronous kernels: the last one ends the step
  leat_spinlock_t lock;  // of changes to the next two
  _Atomic(uint32_t) failed_record;  // the first in the plan's order; LEAT_NO_RECORD: none
  leat_status_t status;  // of the failed record
  leat_mutex_t frames_mutex;  // all that frames.c does; taken only when |parallel|
} leat_dataflow_t;

// Runs the step: on this thread and, where a record is worth it, on the pool's.
void leat_dataflow_run(leat_execution_t* execution);
// Makes |record| of |iteration| ready: here, or as a task of the pool.
void leat_dataflow_dispatch(leat_dataflow_t* dataflow, leat_ready_list_t* ready,
                            leat_iteration_t* iteration, uint32_t record, bool dead);
// Counts |record|'s inputs (and unread outputs) as read: slots that nobody reads any more are
// emptied. Of a Merge's inputs only the one that it took: others may be on their way.
void leat_dataflow_release(leat_dataflow_t* dataflow, leat_iteration_t* iteration,
                           uint32_t record);

// ---- Control flow (frames.c) --------------------------------------------------------------------

// Runs a Switch or a Merge; the others move their value when they complete.
LEAT_MUST_USE leat_status_t leat_frames_run(leat_iteration_t* iteration,
                                            const leat_record_t* record);
// |record| has run, or was dead: activates whoever waits, in the right iterations.
LEAT_MUST_USE leat_status_t leat_frames_complete(leat_dataflow_t* dataflow,
                                                 leat_iteration_t* iteration, uint32_t record,
                                                 bool dead, leat_ready_list_t* ready);
// The number of the frame that the iteration is in, the same on every machine; 0 outside loops.
uint64_t leat_iteration_frame_id(const leat_iteration_t* iteration);
// Ends the frames that a failed run left.
void leat_frames_abandon(leat_dataflow_t* dataflow);

// ---- Iterations (iteration.c) -------------------------------------------------------------------

// A new iteration of frame |index| of the plan, counters set. Frame 0 is the graph outside loops,
// whose slots are the instance's.
LEAT_MUST_USE leat_status_t leat_iteration_create(const leat_plan_t* plan,
                                                  leat_plan_instance_t* instance, int32_t index,
                                                  leat_iteration_t** out_iteration);
// Puts the counters of |iteration| back to the plan's, for its next use. Its slots must be empty.
void leat_iteration_reset(const leat_plan_t* plan, leat_iteration_t* iteration);
// Frees what an instance keeps for reuse.
void leat_iterations_free(const leat_plan_t* plan, leat_plan_instance_t* instance);

#endif  // LEAT_WORKER_DATAFLOW_H_
