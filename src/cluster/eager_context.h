// Eager contexts on a task: a client of another process runs single ops here
// (tensorflow.eager.EagerService). An op runs by its kernel alone, as in a context of this process
// (worker/eager_kernel.h). What it gives stays here, under the number that the client gave the op,
// until the client lets go of it. Variables and other resources are the task's, so that sessions
// and other contexts find those that have a shared name, unless the client's configuration isolates
// them; those without one end with the context.
//
//   Enqueue ─▶ queue of items ─▶ kernel ─▶ table of tensors ─▶ later items
//
// The client closes its context, or says every now and then that it is there: a context that
// nobody calls for as long as its client said (keep_alive_secs) is closed by the task.
#ifndef LEAT_CLUSTER_EAGER_CONTEXT_H_
#define LEAT_CLUSTER_EAGER_CONTEXT_H_

#include "base/map.h"
#include "cluster/client_call.h"
#include "cluster/service.h"
#include "formats/generated/eager_service.h"
#include "graph/function/function_library.h"
#include "kernel/cancellation.h"
#include "worker/eager_kernel.h"

// The number of an op whose outputs the client wants in the answer; they are not kept then.
#define LEAT_EAGER_NO_OP (-1)

// The field numbers of QueueItem.item.
typedef enum leat_eager_item_e {
  LEAT_EAGER_DECREF = 1,
  LEAT_EAGER_OPERATION = 2,
  LEAT_EAGER_SEND_TENSOR = 3,
  LEAT_EAGER_REGISTER_FUNCTION = 4,
  LEAT_EAGER_CLEANUP_FUNCTION = 5,
  LEAT_EAGER_SYNC = 6,
  LEAT_EAGER_SEND_PACKED = 7,
  LEAT_EAGER_REMOVE_FUNCTION = 8,
} leat_eager_item_t;
// Those of Operation.Input.item.
enum { LEAT_EAGER_INPUT_HANDLE = 1, LEAT_EAGER_INPUT_TENSOR = 2 };

// What was fetched from the contexts that the client has on other tasks (eager_input.h).
typedef struct leat_eager_inputs_s {
  leat_client_calls_t calls;
  leat_mutex_t mutex;       // guards what follows
  leat_word_map_t handles;  // of resources: number of an op and an output -> leat_tensor_t*
} leat_eager_inputs_t;

// A queue that is being worked on, on the stack of the thread that does it.
typedef struct leat_eager_run_s {
  struct leat_eager_run_s *next, **link;  // in the context's list; |*link| is this one
  uint64_t number;                      // later ones have higher ones
  leat_cancellation_t* cancellation;
} leat_eager_run_t;

typedef struct leat_eager_context_s leat_eager_context_t;
struct leat_eager_context_s {
  leat_eager_context_t* next;  // in the task's list
  leat_reference_count_t references;
  leat_task_t* root;  // in whose list it is
  uint64_t id;
  int64_t keep_alive_ns;         // 0 or less: no limit
  _Atomic(int64_t) last_use_ns;
  leat_shared_graph_t* graph;    // without nodes; it owns |functions|
  leat_session_t* session;       // over the task's devices; calls functions
  leat_function_library_t* functions;
  int device_count;
  leat_eager_kernels_t* devices;        // one for each device of the task
  leat_resource_manager_t** resources;  // the same; the task's, or the context's own
  bool owns_resources;
  leat_resource_manager_t* own;         // what has no shared name is called after it
  leat_resource_manager_t* step_resources;
  leat_mutex_t mutex;  // guards what follows
  leat_task_t* task;   // |root| by its name in the client's cluster
  struct leat_eager_spans_s* spans;  // of |task| (eager_function.h)
  uint64_t view_id;    // counts the client's updates
  leat_word_map_t outputs;  // number of an op -> outputs_t*
  leat_eager_run_t* runs;
  uint64_t last_number;     // of a run
  bool is_closed;
  leat_condition_t changed; // a run has ended
  leat_eager_inputs_t inputs;  // fetched from other tasks
};

// Makes a context as |request| describes it. INVALID_ARGUMENT where the client has one of that
// number, with the same view or a later one; one with an older view is closed first.
LEAT_MUST_USE leat_status_t leat_eager_context_create(
    leat_task_t* task, const leat_pb_create_context_request_t* request);
// Finds a context, which is retained. ABORTED where there is none (any more).
LEAT_MUST_USE leat_status_t leat_eager_context_find(leat_task_t* task, uint64_t id,
                                                    leat_eager_context_t** out_context);
