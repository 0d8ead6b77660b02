// The uniform ops. Scales are powers of two or 1/10, so that the numbers can be read off: an
// integer stands for (integer - zero point) * scale. Dots and convolutions are checked against
// plain loops where the numbers are many.
#include <math.h>

#include "op_harness/op_harness.h"

#define NUMBER(value) LEAT_SCALAR_ITEM(FLOAT, value)
#define SCALE(scale, zero) LEAT_SCALAR_ITEM(FLOAT, scale), LEAT_SCALAR_ITEM(INT32, zero)
#define LIMITS(prefix, min, max)                       \
  LEAT_CASE_INT(prefix "quantization_min_val", min), \
      LEAT_CASE_INT(prefix "quantization_max_val", max)
#define BYTES(prefix) LIMITS(prefix, -128, 127)
#define WORDS(prefix) LIMITS(prefix, INT32_MIN, INT32_MAX)
#define AXIS(prefix, axis) LEAT_CASE_INT(prefix "quantization_axis", axis)
#define TO(DTYPE) LEAT_CASE_TYPE("Tout", DTYPE)

// The dot of many rows: scales 1/2 and 1/4 make 1/8, which is the scale of the output.
#define ROWS 6
#define DEPTH 37
#define COLUMNS 5
static void dot_reference(const leat_reference_t* r) {
  for (int i = 0; i < ROWS * COLUMNS; ++i) {
    double sum = 0;
    for (int k = 0; k < DEPTH; ++k) {
      sum += (r->in[0][i / COLUMNS * DEPTH + k] - 3) * (r->in[1][k * COLUMNS + i % COLUMNS] + 2);
    }
    r->out[0][i] = sum + 7;
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "UniformQuantize",
     .name = "halves go up, what is no number is the least",
     .attrs = {TO(QINT8), BYTES("")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(6), -0.75, -0.25, 0.25, 1, 1000, NAN), SCALE(0.5, 3)},
     .expected = {LEAT_ITEMS(QINT8, LEAT_DIMS(6), 2, 3, 4, 5, 127, -128)}},
    {.op = "UniformQuantize",
     .name = "a scale a column",
     .attrs = {TO(QINT32), AXIS("", 1), LIMITS("", -5, 5)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 1, -1, 100),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0.5, 1), LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 1)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(2, 2), 2, 2, -2, 5)}},
    {.op = "UniformQuantize",
     .name = "a scale that is missing",
     .attrs = {TO(QINT8), AXIS("", 0), BYTES("")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 1), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 0.5),
                LEAT_ITEMS(INT32, LEAT_DIMS(1), 0)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "UniformDequantize",
     .attrs = {TO(FLOAT), LIMITS("", 0, 255)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(3), 0, 3, 255), SCALE(0.5, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), -1.5, 0, 126)}},
    {.op = "UniformDequantize",
     .name = "a scale of 0",
     .attrs = {TO(FLOAT), LIMITS("", 0, 255)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1), 3), SCALE(0, 3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "must be all positive"},
    {.op = "UniformRequantize",
     .name = "an infinite scale",
     .attrs = {TO(QINT8), WORDS("input_"), BYTES("output_")},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(1), 1), SCALE(INFINITY, 0), SCALE(1, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "is inf, must be positive and finite"},
    {.op = "UniformRequantize",
     .name = "halves go up",
     .attrs = {TO(QINT8), WORDS("input_"), BYTES("output_")},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(4), -1, 3, 5, 100000), SCALE(0.5, 0), SCALE(1, -2)},
     .expected = {LEAT_ITEMS(QINT8, LEAT_DIMS(4), -2, 0, 1, 127)}},
    {.op = "UniformRequantize",
     .name = "two axes",
     .attrs = {TO(QINT8), WORDS("input_"), BYTES("output_"), AXIS("input_", 0), AXIS("output_", 1)},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 1), 1), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(1), 0), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(1), 0)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "UniformRequantize",
     .name = "a scale of 0",
     .attrs = {TO(QINT8), WORDS("input_"), BYTES("output_")},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(1), 1), SCALE(0, 0), SCALE(1, 0)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "UniformQuantizedAdd",
     .name = "a row, scales a column",
     .attrs = {WORDS("lhs_"), WORDS("rhs_"), LIMITS("output_", -100, 100), AXIS("lhs_", 1),
               AXIS("rhs_", 0), AXIS("output_", 1)},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(2, 2), 0, 1, 10, 1000),
                LEAT_ITEMS(QINT32, LEAT_DIMS(2), 4, 5), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 1), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0.5, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 0), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0.5, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 3, -1)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(2, 2), 7, 4, 27, 100)}},
    {.op = "UniformQuantizedClipByValue",
     .attrs = {WORDS("")},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(3), -9, 1, 9), LEAT_SCALAR_ITEM(QINT32, -2),
                LEAT_SCALAR_ITEM(QINT32, 5), SCALE(1, 0)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(3), -2, 1, 5)}},
    {.op = "UniformQuantizedDot",
     .attrs = {TO(QINT32), BYTES("lhs_"), BYTES("rhs_"), WORDS("output_")},
     .inputs = {LEAT_RANDOM(QINT8, LEAT_DIMS(ROWS, DEPTH), -128, 127),
                LEAT_RANDOM(QINT8, LEAT_DIMS(DEPTH, COLUMNS), -128, 127), SCALE(0.5, 3),
                SCALE(0.25, -2), SCALE(0.125, 7)},
     .reference = dot_reference},
    {.op = "UniformQuantizedDot",
     .name = "scales a column, limited",
     .attrs = {TO(QINT32), BYTES("lhs_"), BYTES("rhs_"), LIMITS("output_", -100, 20),
               AXIS("rhs_", 1)},
     .inputs = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 2), 1, 2),
                LEAT_ITEMS(QINT8, LEAT_DIMS(2, 2), 1, 2, 3, 4),
                SCALE(1, 0), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 2, 4),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 1), SCALE(1, 0)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 2), 14, 20)}},
    // The largest number of a row is 127 steps above the zero point, so that both rows are exact.
    {.op = "UniformQuantizedDotHybrid",
     .attrs = {TO(FLOAT), BYTES("rhs_")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 0, 255, -5.1f, 0),
                LEAT_ITEMS(QINT8, LEAT_DIMS(2, 1), 3, 5), SCALE(0.5, 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 510, -5.1f)}},
    {.op = "UniformQuantizedConvolution",
     .name = "groups, a stride, the padding stands for 0",
     .attrs = {TO(QINT32), BYTES("lhs_"), BYTES("rhs_"), WORDS("output_"),
               LEAT_CASE_STR("padding", "SAME"), LEAT_CASE_INTS("window_strides", 2),
               LEAT_CASE_INT("feature_group_count", 2)},
     .inputs = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 2, 3), 1, 2, 3, 4, 5, 6),
                LEAT_ITEMS(QINT8, LEAT_DIMS(2, 1, 3), 1, 10, 100, 1, 2, 3), SCALE(1, 1),
                SCALE(1, 0),
                SCALE(1, 0)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 2, 2), 100, 21, 18, 14)}},
    {.op = "UniformQuantizedConvolution",
     .name = "dilated",
     .attrs = {TO(QINT32), BYTES("lhs_"), BYTES("rhs_"), WORDS("output_"),
               LEAT_CASE_STR("padding", "EXPLICIT"), LEAT_CASE_INTS("explicit_padding", 0, 1),
               LEAT_CASE_INTS("lhs_dilation", 2), LEAT_CASE_INTS("rhs_dilation", 3)},
     .inputs = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 3), 1, 2, 3),
                LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 2), 1, 10), SCALE(1, 0), SCALE(1, 0),
                SCALE(1, 0)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 1, 3), 1, 30, 2)}},
    // lhs and output are [batch, spatial, feature], rhs is [spatial, in, out].
    {.op = "UniformQuantizedConvolution",
     .name = "another order of dimensions",
     .attrs = {TO(QINT32), BYTES("lhs_"), BYTES("rhs_"), WORDS("output_"),
               LEAT_CASE_STR("padding", "VALID"),
               LEAT_CASE_STR("dimension_numbers", "\x10\x02\x1a\x01\x01\x20\x01\x28\x02\x32\x01\x00"
                                                  "\x40\x02\x4a\x01\x01")},
     .inputs = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 2, 2), 1, 2, 3, 4),
                LEAT_ITEMS(QINT8, LEAT_DIMS(1, 2, 1), 10, 1), SCALE(1, 0), SCALE(1, 0),
                SCALE(1, 0)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 2, 1), 12, 34)}},
    {.op = "UniformQuantizedConvolution",
     .name = "an order that is none",
     .attrs = {TO(QINT32), BYTES("lhs_"), BYTES("rhs_"), WORDS("output_"),
               LEAT_CASE_STR("padding", "VALID"),
               LEAT_CASE_STR("dimension_numbers", "\x1a\x05\x01")},
     .inputs = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 1), 1), LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 1), 1),
                SCALE(1, 0), SCALE(1, 0), SCALE(1, 0)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "UniformQuantizedConvolutionHybrid",
     .attrs = {TO(FLOAT), BYTES("rhs_"), LEAT_CASE_STR("padding", "VALID"),
               LEAT_CASE_INT("batch_group_count", 2)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 2), 0, 255, 51, 0),
                LEAT_ITEMS(QINT8, LEAT_DIMS(2, 1, 1), 3, 5), SCALE(0.5, 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2), 0, 255, 102, 0)}},
};

LEAT_OP_TEST_MAIN(kCases)
