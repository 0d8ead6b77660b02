// Runs one node by itself, without a plan. Constant folding and TF_TryEvaluateConstant need it; the
// session gives the optimizer this function as a callback, so that the optimizer does not depend on
// kernels.
#ifndef LEAT_SESSION_EVALUATE_H_
#define LEAT_SESSION_EVALUATE_H_

#include "graph/graph.h"
#include "kernel/registry.h"

typedef struct leat_evaluator_s {
  const leat_kernel_registry_t* kernels;
  leat_device_t* device;  // borrowed; a host device
  leat_allocator_t* allocator;
} leat_evaluator_t;

void leat_evaluator_initialize(const leat_kernel_registry_t* kernels, leat_device_t* device,
                               leat_allocator_t* allocator, leat_evaluator_t* out_evaluator);
// A leat_evaluate_fn_t; |data| is the leat_evaluator_t. The node must be stateless, since it gets
// no resources. |inputs| [input count], |out_outputs| [output count], owned by the caller on
// success.
LEAT_MUST_USE leat_status_t leat_evaluator_run(void* data, const leat_graph_t* graph, int32_t node,
                                 const leat_tensor_t* inputs, leat_tensor_t* out_outputs);

#endif  // LEAT_SESSION_EVALUATE_H_
