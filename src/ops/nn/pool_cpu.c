// Reads the windows of pools from attributes or inputs, checks them, and measures a pool over an
// input of a given shape. The kernels of the max and the average pools do this in each step,
// because shapes may change from step to step. The attributes are read once, when the kernel is
// made; a window over the batch in them is refused then, before the step begins, as TensorFlow does
// it. Windows are checked in each step all the same, since MaxPoolV2 gets them only then.
#include "ops/nn/pool_cpu.h"

#include "base/checked.h"

// Numbers that are not positive are another error, which check_window tells.
static leat_status_t check_batch(const leat_window_t* w) {
  if (w->batch.size <= 1 && w->batch.stride <= 1) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Pooling is not yet supported on the batch dimension.");
}

leat_status_t leat_pool_create(leat_kernel_creation_t* c, leat_pool_kernel_t* kernel, int spatial,
                               const char* type_attr) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, type_attr, &kernel->dtype));
  LEAT_RETURN_IF_ERROR(leat_window_read(c->attrs, c->attr_count, spatial, &kernel->window));
  kernel->takes_sizes = !kernel->window.has_size;
  return kernel->takes_sizes ? leat_ok_status() : check_batch(&kernel->window);
}

// Refuses what no pool can do. A padding as large as the window would make windows that see
// nothing.
static leat_status_t check_window(const leat_kernel_context_t* c, const leat_window_t* w,
                                  bool over_channels) {
  for (int i = -2; i < w->spatial; ++i) {
    const leat_window_axis_t* axis = i == -2 ? &w->batch : i == -1 ? &w->channels : &w->axes[i];
    if (axis->size > 0 && axis->stride > 0) continue;
    return leat_kernel_invalid(c, "window has size %lld and stride %lld, must be positive",
                               (long long)axis->size, (long long)axis->stride);
  }
  LEAT_RETURN_IF_ERROR(check_batch(w));
  // A stride over channels is ignored where the window does not extend over them.
  if (w->channels.size != 1 && !over_channels) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                             "Pooling is not yet supported on the depth dimension.");
  }
  for (int i = 0; i < w->spatial && w->padding == LEAT_PADDING_EXPLICIT; ++i) {
    const leat_window_axis_t* axis = &w->axes[i];
    if (axis->before < axis->size && axis->after < axis->size) continue;
    return leat_kernel_invalid(c, "padding is %lld and %lld, must be smaller than the window size "
                               "%lld", (long long)axis->before, (long long)axis->after,
                               (long long)axis->size);
  }
  return leat_ok_status();
}

leat_status_t leat_pool_window(const leat_kernel_context_t* c, bool over_channels,
                               leat_window_t* out_window) {
  const leat_pool_kernel_t* kernel = leat_kernel_state(c);
  *out_window = kernel->window;
  if (kernel->takes_sizes) {
    const int rank = leat_window_rank(out_window);
    int64_t values[2][LEAT_WINDOW_MAX_SPATIAL + 2];
    for (int k = 0; k < 2; ++k) {
      const leat_tensor_t* list = leat_kernel_input(c, leat_kernel_input_count(c) - 2 + k);
      if (list->shape.element_count != rank) {
        return leat_kernel_invalid(c, "window sizes or strides have %lld values, must have %d",
                                   (long long)list->shape.element_count, rank);
      }
      for (int d = 0; d < rank; ++d) values[k][d] = leat_tensor_index_at(list, d);
    }
    LEAT_RETURN_IF_ERROR(leat_window_set_sizes(out_window, values[0], rank));
    LEAT_RETURN_IF_ERROR(leat_window_set_strides(out_window, values[1], rank));
  }
  return check_window(c, out_window, over_channels);
}

leat_status_t leat_pool_measure(const leat_kernel_context_t* c, const leat_window_t* w,
                                const leat_shape_t* input, leat_pool_t* out_pool,
                                leat_shape_t* out_output) {
  if (input->rank != leat_window_rank(w)) {
    return leat_kernel_invalid(c, "tensor_in must be %d-dimensional, is %s", leat_window_rank(w),
                               LEAT_SHAPE_TEXT(input));
  }
  const int64_t* dims = leat_shape_dims(input);
  int64_t sizes[LEAT_WINDOW_MAX_SPATIAL + 2];
  *out_pool = (leat_pool_t){.batch = dims[0],
                            .channels = dims[leat_window_channel_dim(w)],
                            .in = {1, 1, 1},
                            .out = {1, 1, 1},
                            .size = {1, 1, 1},
                            .stride = {1, 1, 1}};
  for (int i = 0; i < w->spatial; ++i) {
    const int axis = i + LEAT_WINDOW_MAX_SPATIAL - w->spatial, d = leat_window_dim(w, i);
    out_pool->in[axis] = dims[d];
    // |size| below is cut to what the window can see of the input, so that sums of positions cannot
    // overflow however large the attribute is.
    const int64_t size = w->axes[i].size;
    out_pool->stride[axis] = w->axes[i].stride;
    LEAT_RETURN_IF_ERROR(leat_window_count(&w->axes[i], w->padding, dims[d], size,
                                           &out_pool->out[axis], &out_pool->before[axis]));
    out_pool->size[axis] = LEAT_MIN(size, dims[d] + out_pool->before[axis] + 1);
    sizes[d] = out_pool->out[axis];
  }
  sizes[0] = out_pool->batch;
  sizes[leat_window_channel_dim(w)] = out_pool->channels;
  return leat_shape_create(leat_window_rank(w), sizes, out_output);
}
