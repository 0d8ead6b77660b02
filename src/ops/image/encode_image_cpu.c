// CPU kernels of EncodePng, EncodeJpeg and EncodeJpegVariableQuality. An image [height, width,
// channels] becomes the bytes of a file; EncodePng takes a batch of images of any rank. The
// encoders are modules (formats/media/png.h, jpeg.h), so an op fails with UNIMPLEMENTED where its
// module is absent. Attributes are checked when the kernel is created, with TensorFlow's messages,
// and sizes in each step. Both JPEG ops share their code and differ in where the quality comes
// from: an attribute or an input.
#include "base/checked.h"
#include "formats/media/jpeg.h"
#include "formats/media/png.h"
#include "ops/kernel_rows.h"

static leat_status_t check_size(const leat_kernel_context_t* c, const leat_shape_t* shape) {
  const int64_t height = leat_shape_dim(shape, shape->rank - 3);
  const int64_t width = leat_shape_dim(shape, shape->rank - 2);
  if (height <= INT32_MAX && width <= INT32_MAX) return leat_ok_status();
  return leat_kernel_invalid(c, "Cannot encode images with >= max int32 elements: shape is %s",
                             LEAT_SHAPE_TEXT(shape));
}

// ---- PNG ----------------------------------------------------------------------------------------

typedef struct png_state_s {
  int compression;
} png_state_t;

static leat_status_t png_create(leat_kernel_creation_t* c, void* state) {
  int64_t compression;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "compression", &compression));
  if (compression < -1 || compression > 9) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Create failed for node '%.*s' (EncodePng): compression should be in "
                            "[-1,9], got %lld",
                            LEAT_SV_ARG(c->kernel->node_name), (long long)compression);
  }
  ((png_state_t*)state)->compression = (int)compression;
  return leat_ok_status();
}

static leat_status_t encode_png(const leat_png_image_t* image, leat_tensor_t* contents,
                                int64_t index) {
  leat_string_builder_t file;
  leat_string_builder_initialize(leat_allocator_system(), &file);
  leat_status_t status = leat_png_encode(image, &file);
  if (!status) status = leat_tensor_set_string(contents, index, leat_string_builder_view(&file));
  leat_string_builder_deinitialize(&file);
  return status;
}

static leat_status_t encode_png__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* images = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &images->shape;
  leat_tensor_t* contents;
  if (shape->rank < 3) {
    return leat_kernel_invalid(c, "images must be at least rank 3, got shape %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  LEAT_RETURN_IF_ERROR(check_size(c, shape));
  const int64_t channels = leat_shape_dim(shape, shape->rank - 1);
  if (channels < 1 || channels > 4) {
    return leat_kernel_invalid(c, "image must have 1, 2, 3, or 4 channels, got %lld",
                               (long long)channels);
  }
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < shape->rank - 3; ++i) dims[i] = leat_shape_dim(shape, i);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, shape->rank - 3, dims, &contents));
  leat_png_image_t image = {.width = (uint32_t)leat_shape_dim(shape, shape->rank - 2),
                            .height = (uint32_t)leat_shape_dim(shape, shape->rank - 3),
                            .channels = (int)channels,
                            .bits = images->dtype == LEAT_DTYPE_UINT16 ? 16 : 8,
                            .compression = ((const png_state_t*)leat_kernel_state(c))->compression};
  const size_t bytes =
      (size_t)images->shape.element_count * (size_t)leat_dtype_size(images->dtype);
  const int64_t count = contents->shape.element_count;
  for (int64_t i = 0; i < count; ++i) {
    image.pixels = (const char*)images->data + bytes / (size_t)count * (size_t)i;
    leat_status_t status = encode_png(&image, contents, i);
    if (status) {
      return leat_status_annotate(status, "Encoding image %lld of the flattened batch",
                                  (long long)i);
    }
  }
  return leat_ok_status();
}

// ---- JPEG ---------------------------------------------------------------------------------------

// The attributes. |xmp| points into the node's.
typedef struct jpeg_state_s {
  leat_jpeg_image_t image;
  int wanted_channels;  // 0: any
  leat_string_view_t format;
} jpeg_state_t;

static leat_status_t check_quality(int64_t quality) {
  if (quality >= 0 && quality <= 100) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "quality must be in [0,100], got %lld",
                          (long long)quality);
}

