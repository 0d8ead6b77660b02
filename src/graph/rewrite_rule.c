// What rewrite rules (rewrite_rule.h) have in common when they make nodes.
#include "graph/rewrite_rule.h"

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
