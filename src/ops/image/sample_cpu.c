// CPU kernels that sample a place in an image: a box within bounds of its shape and area that
// covers enough of an object, or a window of a fixed size. sample.c has the definitions of the ops,
// which vary the images of a training.
//
// A box is found by trial. Each attempt draws an aspect ratio, a height for which the area and the
// image allow this ratio, and a position; it fails where rounding has led out of the limits, and
// where no object is covered well enough. After max_attempts failures the box is the whole image,
// so there is always a result. Attempts may be many, so the loop looks at the step's deadline now
// and then. The draws, and the order of the arithmetic in float, are TensorFlow's, so that a seed
// gives its boxes. A stateful op reserves its numbers from the shared generator
// (ops/random/generator_cpu.h), so steps that run at once get different ones; the stateless op
// makes its generator from the seed in its inputs. RandomCrop passes an image on that has the
// wanted size already, without drawing, and copies the rows of the window otherwise.
#include <math.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/random/generator_cpu.h"
#include "ops/random/stateless_cpu.h"
#include "ops/random/unigram_cpu.h"

typedef struct sampling_s {
  leat_generator_t* generator;  // NULL in the stateless op
  float least_covered;          // an attribute of the first version, an input of the others
  float aspect_ratios[2], areas[2];
  int64_t max_attempts;
  bool uses_image;  // where no box is given
} sampling_t;

// A pair of positive floats. Where the first is larger, all of the area's attempts fail.
static leat_status_t read_range(const leat_kernel_creation_t* c, const char* name,
                                float out_range[2]) {
  const leat_attr_value_t* value;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, name, &value));
  if (value->count != 2) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s must have two items, has %u", name,
                            (unsigned)value->count);
  }
  out_range[0] = value->floats[0];
  out_range[1] = value->floats[1];
  if (out_range[0] > 0 && out_range[1] > 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s is [%g, %g], must be positive", name,
                          (double)out_range[0], (double)out_range[1]);
}

static leat_status_t create_stateless(leat_kernel_creation_t* c, void* memory) {
  sampling_t* s = memory;
  LEAT_RETURN_IF_ERROR(read_range(c, "aspect_ratio_range", s->aspect_ratios));
  LEAT_RETURN_IF_ERROR(read_range(c, "area_range", s->areas));
  if (s->areas[0] > 1 || s->areas[1] > 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "area_range is [%g, %g], must be at most 1",
                            (double)s->areas[0], (double)s->areas[1]);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "max_attempts", &s->max_attempts));
  if (s->max_attempts <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "max_attempts is %lld, must be positive",
                            (long long)s->max_attempts);
  }
  return leat_kernel_attr_bool(c, "use_image_if_no_bounding_boxes", &s->uses_image);
}

static leat_status_t create_v2(leat_kernel_creation_t* c, void* memory) {
  LEAT_RETURN_IF_ERROR(create_stateless(c, memory));
  return leat_generator_open(c, &((sampling_t*)memory)->generator);
}

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  LEAT_RETURN_IF_ERROR(create_v2(c, memory));
  return leat_kernel_attr_float(c, "min_object_covered", &((sampling_t*)memory)->least_covered);
}

static void destroy(void* memory) { leat_generator_release(((sampling_t*)memory)->generator); }

// ---- Boxes --------------------------------------------------------------------------------------

typedef struct box_s {
  int64_t left, top, right, bottom;
} box_t;

static float area_of(box_t b) { return (float)((b.right - b.left) * (b.bottom - b.top)); }

static box_t intersection(box_t a, box_t b) {
  const box_t both = {LEAT_MAX(a.left, b.left), LEAT_MAX(a.top, b.top), LEAT_MIN(a.right, b.right),
                      LEAT_MIN(a.bottom, b.bottom)};
  return both.left < both.right && both.top < both.bottom ? both : (box_t){0};
}

// The sizes of an image and the boxes in it.
typedef struct scene_s {
  int64_t height, width;
  const float* boxes;
  int64_t box_count;  // 0: the image itself is the box
  float least_covered;
} scene_t;

