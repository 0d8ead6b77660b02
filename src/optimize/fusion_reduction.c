// Finds, for the passes "fusion" and "concat_sinking", the reductions over the last axes of a
// tensor. Only those may end a fusion region: the elements that they combine lie next to each other
// in memory, so that a program can reduce them in the tile that it has just computed. A matrix
// product with a constant column of ones counts as such a sum of rows.
#include "optimize/fusion.h"

// The number of |axes| if they are the last ones of a tensor of |rank|, each named once; else 0.
// Where the rank is not known (-1), only negative axes can be told to be the last ones.
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
  if (leat_node_access(graph, node, options) != LEAT_ACCESS_REDUCTION) return false;
  const leat_tensor_t* axes = leat_node_constant(&graph->nodes[node->inputs[1].node]);
  if (!axes) return false;
  const int rank = leat_graph_output_shape(graph, node->inputs[0]).rank;
  *out_reduction =
      (leat_fusion_reduction_t){.op = node->op->name,
                                 .axes = count_last(axes, rank),
                                 .keep_dims = leat_node_attr_bool(node, "keep_dims", false)};
  return out_reduction->axes > 0;
}
