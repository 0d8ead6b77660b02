// Reads the attributes of sliding windows and computes how many windows fit over an input.
// Convolutions and pools share it, in their shape functions (with unknown sizes) and in their
// kernels, so that the two cannot disagree.
//
// With reach = (size - 1) dilation + 1, the span of a dilated window:
//
//   SAME      count = ceil(input / stride)
//             padding = max((count - 1) stride + reach - input, 0), half of it before
//   VALID     count = floor((input - reach) / stride) + 1
//   EXPLICIT  the same with the padding added to the input
//
// Sizes come from graphs and tensors that anybody may have written. The arithmetic that could
// overflow is therefore checked, and attributes are limited to 32 bits, as in TensorFlow.
#include "ops/nn/window.h"

#include <math.h>

#include "base/checked.h"

// ---- Attributes ---------------------------------------------------------------------------------

// Gives the items of the list |name|, or NULL when the node has no such attribute. INVALID_ARGUMENT
// unless it has |count| items, each of which fits in 32 bits.
static leat_status_t check_list(const leat_attr_t* attrs, int attr_count, const char* name,
                                int count, const int64_t** out_values) {
  *out_values = NULL;
  const leat_attr_value_t* value = leat_attr_find(attrs, attr_count, leat_string_view_from(name));
  if (!value || !value->is_list) return leat_ok_status();
  if ((int)value->count != count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s has %d values, must have %d", name,
                            (int)value->count, count);
  }
  for (int i = 0; i < count; ++i) {
    if (value->ints[i] == (int32_t)value->ints[i]) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Attr %s has value %lld out of range for an int32", name,
                            (long long)value->ints[i]);
  }
  *out_values = value->ints;
  return leat_ok_status();
}

// The string attribute |name|, empty when the node has none.
static leat_string_view_t find_string(const leat_attr_t* attrs, int attr_count, const char* name) {
  const leat_attr_value_t* value = leat_attr_find(attrs, attr_count, leat_string_view_from(name));
  return value && value->kind == LEAT_ATTR_STRING && !value->is_list ? value->s
                                                                     : leat_string_view_make("", 0);
}

static bool is_channels_first(leat_string_view_t format) {
  return leat_string_view_equal(format, LEAT_SV("NCHW")) ||
         leat_string_view_equal(format, LEAT_SV("NCDHW")) ||
         leat_string_view_equal(format, LEAT_SV("CHANNELS_FIRST"));
}

// The axis of |window| that dimension |dim| of the tensor is.
static leat_window_axis_t* axis_of_dim(leat_window_t* window, int dim) {
  if (dim == 0) return &window->batch;
  if (dim == leat_window_channel_dim(window)) return &window->channels;
  return &window->axes[dim - leat_window_dim(window, 0)];
}

// Sets the paddings of the window from |values|, the attribute |name|: two numbers for each
// dimension of the tensor.
static leat_status_t set_paddings(const char* name, const int64_t* values, int count,
                                  leat_window_t* window) {
  const int rank = leat_window_rank(window);
  if (count != 2 * rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s has %d values, must have %d", name, count,
                            2 * rank);
  }
  for (int d = 0; d < rank; ++d) {
    leat_window_axis_t* axis = axis_of_dim(window, d);
    axis->before = values[2 * d];
    axis->after = values[2 * d + 1];
    if (axis->before < 0 || axis->after < 0 || axis->before > INT32_MAX ||
        axis->after > INT32_MAX) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "All elements of %s must be nonnegative "
                              "32-bit numbers", name);
    }
  }
  if (window->batch.before | window->batch.after | window->channels.before |
      window->channels.after) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s of the batch or channel dimension must be 0", name);
  }
  return leat_ok_status();
}

// Reads "explicit_paddings", which must be there if and only if the padding is EXPLICIT, and
// "padding_list", which makes it so where it is not empty.
static leat_status_t read_explicit(const leat_attr_t* attrs, int attr_count,
                                   leat_window_t* window) {
  const leat_attr_value_t* list = leat_attr_find(attrs, attr_count, LEAT_SV("padding_list"));
  if (list && list->is_list && list->count > 0) {
    window->padding = LEAT_PADDING_EXPLICIT;
    return set_paddings("padding_list", list->ints, (int)list->count, window);
  }
  const leat_attr_value_t* value =
      leat_attr_find(attrs, attr_count, LEAT_SV("explicit_paddings"));
  const int count = value && value->is_list ? (int)value->count : 0;
  if (window->padding == LEAT_PADDING_EXPLICIT) {
    return set_paddings("explicit_paddings", value ? value->ints : NULL, count, window);
  }
  if (count == 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "explicit_paddings has %d values, must be empty when padding is not "
                          "EXPLICIT", count);
}

leat_status_t leat_window_set_sizes(leat_window_t* window, const int64_t* values, int count) {
  if (count != leat_window_rank(window)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "ksize has %d values, must have %d", count,
                            leat_window_rank(window));
  }
  for (int d = 0; d < count; ++d) axis_of_dim(window, d)->size = values[d];
  window->has_size = true;
  return leat_ok_status();
}

leat_status_t leat_window_set_strides(leat_window_t* window, const int64_t* values, int count) {
  if (count != leat_window_rank(window)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "strides has %d values, must have %d", count,
                            leat_window_rank(window));
  }
  for (int d = 0; d < count; ++d) axis_of_dim(window, d)->stride = values[d];
  return leat_ok_status();
}

