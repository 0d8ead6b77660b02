// CPU kernels that draw the outlines of boxes into copies of images.
//
//   images [batch, height, width, depth], boxes [batch, boxes, 4] -> images with outlines
//
// Boxes are drawn one over the other in their order, each in the next colour of a palette.
// Coordinates are parts of the image and may lie outside it: sides beyond the image are left out,
// and so are boxes of which nothing is inside, or whose ends are in the wrong order. Coordinates
// are converted with care, since they may be NaN or too large for an integer.
#include "base/checked.h"
#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"

enum { MAX_DEPTH = 4 };

// The palette of DrawBoundingBoxes: yellow, blue, red, lime, purple, olive, maroon, navy blue, aqua
// and fuchsia.
static const float kColors[][MAX_DEPTH] = {
    {1, 1, 0, 1},       {0, 0, 1, 1},    {1, 0, 0, 1},    {0, 1, 0, 1}, {0.5f, 0, 0.5f, 1},
    {0.5f, 0.5f, 0, 1}, {0.5f, 0, 0, 1}, {0, 0, 0.5f, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

typedef struct canvas_s {
  char* pixels;
  int64_t height, width;
  int pixel_bytes;
  char pixel[MAX_DEPTH * sizeof(float)];  // the colour, in the image's type
} canvas_t;

// Rows or columns from |first| to |last|, both included.
typedef struct span_s {
  int64_t first, last;
} span_t;

// The row or column at |part| of an image of |size|; INT64_MIN where there is none.
static int64_t place_of(float part, int64_t size) {
  float place = part * (float)(size - 1);
  return place >= -0x1p63f && place < 0x1p63f ? (int64_t)place : INT64_MIN;
}

static bool touches(span_t side, int64_t size) {
  return side.first <= side.last && side.first < size && side.last >= 0;
}

// Fills a rectangle, as far as it lies within the image.
static void fill(const canvas_t* canvas, span_t rows, span_t columns) {
  int64_t last_row = LEAT_MIN(rows.last, canvas->height - 1);
  int64_t last_column = LEAT_MIN(columns.last, canvas->width - 1);
  for (int64_t y = LEAT_MAX(rows.first, 0); y <= last_row; ++y) {
    for (int64_t x = LEAT_MAX(columns.first, 0); x <= last_column; ++x) {
      memcpy(canvas->pixels + (y * canvas->width + x) * canvas->pixel_bytes, canvas->pixel,
             (size_t)canvas->pixel_bytes);
    }
  }
}

// Draws |box|: top, left, bottom and right.
static void draw(const canvas_t* canvas, const float* box) {
  span_t rows = {place_of(box[0], canvas->height), place_of(box[2], canvas->height)};
  span_t columns = {place_of(box[1], canvas->width), place_of(box[3], canvas->width)};
  if (!touches(rows, canvas->height) || !touches(columns, canvas->width)) return;
  fill(canvas, (span_t){rows.first, rows.first}, columns);
  fill(canvas, (span_t){rows.last, rows.last}, columns);
  fill(canvas, rows, (span_t){columns.first, columns.first});
  fill(canvas, rows, (span_t){columns.last, columns.last});
}

static void set_color(canvas_t* canvas, int dtype, const float* color, int64_t depth) {
  for (int64_t k = 0; k < depth; ++k) {
    if (dtype == LEAT_DTYPE_FLOAT) {
      memcpy(canvas->pixel + k * (int64_t)sizeof *color, &color[k], sizeof *color);
    } else {
      uint16_t half = leat_half_from_float(color[k]);
      memcpy(canvas->pixel + k * (int64_t)sizeof half, &half, sizeof half);
    }
  }
}

typedef struct palette_s {
  const float* colors;
  int64_t count, width;
} palette_t;

// Gives the colours: those of input 2, if it is there and not empty; else the fixed palette, or
// white for images of one channel.
static leat_status_t find_palette(const leat_kernel_context_t* c, int64_t depth,
                                  palette_t* out_palette) {
  static const float kWhite[] = {1};
  *out_palette = depth == 1 ? (palette_t){kWhite, 1, 1}
                            : (palette_t){kColors[0], LEAT_ARRAY_SIZE(kColors), MAX_DEPTH};
  if (leat_kernel_input_count(c) < 3) return leat_ok_status();
  const leat_tensor_t* colors = leat_kernel_input(c, 2);
  int64_t width = leat_shape_dim(&colors->shape, 1);
  if (width < depth) {
    return leat_kernel_invalid(c, "colors has shape %s, must have at least %lld channels",
                               LEAT_SHAPE_TEXT(&colors->shape), (long long)depth);
  }
  if (colors->shape.element_count) {
    *out_palette = (palette_t){colors->data, leat_shape_dim(&colors->shape, 0), width};
  }
  return leat_ok_status();
}

// An image without rows or columns has no last one in which a box could end. TensorFlow refuses a
// box that touches such an image by its arithmetic, and accepts one that does not.
static leat_status_t check_flat(const leat_kernel_context_t* c, const int64_t* dims,
                                const leat_tensor_t* boxes) {
  if (dims[1] > 0 && dims[2] > 0) return leat_ok_status();
  for (int64_t i = 0; i < boxes->shape.element_count / 4; ++i) {
    const float* box = leat_tensor_data(boxes, const float) + 4 * i;
    span_t rows = {place_of(box[0], dims[1]), place_of(box[2], dims[1])};
    span_t columns = {place_of(box[1], dims[2]), place_of(box[3], dims[2])};
    if (!touches(rows, dims[1]) || !touches(columns, dims[2])) continue;
    return leat_kernel_invalid(c, "images have %lld rows and %lld columns, must have some where a "
                               "box is drawn",
                               (long long)dims[1], (long long)dims[2]);
  }
  return leat_ok_status();
}

static leat_status_t draw__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *images = leat_kernel_input(c, 0), *boxes = leat_kernel_input(c, 1);
  const int64_t* dims = leat_shape_dims(&images->shape);
  int64_t depth = dims[3], box_count = leat_shape_dim(&boxes->shape, 1);
  size_t element = leat_dtype_size(images->dtype);
  palette_t palette;
  leat_tensor_t* output;
  if (depth != 1 && depth != 3 && depth != 4) {
    return leat_kernel_invalid(c, "images have %lld channels, must have 1, 3 or 4",
                               (long long)depth);
  }
  LEAT_RETURN_IF_ERROR(find_palette(c, depth, &palette));
  LEAT_RETURN_IF_ERROR(check_flat(c, dims, boxes));
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &images->shape, &output));
  if (output->data != images->data && images->shape.element_count) {
    memcpy(output->data, images->data, (size_t)images->shape.element_count * element);
  }
  canvas_t canvas = {
      .height = dims[1], .width = dims[2], .pixel_bytes = (int)(depth * (int64_t)element)};
  leat_step_pace_t pace = leat_step_pace_of(c);
  const double box_ns = 50 + 8.0 * (double)(canvas.height + canvas.width);
  for (int64_t i = 0; i < dims[0] * box_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, box_ns));
    int64_t color = i % box_count % palette.count;
    canvas.pixels = leat_tensor_data(output, char) +
                    i / box_count * canvas.height * canvas.width * canvas.pixel_bytes;
    set_color(&canvas, output->dtype, palette.colors + color * palette.width, depth);
    draw(&canvas, leat_tensor_data(boxes, const float) + 4 * i);
  }
  return leat_ok_status();
}

const leat_kernel_row_t leat_drawing_kernels_cpu[] = {
    {.op = "DrawBoundingBoxes", .device_type = "CPU", .compute = draw__cpu},
    {.op = "DrawBoundingBoxesV2", .device_type = "CPU", .compute = draw__cpu},
    LEAT_KERNEL_ROWS_END,
};
