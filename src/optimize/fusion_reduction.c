// Reductions that may end a region: over the last axes, so that they find in a tile what they
// need. A product with a column of ones is one too: that is how sums of rows were written before
// there were axes to name.
#include "optimize/fusion.h"

// How many they are when they are the last ones, each named once; else 0. A rank of -1 is unknown.
static int64_t count_last(const leat_tensor_t* axes, int rank) {
  bool seen[LEAT_SHAPE_MAX_RANK] = {false};
  const int64_t count = axes->shape.element_count;
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = leat_tensor_index_at(axes, i);
    if (axis >= 0) axis = rank < 0 ? 0 : axis - rank;
    if (axis >= 0 || axis < -count || axis < -LEAT_SHAPE_MAX_RANK || seen[-axis - 1]) return 0;
    seen[-axis - 1] = true;
  }
  return count;
}

bool leat_fusion_find_reduction(const leat_graph_t* graph, const leat_node_t* node,
                                 const leat_pass_options_t* options,
                                 leat_fusion_reduction_t* out_reduction) {
  if (leat_node_sums_rows(graph, node, options)) {
    *out_reduction = (leat_fusion_reduction_t){LEAT_OP_NAME_SUM, 1, true};
    return true;
  }
  if (leat_node_elementwise(graph, node, options) != LEAT_ELEMENTWISE_REDUCTION) return false;
  const leat_tensor_t* axes = leat_node_constant(&graph->nodes[node->inputs[1].node]);
  if (!axes) return false;
  const int rank = leat_graph_output_shape(graph, node->inputs[0]).rank;
  *out_reduction =
      (leat_fusion_reduction_t){.op = node->op->name,
                                 .axes = count_last(axes, rank),
                                 .keep_dims = leat_node_attr_bool(node, "keep_dims", false)};
  return out_reduction->axes > 0;
}
