// CPU kernels of CropAndResize and its gradients. A box [y1, x1, y2, x2], in coordinates from 0 to
// 1, is cut out of an image and resized to a given size:
//
//   image [batch, height, width, channels], boxes [boxes, 4], box_ind [boxes], crop_size [2]
//     -> crops [boxes, crop height, crop width, channels] float
//
// A pixel of the crop comes from a position between four pixels of the image and is their bilinear
// mean (or the nearest one); where the position lies outside the image, it is extrapolation_value.
// All three kernels visit the same pixels and differ in what they do at each: visit_box walks over
// the crop and calls a function with the four corners and weights.
//
//   forward         crop += weights * corners
//   image gradient  corners += weights * dy
//   box gradient    y and x of the box += dy * slope of the image along y and x
//
// Forward and box gradient share boxes among threads; in the image gradient several boxes may add
// to the same pixel, so it runs on one.
#include <math.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/array/types.h"
#include "ops/image/pixels_cpu.h"
#include "ops/kernel_rows.h"

typedef struct crop_s {
  bool nearest;
  float extrapolation_value;
} crop_t;

// One run of any of the three kernels.
typedef struct cropping_s {
  const leat_step_services_t* services;
  const crop_t* options;
  leat_pixels_t image;  // its size; its values where they are read
  leat_pixels_t crops;  // [boxes, height, width, channels]; in gradients the values of dy
  const float* boxes;
  const int32_t* places;  // the image that each box is cut from
  leat_tensor_t* output;
  double* sums;  // of the image gradient
} cropping_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  crop_t* crop = memory;
  leat_string_view_t method;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "method", &method));
  crop->nearest = leat_string_view_equals(method, "nearest");
  if (leat_op_find_attr(c->kernel->op, LEAT_SV("extrapolation_value")) < 0) return leat_ok_status();
  return leat_kernel_attr_float(c, "extrapolation_value", &crop->extrapolation_value);
}

// Reads boxes from input |input| and the numbers of their images from the input after it.
static leat_status_t read_boxes(const leat_kernel_context_t* c, int input, cropping_t* p) {
  const leat_tensor_t *boxes = leat_kernel_input(c, input),
                      *places = leat_kernel_input(c, input + 1);
  p->options = leat_kernel_state(c);
  if (boxes->shape.rank != 2 || leat_shape_dim(&boxes->shape, 1) != 4) {
    return leat_kernel_invalid(c, "boxes must be 2-D and have 4 columns, got shape %s",
                               LEAT_SHAPE_TEXT(&boxes->shape));
  }
  p->crops.batch = leat_shape_dim(&boxes->shape, 0);
  if (places->shape.rank != 1 || places->shape.element_count != p->crops.batch) {
    return leat_kernel_invalid(c, "box_index must be rank 1 with one element a box but is shape %s",
                               LEAT_SHAPE_TEXT(&places->shape));
  }
  p->boxes = boxes->data;
  p->places = places->data;
  return leat_ok_status();
}

// Numbers of images are used as indices, and coordinates must be finite to be converted to
// positions.
static leat_status_t check_boxes(const leat_kernel_context_t* c, const cropping_t* p) {
  for (int64_t i = 0; i < p->crops.batch; ++i) {
    if (p->places[i] < 0 || p->places[i] >= p->image.batch) {
      return leat_kernel_error(c, LEAT_OUT_OF_RANGE,
                               "box_index has values outside [0, batch_size): %d, must be below "
                               "%lld",
                               p->places[i], (long long)p->image.batch);
    }
  }
  for (int64_t i = 0; i < 4 * p->crops.batch; ++i) {
    if (isfinite(p->boxes[i])) continue;
    return leat_kernel_invalid(c, "Boxes contains at least one element that is not finite");
  }
  return leat_ok_status();
}

static leat_status_t check_sizes(const leat_kernel_context_t* c, const leat_pixels_t* pixels,
                                 const char* what) {
  if (pixels->height > 0 && pixels->width > 0) return leat_ok_status();
  return leat_kernel_invalid(c, "%s dimensions must be positive", what);
}