static box_t box_at(const scene_t* scene, int64_t index) {
  const float* b = scene->boxes + 4 * index;
  const float height = (float)scene->height, width = (float)scene->width;
  if (scene->box_count == 0) return (box_t){0, 0, scene->width, scene->height};
  return (box_t){(int64_t)(b[1] * width), (int64_t)(b[0] * height), (int64_t)(b[3] * width),
                 (int64_t)(b[2] * height)};
}

// Whether |crop| covers enough of a box. Boxes below one pixel do not count.
static bool covers_a_box(const scene_t* scene, box_t crop) {
  if (area_of(crop) < 1) return false;
  for (int64_t i = 0; i < LEAT_MAX(scene->box_count, 1); ++i) {
    const box_t box = box_at(scene, i);
    const float area = area_of(box);
    if (area >= 1 && area_of(intersection(crop, box)) / area >= scene->least_covered) return true;
  }
  return false;
}

static int64_t rounded(float x) { return (int64_t)lrintf(x); }

// The greatest height whose width by |aspect_ratio| fits the image, at most |height|.
static int64_t limit_height(const scene_t* scene, int64_t height, float aspect_ratio) {
  if (rounded((float)height * aspect_ratio) > scene->width) {
    // The width is rounded, so that it fits as long as it is below scene->width + 0.5.
    const float slack = 0.0000001f;
    height = (int64_t)(((double)scene->width + 0.5 - (double)slack) / (double)aspect_ratio);
    if (rounded((float)height * aspect_ratio) > scene->width) --height;
  }
  return LEAT_MIN(height, scene->height);
}

// Draws a crop with about |aspect_ratio| whose area is within the limits; false when there is none.
static bool draw_crop(const sampling_t* s, const scene_t* scene, float aspect_ratio,
                      leat_word_stream_t* stream, box_t* out_crop) {
  if (scene->width == 0 || scene->height == 0 || s->areas[0] > s->areas[1]) return false;
  const float least = s->areas[0] * (float)scene->width * (float)scene->height;
  const float most = s->areas[1] * (float)scene->width * (float)scene->height;
  int64_t height = rounded(sqrtf(least / aspect_ratio));
  const int64_t limit = limit_height(scene, rounded(sqrtf(most / aspect_ratio)), aspect_ratio);
  if (height < 0 || limit < 0) return false;  // what a ratio without measure is rounded to
  height = LEAT_MIN(height, limit);
  if (height < limit) {
    height += leat_word_stream_below(stream, (uint32_t)(limit - height + 1));
  }
  int64_t width = rounded((float)height * aspect_ratio);
  // Rounding may have led out of the limits; a height next to it may be within.
  for (int step = 1; step >= -1; step -= 2) {
    const float area = (float)(width * height);
    if (step > 0 ? area < least : area > most) {
      height += step;
      width = rounded((float)height * aspect_ratio);
    }
  }
  const float area = (float)(width * height);
  if (area < least || area > most || width > scene->width || height > scene->height ||
      width <= 0 || height <= 0) {
    return false;
  }
  int64_t top = 0, left = 0;
  if (height < scene->height) {
    top = leat_word_stream_below(stream, (uint32_t)(scene->height - height));
  }
  if (width < scene->width) {
    left = leat_word_stream_below(stream, (uint32_t)(scene->width - width));
  }
  *out_crop = (box_t){left, top, left + width, top + height};
  return true;
}

static leat_status_t draw_box(const leat_kernel_context_t* c, const scene_t* scene,
                              leat_philox_t philox, box_t* out_box) {
  const sampling_t* s = leat_kernel_state(c);
  leat_word_stream_t stream = {.philox = philox};
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < s->max_attempts; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 100 + 5 * (double)scene->box_count));
    const float uniform = (float)(leat_word_stream_next(&stream) & 0x7fffff) * 0x1p-23f;
    const float ratio = uniform * (s->aspect_ratios[1] - s->aspect_ratios[0]) + s->aspect_ratios[0];
    if (draw_crop(s, scene, ratio, &stream, out_box) && covers_a_box(scene, *out_box)) {
      return leat_ok_status();
    }
  }
  *out_box = (box_t){0, 0, scene->width, scene->height};
  return leat_ok_status();
}

// ---- Inputs and outputs -------------------------------------------------------------------------

