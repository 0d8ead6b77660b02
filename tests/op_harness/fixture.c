// The place where the op harness runs kernels: registries with every op family, a CPU, a simulated
// accelerator, and a small evaluator of graphs. A session would bring in the optimizer and an
// executor, and a wrong kernel could hide behind them; here nodes run one by one in the order of
// the graph. Graphs are acyclic. A node with a dead input is dead too, but for Merge, which runs
// when one input lives (white paper, section 4.4). Variables of cases are made by ops that only the
// harness has ("HarnessReference"), so that a case needs no assignment before it.
#include "op_harness/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "device/simulated/simulated_device.h"
#include "graph/inference/inference.h"
#include "kernel/cancellation.h"
#include "kernel/rendezvous.h"
#include "ops/family.h"
#include "ops/simulated/simulated_kernels.h"
#include "worker/local_rendezvous.h"

#define POOL_SIZE 4

// ---- Ops of the harness -------------------------------------------------------------------------

static const leat_op_row_t kVariableRows[] = {
    {.name = "HarnessReference",
     .outputs = "ref: Ref(dtype)",
     .attrs = "shape: shape; dtype: type",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_VARIABLE,
     .shape = leat_shape_from_attr,
     .doc = "A variable of a case."},
    {.name = "HarnessHandle",
     .outputs = "resource: resource",
     .attrs = "shape: shape; dtype: type",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_VARIABLE,
     .shape = leat_shape_scalar_output,
     .doc = "A handle of a variable of a case."},
    LEAT_OP_ROWS_END,
};

static leat_status_t add_rows(leat_fixture_t* fixture) {
  for (int i = 0; leat_op_families[i]; ++i) {
    const leat_op_family_t* family = leat_op_families[i];
    LEAT_RETURN_IF_ERROR(leat_op_registry_add_family(fixture->ops, family->name, family->ops));
    for (int t = 0; family->kernels[t]; ++t) {
      LEAT_RETURN_IF_ERROR(leat_kernel_registry_add(fixture->kernels, family->kernels[t]));
    }
  }
  return leat_op_registry_add(fixture->ops, kVariableRows);
}

// ---- The fixture --------------------------------------------------------------------------------

leat_status_t leat_fixture_initialize(leat_fixture_t* out_fixture) {
  leat_allocator_t* allocator = leat_allocator_system();
  *out_fixture = (leat_fixture_t){0};
  LEAT_RETURN_IF_ERROR(leat_op_registry_create(allocator, &out_fixture->ops));
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_create(allocator, &out_fixture->kernels));
  LEAT_RETURN_IF_ERROR(leat_thread_pool_create(POOL_SIZE, allocator, &out_fixture->pool));
  LEAT_RETURN_IF_ERROR(leat_resource_manager_create(allocator, &out_fixture->resources));
  LEAT_RETURN_IF_ERROR(
      leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                             out_fixture->pool, allocator, &out_fixture->device));
  leat_simulated_options_t options = leat_simulated_options_default();
  options.virtual_time = true;
  LEAT_RETURN_IF_ERROR(
      leat_simulated_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:SIM:0"),
                                   &options, NULL, allocator, &out_fixture->accelerator));
  LEAT_RETURN_IF_ERROR(add_rows(out_fixture));
  return leat_simulated_kernels_register(out_fixture->kernels);
}

void leat_fixture_deinitialize(leat_fixture_t* fixture) {
  leat_device_release(fixture->device);
  leat_device_release(fixture->accelerator);
  leat_resource_manager_free(fixture->resources);
  leat_thread_pool_release(fixture->pool);
  leat_kernel_registry_free(fixture->kernels);
  leat_op_registry_free(fixture->ops);
  *fixture = (leat_fixture_t){0};
}

// ---- Kernels ------------------------------------------------------------------------------------

// What the op declares: a reference only where it takes one.
static void fill_input_types(const leat_graph_t* graph, const leat_node_t* node, uint8_t* types) {
  for (int i = 0; i < node->input_count; ++i) {
    types[i] = (uint8_t)leat_dtype_base(leat_graph_output_type(graph, node->inputs[i]));
  }
  for (int a = 0; a < node->op->input_count; ++a) {
    int begin = 0;
    int count = leat_node_input_argument(node, a, &begin);
    for (int i = 0; i < count && node->op->inputs[a].is_ref; ++i) {
      types[begin + i] = (uint8_t)leat_dtype_make_ref(types[begin + i]);
    }
  }
}