// ---- Where a pixel comes from -------------------------------------------------------------------

// Where a pixel of the crop comes from, along one dimension: between pixels |low| and |high|.
typedef struct origin_s {
  bool is_inside;
  int64_t low, high;
  float weight;  // of |high|; |low| has 1 - weight
} origin_t;

// Finds the origin of pixel |at| of |count| pixels that lie evenly between |first| and |last|,
// which are 0 and 1 at the ends of an image of |size| pixels.
static origin_t find_origin(const crop_t* crop, float first, float last, int64_t at, int64_t count,
                            int64_t size) {
  float most = (float)(size - 1);
  float place = count > 1 ? first * most + (float)at * ((last - first) * most / (float)(count - 1))
                          : (float)(0.5 * (first + last) * most);
  if (!(place >= 0 && place <= most)) return (origin_t){.is_inside = false};
  if (crop->nearest) {
    int64_t nearest = LEAT_MIN((int64_t)roundf(place), size - 1);
    return (origin_t){true, nearest, nearest, 0};
  }
  int64_t low = LEAT_MIN((int64_t)floorf(place), size - 1);
  return (origin_t){true, low, LEAT_MIN((int64_t)ceilf(place), size - 1), place - (float)low};
}

// One pixel of a crop.
typedef struct pixel_s {
  int64_t box, y, x;
  origin_t row, column;
  // Indices of the first channel: of the four pixels in the image, upper left, upper right, lower
  // left, lower right; and of the pixel in the crops.
  int64_t corners[4];
  int64_t crop;
} pixel_t;

typedef void (*visit_fn_t)(const cropping_t* p, const pixel_t* pixel);

#define PIXELS_A_CHECK 4096

// Calls |inside| for each pixel of a box that comes from within the image, and |outside|, unless it
// is NULL, for each that does not. A box may be large, so this looks now and then whether the step
// is to end; its outputs are then dropped.
static void visit_box(const cropping_t* p, int64_t box, visit_fn_t inside, visit_fn_t outside) {
  const float* corners = p->boxes + 4 * box;
  int64_t channels = p->crops.channels, line = p->image.width * channels;
  int64_t image = p->places[box] * p->image.height * line, count = 0;
  pixel_t pixel = {.box = box, .crop = box * p->crops.height * p->crops.width * channels};
  for (pixel.y = 0; pixel.y < p->crops.height; ++pixel.y) {
    pixel.row =
        find_origin(p->options, corners[0], corners[2], pixel.y, p->crops.height, p->image.height);
    for (pixel.x = 0; pixel.x < p->crops.width; ++pixel.x, pixel.crop += channels) {
      if (++count % PIXELS_A_CHECK == 0 && leat_step_is_over(p->services, true)) return;
      pixel.column =
          find_origin(p->options, corners[1], corners[3], pixel.x, p->crops.width, p->image.width);
      if (!pixel.row.is_inside || !pixel.column.is_inside) {
        if (outside) outside(p, &pixel);
        continue;
      }
      for (int i = 0; i < 4; ++i) {
        pixel.corners[i] = image + (i < 2 ? pixel.row.low : pixel.row.high) * line +
                           (i % 2 ? pixel.column.high : pixel.column.low) * channels;
      }
      inside(p, &pixel);
    }
  }
}

static double box_cost_ns(const cropping_t* p) {
  return 10 * (double)(p->crops.height * p->crops.width * (p->crops.channels + 4));
}

// ---- Forward ------------------------------------------------------------------------------------

// The bilinear mean of the four corners.
static void mix(const cropping_t* p, const pixel_t* pixel) {
  const float* from = p->image.values;
  float* to = leat_tensor_data(p->output, float) + pixel->crop;
  for (int64_t k = 0; k < p->crops.channels; ++k) {
    float upper = from[pixel->corners[0] + k], lower = from[pixel->corners[2] + k];
    upper += (from[pixel->corners[1] + k] - upper) * pixel->column.weight;
    lower += (from[pixel->corners[3] + k] - lower) * pixel->column.weight;
    to[k] = upper + (lower - upper) * pixel->row.weight;
  }
}

