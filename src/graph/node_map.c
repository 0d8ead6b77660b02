// Edges of the old graph as edges of the new one.
#include "graph/node_map.h"

leat_output_t leat_node_map_output(const leat_node_map_t* map, leat_output_t old_output) {
  LEAT_DCHECK(leat_output_exists(old_output) && old_output.index >= LEAT_CONTROL_INDEX);
  if (old_output.index >= 0 && map->outputs && map->outputs[old_output.node]) {
    leat_output_t special = map->outputs[old_output.node][old_output.index];
    if (leat_output_exists(special)) return special;
  }
  return (leat_output_t){map->nodes[old_output.node], old_output.index};
}

leat_status_t leat_node_map_copy_node(leat_graph_t* graph, const leat_node_t* node,
                                      const leat_node_map_t* map, int32_t* out_node) {
  leat_output_t few[16];
  leat_output_t* inputs = few;
  int total = node->input_count + node->control_count;
  if (total > 16) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(graph->allocator, (size_t)total, &inputs));
  }
  for (int i = 0; i < node->input_count; ++i) {
    inputs[i] = leat_node_map_output(map, node->inputs[i]);
  }
  int controls = 0;
  for (int i = node->input_count; i < total; ++i) {
    int32_t control = map->nodes[node->inputs[i].node];
    if (control >= 0) {
      inputs[node->input_count + controls++] = (leat_output_t){control, LEAT_CONTROL_INDEX};
    }
  }
  leat_status_t status =
      leat_graph_copy_node(graph, node, inputs, node->input_count, controls, out_node);
  if (inputs != few) leat_allocator_free(graph->allocator, inputs);
  return status;
}
