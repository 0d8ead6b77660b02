// What stands behind the types of eager/c_api.h.
#ifndef LEAT_CAPI_EAGER_H_
#define LEAT_CAPI_EAGER_H_

#include "capi/description.h"
#include "capi/plugin.h"
#include "kernel/cancellation.h"
#include "kernel/resource.h"
#include "tensorflow/c/eager/c_api.h"

struct TFE_TensorHandle {
  leat_reference_count_t references;
  leat_tensor_t tensor;
};

// A kernel that made a resource and may own it: it lives on with the context.
typedef struct leat_eager_kernel_s {
  struct leat_eager_kernel_s* next;
  leat_graph_t* graph;  // of its one node
  leat_kernel_t* kernel;
  uint8_t input_types[];
} leat_eager_kernel_t;

struct TFE_Context {
  TF_Graph* graph;      // empty
  TF_Session* session;  // on it: its devices and threads are the context's
  leat_device_t* device;
  leat_resource_manager_t* resources;
  leat_resource_manager_t* step_resources;
  leat_cancellation_t* cancellation;
  TFE_ContextDevicePlacementPolicy policy;
  leat_mutex_t mutex;
  leat_eager_kernel_t* kept;
  _Atomic int64_t runs;
  uint64_t id;
};

// Of TFE_CancellationManager.
struct TFE_CancellationManager {
  leat_cancellation_t* cancellation;
  leat_mutex_t mutex;             // of the list
  struct callback_s* callbacks;
  _Atomic int64_t next_token;
  _Atomic bool is_cancelling;
};

struct TFE_Op {
  TFE_Context* context;
  const leat_op_t* op;
  TF_OperationDescription* description;  // its attributes
  TFE_TensorHandle** inputs;
  size_t input_count, input_capacity;
  bool has_device;
  const struct TFE_CancellationManager* cancellation;  // NULL: the context's
};

#endif  // LEAT_CAPI_EAGER_H_