static void extrapolate(const cropping_t* p, const pixel_t* pixel) {
  float* to = leat_tensor_data(p->output, float) + pixel->crop;
  for (int64_t k = 0; k < p->crops.channels; ++k) to[k] = p->options->extrapolation_value;
}

static void crop_boxes(void* data, int64_t begin, int64_t end) {
  for (int64_t box = begin; box < end; ++box) visit_box(data, box, mix, extrapolate);
}

static leat_status_t crop__cpu(leat_kernel_context_t* c) {
  cropping_t p = {.services = c->services};
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "input image", &p.image));
  LEAT_RETURN_IF_ERROR(check_sizes(c, &p.image, "image"));
  LEAT_RETURN_IF_ERROR(read_boxes(c, 1, &p));
  LEAT_RETURN_IF_ERROR(leat_pixels_read_size(c, 3, "crop_size", &p.crops.height, &p.crops.width));
  LEAT_RETURN_IF_ERROR(check_boxes(c, &p));
  p.crops.channels = p.image.channels;
  LEAT_RETURN_IF_ERROR(leat_pixels_allocate(c, &p.crops, p.crops.height, p.crops.width, &p.output));
  LEAT_RETURN_IF_ERROR(leat_pixels_read(c, 0, &p.image));
  leat_kernel_parallel_for(c, p.crops.batch, box_cost_ns(&p), crop_boxes, &p);
  leat_pixels_release(&p.image);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

// Reads dy from input 0; its size is that of the crops.
static leat_status_t read_gradients(const leat_kernel_context_t* c, cropping_t* p) {
  leat_pixels_t grads;
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 0, "grads", &grads));
  LEAT_RETURN_IF_ERROR(check_sizes(c, &grads, "grads"));
  if (grads.batch != p->crops.batch) {
    return leat_kernel_invalid(c, "boxes and grads have incompatible shape: %lld boxes, %lld crops",
                               (long long)p->crops.batch, (long long)grads.batch);
  }
  grads.values = leat_kernel_input(c, 0)->data;
  p->crops = grads;
  return leat_ok_status();
}

// Adds dy to the four corners, by their weights.
static void spread(const cropping_t* p, const pixel_t* pixel) {
  const float* from = p->crops.values + pixel->crop;
  for (int64_t k = 0; k < p->crops.channels; ++k) {
    for (int i = 0; i < 4; ++i) {
      float row = i < 2 ? 1 - pixel->row.weight : pixel->row.weight;
      float column = i % 2 ? pixel->column.weight : 1 - pixel->column.weight;
      p->sums[pixel->corners[i] + k] += column * (row * from[k]);
    }
  }
}

// Runs on one thread, because boxes may overlap and then add to the same sums.
static leat_status_t image_grad__cpu(leat_kernel_context_t* c) {
  cropping_t p = {.services = c->services};
  leat_tensor_t sums;
  const leat_tensor_t* size = leat_kernel_input(c, 3);
  LEAT_RETURN_IF_ERROR(read_boxes(c, 1, &p));
  LEAT_RETURN_IF_ERROR(read_gradients(c, &p));
  if (size->shape.rank != 1 || size->shape.element_count != 4) {
    return leat_kernel_invalid(c, "image_size must be 1-D and have 4 elements, got shape %s",
                               LEAT_SHAPE_TEXT(&size->shape));
  }
  p.image = (leat_pixels_t){leat_tensor_index_at(size, 0),
                            leat_tensor_index_at(size, 1),
                            leat_tensor_index_at(size, 2),
                            leat_tensor_index_at(size, 3),
                            NULL,
                            {0}};
  LEAT_RETURN_IF_ERROR(check_sizes(c, &p.image, "image"));
  if (p.image.channels != p.crops.channels) {
    return leat_kernel_invalid(c, "image_size and grads are incompatible: %lld and %lld channels",
                               (long long)p.image.channels, (long long)p.crops.channels);
  }
  LEAT_RETURN_IF_ERROR(check_boxes(c, &p));
  LEAT_RETURN_IF_ERROR(leat_pixels_allocate(c, &p.image, p.image.height, p.image.width, &p.output));
  LEAT_RETURN_IF_ERROR(leat_sums_begin(c, p.output, &sums));
  p.sums = sums.data;
  leat_step_pace_t pace = leat_step_pace_of(c);
  leat_status_t status = leat_ok_status();
  for (int64_t box = 0; box < p.crops.batch && !status; ++box) {
    visit_box(&p, box, spread, NULL);
    status = leat_step_pace_count(&pace, box_cost_ns(&p));
  }
  leat_sums_end(&sums, p.output);
  return status;
}

