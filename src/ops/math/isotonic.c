// IsotonicRegression: for each row (the last dimension), the sequence that never rises and has the
// least sum of squared distances from the row. It is constant on segments, and its value there is
// the mean of the row's numbers. The second output says in which segment each element lies.
//
//   input [..., n] -> output [..., n], segments [..., n]
//
// The gradient of a mean goes to each of its numbers in equal parts: it is the mean of the output's
// gradient over each segment. The kernel is in isotonic_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t isotonic_shape(leat_inference_t* c) {
  leat_inference_set_output(c, 1, leat_inference_input(c, 0));
  return leat_shape_unchanged(c);
}

// Numbers the segments of all rows through: the flat element i lies in row i / n, and each row has
// n numbers, whether it has as many segments or not.
static leat_output_t flat_segments(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t segments = leat_gradient_output(g, 1);
  leat_output_t last = leat_build_int32_vector(b, (const int32_t[]){-1}, 1);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  // A slice of the last size, which a scalar does not have: its product is 1 then.
  leat_output_t sizes = leat_build(
      b, "StridedSlice",
      LEAT_INPUTS(leat_build_shape_of(b, segments), last,
                  leat_build_int32_vector(b, (const int32_t[]){0}, 1),
                  leat_build_int32_vector(b, (const int32_t[]){1}, 1)),
      LEAT_ATTRS(LEAT_INT("end_mask", 1)));
  leat_output_t n = leat_build_binary(b, "Maximum", leat_build_binary(b, "Prod", sizes, zero), one);
  leat_output_t count = leat_build_unary(b, "Size", segments);
  leat_output_t places = leat_build(b, "Range", LEAT_INPUTS(zero, count, one), LEAT_NO_ATTRS);
  leat_output_t before =
      leat_build_binary(b, "Mul", leat_build_binary(b, "FloorDiv", places, n), n);
  return leat_build_binary(b, "AddV2", leat_build_binary(b, "Reshape", segments, last), before);
}

static leat_status_t isotonic_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_output_t segments = flat_segments(g);
  leat_output_t flat =
      leat_build_binary(b, "Reshape", dy, leat_build_int32_vector(b, (const int32_t[]){-1}, 1));
  leat_output_t means = leat_build_binary(b, "SegmentMean", flat, segments);
  leat_output_t spread =
      leat_build(b, "GatherV2",
                 LEAT_INPUTS(means, segments, leat_build_scalar(b, LEAT_DTYPE_INT32, 0)),
                 LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 0,
                          leat_build_binary(b, "Reshape", spread, leat_build_shape_of(b, dy)));
  return leat_ok_status();
}

const leat_op_row_t leat_isotonic_ops[] = {
    {.name = "IsotonicRegression",
     .inputs = "input: T",
     .outputs = "output: output_dtype; segments: int32",
     .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
              "uint32, uint64}; output_dtype: {half, bfloat16, float, double} = float",
     .shape = isotonic_shape,
     .gradient = isotonic_gradient,
     .doc = "Of each row, the nearest sequence that never rises, and its constant segments."},
    LEAT_OP_ROWS_END,
};
