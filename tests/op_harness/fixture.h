// What the harness runs ops on: every op family below src/ops/, a CPU device and an accelerator, a
// pool, and graphs run node by node with leat_kernel_invoke_slots.
#ifndef LEAT_OP_HARNESS_FIXTURE_H_
#define LEAT_OP_HARNESS_FIXTURE_H_

#include "graph/builder.h"
#include "kernel/registry.h"
#include "kernel/resource.h"

typedef struct leat_fixture_s {
  leat_op_registry_t* ops;
  leat_kernel_registry_t* kernels;
  leat_thread_pool_t* pool;
  leat_device_t* device;
  leat_device_t* accelerator;  // a simulated one
  leat_resource_manager_t* resources;
} leat_fixture_t;

LEAT_MUST_USE leat_status_t leat_fixture_initialize(leat_fixture_t* out_fixture);
void leat_fixture_deinitialize(leat_fixture_t* fixture);

// A node's kernel with the type array that it borrows.
typedef struct leat_fixture_kernel_s {
  leat_kernel_t* kernel;
  uint8_t* input_types;
} leat_fixture_kernel_t;
// On the CPU; on |device|.
LEAT_MUST_USE leat_status_t leat_fixture_kernel_make(const leat_fixture_t* fixture,
                                                     const leat_graph_t* graph, int32_t node,
                                                     leat_fixture_kernel_t* out_kernel);
LEAT_MUST_USE leat_status_t leat_fixture_kernel_make_on(const leat_fixture_t* fixture,
                                                        leat_device_t* device,
                                                        const leat_graph_t* graph, int32_t node,
                                                        leat_fixture_kernel_t* out_kernel);
void leat_fixture_kernel_free(leat_fixture_kernel_t* kernel);

// Services of one step, with containers of its own.
typedef struct leat_fixture_step_s {
  leat_step_services_t services;
} leat_fixture_step_t;
LEAT_MUST_USE leat_status_t leat_fixture_step_begin(const leat_fixture_t* fixture,
                                                    leat_thread_pool_t* pool,
                                                    leat_fixture_step_t* out_step);
void leat_fixture_step_end(leat_fixture_step_t* step);

// The nodes that |fetches| need, in order, with their kernels: may run many times.
typedef struct leat_fixture_plan_s {
  const leat_fixture_t* fixture;
  const leat_graph_t* graph;
  int32_t* order;
  bool* needed;                    // by node
  leat_fixture_kernel_t* kernels;  // by node
  const leat_output_t* fetches;    // borrowed
  int fetch_count;
} leat_fixture_plan_t;
// Constants and placeholders get no kernel: the former give their attribute, the latter are fed.
// On failure there is nothing to deinitialize.
LEAT_MUST_USE leat_status_t leat_fixture_plan_initialize(const leat_fixture_t* fixture,
                                                         const leat_graph_t* graph,
                                                         const leat_output_t* fetches,
                                                         int fetch_count,
                                                         leat_fixture_plan_t* out_plan);
void leat_fixture_plan_deinitialize(leat_fixture_plan_t* plan);
typedef struct leat_fixture_feed_s {
  int32_t node;
  const leat_tensor_t* value;
} leat_fixture_feed_t;
// |out_values| [fetch_count], the caller's; "no tensor" where dead.
LEAT_MUST_USE leat_status_t leat_fixture_plan_run(const leat_fixture_plan_t* plan,
                                                  const leat_fixture_feed_t* feeds, int feed_count,
                                                  leat_tensor_t* out_values);

#endif  // LEAT_OP_HARNESS_FIXTURE_H_
