// What rewrite rules (rewrite_rule.h) have in common: their lists of names, the way back from a
// match to what the new nodes will read, and the making of constants.
#include "graph/rewrite_rule.h"

#include <string.h>

bool leat_rewrite_take_name(const char** list, leat_string_view_t* out_name) {
  const size_t size = strcspn(*list, "|");
  *out_name = (leat_string_view_t){*list, size};
  *list += size + ((*list)[size] == '|');
  return size > 0;
}

bool leat_rewrite_is_listed(const char* list, leat_string_view_t op) {
  leat_string_view_t name;
  while (leat_rewrite_take_name(&list, &name)) {
    if (leat_string_view_equal(name, op)) return true;
  }
  return false;
}

static bool keeps_elements(const leat_node_t* node) {
  return node->op->flags & (LEAT_OP_PASS_THROUGH | LEAT_OP_RESHAPES) && node->output_count == 1;
}

bool leat_rewrite_step_back(const leat_rewrite_match_t* match, leat_rewrite_way_t* inout_way,
                            leat_output_t* inout_output) {
  const leat_node_t* node = leat_graph_node(match->graph, inout_output->node);
  int count = inout_way->count;
  if (node->input_count == 0 || count + node->input_count > LEAT_REWRITE_WAY_LENGTH ||
      !match->may_bypass(match, inout_output->node)) {
    return false;
  }
  inout_way->nodes[count++] = inout_output->node;
  // The new nodes will not read the constants either, but wait for what these wait for.
  for (int i = 1; i < node->input_count; ++i) {
    const int32_t constant = node->inputs[i].node;
    if (!leat_node_constant(leat_graph_node(match->graph, constant))) return false;
    inout_way->nodes[count++] = constant;
  }
  inout_way->count = count;
  *inout_output = node->inputs[0];
  return true;
}

bool leat_rewrite_find_shape(const leat_rewrite_match_t* match, leat_partial_shape_t shape,
                             leat_rewrite_way_t* inout_way, leat_output_t* inout_output) {
  if (!leat_partial_shape_is_full(shape)) return false;
  while (!leat_partial_shape_equal(leat_graph_output_shape(match->graph, *inout_output), shape)) {
    if (!keeps_elements(leat_graph_node(match->graph, inout_output->node)) ||
        !leat_rewrite_step_back(match, inout_way, inout_output)) {
      return false;
    }
  }
  return true;
}

leat_status_t leat_rewrite_bypass(leat_rewrite_match_t* match, const leat_rewrite_way_t* way) {
  for (int i = 0; i < way->count; ++i) {
    LEAT_RETURN_IF_ERROR(match->bypass(match, way->nodes[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_rewrite_add_vector(leat_rewrite_match_t* match, const int64_t* items, int count,
                                      leat_output_t* out_vector) {
  leat_tensor_t tensor;
  LEAT_RETURN_IF_ERROR(leat_tensor_vector(LEAT_DTYPE_INT64, items, count, &tensor));
  const leat_attr_t attrs[] = {LEAT_TENSOR("value", &tensor),
                               LEAT_TYPE("dtype", LEAT_DTYPE_INT64)};
  leat_node_spec_t spec = {.attrs = attrs, .attr_count = 2};
  leat_status_t status = match->add(match, "Const", &spec, out_vector);
  leat_tensor_release(&tensor);
  return status;
}

const leat_rewrite_rule_t* leat_rewrite_find_rule(const leat_op_registry_t* ops,
                                                  leat_rewrite_phase_t phase,
                                                  leat_string_view_t root) {
  LEAT_REWRITE_FOR_EACH_RULE(ops, rule) {
    if (rule->phase == phase && leat_string_view_equals(root, rule->root)) return rule;
  }
  return NULL;
}