leat_status_t leat_fixture_kernel_make_on(const leat_fixture_t* fixture, leat_device_t* device,
                                          const leat_graph_t* graph, int32_t index,
                                          leat_fixture_kernel_t* out_kernel) {
  const leat_node_t* node = leat_graph_node(graph, index);
  const leat_kernel_row_t* row = NULL;
  *out_kernel = (leat_fixture_kernel_t){0};
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_find(fixture->kernels, node->op, node->attrs,
                                                 node->attr_count, device->type, &row));
  out_kernel->input_types = calloc((size_t)node->input_count + 1, 1);
  if (!out_kernel->input_types) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "no memory");
  fill_input_types(graph, node, out_kernel->input_types);
  leat_kernel_spec_t spec = {.row = row,
                             .op = node->op,
                             .node_name = node->name,
                             .attrs = node->attrs,
                             .attr_count = node->attr_count,
                             .input_types = out_kernel->input_types,
                             .input_count = node->input_count,
                             .output_types = node->output_types,
                             .output_count = node->output_count,
                             .device = device,
                             .resources = fixture->resources,
                             .allocator = leat_allocator_system()};
  leat_status_t status = leat_kernel_create(&spec, &out_kernel->kernel);
  if (status) leat_fixture_kernel_free(out_kernel);
  return status;
}

leat_status_t leat_fixture_kernel_make(const leat_fixture_t* fixture, const leat_graph_t* graph,
                                       int32_t index, leat_fixture_kernel_t* out_kernel) {
  return leat_fixture_kernel_make_on(fixture, fixture->device, graph, index, out_kernel);
}

void leat_fixture_kernel_free(leat_fixture_kernel_t* kernel) {
  leat_kernel_free(kernel->kernel);
  free(kernel->input_types);
  *kernel = (leat_fixture_kernel_t){0};
}

// ---- Steps --------------------------------------------------------------------------------------

leat_status_t leat_fixture_step_begin(const leat_fixture_t* fixture, leat_thread_pool_t* pool,
                                      leat_fixture_step_t* out_step) {
  static _Atomic int64_t step_id;
  leat_allocator_t* allocator = leat_allocator_system();
  leat_step_services_t* services = &out_step->services;
  *services = (leat_step_services_t){.step_id = ++step_id,
                                     .memory = fixture->device->memory,
                                     .pool = pool,
                                     .resources = fixture->resources};
  LEAT_RETURN_IF_ERROR(leat_resource_manager_create(allocator, &services->step_resources));
  LEAT_RETURN_IF_ERROR(leat_local_rendezvous_create(allocator, &services->rendezvous));
  return leat_cancellation_create(allocator, &services->cancellation);
}

void leat_fixture_step_end(leat_fixture_step_t* step) {
  leat_cancellation_release(step->services.cancellation);
  leat_rendezvous_release(step->services.rendezvous);
  leat_resource_manager_free(step->services.step_resources);
  *step = (leat_fixture_step_t){0};
}

// ---- Plans --------------------------------------------------------------------------------------

static void mark_needed(const leat_graph_t* graph, int32_t index, bool* needed) {
  if (needed[index]) return;
  const leat_node_t* node = leat_graph_node(graph, index);
  needed[index] = true;
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    mark_needed(graph, node->inputs[i].node, needed);
  }
}

static bool is_source(const leat_node_t* node) {
  return node->op->flags & (LEAT_OP_CONSTANT | LEAT_OP_PLACEHOLDER);
}

void leat_fixture_plan_deinitialize(leat_fixture_plan_t* plan) {
  for (size_t i = 0; plan->kernels && i < plan->graph->node_count; ++i) {
    leat_fixture_kernel_free(&plan->kernels[i]);
  }
  free(plan->order);
  free(plan->needed);
  free(plan->kernels);
  *plan = (leat_fixture_plan_t){0};
}

