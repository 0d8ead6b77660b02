// Shape functions that several ops of the dataset family share.
#include "ops/dataset/dataset_shape.h"

#include "graph/inference/inference.h"

leat_status_t leat_shape_of_scalars(leat_inference_t* c) {
  int first = c->node->op->inputs[0].dtype == LEAT_DTYPE_VARIANT;
  for (int i = first; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  }
  return leat_shape_scalar_output(c);
}

leat_status_t leat_shape_of_element(leat_inference_t* c) {
  const leat_attr_value_t* shapes = leat_node_attr(c->node, LEAT_SV("output_shapes"));
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  uint32_t count = shapes ? shapes->count : 0;
  if ((int)count != c->node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "`output_shapes` must be the same length as `output_types` (%u vs. "
                            "%d)",
                            count, c->node->output_count);
  }
  for (uint32_t i = 0; i < count; ++i) leat_inference_set_output(c, (int)i, shapes->shapes[i]);
  return leat_ok_status();
}