leat_status_t leat_window_read(const leat_attr_t* attrs, int attr_count, int spatial,
                               leat_window_t* out_window) {
  *out_window = (leat_window_t){.spatial = spatial};
  const int rank = spatial + 2;
  const leat_string_view_t padding = find_string(attrs, attr_count, "padding");
  out_window->channels_first = is_channels_first(find_string(attrs, attr_count, "data_format"));
  out_window->padding = leat_string_view_equal(padding, LEAT_SV("SAME"))    ? LEAT_PADDING_SAME
                        : leat_string_view_equal(padding, LEAT_SV("VALID")) ? LEAT_PADDING_VALID
                                                                            : LEAT_PADDING_EXPLICIT;
  for (int d = 0; d < rank; ++d) {
    *axis_of_dim(out_window, d) = (leat_window_axis_t){.size = 1, .stride = 1, .dilation = 1};
  }
  const int64_t *strides, *dilations, *sizes;
  LEAT_RETURN_IF_ERROR(check_list(attrs, attr_count, "strides", rank, &strides));
  LEAT_RETURN_IF_ERROR(check_list(attrs, attr_count, "ksize", rank, &sizes));
  const leat_attr_value_t* given = leat_attr_find(attrs, attr_count, LEAT_SV("dilations"));
  LEAT_RETURN_IF_ERROR(check_list(attrs, attr_count, "rates", rank, &dilations));
  if (given && given->count > 0) {
    LEAT_RETURN_IF_ERROR(check_list(attrs, attr_count, "dilations", rank, &dilations));
  }
  for (int d = 0; d < rank; ++d) {
    leat_window_axis_t* axis = axis_of_dim(out_window, d);
    if (strides) axis->stride = strides[d];
    if (dilations) axis->dilation = dilations[d];
    if (sizes) axis->size = sizes[d];
  }
  out_window->has_size = sizes != NULL;
  return read_explicit(attrs, attr_count, out_window);
}

// ---- Sizes --------------------------------------------------------------------------------------

leat_status_t leat_window_count(const leat_window_axis_t* axis, leat_padding_t padding,
                                int64_t input, int64_t size, int64_t* out_count,
                                int64_t* out_before) {
  *out_count = LEAT_DIM_UNKNOWN;
  *out_before = padding == LEAT_PADDING_EXPLICIT ? axis->before : 0;
  if (axis->stride <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Stride must be > 0, but got %lld",
                            (long long)axis->stride);
  }
  if (axis->dilation < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Dilation rate must be >= 1, but got %lld",
                            (long long)axis->dilation);
  }
  const bool is_same = padding == LEAT_PADDING_SAME;
  if (input == LEAT_DIM_UNKNOWN || (size == LEAT_DIM_UNKNOWN && !is_same)) return leat_ok_status();
  int64_t reach, padded;
  if (!leat_checked_multiply(size - 1, axis->dilation, &reach) ||
      !leat_checked_add(reach, 1, &reach) ||
      !leat_checked_add(input, *out_before + (is_same ? axis->stride : axis->after), &padded)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Window of size %lld is too large",
                            (long long)size);
  }
  if (is_same) {
    *out_count = (padded - 1) / axis->stride;
    if (size == LEAT_DIM_UNKNOWN) return leat_ok_status();
    const int64_t needed = (*out_count - 1) * axis->stride + reach - input;
    *out_before = needed > 0 ? needed / 2 : 0;
    return leat_ok_status();
  }
  if (padding == LEAT_PADDING_VALID) padded = input;
  // |room| / stride is the number of windows. TensorFlow's kernels accept an input that is a little
  // too small and give no windows; the shape functions do not (leat_window_infer).
  const int64_t room = padded - reach + axis->stride;
  if (room <= -axis->stride) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Computed output size would be negative: input is %lld, window %lld, "
                            "stride %lld", (long long)padded, (long long)reach,
                            (long long)axis->stride);
  }
  *out_count = room < 0 ? 0 : room / axis->stride;
  return leat_ok_status();
}

leat_status_t leat_window_infer(const leat_window_axis_t* axis, leat_padding_t padding,
                                int64_t input, int64_t size, int64_t* out_count) {
  int64_t before;
  LEAT_RETURN_IF_ERROR(leat_window_count(axis, padding, input, size, out_count, &before));
  if (padding == LEAT_PADDING_SAME || *out_count == LEAT_DIM_UNKNOWN) return leat_ok_status();
  const int64_t added = padding == LEAT_PADDING_EXPLICIT ? axis->before + axis->after : 0;
  const int64_t padded = input + added;
  const int64_t reach = (size - 1) * axis->dilation + 1;
  if (padded >= reach) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Negative dimension size caused by subtracting %lld from %lld",
                          (long long)reach, (long long)padded);
}

// The least ratio above 1 is 1 + 2^-23, which takes more from a size than rounding it to a float
// can add (a part of 2^-24).
int64_t leat_window_count_fractional(int64_t size, float ratio) {
  LEAT_DCHECK(ratio >= 1);
  const int64_t count = ratio == 1 ? size : (int64_t)floorf((float)size / ratio);
  LEAT_DCHECK(count <= size);
  return count;
}
