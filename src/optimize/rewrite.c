// What every pass needs: mapping edges from the old graph to the new one.
#include "optimize/pass.h"

#include <string.h>

const leat_pass_t* const leat_passes[] = {&leat_pass_fold, &leat_pass_dependency, &leat_pass_cse,
                                          NULL};

void leat_rewrite_deinitialize(leat_rewrite_t* rewrite) {
  leat_graph_t* graph = rewrite->graph;
  leat_allocator_free(leat_allocator_system(), rewrite->fetches);
  leat_allocator_free(leat_allocator_system(), rewrite->targets);
  leat_graph_free(graph);
  memset(rewrite, 0, sizeof *rewrite);
}

void leat_rewrite_replace(leat_rewrite_t* rewrite, leat_graph_t* graph,
                          const leat_node_map_t* map) {
  for (int i = 0; i < rewrite->fetch_count; ++i) {
    rewrite->fetches[i] = leat_node_map_output(map, rewrite->fetches[i]);
  }
  for (int i = 0; i < rewrite->target_count; ++i) {
    rewrite->targets[i] = map->nodes[rewrite->targets[i]];
  }
  leat_graph_free(rewrite->graph);
  rewrite->graph = graph;
}

leat_status_t leat_rewrite_mark_needed(const leat_rewrite_t* rewrite, bool* out_needed) {
  const leat_graph_t* graph = rewrite->graph;
  int32_t* stack;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(graph->allocator, graph->node_count + 1,
                                                     sizeof *stack, (void**)&stack));
  size_t depth = 0;
  memset(out_needed, 0, graph->node_count);
  int roots = rewrite->fetch_count + rewrite->target_count;
  for (int i = 0; i < roots; ++i) {
    int32_t root = i < rewrite->fetch_count ? rewrite->fetches[i].node
                                            : rewrite->targets[i - rewrite->fetch_count];
    if (root < 0 || out_needed[root]) continue;
    out_needed[root] = true;
    stack[depth++] = root;
  }
  while (depth) {
    const leat_node_t* node = &graph->nodes[stack[--depth]];
    for (int i = 0; i < node->input_count + node->control_count; ++i) {
      int32_t source = node->inputs[i].node;
      if (out_needed[source]) continue;
      out_needed[source] = true;
      stack[depth++] = source;
    }
  }
  leat_allocator_free(graph->allocator, stack);
  return leat_ok_status();
}

static bool reads_reference(const leat_graph_t* graph, const leat_node_t* node) {
  for (int i = 0; i < node->input_count; ++i) {
    if (leat_dtype_is_ref(leat_graph_output_type(graph, node->inputs[i]))) return true;
  }
  return false;
}

bool leat_node_is_pure(const leat_graph_t* graph, const leat_node_t* node) {
  const uint32_t impure = LEAT_OP_STATEFUL | LEAT_OP_PLACEHOLDER | LEAT_OP_ARGUMENT |
                          LEAT_OP_SEND | LEAT_OP_RECV | LEAT_OP_CONTROL_FLOW |
                          LEAT_OP_LOOP_CONDITION | LEAT_OP_RETURN_VALUE | LEAT_OP_VARIABLE |
                          LEAT_OP_STEP_RESOURCE;
  return node->output_count > 0 && !(node->op->flags & impure) && !node->op->has_ref_inputs &&
         !node->op->has_ref_outputs && !reads_reference(graph, node);
}
