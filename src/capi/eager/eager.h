// The structs behind the types of eager/c_api.h and its experimental part. An eager op runs by its
// kernel alone, without a plan and a session's step. Its attributes and the types of its inputs
// decide which kernel that is (worker/eager_kernel.h), which is kept for the next op that is alike;
// then the kernel is called, and its outputs become handles (eager_execute.c).
//
//   TFE_Op  ── context, attributes, inputs ──▶  kernel  ──▶  TFE_TensorHandle, ...
#ifndef LEAT_CAPI_EAGER_EAGER_H_
#define LEAT_CAPI_EAGER_EAGER_H_

#include "capi/graph/description.h"
#include "capi/plugin/plugin.h"
#include "graph/function/function_library.h"
#include "kernel/cancellation.h"
#include "kernel/resource.h"
#include "worker/eager_kernel.h"
#include "tensorflow/c/eager/c_api_experimental.h"

// A handle has its tensor from the beginning, because eager ops run at once. The client and the ops
// that it was added to hold references; a copy is a new handle that shares the tensor's buffer. The
// tensor never changes. Where an op failed whose executor is asynchronous, its handles have the
// error instead.
struct TFE_TensorHandle {
  leat_reference_count_t references;
  bool is_packed;  // |tensor| is the first of several, and no client can have it
  leat_tensor_t tensor;
  // Of a tensor on a custom device (custom_device.h), of which |tensor| has only the type; NULL:
  // the tensor is the CPU's.
  struct leat_custom_tensor_s* custom;
  // Of a tensor on another task (eager_cluster.h), of which |tensor| has only type and shape; NULL:
  // it is here.
  struct leat_remote_tensor_s* remote;
  const char* device;  // its full name, static; NULL: that of a context without a cluster
  leat_status_t error;  // why there is no tensor, of which only the type is known then
};

// ---- Traces and executors -----------------------------------------------------------------------

// Events of ops that were executed (eager_trace.c).
typedef struct leat_eager_collection_s leat_eager_collection_t;
void leat_eager_collection_release(leat_eager_collection_t* collection);

// An execution that is traced; all zero where the context does not collect.
typedef struct leat_eager_event_s {
  leat_eager_collection_t* collection;
  struct leat_step_collector_s* collector;  // for calls that the op makes
  int64_t start_ns;
} leat_eager_event_t;
leat_eager_event_t leat_eager_event_begin(const TFE_Op* op);
// |outputs| are those of |kernel|. Ends the event after a failure, too.
void leat_eager_event_end(const leat_eager_event_t* event, const TFE_Op* op,
                          const leat_kernel_t* kernel, const leat_tensor_t* outputs);
// Forgets the executors of the context and of its threads, when the context ends.
void leat_eager_threads_free(TFE_Context* context);
// The error that |executor| keeps of an op that failed; OK: none.
LEAT_MUST_USE leat_status_t leat_eager_executor_error(TFE_Executor* executor);
// Takes |status|, and keeps it unless the executor has an error already.
void leat_eager_executor_fail(TFE_Executor* executor, leat_status_t status);

// ---- Contexts -----------------------------------------------------------------------------------

// What eager ops run in. Both resource managers live until it is deleted; the second is for kernels
// whose resources would end with the step in a session. Ops may be executed on several threads.
struct TFE_Context {
  TF_Graph* graph;      // has no nodes; it owns |functions|
  TF_Session* session;  // gives the context its devices and threads, and calls functions
  leat_device_t* device;
  // One for each device of the session, which has no others: what eager ops make, functions find.
  leat_resource_manager_t** resources;
  int resource_count;
  leat_resource_manager_t* step_resources;
  leat_cancellation_t* cancellation;
  // What ops may be named after besides registered ops.
  leat_function_library_t* functions;
  leat_string_map_t function_uses;  // how often each was added; guarded by |mutex|
  // There is one device, so the policy is kept only to be read back.
  TFE_ContextDevicePlacementPolicy policy;
  bool is_async;  // what new executors of threads say that they are
  _Atomic bool collects;  // |collection| is not NULL
  _Atomic bool logs_placement;
  leat_mutex_t mutex;
  _Atomic bool has_async;  // an executor of this context is or was asynchronous
  TFE_Executor* executor;  // of threads without one of their own; guarded by |mutex|; may be NULL
  struct leat_eager_thread_s* threads;  // executors of threads; guarded by |mutex|
  struct leat_custom_device_s* custom_devices;  // guarded by |mutex|
  struct leat_eager_cluster_s* cluster;  // NULL: this process alone; guarded by |mutex|
  _Atomic bool has_other_devices;        // custom ones, or those of other tasks
  leat_eager_collection_t* collection;  // guarded by |mutex|
  leat_eager_kernels_t kernels;
  uint64_t id;
};