// Adds the slope along one dimension to the gradients of the box's first and last coordinate.
// Moving the first one moves pixel |at| of |count| by 1 - share of that, moving the last one by
// share.
static void add_shares(double slope, int64_t at, int64_t count, int64_t size, float* first,
                       float* last) {
  double most = (double)(size - 1), share = count > 1 ? (double)at / (double)(count - 1) : 0.5;
  *first += (float)(slope * most * (1 - share));
  *last += (float)(slope * most * share);
}

// Adds what one pixel contributes to the gradient of its box.
static void pull(const cropping_t* p, const pixel_t* pixel) {
  float* box = leat_tensor_data(p->output, float) + 4 * pixel->box;
  double down = 0, right = 0, row = pixel->row.weight, column = pixel->column.weight;
  for (int64_t k = 0; k < p->crops.channels; ++k) {
    double v[4];
    for (int i = 0; i < 4; ++i) v[i] = p->image.values[pixel->corners[i] + k];
    double gradient = p->crops.values[pixel->crop + k];
    down += ((1 - column) * (v[2] - v[0]) + column * (v[3] - v[1])) * gradient;
    right += ((1 - row) * (v[1] - v[0]) + row * (v[3] - v[2])) * gradient;
  }
  add_shares(down, pixel->y, p->crops.height, p->image.height, &box[0], &box[2]);
  add_shares(right, pixel->x, p->crops.width, p->image.width, &box[1], &box[3]);
}

static void pull_boxes(void* data, int64_t begin, int64_t end) {
  for (int64_t box = begin; box < end; ++box) visit_box(data, box, pull, NULL);
}

static leat_status_t boxes_grad__cpu(leat_kernel_context_t* c) {
  cropping_t p = {.services = c->services};
  LEAT_RETURN_IF_ERROR(read_boxes(c, 2, &p));
  LEAT_RETURN_IF_ERROR(read_gradients(c, &p));
  LEAT_RETURN_IF_ERROR(leat_pixels_size(c, 1, "image", &p.image));
  LEAT_RETURN_IF_ERROR(check_sizes(c, &p.image, "image"));
  if (p.image.channels != p.crops.channels) {
    return leat_kernel_invalid(c, "image, grads depth differ: %lld and %lld channels",
                               (long long)p.image.channels, (long long)p.crops.channels);
  }
  LEAT_RETURN_IF_ERROR(check_boxes(c, &p));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_output(c, 0, &leat_kernel_input(c, 2)->shape, &p.output));
  leat_tensor_fill_zero(p.output);
  LEAT_RETURN_IF_ERROR(leat_pixels_read(c, 1, &p.image));
  leat_kernel_parallel_for(c, p.crops.batch, box_cost_ns(&p), pull_boxes, &p);
  leat_pixels_release(&p.image);
  return leat_ok_status();
}

#define ROW(op_name, types, fn)                             \
  LEAT_CPU_KERNEL(op_name, "T: " types, crop_t, create, fn)

const leat_kernel_row_t leat_crop_kernels_cpu[] = {
    ROW("CropAndResize", LEAT_TYPES_REAL, crop__cpu),
    ROW("CropAndResizeGradImage", "float, half, double", image_grad__cpu),
    ROW("CropAndResizeGradBoxes", LEAT_TYPES_REAL, boxes_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
