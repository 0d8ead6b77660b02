// The CPU kernel of ImageSummary: tensor [batch, height, width, channels] -> a Summary with one PNG
// file for each of the first max_images images. Pixels of uint8 are written as they are. Others are
// scaled to 0..255, for each image by its own range over the pixels that are finite:
//
//   no negative value:  x * 255 / max
//   otherwise:          x * 127 / max(|min|, |max|) + 128
//
// A pixel with a value that is not finite gets the colour bad_color, which shows where training
// went wrong. The arithmetic is done in the type of the values, as in TensorFlow, so that the files
// are the same. Scaled pixels go through one scratch image in the arena, which all images of a call
// use.
#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "formats/media/png.h"
#include "ops/kernel_rows.h"
#include "ops/summary/message_cpu.h"

// How images are described. WriteImageSummary keeps |max_count| only; its colour is an input.
typedef struct images_s {
  int64_t max_count;
  uint8_t* bad_color;  // [bad_color_size], owned
  int64_t bad_color_size;
} images_t;

// Reads the attributes. The colour is copied, because its attribute may end before the kernel does.
static leat_status_t images_create(leat_kernel_creation_t* c, void* state) {
  images_t* images = state;
  const leat_tensor_t* color;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "max_images", &images->max_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_tensor(c, "bad_color", &color));
  if (images->max_count > INT32_MAX || color->dtype != LEAT_DTYPE_UINT8 ||
      color->shape.rank != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Create failed for node '%.*s' (ImageSummary): max_images and "
                            "bad_color are %lld and %s of type %s, must be below 2^31 and a "
                            "vector of uint8",
                            LEAT_SV_ARG(c->kernel->node_name), (long long)images->max_count,
                            LEAT_SHAPE_TEXT(&color->shape), leat_dtype_name(color->dtype));
  }
  images->bad_color_size = color->shape.element_count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)images->bad_color_size + 1,
                                     &images->bad_color));
  if (images->bad_color_size) {
    memcpy(images->bad_color, color->data, (size_t)images->bad_color_size);
  }
  return leat_ok_status();
}

static leat_status_t written_images_create(leat_kernel_creation_t* c, void* state) {
  images_t* images = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "max_images", &images->max_count));
  if (images->max_count <= INT32_MAX) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (WriteImageSummary): max_images is %lld, "
                          "must be below 2^31",
                          LEAT_SV_ARG(c->kernel->node_name), (long long)images->max_count);
}

static void images_destroy(void* state) {
  leat_allocator_free(leat_allocator_system(), ((images_t*)state)->bad_color);
}

// ---- Pixels -------------------------------------------------------------------------------------

// One image within the tensor, and how its values are scaled.
typedef struct pixels_s {
  const leat_tensor_t* tensor;
  int64_t first;  // element of the tensor at which the image begins
  int64_t count;  // of pixels
  int channels;
  float scale, offset;
} pixels_t;

static double value_at(const pixels_t* p, int64_t index) {
  const void* data = p->tensor->data;
  switch (p->tensor->dtype) {
    case LEAT_DTYPE_HALF: return leat_half_to_float(((const uint16_t*)data)[p->first + index]);
    case LEAT_DTYPE_FLOAT: return ((const float*)data)[p->first + index];
    default: return ((const double*)data)[p->first + index];
  }
}

static bool is_finite(const pixels_t* p, int64_t pixel) {
  for (int k = 0; k < p->channels; ++k) {
    if (!isfinite(value_at(p, pixel * p->channels + k))) return false;
  }
  return true;
}

// An image without a value above 1e-6 gets the scale 0, hence no division by zero.
static void choose_scale(pixels_t* p) {
  const float kZero = 1e-6f;
  float least = INFINITY, most = -INFINITY;
  for (int64_t i = 0; i < p->count; ++i) {
    if (!is_finite(p, i)) continue;
    for (int k = 0; k < p->channels; ++k) {
      float value = (float)value_at(p, i * p->channels + k);
      least = LEAT_MIN(least, value);
      most = LEAT_MAX(most, value);
    }
  }
  bool is_signed = least < 0;
  float largest = is_signed ? fmaxf(fabsf(least), fabsf(most)) : most;
  p->offset = is_signed ? 128 : 0;
  p->scale = largest < kZero ? 0 : (is_signed ? 127.0f : 255.0f) / largest;
}

static float round_to_half(float value) { return leat_half_to_float(leat_half_from_float(value)); }

// Computes in the type of the tensor: half rounds after each operation.
static uint8_t scale_value(const pixels_t* p, double value) {
  double scaled;
  switch (p->tensor->dtype) {
    case LEAT_DTYPE_HALF:
      scaled = round_to_half(round_to_half((float)value * round_to_half(p->scale)) + p->offset);
      break;
    case LEAT_DTYPE_FLOAT: {
      float product = (float)value * p->scale;
      scaled = product + p->offset;
      break;
    }
    default: scaled = value * (double)p->scale + (double)p->offset;
  }
  return scaled > 0 ? (uint8_t)fmin(scaled, 255) : 0;
}

static void scale_pixels(const images_t* images, pixels_t* p, uint8_t* out) {
  choose_scale(p);
  for (int64_t i = 0; i < p->count; ++i) {
    bool finite = is_finite(p, i);
    for (int k = 0; k < p->channels; ++k) {
      int64_t at = i * p->channels + k;
      out[at] = finite ? scale_value(p, value_at(p, at)) : images->bad_color[k];
    }
  }
}

// ---- The kernel ---------------------------------------------------------------------------------