static leat_status_t read_boxes(const leat_kernel_context_t* c, scene_t* scene) {
  const leat_tensor_t* boxes = leat_kernel_input(c, 1);
  const sampling_t* s = leat_kernel_state(c);
  if (boxes->shape.rank != 3 || leat_shape_dim(&boxes->shape, 2) != 4) {
    return leat_kernel_invalid(c, "bounding_boxes has shape %s, must be [batch, N, 4]",
                               LEAT_SHAPE_TEXT(&boxes->shape));
  }
  scene->boxes = boxes->data;
  scene->box_count = boxes->shape.element_count / 4;
  if (scene->box_count == 0 && !s->uses_image) {
    return leat_kernel_invalid(c, "No bounding boxes provided as input. One must enable "
                               "use_image_if_no_bounding_boxes if you wish to not provide any "
                               "bounding boxes.");
  }
  for (int64_t i = 0; i < scene->box_count; ++i) {
    const float* b = scene->boxes + 4 * i;
    for (int k = 0; k < 4; ++k) {
      if (b[k] >= 0 && b[k] <= 1) continue;
      return leat_kernel_invalid(c, "bounding box %lld has coordinate %g, must be in [0, 1]",
                                 (long long)i, (double)b[k]);
    }
  }
  return leat_ok_status();
}

// Element |index| of a tensor of integers.
static int64_t load(const leat_tensor_t* tensor, int index) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_UINT8: return leat_tensor_data(tensor, const uint8_t)[index];
    case LEAT_DTYPE_INT8: return leat_tensor_data(tensor, const int8_t)[index];
    case LEAT_DTYPE_INT16: return leat_tensor_data(tensor, const int16_t)[index];
    default: return leat_tensor_index_at(tensor, index);
  }
}

static leat_status_t read_scene(const leat_kernel_context_t* c, scene_t* scene) {
  const leat_tensor_t* size = leat_kernel_input(c, 0);
  const sampling_t* s = leat_kernel_state(c);
  if (size->shape.rank != 1 || size->shape.element_count != 3) {
    return leat_kernel_invalid(c, "image_size must contain 3 elements, got shape %s",
                               LEAT_SHAPE_TEXT(&size->shape));
  }
  scene->height = load(size, 0);
  scene->width = load(size, 1);
  if (scene->height < 0 || scene->width < 0 || scene->height >= INT32_MAX ||
      scene->width >= INT32_MAX) {
    return leat_kernel_invalid(c, "image is %lld by %lld, must not be negative and below 2^31",
                               (long long)scene->height, (long long)scene->width);
  }
  scene->least_covered = s->least_covered;
  if (leat_kernel_input_count(c) > 2) {
    const leat_tensor_t* covered = leat_kernel_input(c, 2);
    if (covered->shape.rank != 0) {
      return leat_kernel_invalid(c, "min_object_covered must be 0-D, got shape %s",
                                 LEAT_SHAPE_TEXT(&covered->shape));
    }
    scene->least_covered = *leat_tensor_data(covered, const float);
  }
  if (!(scene->least_covered >= 0)) {
    return leat_kernel_invalid(c, "min_object_covered is %g, must not be negative",
                               (double)scene->least_covered);
  }
  return read_boxes(c, scene);
}

// Writes |value| as element |index| of a tensor of integers.
static void store(leat_tensor_t* tensor, int index, int64_t value) {
  switch (leat_dtype_size(tensor->dtype)) {
    case 1: leat_tensor_data(tensor, int8_t)[index] = (int8_t)value; break;
    case 2: leat_tensor_data(tensor, int16_t)[index] = (int16_t)value; break;
    case 4: leat_tensor_data(tensor, int32_t)[index] = (int32_t)value; break;
    default: leat_tensor_data(tensor, int64_t)[index] = value; break;
  }
}

static leat_status_t write_box(leat_kernel_context_t* c, const scene_t* scene, box_t box) {
  const leat_shape_t three = leat_shape_vector(3);
  const int64_t begin[] = {box.top, box.left, 0};
  const int64_t size[] = {box.bottom - box.top, box.right - box.left, -1};
  leat_tensor_t *begins, *sizes, *boxes;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &three, &begins));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &three, &sizes));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 2, 3, (const int64_t[]){1, 1, 4}, &boxes));
  for (int i = 0; i < 3; ++i) {
    store(begins, i, begin[i]);
    store(sizes, i, size[i]);
  }
  float* corners = leat_tensor_data(boxes, float);
  corners[0] = (float)box.top / (float)scene->height;
  corners[1] = (float)box.left / (float)scene->width;
  corners[2] = (float)box.bottom / (float)scene->height;
  corners[3] = (float)box.right / (float)scene->width;
  return leat_ok_status();
}

