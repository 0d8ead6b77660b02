// Ops on the colours of images, whose last dimension is red, green and blue:
//
//   AdjustContrastv2   images [..., height, width, channels], factor [] -> images
//   AdjustHue          images [..., height, width, 3], delta []         -> images
//   AdjustSaturation   images [..., height, width, 3], scale []         -> images
//   RGBToHSV, HSVToRGB images [..., 3]                                  -> images
//
// Colours in HSV are hue, a place in [0, 1) on the circle of colours, saturation and value. The
// kernels are in colors_cpu.c. Of these ops only RGBToHSV has a gradient, as in TensorFlow.
#include <string.h>

#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t adjusted_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, leat_inference_input(c, 0), 3));
  for (int i = 1; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  }
  return leat_shape_unchanged(c);
}

static leat_status_t converted_shape(leat_inference_t* c) {
  leat_partial_shape_t images = leat_inference_input(c, 0);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, images, 1));
  if (images.rank > 0) {
    int64_t dims[LEAT_SHAPE_MAX_RANK], *channels = &dims[images.rank - 1];
    memcpy(dims, images.dims, (size_t)images.rank * sizeof *dims);
    LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(*channels, 3, channels));
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, images.rank, dims, &images));
  }
  leat_inference_set_output(c, 0, images);
  return leat_ok_status();
}

// ---- The gradient of RGBToHSV -------------------------------------------------------------------

// Each member is a number for every pixel. |is_most| and |is_least| are 1 for the one channel that
// counts as the largest or smallest, and 0 for the others.
typedef struct pixels_s {
  leat_builder_t* b;
  leat_output_t channels[3];
  leat_output_t is_most[3], is_least[3];
  int dtype;
} pixels_t;

static leat_output_t times(const pixels_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "Mul", x, y);
}

static leat_output_t minus(const pixels_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "Sub", x, y);
}

static leat_output_t over(const pixels_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "DivNoNan", x, y);
}

static leat_output_t number(const pixels_t* p, double value) {
  return leat_build_scalar(p->b, p->dtype, value);
}

static leat_output_t as_number(const pixels_t* p, leat_output_t is_so) {
  return leat_build(p->b, "Cast", LEAT_INPUTS(is_so), LEAT_ATTRS(LEAT_TYPE("DstT", p->dtype)));
}

static leat_output_t is_positive(const pixels_t* p, leat_output_t x) {
  return as_number(p, leat_build_binary(p->b, "Greater", x, number(p, 0)));
}

// 1 where channel |i| compares so with both others, the later and the former one.
static leat_output_t both(const pixels_t* p, int i, const char* than_first, const char* than_last) {
  const int first = i == 0, last = i == 2 ? 1 : 2;
  const leat_output_t x = p->channels[i];
  return as_number(p, leat_build_binary(
      p->b, "LogicalAnd", leat_build_binary(p->b, than_first, x, p->channels[first]),
      leat_build_binary(p->b, than_last, x, p->channels[last])));
}

// Where channels are equal, the first of them counts as the largest and the last as the smallest.
static void rank_channels(pixels_t* p) {
  p->is_most[0] = both(p, 0, "GreaterEqual", "GreaterEqual");
  p->is_most[1] = both(p, 1, "Greater", "GreaterEqual");
  p->is_most[2] = both(p, 2, "Greater", "Greater");
  p->is_least[0] = both(p, 0, "Less", "Less");
  p->is_least[1] = both(p, 1, "LessEqual", "Less");
  p->is_least[2] = both(p, 2, "LessEqual", "LessEqual");
}

static void unpack(leat_builder_t* b, leat_output_t x, leat_output_t out_channels[3]) {
  int32_t node = leat_build_node(b, "Unpack", LEAT_INPUTS(x),
                                 LEAT_ATTRS(LEAT_INT("num", 3), LEAT_INT("axis", -1)));
  for (int i = 0; i < 3; ++i) out_channels[i] = leat_node_output(node, i);
}

