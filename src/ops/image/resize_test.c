// Bilinear resizing of images whose rows are worked on in blocks and whose pixels are read in steps
// (resize_lines_cpu.c): each case is of a number of channels, a width or a type that takes another
// way. The reference is the formula itself, in float and in TensorFlow's order, so that results
// must be equal to the last bit. image_test.c has the conventions of where a pixel lies.
#include <math.h>

#include "base/checked.h"
#include "op_harness/op_harness.h"

#define SIZE(height, width) LEAT_ITEMS(INT32, LEAT_DIMS(2), height, width)
#define IMAGES(DTYPE, ...) LEAT_RANDOM(DTYPE, LEAT_DIMS(__VA_ARGS__), 0, 200)
#define CENTRES .attrs = {LEAT_CASE_BOOL("half_pixel_centers", true)}

typedef enum scaling_e { NONE, MULTIPLIED, DIVIDED } scaling_t;

// Where an output position lies in the input: between two pixels, nearer to the right one as
// |weight| grows.
typedef struct place_s {
  int64_t left, right;
  float weight;
} place_t;

static place_t place_of(int64_t i, int64_t from, int64_t to, bool centres) {
  const float scale = (float)from / (float)to;
  const float at = centres ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
  return (place_t){LEAT_MAX((int64_t)floorf(at), 0), LEAT_MIN((int64_t)ceilf(at), from - 1),
                   at - floorf(at)};
}

static void resize(const leat_reference_t* r, bool centres, scaling_t scaling) {
  const int64_t *from = leat_shape_dims(&r->inputs[0].shape);
  const int64_t *to = leat_shape_dims(&r->outputs[0].shape);
  const float factor = scaling ? (float)r->in[2][0] : 1;
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    const int64_t k = i % to[3], x = i / to[3] % to[2], y = i / to[3] / to[2] % to[1];
    const int64_t image = i / to[3] / to[2] / to[1];
    const place_t row = place_of(y, from[1], to[1], centres);
    const place_t column = place_of(x, from[2], to[2], centres);
    float lines[2];
    for (int n = 0; n < 2; ++n) {
      const int64_t line = (image * from[1] + (n ? row.right : row.left)) * from[2];
      float a = (float)r->in[0][(line + column.left) * from[3] + k];
      float b = (float)r->in[0][(line + column.right) * from[3] + k];
      if (scaling == MULTIPLIED) a *= factor, b *= factor;
      if (scaling == DIVIDED) a /= factor, b /= factor;
      lines[n] = a + (b - a) * column.weight;
    }
    r->out[0][i] = lines[0] + (lines[1] - lines[0]) * row.weight;
  }
}

static void plain(const leat_reference_t* r) { resize(r, false, NONE); }
static void centred(const leat_reference_t* r) { resize(r, true, NONE); }
static void multiplied(const leat_reference_t* r) { resize(r, true, MULTIPLIED); }
static void divided(const leat_reference_t* r) { resize(r, false, DIVIDED); }

#define PLAIN(text, DTYPE, height, width, ...)                                          \
  {.op = "ResizeBilinear", .name = text,                                                \
   .inputs = {IMAGES(DTYPE, __VA_ARGS__), SIZE(height, width)}, .reference = plain,     \
   .exact = true}
#define CENTRED(text, DTYPE, height, width, ...)                                        \
  {.op = "ResizeBilinear", .name = text, CENTRES,                                       \
   .inputs = {IMAGES(DTYPE, __VA_ARGS__), SIZE(height, width)}, .reference = centred,   \
   .exact = true}
#define SCALING(how) LEAT_CASE_STR("scaling", how)

static const leat_op_case_t kCases[] = {
    PLAIN("colours, smaller", UINT8, 7, 9, 2, 20, 31, 3),
    PLAIN("colours, larger", FLOAT, 29, 40, 2, 7, 9, 3),
    PLAIN("grey", UINT8, 11, 30, 3, 13, 17, 1),
    CENTRED("two channels", FLOAT, 11, 30, 1, 13, 17, 2),
    CENTRED("four channels", UINT8, 11, 30, 1, 13, 17, 4),
    CENTRED("five channels", FLOAT, 11, 5, 1, 13, 17, 5),
    CENTRED("fifteen channels", UINT8, 5, 12, 1, 4, 7, 15),
    CENTRED("sixteen channels", FLOAT, 5, 12, 2, 4, 7, 16),
    CENTRED("a pixel", UINT8, 3, 5, 2, 1, 1, 3),
    PLAIN("a wide input", UINT8, 3, 90, 1, 4, 2100, 3),
    CENTRED("a wide output", FLOAT, 3, 1200, 1, 4, 300, 3),
    PLAIN("pixels as long as a line", FLOAT, 3, 3, 1, 2, 2, 1024),
    CENTRED("pixels longer than a line, floats", FLOAT, 3, 3, 2, 2, 2, 1025),
    CENTRED("pixels longer than two lines, bytes", UINT8, 3, 4, 1, 2, 3, 2050),
    PLAIN("words", INT32, 5, 3, 1, 4, 4, 3),
    PLAIN("doubles", DOUBLE, 5, 3, 1, 4, 4, 3),
    {.op = "ResizeBilinear",
     .name = "a number that is none stays in its pixels",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 4, 1), 1, NAN, 3, INFINITY), SIZE(1, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 4, 1), 1, NAN, 3, NAN)}},
    {.op = "_ScaledResizeBilinear",
     .name = "bytes that are multiplied",
     .attrs = {SCALING("Mul"), LEAT_CASE_BOOL("half_pixel_centers", true)},
     .inputs = {IMAGES(UINT8, 2, 20, 31, 3), SIZE(7, 9), LEAT_SCALAR_ITEM(FLOAT, 1.0 / 255)},
     .reference = multiplied,
     .exact = true},
    {.op = "_ScaledResizeBilinear",
     .name = "bytes that are divided",
     .attrs = {SCALING("RealDiv")},
     .inputs = {IMAGES(UINT8, 1, 20, 31, 3), SIZE(30, 9), LEAT_SCALAR_ITEM(FLOAT, 255)},
     .reference = divided,
     .exact = true},
    {.op = "_ScaledResizeBilinear",
     .name = "floats of many channels that are multiplied",
     .attrs = {SCALING("Mul"), LEAT_CASE_BOOL("half_pixel_centers", true)},
     .inputs = {IMAGES(FLOAT, 1, 3, 2, 1030), SIZE(2, 3), LEAT_SCALAR_ITEM(FLOAT, 0.3)},
     .reference = multiplied,
     .exact = true},
    {.op = "_ScaledResizeBilinear",
     .name = "words that are divided",
     .attrs = {SCALING("RealDiv")},
     .inputs = {IMAGES(INT16, 1, 6, 7, 3), SIZE(4, 9), LEAT_SCALAR_ITEM(FLOAT, 7)},
     .reference = divided,
     .exact = true},
    {.op = "_ScaledResizeBilinear",
     .name = "a factor for each channel",
     .attrs = {SCALING("Mul")},
     .inputs = {IMAGES(UINT8, 1, 2, 2, 3), SIZE(1, 1), LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "rank 0"},
};

LEAT_OP_TEST_MAIN(kCases)
