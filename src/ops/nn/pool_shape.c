// The shape function that the pools share. MaxPoolV2 takes sizes and strides of its windows as
// inputs; unless they are constants, the output's shape stays unknown.
#include "ops/nn/pool_shape.h"

#include "ops/nn/window_op.h"

// Reads sizes and strides from the last two inputs into |window|. |out_known| is false when they
// are not constants.
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
  leat_partial_shape_t input;
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
  int64_t sizes[LEAT_WINDOW_MAX_SPATIAL];
  for (int i = 0; i < spatial; ++i) sizes[i] = window.axes[i].size;
  int64_t channels = input.dims[leat_window_channel_dim(&window)];
  if (over_channels) {
    LEAT_RETURN_IF_ERROR(leat_window_infer(&window.channels, window.padding, channels,
                                           window.channels.size, &channels));
  }
  return leat_window_set_output(c, &window, 0, input, sizes, channels);
}
