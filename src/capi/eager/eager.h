// The structs behind the types of eager/c_api.h and its experimental part. An eager op runs by its
// kernel alone, without a plan and a session's step: eager_op.c makes the op the one node of a
// small graph, which checks and infers its attributes, makes the node's kernel, calls it, waits for
// its end and wraps the outputs in handles.
//
//   TFE_Op  ── context, attributes, inputs ──▶  kernel  ──▶  TFE_TensorHandle, ...
#ifndef LEAT_CAPI_EAGER_EAGER_H_
#define LEAT_CAPI_EAGER_EAGER_H_

#include "capi/graph/description.h"
#include "capi/plugin/plugin.h"
#include "kernel/cancellation.h"
#include "kernel/resource.h"
#include "tensorflow/c/eager/c_api.h"

// A handle has its tensor from the beginning, because eager ops run at once. The client and the ops
// that it was added to hold references; a copy is a new handle that shares the tensor's buffer. The
// tensor never changes.
struct TFE_TensorHandle {
  leat_reference_count_t references;
  leat_tensor_t tensor;
};

// A kernel that made a resource. The resource may belong to the kernel (a variable without a shared
// name), so that the kernel is kept until the context is deleted or its caches are cleared. All
// other kernels are freed as soon as their op has run.
typedef struct leat_eager_kernel_s {
  struct leat_eager_kernel_s* next;
  leat_graph_t* graph;  // holds its one node and the placeholders of its inputs
  leat_kernel_t* kernel;
  // One for each input; the kernel borrows them.
  uint8_t input_types[];
} leat_eager_kernel_t;

// What eager ops run in. Both resource managers live until it is deleted; the second is for kernels
// whose resources would end with the step in a session. Ops may be executed on several threads.
struct TFE_Context {
  TF_Graph* graph;      // has no nodes; sessions and descriptions need a graph
  TF_Session* session;  // gives the context its devices and threads
  leat_device_t* device;
  // The context's own, as the next one, and not the session's.
  leat_resource_manager_t* resources;
  leat_resource_manager_t* step_resources;
  leat_cancellation_t* cancellation;
  // There is one device, so the policy is kept only to be read back.
  TFE_ContextDevicePlacementPolicy policy;
  leat_mutex_t mutex;
  leat_eager_kernel_t* kept;  // guarded by |mutex|
  _Atomic int64_t runs;  // ops executed; makes node names and step ids unique
  uint64_t id;
};

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

// An op that is being described, by one thread. It may be executed more than once; its inputs are
// retained, and |description| is used for its attributes only.
struct TFE_Op {
  TFE_Context* context;
  const leat_op_t* op;
  TF_OperationDescription* description;  // holds its attributes
  TFE_TensorHandle** inputs;
  size_t input_count, input_capacity;
  bool has_device;
  const struct TFE_CancellationManager* cancellation;  // NULL: that of the context
};

#endif  // LEAT_CAPI_EAGER_EAGER_H_
