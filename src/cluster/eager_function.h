// The functions that an eager client calls on this task: parts of those that the client has cut up
// (RunComponentFunction), and whole ones (Enqueue). A whole one may have nodes on other tasks, or
// get resources that are there. So TensorFlow's parameter server strategy works, whose client calls
// functions on workers with the handles of variables that parameter servers have:
//
//   Enqueue(f, handle on ps) ─▶ a session of this task over itself and ps ─▶ RunGraph on ps
//
// A call that needs this task alone runs in the context's own session, and no other session is
// made. A client of this process (eager_remote.h) runs its own functions in the same way.
#ifndef LEAT_CLUSTER_EAGER_FUNCTION_H_
#define LEAT_CLUSTER_EAGER_FUNCTION_H_

#include "cluster/eager_context.h"

// A call; everything is borrowed.
typedef struct leat_eager_call_s {
  leat_string_view_t device;            // of nodes that ask for none, as the task names it
  const leat_eager_kernels_t* kernels;  // of that device
  leat_function_name_t function;
  const leat_tensor_t* arguments;
  int argument_count;
  leat_cancellation_t* cancellation;
  leat_arena_t* arena;                  // of the outputs' array
} leat_eager_call_t;

// Runs a part of a function in the client's step |step_id|, and waits for its end. What it sends to
// parts that come later stays until the client has the step cleaned up; where it fails, they hear
// of it. |output_count| is how many outputs the client expects, below 0: any number. |*out_outputs|
// [*out_count] are the caller's to release. INVALID_ARGUMENT where the numbers do not fit.
LEAT_MUST_USE leat_status_t leat_eager_call_part(leat_eager_context_t* context,
                                                 const leat_eager_call_t* call, int64_t step_id,
                                                 int output_count, leat_tensor_t** out_outputs,
                                                 int* out_count);

// ---- Functions that need other tasks ------------------------------------------------------------

// What functions find of the context that calls them; it outlives the calls.
typedef struct leat_eager_home_s {
  leat_shared_graph_t* graph;          // which owns |functions|
  leat_function_library_t* functions;
  leat_session_t* session;             // over the devices of this process
  leat_resource_manager_t* const* resources;  // one for each of these
  int resource_count;
} leat_eager_home_t;

// The sessions of a context over several tasks. A session is made with the first call that needs
// its tasks, which must be up. When a call on it ends with UNAVAILABLE or ABORTED, as when a task
// has died or was started anew, the next call makes another. Any thread.
typedef struct leat_eager_spans_s leat_eager_spans_t;
// |home| is copied. |task| is this one by its name in the client's cluster. Where it has more or
// fewer devices than the home, functions find none of the home's resources.
LEAT_MUST_USE leat_status_t leat_eager_spans_create(const leat_eager_home_t* home,
                                                    leat_task_t* task,
                                                    leat_eager_spans_t** out_spans);
void leat_eager_spans_retain(leat_eager_spans_t* spans);
void leat_eager_spans_release(leat_eager_spans_t* spans);  // NULL is allowed
// Lets the next calls look anew which tasks functions ask for, since some were added; and compile
// the function |name| anew, since its definition was removed.
void leat_eager_spans_look_anew(leat_eager_spans_t* spans);
void leat_eager_spans_forget(leat_eager_spans_t* spans, leat_string_view_t name);

// Which other tasks the call needs: those of resources among its arguments, and those that nodes of
// the function, or of one that it calls, ask for. |*out_tasks| [tasks of the cluster] lies in the
// call's arena, with 1 for each such task; NULL: this task is enough.
LEAT_MUST_USE leat_status_t leat_eager_call_find_tasks(leat_eager_spans_t* spans,
                                                       const leat_eager_call_t* call,
                                                       const uint8_t** out_tasks);
// Runs a call over this task and |tasks|, and waits for its end. UNAVAILABLE where they cannot be
// reached, and what a session over them says. |*out_outputs| [*out_count] are on this task, and the
// caller's to release.
LEAT_MUST_USE leat_status_t leat_eager_call_over(leat_eager_spans_t* spans,
                                                 const leat_eager_call_t* call,
                                                 const uint8_t* tasks,
                                                 leat_tensor_t** out_outputs, int* out_count);

#endif  // LEAT_CLUSTER_EAGER_FUNCTION_H_