void leat_eager_context_release(leat_eager_context_t* context);  // NULL is allowed
// The client's cluster has changed. INVALID_ARGUMENT unless the view is the next one.
LEAT_MUST_USE leat_status_t leat_eager_context_update(
    leat_eager_context_t* context, const leat_pb_update_context_request_t* request);
uint64_t leat_eager_context_view(leat_eager_context_t* context);
// What is of the client's present cluster: the task by its name there, and the sessions over it and
// others, retained.
leat_task_t* leat_eager_context_task(leat_eager_context_t* context);
struct leat_eager_spans_s* leat_eager_context_spans(leat_eager_context_t* context);
// Closes a context: what runs ends with CANCELLED. Nothing happens where there is none, or only one
// with a later view.
void leat_eager_context_close(leat_task_t* task, uint64_t id, uint64_t view_id);

// ---- Tensors ------------------------------------------------------------------------------------

// Keeps |tensors| [count], which are taken in any case, as the outputs of op |op_id|.
// INVALID_ARGUMENT where the client has used the number before.
LEAT_MUST_USE leat_status_t leat_eager_context_keep(leat_eager_context_t* context, int64_t op_id,
                                                    leat_tensor_t* tensors, int count);
// The same for some outputs of an op, whose numbers are |numbers| [count]: several parts of a
// function give outputs of one op. INVALID_ARGUMENT where a number is negative, or comes twice.
LEAT_MUST_USE leat_status_t leat_eager_context_keep_some(leat_eager_context_t* context,
                                                         int64_t op_id, const int32_t* numbers,
                                                         leat_tensor_t* tensors, int count);
// Shares an output. INVALID_ARGUMENT where there is none (any more).
LEAT_MUST_USE leat_status_t leat_eager_context_share(leat_eager_context_t* context, int64_t op_id,
                                                     int32_t output, leat_tensor_t* out_tensor);
// Lets go of an output. INVALID_ARGUMENT likewise.
LEAT_MUST_USE leat_status_t leat_eager_context_drop(leat_eager_context_t* context, int64_t op_id,
                                                    int32_t output);

// ---- Functions ----------------------------------------------------------------------------------

// Adds the functions of a library and one more, NULL: none. INVALID_ARGUMENT where another one has
// the name.
LEAT_MUST_USE leat_status_t leat_eager_context_add_functions(
    leat_eager_context_t* context, const leat_pb_function_def_library_t* library,
    const leat_pb_function_def_t* function);
// Forgets a function. INVALID_ARGUMENT where there is none of the name.
LEAT_MUST_USE leat_status_t leat_eager_context_remove_function(leat_eager_context_t* context,
                                                               leat_string_view_t name);

// ---- Queues -------------------------------------------------------------------------------------

// Does what the items of |request| say, one after the other up to the first that fails, and answers
// |call|, whose client may cancel it meanwhile (eager_queue.c). A client that sends the queue in a
// stream may let go of an output that is not there, and the next items run all the same.
void leat_eager_context_enqueue(leat_eager_context_t* context, leat_service_call_t* call,
                                const leat_pb_enqueue_request_t* request, bool is_stream);
// Runs a part of a function that runs on several tasks, and answers |call|. The part takes its
// place in a step of the client's; Sends and Recvs lead to the other parts.
void leat_eager_context_run_component(leat_eager_context_t* context, leat_service_call_t* call,
                                      const leat_pb_run_component_function_request_t* request);
// Ends such a step on this task.
void leat_eager_context_cleanup_step(leat_eager_context_t* context, int64_t step_id);
// Enters a run into the context's list and takes it out. CANCELLED where the context was closed.
LEAT_MUST_USE leat_status_t leat_eager_context_begin_run(leat_eager_context_t* context,
                                                         leat_eager_run_t* run);
void leat_eager_context_end_run(leat_eager_context_t* context, leat_eager_run_t* run);
// Waits until no queue is being worked on that was when this was called.
void leat_eager_context_wait(leat_eager_context_t* context);

// ---- All contexts -------------------------------------------------------------------------------

// Closes the contexts that their clients have not called for as long as they said.
void leat_eager_contexts_collect(leat_task_t* task, int64_t now_ns);
// Closes all contexts; they are freed when the last call on them has ended.
void leat_eager_contexts_close(leat_task_t* task);
// How many there are.
size_t leat_eager_contexts_count(leat_task_t* task);

#endif  // LEAT_CLUSTER_EAGER_CONTEXT_H_
