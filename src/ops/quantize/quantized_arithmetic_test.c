// Arithmetic on quantised numbers. Ranges are chosen so that what the integers stand for can be
// read off: an 8-bit integer over [-1, 254] stands for itself less 1, and one over [0, 255] for
// itself. Products are then products of whole numbers, whose range says that a step is 1. What
// follows from no formula, but from the way in which TensorFlow rounds, is told at the case.
#include <math.h>

#include "op_harness/op_harness.h"

#define NUMBER(value) LEAT_SCALAR_ITEM(FLOAT, value)
#define RANGE(min, max) NUMBER(min), NUMBER(max)
#define LESS_ONE RANGE(-1, 254)
#define ITSELF RANGE(0, 255)
#define PRODUCTS RANGE(-2147483648., 2147483648.)
#define TO(attr, DTYPE) LEAT_CASE_TYPE(attr, DTYPE)

// The sum of products over the inputs less their zeros, as plain loops.
#define ROWS 7
#define COLUMNS 9
#define DEPTH 40
static void matmul_reference(const leat_reference_t* r) {
  for (int i = 0; i < ROWS * COLUMNS; ++i) {
    double sum = 0;
    for (int k = 0; k < DEPTH; ++k) {
      sum += (r->in[0][i / COLUMNS * DEPTH + k] - 1) * (r->in[1][k * COLUMNS + i % COLUMNS] - 1);
    }
    r->out[0][i] = sum;
  }
  r->out[1][0] = -2147483648.;
  r->out[2][0] = 2147483648.;
}

