// Runs one node by itself: finds its kernel, makes it, calls it and frees it.
#include "session/evaluate.h"

void leat_evaluator_initialize(const leat_kernel_registry_t* kernels, leat_device_t* device,
                               leat_allocator_t* allocator, leat_evaluator_t* out_evaluator) {
  *out_evaluator = (leat_evaluator_t){kernels, device, allocator};
}

leat_status_t leat_evaluator_run(void* data, const leat_graph_t* graph, int32_t index,
                                 const leat_tensor_t* inputs, leat_tensor_t* out_outputs) {
  const leat_evaluator_t* evaluator = data;
  LEAT_DCHECK(index >= 0 && (size_t)index < graph->node_count);
  const leat_node_t* node = &graph->nodes[index];
  const leat_kernel_row_t* row;
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_find(evaluator->kernels, node->op, node->attrs,
                                                 node->attr_count, evaluator->device->type, &row));
  uint8_t* types;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(evaluator->allocator, (size_t)node->input_count + 1, &types));
  for (int i = 0; i < node->input_count; ++i) {
    types[i] = (uint8_t)leat_graph_output_type(graph, node->inputs[i]);
  }
  leat_kernel_t* kernel;
  leat_kernel_spec_t spec = {.row = row,
                             .op = node->op,
                             .node_name = node->name,
                             .attrs = node->attrs,
                             .attr_count = node->attr_count,
                             .input_types = types,
                             .input_count = node->input_count,
                             .output_types = node->output_types,
                             .output_count = node->output_count,
                             .device = evaluator->device,
                             .resources = NULL,
                             .allocator = evaluator->allocator};
  leat_status_t status = leat_kernel_create(&spec, &kernel);
  if (!status) {
    leat_step_services_t services = {.memory = evaluator->device->memory,
                                     .pool = evaluator->device->pool};
    status = leat_kernel_invoke(kernel, &services, inputs, out_outputs);
    leat_kernel_free(kernel);
  }
  leat_allocator_free(evaluator->allocator, types);
  return status;
}