// With the largest channel M, the smallest m and d = M - m:
//
//   value      V = M        dV/dc = [c is M]
//   saturation S = d / M    dS/dc = [c is M] m / M^2 - [c is m] / M    where c > 0, else 0
//   hue        H = (k + (x - y) / d) / 6, where k is 0, 2 or 4 and (x, y) are the two channels
//              that follow M on the circle of colours:
//              dH/dc = (([c is x] - [c is y]) / d - (x - y) / d^2 ([c is M] - [c is m])) / 6
//
// A quotient whose divisor is 0 is 0, and so is dH where M is not positive.
static leat_status_t to_hsv_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  pixels_t p = {.b = b};
  leat_output_t hsv[3], gradient[3], parts[3], image = leat_gradient_input(g, 0);
  p.dtype = leat_build_type_of(b, image);
  unpack(b, image, p.channels);
  unpack(b, leat_gradient_output(g, 0), hsv);
  unpack(b, leat_gradient_of_output(g, 0), gradient);
  rank_channels(&p);
  leat_output_t most = hsv[2], least = p.channels[0], turn = {0};
  for (int i = 1; i < 3; ++i) least = leat_build_binary(b, "Minimum", least, p.channels[i]);
  for (int i = 0; i < 3; ++i) {
    leat_output_t ahead = minus(&p, p.channels[(i + 1) % 3], p.channels[(i + 2) % 3]);
    leat_output_t part = times(&p, p.is_most[i], ahead);
    turn = i == 0 ? part : leat_build_binary(b, "AddV2", turn, part);
  }
  leat_output_t range = minus(&p, most, least);
  leat_output_t per_range = over(&p, number(&p, 1), range);
  leat_output_t turn_per_square = over(&p, turn, times(&p, range, range));
  leat_output_t least_per_square = over(&p, least, times(&p, most, most));
  leat_output_t per_most = over(&p, number(&p, 1), most);
  leat_output_t d_hue =
      times(&p, gradient[0], times(&p, is_positive(&p, most), number(&p, 1 / 6.0)));
  for (int i = 0; i < 3; ++i) {
    // The channel is x where the one before it is the largest, y where the one after it is.
    leat_output_t place = minus(&p, p.is_most[(i + 2) % 3], p.is_most[(i + 1) % 3]);
    leat_output_t end = minus(&p, p.is_most[i], p.is_least[i]);
    leat_output_t hue = minus(&p, times(&p, place, per_range), times(&p, turn_per_square, end));
    leat_output_t saturation = minus(&p, times(&p, p.is_most[i], least_per_square),
                                     times(&p, p.is_least[i], per_most));
    saturation = times(&p, is_positive(&p, p.channels[i]), saturation);
    leat_output_t sum = leat_build_binary(b, "AddV2", times(&p, d_hue, hue),
                                          times(&p, gradient[1], saturation));
    parts[i] = leat_build_binary(b, "AddV2", sum, times(&p, gradient[2], p.is_most[i]));
  }
  leat_gradient_set_input(g, 0, leat_build(b, "Pack", LEAT_INPUTS(parts[0], parts[1], parts[2]),
                                           LEAT_ATTRS(LEAT_INT("axis", -1))));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define ADJUSTS(op, input, text)                                      \
  {.name = op,                                                        \
   .inputs = "images: T; " input ": float",                           \
   .outputs = "output: T",                                            \
   .attrs = "T: {half, float} = DT_FLOAT",                            \
   .shape = adjusted_shape,                                           \
   .gradient = leat_gradient_none,                                    \
   .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 3), LEAT_RULE_SCALAR(1)), \
   .doc = text}
#define CONVERTS(op, gradient_function, text)                \
  {.name = op,                                               \
   .inputs = "images: T",                                    \
   .outputs = "output: T",                                   \
   .attrs = "T: {half, bfloat16, float, double} = DT_FLOAT", \
   .shape = converted_shape,                                 \
   .gradient = gradient_function,                            \
   .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 1)),    \
   .doc = text}

const leat_op_row_t leat_colors_ops[] = {
    ADJUSTS("AdjustContrastv2", "contrast_factor",
            "(pixel - mean) * factor + mean, where the mean is that of a channel of an image."),
    {.name = "AdjustContrast",
     .inputs = "images: T; contrast_factor: float; min_value: float; max_value: float",
     .outputs = "output: float",
     .attrs = "T: {uint8, int8, int16, int32, int64, float, double}",
     .shape = adjusted_shape,
     .contract = LEAT_RULES(LEAT_RULE_RANK_AT_LEAST(0, 3), LEAT_RULE_SCALAR(1),
                            LEAT_RULE_SCALAR(2), LEAT_RULE_SCALAR(3)),
     .deprecated_since = 2,
     .deprecation = "Use AdjustContrastv2 instead",
     .doc = "As AdjustContrastv2, with limits for the result."},
    ADJUSTS("AdjustHue", "delta", "Images whose hue is moved round the circle of colours."),
    ADJUSTS("AdjustSaturation", "scale", "Images whose saturation is scaled, up to 1."),
    CONVERTS("RGBToHSV", to_hsv_gradient, "Red, green and blue as hue, saturation and value."),
    CONVERTS("HSVToRGB", leat_gradient_none, "Hue, saturation and value as red, green and blue."),
    LEAT_OP_ROWS_END,
};
