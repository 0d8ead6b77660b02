// Shape functions and gradients of ops that slide windows, shared by convolutions and pools. Sizes
// may be unknown while a graph is built; what is known of them is checked here, and the rest by the
// kernels.
#include "ops/nn/window_op.h"

leat_status_t leat_window_set_output(leat_inference_t* c, const leat_window_t* window, int skip,
                                     leat_partial_shape_t input, const int64_t* sizes,
                                     int64_t channels) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d <= skip; ++d) dims[d] = input.dims[d];
  dims[skip + leat_window_channel_dim(window)] = channels;
  for (int i = 0; i < window->spatial; ++i) {
    const int d = skip + leat_window_dim(window, i);
    LEAT_RETURN_IF_ERROR(leat_window_infer(&window->axes[i], window->padding, input.dims[d],
                                           sizes[i], &dims[d]));
  }
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, input.rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

leat_status_t leat_window_shape_as_input(leat_inference_t* c, int index, int rank) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), rank, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

leat_status_t leat_window_shape_from_sizes(leat_inference_t* c, int index, int rank) {
  leat_partial_shape_t sizes;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, index, &sizes));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, sizes, rank, &sizes));
  leat_inference_set_output(c, 0, sizes);
  return leat_ok_status();
}

// Attributes that |op| does not have are left out; so a gradient op without, say, "dilations" can
// be built from a node that has them.
leat_output_t leat_window_build_like(leat_gradient_t* g, const char* op, leat_outputs_t inputs) {
  static const char* const names[] = {
      "ksize",     "strides",          "padding",           "explicit_paddings", "data_format",
      "dilations", "use_cudnn_on_gpu", "include_batch_in_index"};
  leat_builder_t* b = &g->builder;
  const leat_op_t* target;
  if (!b->status) {
    b->status = leat_op_registry_find(b->graph->ops, leat_string_view_from(op), &target);
  }
  if (b->status) return LEAT_OUTPUT_NONE;
  leat_attr_t attrs[LEAT_ARRAY_SIZE(names)];
  int count = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(names); ++i) {
    const leat_string_view_t name = leat_string_view_from(names[i]);
    const leat_attr_value_t* value = leat_node_attr(leat_gradient_node(g), name);
    if (value && leat_op_find_attr(target, name) >= 0) attrs[count++] = (leat_attr_t){name, *value};
  }
  return leat_build(b, op, inputs, (leat_attrs_t){attrs, count});
}
