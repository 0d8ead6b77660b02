// Shapes and gradients that the pools share.
#include "ops/nn/pool_shape.h"

#include "ops/nn/window.h"

// Sizes and strides from the last two inputs. false when they are not known yet.
static leat_status_t read_inputs(leat_inference_t* c, leat_window_t* window, bool* out_known) {
  const int rank = leat_window_rank(window), first = leat_inference_input_count(c) - 2;
  *out_known = true;
  for (int k = 0; k < 2; ++k) {
    leat_partial_shape_t list;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, first + k), 1, &list));
    int64_t count;
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(list.dims[0], rank, &count));
  }
  for (int k = 0; k < 2; ++k) {
    const leat_tensor_t* values = leat_inference_input_tensor(c, first + k);
    int64_t items[LEAT_WINDOW_MAX_SPATIAL + 2];
    if (!values || values->shape.element_count != rank) {
      *out_known = false;
      return leat_ok_status();
    }
    for (int d = 0; d < rank; ++d) items[d] = leat_tensor_index_at(values, d);
    LEAT_RETURN_IF_ERROR(k == 0 ? leat_window_set_sizes(window, items, rank)
                                : leat_window_set_strides(window, items, rank));
  }
  return leat_ok_status();
}

leat_status_t leat_pool_shape(leat_inference_t* c, int spatial, bool over_channels) {
  leat_partial_shape_t input, output;
  leat_window_t window;
  const leat_string_view_t format = leat_node_attr_string(c->node, "data_format");
  if (leat_string_view_equal(format, LEAT_SV("NCHW_VECT_C"))) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_inference_with_rank(c, leat_inference_input(c, 0), spatial + 2, &input));
  LEAT_RETURN_IF_ERROR(
      leat_window_read(c->node->attrs, c->node->attr_count, spatial, &window));
  if (!window.has_size) {
    bool known;
    LEAT_RETURN_IF_ERROR(read_inputs(c, &window, &known));
    if (!known) return leat_ok_status();
  }
  int64_t dims[LEAT_WINDOW_MAX_SPATIAL + 2];
  const int channel = leat_window_channel_dim(&window);
  dims[0] = input.dims[0];
  dims[channel] = input.dims[channel];
  for (int i = 0; i < spatial; ++i) {
    const int d = leat_window_dim(&window, i);
    LEAT_RETURN_IF_ERROR(leat_window_infer(&window.axes[i], window.padding, input.dims[d],
                                           window.axes[i].size, &dims[d]));
  }
  if (over_channels) {
    LEAT_RETURN_IF_ERROR(leat_window_infer(&window.channels, window.padding, input.dims[channel],
                                           window.channels.size, &dims[channel]));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, spatial + 2, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

leat_status_t leat_pool_shape_as_input(leat_inference_t* c, int rank) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), rank, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

leat_output_t leat_pool_build_like(leat_gradient_t* g, const char* op, leat_outputs_t inputs) {
  static const char* const names[] = {"ksize",       "strides",           "padding",
                                      "data_format", "explicit_paddings", "include_batch_in_index"};
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
