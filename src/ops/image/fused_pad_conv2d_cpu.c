// The CPU kernels of FusedPadConv2D and FusedResizeAndPadConv2D. They run the parts one after the
// other over whole tensors:
//
//   input ─resize, in float─▶ [batch, size, in] ─convert─▶ T ─mirror─▶ padded ─Conv2D─▶ output
//
// A part that has nothing to do is left out. TensorFlow resizes and pads while it gathers the
// patches of the convolution, which saves the memory of a padded copy; here the convolution plans
// want dense images, and their speed outweighs one copy.
#include "ops/array/mirror_pad_cpu.h"
#include "ops/image/resize_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/nn/conv2d_cpu.h"
#include "ops/nn/widen_cpu.h"

typedef struct fused_s {
  leat_conv2d_t conv;
  bool reflects;
  bool resizes, align_corners;
} fused_t;

// Conv2D calls strides over the batch or the channels unimplemented; TensorFlow refuses them here.
static leat_status_t check_strides(leat_kernel_creation_t* c) {
  const int64_t* strides;
  int count;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(c, "strides", &strides, &count));
  if (count == 4 && strides[0] == 1 && strides[3] == 1) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "strides must be four numbers, of which the first "
                          "and the last are 1");
}

static leat_status_t pad_create(leat_kernel_creation_t* c, void* memory) {
  fused_t* state = memory;
  leat_string_view_t mode;
  LEAT_RETURN_IF_ERROR(check_strides(c));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "mode", &mode));
  state->reflects = leat_string_view_equals(mode, "REFLECT");
  return leat_conv2d_create(c, &state->conv);
}

static leat_status_t resize_create(leat_kernel_creation_t* c, void* memory) {
  fused_t* state = memory;
  state->resizes = true;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "resize_align_corners", &state->align_corners));
  return pad_create(c, memory);
}

static void destroy(void* memory) {
  leat_convolution_cache_clear(&((fused_t*)memory)->conv.cache);
}

// Gives the images in the node's type, which the caller releases.
static leat_status_t take_images(leat_kernel_context_t* c, const fused_t* state,
                                 leat_tensor_t* out_images) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (!state->resizes) {
    *out_images = leat_tensor_share(input);
    return leat_ok_status();
  }
  leat_tensor_t resized;
  LEAT_RETURN_IF_ERROR(leat_resize_bilinear(c, state->align_corners, &resized));
  if (input->dtype == LEAT_DTYPE_FLOAT) {
    *out_images = leat_tensor_move(&resized);
    return leat_ok_status();
  }
  leat_status_t status =
      leat_kernel_allocate_temporary(c, input->dtype, &resized.shape, out_images);
  if (!status && input->dtype == LEAT_DTYPE_DOUBLE) {
    for (int64_t i = 0; i < resized.shape.element_count; ++i) {
      leat_tensor_data(out_images, double)[i] = leat_tensor_data(&resized, float)[i];
    }
  } else if (!status) {
    leat_narrow(c, &resized, out_images);
  }
  leat_tensor_release(&resized);
  return status;
}

// Replaces |inout_images| by a padded copy.
static leat_status_t pad_images(leat_kernel_context_t* c, const fused_t* state,
                                leat_tensor_t* inout_images) {
  leat_paddings_t paddings;
  leat_shape_t shape;
  leat_tensor_t padded;
  LEAT_RETURN_IF_ERROR(leat_paddings_read(c, state->resizes ? 2 : 1, 4, &paddings));
  for (int d = 0; d < 4; d += 3) {
    if (paddings.before[d] == 0 && paddings.after[d] == 0) continue;
    return leat_kernel_invalid(c, "paddings[%d] is [%lld, %lld], must be [0, 0]: only height and "
                               "width are padded", d, (long long)paddings.before[d],
                               (long long)paddings.after[d]);
  }
  LEAT_RETURN_IF_ERROR(
      leat_mirror_pad_check(c, &paddings, &inout_images->shape, state->reflects));
  if (paddings.is_none) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_paddings_shape(c, &paddings, &inout_images->shape, &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, inout_images->dtype, &shape, &padded));
  leat_status_t status =
      leat_mirror_pad_fill(c, &paddings, state->reflects, inout_images, &padded);
  leat_tensor_release(inout_images);
  *inout_images = padded;
  return status;
}

static leat_status_t convolve(leat_kernel_context_t* c, fused_t* state,
                              const leat_tensor_t* images) {
  const leat_tensor_t* filter = leat_kernel_input(c, state->resizes ? 3 : 2);
  const int64_t *sizes = leat_shape_dims(&images->shape), *taps = leat_shape_dims(&filter->shape);
  leat_convolution_shape_t shape;
  leat_tensor_t* output;
  int64_t dims[4];
  if (sizes[3] != taps[2]) {
    return leat_kernel_invalid(c, "input and filter must have the same depth: %lld vs %lld",
                               (long long)sizes[3], (long long)taps[2]);
  }
  LEAT_RETURN_IF_ERROR(leat_conv2d_measure(c, &state->conv, sizes, taps, &shape, dims));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 4, dims, &output));
  return leat_conv2d_run(&state->conv, c, &shape, images, filter, NULL, output);
}

static leat_status_t fused_pad_conv2d__cpu(leat_kernel_context_t* c) {
  fused_t* state = leat_kernel_state(c);
  leat_tensor_t images;
  LEAT_RETURN_IF_ERROR(take_images(c, state, &images));
  leat_status_t status = pad_images(c, state, &images);
  if (!status) status = convolve(c, state, &images);
  leat_tensor_release(&images);
  return status;
}

#define ROW(op, types, create_fn)                                                               \
  LEAT_CPU_KERNEL(op, "T: " types, fused_t, create_fn, fused_pad_conv2d__cpu,                   \
                  .destroy = destroy, .expensive = true)

const leat_kernel_row_t leat_fused_pad_conv2d_kernels_cpu[] = {
    ROW("FusedPadConv2D", "half, bfloat16, float, double", pad_create),
    ROW("FusedResizeAndPadConv2D", "half, float, double", resize_create),
    LEAT_KERNEL_ROWS_END,
};