static leat_status_t make_kernels(leat_fixture_plan_t* plan) {
  LEAT_RETURN_IF_ERROR(leat_graph_sort(plan->graph, plan->order));
  for (int i = 0; i < plan->fetch_count; ++i) {
    mark_needed(plan->graph, plan->fetches[i].node, plan->needed);
  }
  for (size_t i = 0; i < plan->graph->node_count; ++i) {
    if (!plan->needed[i] || is_source(leat_graph_node(plan->graph, (int32_t)i))) continue;
    LEAT_RETURN_IF_ERROR(
        leat_fixture_kernel_make(plan->fixture, plan->graph, (int32_t)i, &plan->kernels[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_fixture_plan_initialize(const leat_fixture_t* fixture,
                                           const leat_graph_t* graph, const leat_output_t* fetches,
                                           int fetch_count, leat_fixture_plan_t* out_plan) {
  size_t count = graph->node_count;
  *out_plan = (leat_fixture_plan_t){.fixture = fixture,
                                    .graph = graph,
                                    .order = calloc(count, sizeof(int32_t)),
                                    .needed = calloc(count, sizeof(bool)),
                                    .kernels = calloc(count, sizeof(leat_fixture_kernel_t)),
                                    .fetches = fetches,
                                    .fetch_count = fetch_count};
  leat_status_t status = make_kernels(out_plan);
  if (status) leat_fixture_plan_deinitialize(out_plan);
  return status;
}

static leat_status_t run_source(const leat_node_t* node, leat_slot_t* slot) {
  if (slot->alive) return leat_ok_status();  // fed
  const leat_attr_value_t* value = leat_node_attr(node, LEAT_SV("value"));
  if (!(node->op->flags & LEAT_OP_CONSTANT) || !value) {
    return leat_make_status(LEAT_INTERNAL, "node '%.*s' is not fed", LEAT_SV_ARG(node->name));
  }
  slot->tensor = leat_tensor_share(value->tensor);
  slot->alive = true;
  return leat_ok_status();
}

static leat_status_t run_node(const leat_fixture_plan_t* plan, int32_t index, leat_slot_t** slots,
                              const leat_step_services_t* services) {
  const leat_node_t* node = leat_graph_node(plan->graph, index);
  if (is_source(node)) return run_source(node, slots[index]);
  leat_slot_t inputs[256];
  if (node->input_count > 256) {
    return leat_make_status(LEAT_INTERNAL, "more inputs than the harness takes");
  }
  int alive = 0;
  for (int i = 0; i < node->input_count; ++i) {
    inputs[i] = slots[node->inputs[i].node][node->inputs[i].index];
    alive += inputs[i].alive;
  }
  int needed = node->op->flags & LEAT_OP_MERGE ? 1 : node->input_count;
  if (alive < needed) return leat_ok_status();  // outputs stay dead
  return leat_kernel_invoke_slots(plan->kernels[index].kernel, services, inputs, slots[index]);
}

static leat_status_t run_all(const leat_fixture_plan_t* plan, const leat_fixture_feed_t* feeds,
                             int feed_count, leat_slot_t** slots,
                             const leat_step_services_t* services) {
  size_t count = plan->graph->node_count;
  for (int i = 0; i < feed_count; ++i) {
    if (!slots[feeds[i].node]) continue;
    slots[feeds[i].node][0] =
        (leat_slot_t){.tensor = leat_tensor_share(feeds[i].value), .alive = true};
  }
  for (size_t i = 0; i < count; ++i) {
    if (!plan->needed[plan->order[i]]) continue;
    LEAT_RETURN_IF_ERROR(run_node(plan, plan->order[i], slots, services));
  }
  return leat_ok_status();
}

static void take_fetches(const leat_fixture_plan_t* plan, leat_slot_t** slots,
                         leat_tensor_t* out_values) {
  for (int i = 0; i < plan->fetch_count; ++i) {
    const leat_slot_t* slot = &slots[plan->fetches[i].node][plan->fetches[i].index];
    if (slot->ref) {
      leat_cell_read(slot->ref, &out_values[i]);
    } else if (slot->alive) {
      out_values[i] = leat_tensor_share(&slot->tensor);
    }
  }
}

leat_status_t leat_fixture_plan_run(const leat_fixture_plan_t* plan,
                                    const leat_fixture_feed_t* feeds, int feed_count,
                                    leat_tensor_t* out_values) {
  size_t count = plan->graph->node_count;
  leat_slot_t** slots = calloc(count, sizeof(leat_slot_t*));
  leat_fixture_step_t step;
  memset(out_values, 0, (size_t)plan->fetch_count * sizeof(*out_values));
  for (size_t i = 0; i < count; ++i) {
    int outputs = leat_graph_node(plan->graph, (int32_t)i)->output_count;
    if (plan->needed[i]) slots[i] = calloc((size_t)outputs + 1, sizeof(leat_slot_t));
  }
  leat_status_t status = leat_fixture_step_begin(plan->fixture, NULL, &step);
  if (!status) status = run_all(plan, feeds, feed_count, slots, &step.services);
  if (!status) take_fetches(plan, slots, out_values);
  for (size_t i = 0; i < count; ++i) {
    int outputs = leat_graph_node(plan->graph, (int32_t)i)->output_count;
    for (int o = 0; slots[i] && o < outputs; ++o) leat_slot_release(&slots[i][o]);
    free(slots[i]);
  }
  free(slots);
  leat_fixture_step_end(&step);
  return status;
}