static leat_status_t read_numbers(leat_kernel_creation_t* c, leat_jpeg_image_t* image) {
  int64_t quality, x, y;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "quality", &quality));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "x_density", &x));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "y_density", &y));
  LEAT_RETURN_IF_ERROR(leat_status_annotate(check_quality(quality),
                                            "Create failed for node '%.*s' (EncodeJpeg)",
                                            LEAT_SV_ARG(c->kernel->node_name)));
  image->quality = (int)quality;
  image->x_density = (int)x;
  image->y_density = (int)y;
  return leat_ok_status();
}

static leat_status_t jpeg_create(leat_kernel_creation_t* c, void* state) {
  jpeg_state_t* s = state;
  leat_string_view_t unit, xmp;
  LEAT_RETURN_IF_ERROR(read_numbers(c, &s->image));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "progressive", &s->image.progressive));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "optimize_size", &s->image.optimize_size));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_bool(c, "chroma_downsampling", &s->image.chroma_downsampling));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "format", &s->format));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "density_unit", &unit));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "xmp_metadata", &xmp));
  s->image.per_centimetre = leat_string_view_equals(unit, "cm");
  s->image.xmp_size = xmp.size;
  s->wanted_channels = s->format.size == 0 ? 0 : s->format.data[0] == 'g' ? 1 : 3;
  if (xmp.size == 0) return leat_ok_status();
  char* copy;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), xmp.size, &copy));
  memcpy(copy, xmp.data, xmp.size);
  s->image.xmp = copy;
  return leat_ok_status();
}

static void jpeg_destroy(void* state) {
  leat_allocator_free(leat_allocator_system(), (void*)((jpeg_state_t*)state)->image.xmp);
}

// Fills in the pixels of input 0.
static leat_status_t take_image(const leat_kernel_context_t* c, leat_jpeg_image_t* image) {
  const leat_tensor_t* tensor = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &tensor->shape;
  if (shape->rank != 3) {
    return leat_kernel_invalid(c, "image must be 3-dimensional, got shape %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  LEAT_RETURN_IF_ERROR(check_size(c, shape));
  image->pixels = tensor->data;
  image->height = (int)leat_shape_dim(shape, 0);
  image->width = (int)leat_shape_dim(shape, 1);
  image->channels = (int)leat_shape_dim(shape, 2);
  if (leat_shape_dim(shape, 2) == 1 || leat_shape_dim(shape, 2) == 3) return leat_ok_status();
  return leat_kernel_invalid(c, "image must have 1 or 3 channels, got shape %s",
                             LEAT_SHAPE_TEXT(shape));
}

static leat_status_t write_jpeg(leat_kernel_context_t* c, const leat_jpeg_image_t* image) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* contents;
  leat_string_builder_t file;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &contents));
  leat_string_builder_initialize(leat_allocator_system(), &file);
  leat_status_t status = leat_jpeg_encode(image, &file);
  if (!status) status = leat_tensor_set_string(contents, 0, leat_string_builder_view(&file));
  leat_string_builder_deinitialize(&file);
  return status;
}

static leat_status_t encode_jpeg__cpu(leat_kernel_context_t* c) {
  const jpeg_state_t* s = leat_kernel_state(c);
  leat_jpeg_image_t image = s->image;
  LEAT_RETURN_IF_ERROR(take_image(c, &image));
  if (s->wanted_channels && s->wanted_channels != image.channels) {
    return leat_kernel_invalid(c, "format %.*s expects %d channels, got shape %s",
                               LEAT_SV_ARG(s->format), s->wanted_channels,
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, 0)->shape));
  }
  return write_jpeg(c, &image);
}

static leat_status_t encode_with_quality__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* quality = leat_kernel_input(c, 1);
  leat_jpeg_image_t image = {.chroma_downsampling = true, .x_density = 300, .y_density = 300};
  if (quality->shape.rank != 0) {
    return leat_kernel_invalid(c, "quality must be scalar, got shape %s",
                               LEAT_SHAPE_TEXT(&quality->shape));
  }
  LEAT_RETURN_IF_ERROR(take_image(c, &image));
  image.quality = *leat_tensor_data(quality, const int32_t);
  LEAT_RETURN_IF_ERROR(check_quality(image.quality));
  return write_jpeg(c, &image);
}

const leat_kernel_row_t leat_encode_image_kernels_cpu[] = {
    LEAT_CPU_KERNEL("EncodePng", NULL, png_state_t, png_create, encode_png__cpu),
    {.op = "EncodeJpeg",
     .device_type = "CPU",
     .create = jpeg_create,
     .destroy = jpeg_destroy,
     .state_bytes = sizeof(jpeg_state_t),
     .compute = encode_jpeg__cpu,
     .expensive = true},
    {.op = "EncodeJpegVariableQuality",
     .device_type = "CPU",
     .compute = encode_with_quality__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