static const leat_op_case_t kCases[] = {
    {.op = "QuantizedMul",
     .name = "a vector",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 2), 0, 1, 2, 255),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(2), 3, 5), LESS_ONE, ITSELF},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(2, 2), -3, 0, 3, 1270), PRODUCTS}},
    {.op = "QuantizedMul",
     .name = "a vector before a matrix, behind a dimension of 1",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2), 3, 5),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 2), 0, 1, 2, 255), ITSELF,
                LESS_ONE},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(2, 2), -3, 0, 3, 1270), PRODUCTS}},
    {.op = "QuantizedMul",
     .name = "a column",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 1), 3, 5),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 2), 0, 1, 2, 255), ITSELF, ITSELF},
     .code = LEAT_UNIMPLEMENTED},
    {.op = "QuantizedMul",
     .name = "a range the wrong way round",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1), 3), LEAT_ITEMS(QUINT8, LEAT_DIMS(1), 5),
                RANGE(1, 0), ITSELF},
     .code = LEAT_INVALID_ARGUMENT},
    // The sums are over [-255, 255] times 2^14, so that 1 is 2^32 / (510 * 2^14) = 514.008 steps.
    {.op = "QuantizedAdd",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(3), 0, 1, 200),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(3), 0, 1, 100), ITSELF, ITSELF},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(3), 0, 2 * 514, 300 * 514),
                  RANGE(-4177920., 4177920.)}},
    // A single element is not rounded by steps: 200 is 102801.6 steps.
    {.op = "QuantizedAdd",
     .name = "a scalar",
     .inputs = {LEAT_SCALAR_ITEM(QUINT8, 200), LEAT_ITEMS(QUINT8, LEAT_DIMS(2), 0, 100), ITSELF,
                ITSELF},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(2), 102802, 102802 + 51400),
                  RANGE(-4177920., 4177920.)}},
    // The sums are over [-256, 256] times 2^17 here, so that 1 is 64 steps.
    {.op = "QuantizedBiasAdd",
     .attrs = {TO("out_type", QINT32)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 2), 0, 1, 2, 4),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(2), 0, 255), ITSELF, RANGE(-256, -1)},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(2, 2), -16384, 0, -16256, 192),
                  RANGE(-33554432., 33554432.)}},
    {.op = "QuantizedBiasAdd",
     .name = "a bias that is too short",
     .attrs = {TO("out_type", QINT32)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2), 0, 1), LEAT_ITEMS(QUINT8, LEAT_DIMS(1), 0),
                ITSELF, ITSELF},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "QuantizedMatMul",
     .name = "many rows",
     .inputs = {LEAT_RANDOM(QUINT8, LEAT_DIMS(ROWS, DEPTH), 0, 255),
                LEAT_RANDOM(QUINT8, LEAT_DIMS(DEPTH, COLUMNS), 0, 255), LESS_ONE, LESS_ONE},
     .reference = matmul_reference},
    {.op = "QuantizedMatMul",
     .name = "both transposed",
     .attrs = {LEAT_CASE_BOOL("transpose_a", true), LEAT_CASE_BOOL("transpose_b", true)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 1), 3, 4),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 2), 1, 2, 5, 6), LESS_ONE, ITSELF},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 2), 2 + 6, 10 + 18), PRODUCTS}},
    // 0 is the integer -100000, which is too far off for differences of 16 bits. The width of the
    // range in floats is 255.
    {.op = "QuantizedMatMul",
     .name = "a zero far away",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2), 1, 2),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 1), 1, 2), RANGE(100000, 100255),
                ITSELF},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 1), 100001 + 2 * 100002), PRODUCTS}},
    {.op = "QuantizedMatMul",
     .name = "sizes that do not match",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2), 1, 2),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2), 1, 2), ITSELF, ITSELF},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "QuantizedConv2D",
     .name = "the padding stands for 0",
     .attrs = {LEAT_CASE_STR("padding", "SAME"), LEAT_CASE_INTS("strides", 1, 1, 1, 1)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 2, 2, 1), 2, 3, 4, 5),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 2, 1, 1), 1, 10, 100, 200),
                LESS_ONE, ITSELF},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 2, 2, 1), 1 + 20 + 300 + 800, 2 + 400, 3 + 40, 4),
                  PRODUCTS}},
    // TensorFlow puts windows that lie apart into the middle of the input.
    {.op = "QuantizedConv2D",
     .name = "a stride larger than the filter",
     .attrs = {LEAT_CASE_STR("padding", "SAME"), LEAT_CASE_INTS("strides", 1, 3, 3, 1)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 1, 6, 1), 1, 2, 3, 4, 5, 6),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 1, 1, 2), 1, 2), ITSELF,
                ITSELF},
     .expected = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 1, 2, 2), 2, 4, 5, 10), PRODUCTS}},
    {.op = "QuantizedConv2D",
     .name = "dilated",
     .attrs = {LEAT_CASE_STR("padding", "SAME"), LEAT_CASE_INTS("strides", 1, 1, 1, 1),
               LEAT_CASE_INTS("dilations", 1, 2, 2, 1)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 1, 1, 1), 1),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 1, 1, 1), 1), ITSELF, ITSELF},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "QuantizedRelu",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(4), 0, 1, 2, 255), LESS_ONE},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(4), 1, 1, 2, 255), LESS_ONE}},
    {.op = "QuantizedRelu6",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(4), 0, 1, 7, 255), LESS_ONE},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(4), 1, 1, 7, 7), LESS_ONE}},
    {.op = "QuantizedMaxPool",
     .attrs = {LEAT_CASE_STR("padding", "SAME"), LEAT_CASE_INTS("ksize", 1, 2, 2, 1),
               LEAT_CASE_INTS("strides", 1, 2, 2, 1)},
     .inputs = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 3, 1), -5, -4, -3), RANGE(-1, 1)},
     .expected = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 2, 1), -4, -3), RANGE(-1, 1)}},
    {.op = "QuantizedAvgPool",
     .name = "fractions are cut off",
     .attrs = {LEAT_CASE_STR("padding", "VALID"), LEAT_CASE_INTS("ksize", 1, 1, 2, 1),
               LEAT_CASE_INTS("strides", 1, 1, 1, 1)},
     .inputs = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 3, 1), -5, -4, 7), RANGE(-1, 1)},
     .expected = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 2, 1), -4, 1), RANGE(-1, 1)}},
    {.op = "RequantizationRange",
     .name = "widened to 0",
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(2), 1 << 20, 1 << 24),
                RANGE(-2147483648., 2147483648.)},
     .expected = {RANGE(0, 16777216)}},
    {.op = "Requantize",
     .attrs = {TO("out_type", QUINT8)},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(4), -100, 0, 10, 300),
                RANGE(-2147483648., 2147483648.), LESS_ONE},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(4), 0, 1, 11, 255), LESS_ONE}},
    {.op = "Requantize",
     .name = "to a range above 0",
     .attrs = {TO("out_type", QUINT8)},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(1), 0), RANGE(-1, 1), RANGE(1, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    // The range is that of the greatest integer, 51 * 2^20 with a step of 2^-20.
    {.op = "QuantizeDownAndShrinkRange",
     .attrs = {TO("out_type", QUINT8)},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(3), 0, 51 << 20, 17 << 20), RANGE(-2048, 2048)},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(3), 0, 255, 85), RANGE(0, 51)}},
    {.op = "RequantizationRangePerChannel",
     .attrs = {LEAT_CASE_REAL("clip_value_max", 100)},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 1, 2, 2), -(1 << 30), 1 << 29, 1 << 28, 1 << 30),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), -8, -2), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 4, 6)},
     .expected = {RANGE(-4, 4)}},
    {.op = "RequantizePerChannel",
     .attrs = {TO("out_type", QINT8)},
     .inputs = {LEAT_ITEMS(QINT32, LEAT_DIMS(1, 1, 2, 2), -(1 << 30), 1 << 29, 1 << 28, 1 << 30),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), -254, -2), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 4, 508),
                RANGE(-127, 127)},
     .expected = {LEAT_ITEMS(QINT8, LEAT_DIMS(1, 1, 2, 2), -127, 127, 32, 127), RANGE(-127, 127)}},
    {.op = "QuantizedInstanceNorm",
     .attrs = {LEAT_CASE_BOOL("output_range_given", true), LEAT_CASE_REAL("given_y_min", -1),
               LEAT_CASE_REAL("given_y_max", 254), LEAT_CASE_REAL("variance_epsilon", 0)},
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 1, 2, 2), 10, 27, 20, 7), ITSELF},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(1, 1, 2, 2), 0, 2, 2, 0), RANGE(-1, 254)}},
    {.op = "QuantizedConcat",
     .attrs = {LEAT_CASE_INT("N", 2)},
     .inputs = {LEAT_SCALAR_ITEM(INT32, 1), LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 1), 1, 2),
                LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 2), 0, 2, 4, 255), NUMBER(-1), NUMBER(0),
                NUMBER(254),
                NUMBER(127.5)},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 3), 1, 1, 2, 2, 3, 129), RANGE(-1, 254)}},
    {.op = "QuantizedReshape",
     .inputs = {LEAT_ITEMS(QUINT8, LEAT_DIMS(2, 1), 1, 2), LEAT_ITEMS(INT32, LEAT_DIMS(1), -1),
                RANGE(-1, 1)},
     .expected = {LEAT_ITEMS(QUINT8, LEAT_DIMS(2), 1, 2), RANGE(-1, 1)}},
};

LEAT_OP_TEST_MAIN(kCases)