static leat_status_t sample__cpu(leat_kernel_context_t* c) {
  const sampling_t* s = leat_kernel_state(c);
  scene_t scene = {0};
  leat_philox_t philox;
  box_t box;
  LEAT_RETURN_IF_ERROR(read_scene(c, &scene));
  if (s->generator) {
    LEAT_RETURN_IF_ERROR(
        leat_generator_reserve(c, s->generator, (uint64_t)s->max_attempts, &philox));
  } else {
    LEAT_RETURN_IF_ERROR(leat_stateless_from_seed(c, 3, &philox));
  }
  LEAT_RETURN_IF_ERROR(draw_box(c, &scene, philox, &box));
  return write_box(c, &scene, box);
}

// ---- Crops of a fixed size ----------------------------------------------------------------------

static leat_status_t crop__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *image = leat_kernel_input(c, 0), *size = leat_kernel_input(c, 1);
  if (image->shape.rank != 3 || size->shape.rank != 1 || size->shape.element_count != 2) {
    return leat_kernel_invalid(c, "image and size have shapes %s and %s, must have rank 3 and be "
                               "[2]", LEAT_SHAPE_TEXT(&image->shape),
                               LEAT_SHAPE_TEXT(&size->shape));
  }
  const int64_t* dims = leat_shape_dims(&image->shape);
  const int64_t* wanted = leat_tensor_data(size, const int64_t);
  if (wanted[0] == dims[0] && wanted[1] == dims[1]) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  if (wanted[0] < 0 || wanted[1] < 0 || wanted[0] > dims[0] || wanted[1] > dims[1]) {
    const bool is_large = wanted[0] > dims[0] || wanted[1] > dims[1];
    return leat_kernel_error(c, is_large ? LEAT_FAILED_PRECONDITION : LEAT_INVALID_ARGUMENT,
                             "size is %lld by %lld, must fit the image, %lld by %lld",
                             (long long)wanted[0], (long long)wanted[1], (long long)dims[0],
                             (long long)dims[1]);
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(
      c, 0, 3, (const int64_t[]){wanted[0], wanted[1], dims[2]}, &output));
  const leat_generator_state_t* state = leat_kernel_state(c);
  leat_word_stream_t stream = {0};
  LEAT_RETURN_IF_ERROR(leat_generator_reserve(c, state->generator, 1, &stream.philox));
  const uint64_t column = leat_word_stream_next(&stream) % (uint64_t)(dims[1] - wanted[1] + 1);
  const uint64_t row = leat_word_stream_next(&stream) % (uint64_t)(dims[0] - wanted[0] + 1);
  const size_t item = (size_t)dims[2] * leat_dtype_size(image->dtype);
  const size_t line = (size_t)leat_shape_dim(&output->shape, 1) * item;
  for (int64_t y = 0; y < wanted[0] && line > 0; ++y) {
    const size_t pixel = ((size_t)row + (size_t)y) * (size_t)dims[1] + (size_t)column;
    memcpy(leat_tensor_data(output, char) + (size_t)y * line,
           leat_tensor_data(image, const char) + pixel * item, line);
  }
  return leat_ok_status();
}

#define ROW(op_name, create_fn)                                                              \
  LEAT_CPU_KERNEL(op_name, "T: uint8, int8, int16, int32, int64", sampling_t, create_fn,     \
                  sample__cpu, .destroy = destroy)

const leat_kernel_row_t leat_sample_kernels_cpu[] = {
    ROW("SampleDistortedBoundingBox", create),
    ROW("SampleDistortedBoundingBoxV2", create_v2),
    ROW("StatelessSampleDistortedBoundingBox", create_stateless),
    LEAT_GENERATOR_KERNEL("RandomCrop", "T: uint8, int8, int16, int32, int64, float, double",
                          crop__cpu),
    LEAT_KERNEL_ROWS_END,
};