// Checks that the tensor is a batch of images of 1, 3 or 4 channels, and that bad_color has a value
// for each channel.
static leat_status_t check_tensor(const leat_kernel_context_t* c, const images_t* images,
                                  const leat_tensor_t* tensor) {
  const leat_shape_t* shape = &tensor->shape;
  int64_t channels = shape->rank == 4 ? leat_shape_dim(shape, 3) : 0;
  if (channels != 1 && channels != 3 && channels != 4) {
    return leat_kernel_invalid(c, "Tensor must be 4-D with last dim 1, 3, or 4, not %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  int64_t height = leat_shape_dim(shape, 1), width = leat_shape_dim(shape, 2);
  if (height <= 0 || width <= 0 || leat_shape_dim(shape, 0) > INT32_MAX ||
      height >= (1LL << 29) / width) {
    return leat_kernel_invalid(c, "tensor has shape %s, must have images of 1 to 2^29 pixels",
                               LEAT_SHAPE_TEXT(shape));
  }
  if (tensor->dtype != LEAT_DTYPE_UINT8 && images->bad_color_size < channels) {
    return leat_kernel_invalid(c, "bad_color has %lld elements, must have %lld",
                               (long long)images->bad_color_size, (long long)channels);
  }
  return leat_ok_status();
}

// Encodes image |index| as a PNG file in |arena|. |scratch| is NULL for images of uint8.
static leat_status_t encode(const images_t* images, const leat_tensor_t* tensor, int64_t index,
                            leat_arena_t* arena, uint8_t* scratch, leat_string_view_t* out_file) {
  const leat_shape_t* shape = &tensor->shape;
  pixels_t p = {.tensor = tensor, .channels = (int)leat_shape_dim(shape, 3)};
  p.count = leat_shape_dim(shape, 1) * leat_shape_dim(shape, 2);
  p.first = index * p.count * p.channels;
  leat_png_image_t image = {.pixels = scratch,
                            .width = (uint32_t)leat_shape_dim(shape, 2),
                            .height = (uint32_t)leat_shape_dim(shape, 1),
                            .channels = p.channels,
                            .bits = 8,
                            .compression = -1};
  if (scratch) {
    scale_pixels(images, &p, scratch);
  } else {
    image.pixels = leat_tensor_data(tensor, const uint8_t) + p.first;
  }
  leat_string_builder_t file;
  leat_string_builder_initialize(leat_allocator_system(), &file);
  leat_status_t status = leat_png_encode(&image, &file);
  if (!status) {
    status = leat_arena_copy_string(arena, leat_string_builder_view(&file), out_file);
  }
  leat_string_builder_deinitialize(&file);
  return status;
}

// Allocates room for the scaled pixels of one image, unless the pixels are uint8.
static leat_status_t make_scratch(const leat_tensor_t* tensor, leat_arena_t* arena,
                                  uint8_t** out_scratch) {
  *out_scratch = NULL;
  if (tensor->dtype == LEAT_DTYPE_UINT8) return leat_ok_status();
  int64_t bytes = leat_shape_product(&tensor->shape, 1, 4);
  return LEAT_NEW(arena, (size_t)bytes, out_scratch);
}

// Makes the values of the summary: one image each, under a tag that is numbered.
static leat_status_t make_images(leat_kernel_context_t* c, leat_arena_t* arena) {
  images_t images = *(const images_t*)leat_kernel_state(c);
  int first = leat_summary_first_input(c);
  const leat_tensor_t* tensor = leat_kernel_input(c, first + 1);
  const leat_shape_t* shape = &tensor->shape;
  leat_string_view_t tag;
  uint8_t* scratch;
  if (first) {
    images.bad_color = leat_tensor_data(leat_kernel_input(c, 4), uint8_t);
    images.bad_color_size = leat_kernel_input(c, 4)->shape.element_count;
  }
  LEAT_RETURN_IF_ERROR(leat_summary_read_tag(c, first, &tag));
  LEAT_RETURN_IF_ERROR(check_tensor(c, &images, tensor));
  int64_t count = LEAT_MIN(images.max_count, leat_shape_dim(shape, 0));
  leat_pb_summary_value_t* values;
  leat_pb_summary_image_t* items;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &items));
  LEAT_RETURN_IF_ERROR(make_scratch(tensor, arena, &scratch));
  for (int64_t i = 0; i < count; ++i) {
    items[i] = (leat_pb_summary_image_t){.height = (int32_t)leat_shape_dim(shape, 1),
                                         .width = (int32_t)leat_shape_dim(shape, 2),
                                         .colorspace = (int32_t)leat_shape_dim(shape, 3)};
    values[i] = (leat_pb_summary_value_t){.image = &items[i], .value_case = LEAT_SUMMARY_IMAGE};
    LEAT_RETURN_IF_ERROR(
        leat_summary_number_tag(arena, tag, "image", i, images.max_count, &values[i].tag));
    LEAT_RETURN_IF_ERROR(
        encode(&images, tensor, i, arena, scratch, &items[i].encoded_image_string));
  }
  return leat_summary_set(c, values, (size_t)count);
}

static leat_status_t image_summary__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, make_images);
}

const leat_kernel_row_t leat_image_kernels_cpu[] = {
    {.op = "ImageSummary",
     .device_type = "CPU",
     .create = images_create,
     .destroy = images_destroy,
     .state_bytes = sizeof(images_t),
     .compute = image_summary__cpu,
     .expensive = true},
    {.op = "WriteImageSummary",
     .device_type = "CPU",
     .create = written_images_create,
     .state_bytes = sizeof(images_t),
     .compute = image_summary__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
