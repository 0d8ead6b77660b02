// Kernels of eager ops: an op runs by its kernel alone, without a plan and a step. The op, its
// attributes and the types of its inputs decide which kernel that is. The kernel is kept for the
// next op with the same ones, and runs on the thread that asks. The callers are contexts of this
// process (capi/eager/eager.h), and tasks on which clients of other processes have contexts
// (cluster/eager_context.h).
#ifndef LEAT_WORKER_EAGER_KERNEL_H_
#define LEAT_WORKER_EAGER_KERNEL_H_

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/registry.h"
#include "kernel/resource.h"

#define LEAT_EAGER_BUCKETS 256
#define LEAT_EAGER_PREFIX_BYTES 48

// An op as it is to be executed. Borrowed. Of |inputs| only the types count where no kernel runs.
typedef struct leat_eager_request_s {
  const leat_op_t* op;  // may be a function of the session
  const leat_attr_t* attrs;
  int attr_count;
  const leat_tensor_t* inputs;
  int input_count;
} leat_eager_request_t;

// A kernel, and what it was made for: calls of the same op with the same attributes and types of
// inputs. The list that keeps it and each execution under way hold references.
typedef struct leat_eager_kernel_s {
  leat_reference_count_t references;
  struct leat_eager_kernel_s* next;  // in its list
  leat_kernel_t* kernel;
  leat_graph_t* graph;  // holds the op's node and the placeholders of its inputs
  const leat_op_t* op;
  // What the op was given; copies in the graph's storage.
  const leat_attr_t* attrs;
  int attr_count;
  uint64_t hash;  // of the three fields above and the types of the inputs
  // One for each input; the kernel borrows them.
  uint8_t input_types[];
} leat_eager_kernel_t;

// What the eager ops of one device share: what their kernels are made with and lent, and the
// kernels that are kept.
typedef struct leat_eager_kernels_s {
  // Set by the owner before first use; borrowed.
  leat_op_registry_t* ops;
  const leat_kernel_registry_t* registry;
  struct leat_function_runtime_s* functions;  // that kernels call
  leat_device_t* device;
  leat_resource_manager_t* resources;          // of the device
  leat_resource_manager_t* session_resources;  // see leat_kernel_spec_t; may be NULL
  // For kernels whose resources would end with the step in a session.
  leat_resource_manager_t* step_resources;
  // Nodes are called after it. A resource without a shared name is called after its node, so names
  // begin otherwise where the resources have other users.
  char prefix[LEAT_EAGER_PREFIX_BYTES];
  // Set by leat_eager_kernels_initialize.
  _Atomic int64_t runs;  // ops executed and kernels made; numbers steps and nodes
  leat_mutex_t mutex;    // guards what follows
  // A kernel that made a resource may own it (a queue without a shared name), so that it is kept
  // until the caches are cleared, and serves no other op. All others lie in |kernels| by their
  // hash.
  leat_eager_kernel_t* owners;
  leat_eager_kernel_t* kernels[LEAT_EAGER_BUCKETS];
  int kernel_count;
} leat_eager_kernels_t;

// |kernels| is all zero but for what the owner has set.
void leat_eager_kernels_initialize(leat_eager_kernels_t* kernels);
// Lets go of all kernels, which nobody may be executing.
void leat_eager_kernels_deinitialize(leat_eager_kernels_t* kernels);
// Lets go of all kernels, and with them of the resources that belong to them.
void leat_eager_kernels_clear(leat_eager_kernels_t* kernels);
// Lets go of those that own no resource: a function that they may call was removed.
void leat_eager_kernels_clear_shared(leat_eager_kernels_t* kernels);

// The kernel for |request|, which is the caller's to release. INVALID_ARGUMENT where the attributes
// and inputs do not fit the op or it takes a reference; UNIMPLEMENTED for ops that only make sense
// in a graph, and NOT_FOUND where no kernel serves.
LEAT_MUST_USE leat_status_t leat_eager_kernel_find(leat_eager_kernels_t* kernels,
                                                   const leat_eager_request_t* request,
                                                   leat_eager_kernel_t** out_kernel);
void leat_eager_kernel_release(leat_eager_kernel_t* kernel);  // NULL is allowed
// Checks that each reference which a kernel gave has a value, which then lies in |outputs| in its
// place. FAILED_PRECONDITION, and the outputs released, where a variable has none yet.
LEAT_MUST_USE leat_status_t leat_eager_kernel_check_references(const leat_kernel_t* kernel,
                                                               leat_tensor_t* outputs);
// Runs a kernel on |inputs| and waits until it has ended. |out_outputs| [the kernel's] are the
// caller's after a success. |collector| may be NULL.
LEAT_MUST_USE static inline leat_status_t leat_eager_kernel_run(
    leat_eager_kernels_t* kernels, const leat_kernel_t* kernel, const leat_tensor_t* inputs,
    struct leat_cancellation_s* cancellation, void* collector, leat_tensor_t* out_outputs) {
  const leat_step_services_t services = {.step_id = atomic_fetch_add(&kernels->runs, 1),
                                         .memory = kernels->device->memory,
                                         .pool = kernels->device->pool,
                                         .resources = kernels->resources,
                                         .step_resources = kernels->step_resources,
                                         .functions = kernels->functions,
                                         .cancellation = cancellation,
                                         .collector = collector};
  LEAT_RETURN_IF_ERROR(leat_kernel_invoke(kernel, &services, inputs, out_outputs));
  if (LEAT_LIKELY(!kernel->op->has_ref_outputs)) return leat_ok_status();
  return leat_eager_kernel_check_references(kernel, out_outputs);
}
// The graph from which the kernel for |request| is made: the placeholders of its inputs, and the
// op's node with all of its attributes. The caller frees the graph. Fails as leat_eager_kernel_find
// does, but for no want of a kernel.
LEAT_MUST_USE leat_status_t leat_eager_graph_create(leat_eager_kernels_t* kernels,
                                                    const leat_eager_request_t* request,
                                                    leat_graph_t** out_graph);
const leat_node_t* leat_eager_graph_node(const leat_graph_t* graph);

#endif  // LEAT_WORKER_EAGER_KERNEL_H_