// Lets the session of |context| look functions up in |context->functions|, as they are now.
void leat_eager_use_functions(TFE_Context* context);
// The op of that name, or the function of the context. NOT_FOUND.
LEAT_MUST_USE leat_status_t leat_eager_find_op(const TFE_Context* context, const char* name,
                                               const leat_op_t** out_op);
// Makes handles of the |count| tensors |outputs|, which are taken in any case. After a failure no
// handle is left in |retvals|.
LEAT_MUST_USE leat_status_t leat_eager_wrap_outputs(leat_tensor_t* outputs, int count,
                                                    TFE_TensorHandle** retvals);
// INVALID_ARGUMENT unless |name| is that of the context's own device; NULL and "" stand for it too.
LEAT_MUST_USE leat_status_t leat_eager_check_device(const char* name);
// INVALID_ARGUMENT unless there is room for |count| results.
LEAT_MUST_USE leat_status_t leat_eager_check_room(int count, const int* num_retvals);
// Makes a handle of |tensor|, which is taken in any case.
LEAT_MUST_USE leat_status_t leat_eager_handle_create(leat_tensor_t* tensor,
                                                     TFE_TensorHandle** out_handle);

// A cancellation with the callbacks that clients registered by tokens of this manager. Ops that
// were given the manager wait on its cancellation instead of the context's. Cancelling is once and
// for all, so a client makes a new manager for what it runs afterwards.
struct TFE_CancellationManager {
  leat_cancellation_t* cancellation;
  leat_mutex_t mutex;             // guards the list
  struct callback_s* callbacks;
  _Atomic int64_t next_token;
  _Atomic bool is_cancelling;
};

// ---- Ops ----------------------------------------------------------------------------------------

// An op that is being described, by one thread. It may be executed more than once; its inputs are
// retained.
struct TFE_Op {
  TFE_Context* context;
  const leat_op_t* op;
  // Holds the attributes: what the client set and what the inputs told, whichever came first. The
  // rest of it is unused.
  TF_OperationDescription* description;
  TFE_TensorHandle** inputs;
  size_t input_count, input_capacity;
  // The argument of the op that the next input belongs to; -1: that is not known, because items of
  // a list came one by one.
  int next_argument;
  bool has_device;  // the client asked for the CPU
  const char* remote_device;  // the client asked for this one of another task, static; NULL: none
  const struct leat_custom_device_s* custom_device;  // the client asked for it; NULL: it did not
  // What the op calls instead of a kernel, with a hold on its model; NULL: nothing.
  const struct leat_model_call_s* call;
  const struct TFE_CancellationManager* cancellation;  // NULL: that of the context
};

// |op| as a request, with its inputs, which are put into |tensors| [op->input_count] as they are,
// not retained.
static inline leat_eager_request_t leat_eager_request_of(const TFE_Op* op,
                                                         leat_tensor_t* tensors) {
  for (size_t i = 0; i < op->input_count; ++i) tensors[i] = op->inputs[i]->tensor;
  return (leat_eager_request_t){.op = op->op,
                                .attrs = op->description->attrs,
                                .attr_count = (int)op->description->attr_count,
                                .inputs = tensors,
                                .input_count = (int)op->input_count};
}
// The graph of one node that |op| is (worker/eager_kernel.h), which the caller frees. Fails with
// what is wrong in the description, too.
LEAT_MUST_USE leat_status_t leat_eager_op_graph(const TFE_Op* op, leat_graph_t** out_graph);
// Makes |op->call| on the op's inputs (saved_model.c), as TFE_Execute does.
LEAT_MUST_USE leat_status_t leat_eager_call_run(const TFE_Op* op, TFE_TensorHandle** retvals,
                                                int* num_retvals);
void leat_eager_call_release(const struct leat_model_call_s* call);  // NULL is allowed

#endif  // LEAT_CAPI_EAGER_EAGER_H_
