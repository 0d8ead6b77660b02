// How bilinear resizing makes rows of its output, of pixels of any type, which may be scaled before
// they are mixed. Two lines of the output's width lie between input and output:
//
//   input row ─▶ floats ─▶ columns mixed: a line ─┐
//                                                 ├─▶ lines mixed: an output row
//   input row ─▶ floats ─▶ columns mixed: a line ─┘
//
// A row of the input is converted and its columns are mixed once for all neighbouring output rows
// that are made of it, and rows of which no output row is made are not read. What lies between
// input and output stays in the first-level cache: rows are worked on in blocks of columns. The
// order in which numbers are rounded is TensorFlow's: first along the columns, then along the rows.
#ifndef LEAT_OPS_IMAGE_RESIZE_LINES_CPU_H_
#define LEAT_OPS_IMAGE_RESIZE_LINES_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"

// The input positions that one output position is made of, along one dimension, with their weights.
#define LEAT_RESIZE_MAX_TAPS 4
typedef struct leat_tap_s {
  int64_t at[LEAT_RESIZE_MAX_TAPS];
  float weight[LEAT_RESIZE_MAX_TAPS];
} leat_tap_t;

// What happens to a pixel before it is mixed with others.
typedef enum leat_pixel_scaling_e {
  LEAT_PIXELS_AS_THEY_ARE,
  LEAT_PIXELS_MULTIPLIED,
  LEAT_PIXELS_DIVIDED,
} leat_pixel_scaling_t;

// A resizing of images [batch, height, width, channels] to [batch, to_height, to_width, channels].
typedef struct leat_resize_lines_s {
  const void* images;  // dense, of type |dtype|
  int dtype;           // one that leat_pixels_to_floats takes (pixels_cpu.h)
  leat_pixel_scaling_t scaling;
  float factor;  // by which pixels are multiplied or divided
  int64_t height, width, channels;
  int64_t to_height, to_width;
  const leat_tap_t *rows, *columns;  // two taps each, in rising order
  float* output;
} leat_resize_lines_t;

// Makes output rows [begin, end), counted over all images.
void leat_resize_lines(const leat_resize_lines_t* r, int64_t begin, int64_t end);

// ---- The loops of each instruction set ----------------------------------------------------------

// An output column: where the pixels begin in a line of floats of which it is made, and the weight
// of the right one.
typedef struct leat_resize_column_s {
  int32_t left, right;
  float weight;
} leat_resize_column_t;

// By how much mix_columns may write beyond its last column.
#define LEAT_RESIZE_SLACK 3

typedef struct leat_resize_loops_s {
  // Converts and scales |n| bytes.
  void (*scale_bytes)(const uint8_t* from, int64_t n, leat_pixel_scaling_t scaling, float factor,
                      float* to);
  // Scales |n| floats in their place.
  void (*scale_floats)(int64_t n, leat_pixel_scaling_t scaling, float factor, float* inout);
  // Mixes the |size| floats of |line| into |count| columns, and writes up to LEAT_RESIZE_SLACK
  // floats behind them, which is no part of |line|.
  void (*mix_columns)(const float* line, int64_t size, const leat_resize_column_t* columns,
                      int64_t count, int64_t channels, float* to);
  // Mixes two lines of |n| floats.
  void (*mix_lines)(const float* top, const float* bottom, float bottom_weight, int64_t n,
                    float* to);
} leat_resize_loops_t;
LEAT_ISA_DECLARE(leat_resize_loops_t, leat_resize_loops);

#endif  // LEAT_OPS_IMAGE_RESIZE_LINES_CPU_H_
