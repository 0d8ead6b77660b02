// Three-dimensional convolutions, and Conv, which does two and three dimensions by its attributes.
// The reference covers stride 1 with padding, position by position; strides and dilations have
// small expected results that were added up by hand. One case has sizes that fill no block of the
// matrix product into which the kernels turn a convolution. The gradients are checked by
// differences, and the backward ops by values. An image without its fifth dimension is refused.
#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -1, 1)

// Stride 1, SAME, channels last: [batch, planes, rows, columns, channels].
static void forward_reference(const leat_reference_t* r) {
  const int64_t* in = leat_shape_dims(&r->inputs[0].shape);
  const int64_t* f = leat_shape_dims(&r->inputs[1].shape);
  const int64_t* out = leat_shape_dims(&r->outputs[0].shape);
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    const int64_t o = i % out[4], x = i / out[4] % out[3], y = i / (out[4] * out[3]) % out[2];
    const int64_t z = i / (out[4] * out[3] * out[2]) % out[1];
    const int64_t b = i / (out[4] * out[3] * out[2] * out[1]);
    r->out[0][i] = 0;
    for (int64_t k = 0; k < f[0] * f[1] * f[2] * f[3]; ++k) {
      const int64_t plane = z + k / (f[3] * f[2] * f[1]) - (f[0] - 1) / 2;
      const int64_t row = y + k / (f[3] * f[2]) % f[1] - (f[1] - 1) / 2;
      const int64_t column = x + k / f[3] % f[2] - (f[2] - 1) / 2;
      if (plane < 0 || plane >= in[1] || row < 0 || row >= in[2]) continue;
      if (column < 0 || column >= in[3]) continue;
      const int64_t at = ((b * in[1] + plane) * in[2] + row) * in[3] + column;
      r->out[0][i] += r->in[0][at * in[4] + k % f[3]] * r->in[1][k * f[4] + o];
    }
  }
}
#define SAME LEAT_CASE_INTS("strides", 1, 1, 1, 1, 1), LEAT_CASE_STR("padding", "SAME")
#define VALID LEAT_CASE_INTS("strides", 1, 1, 1, 1, 1), LEAT_CASE_STR("padding", "VALID")

static const leat_op_case_t kCases[] = {
    {.op = "Conv3D",
     .attrs = {SAME},
     .inputs = {X(1, 3, 3, 4, 2), X(2, 3, 1, 2, 3)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = forward_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv3D",
     .name = "blocks and their rests",
     .attrs = {SAME},
     .inputs = {X(2, 4, 5, 6, 7), X(3, 3, 3, 7, 19)},
     .reference = forward_reference,
     .tolerance = 1e-4},
    {.op = "Conv3D",
     .name = "strides",
     .attrs = {LEAT_CASE_INTS("strides", 1, 2, 1, 2, 1), LEAT_CASE_STR("padding", "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 1, 3, 1), 1, 2, 3, 4, 5, 6, 7, 8, 9),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 2, 1), 2, 6, 14, 18)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv3D",
     .name = "dilations",
     .attrs = {VALID, LEAT_CASE_INTS("dilations", 1, 2, 1, 1, 1)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 3, 1, 1, 1), 1, 2, 3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1, 1, 1), 1, 10)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 31)},
     .gradient = LEAT_GRADIENT_ONCE},
    {.op = "Conv3D",
     .name = "channels that do not fit",
     .attrs = {SAME},
     .inputs = {X(1, 3, 3, 4, 3), X(2, 3, 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Conv3D",
     .name = "an image",
     .attrs = {SAME},
     .inputs = {X(3, 3, 4, 3), X(2, 3, 1, 2, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Conv3DBackpropFilterV2",
     .attrs = {VALID},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1, 1), 1, 2),
                LEAT_ITEMS(INT32, LEAT_DIMS(5), 2, 1, 1, 1, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1, 1, 1), 3, 6)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "Conv3DBackpropInputV2",
     .attrs = {VALID},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(5), 1, 2, 1, 1, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1, 1, 1), 1, 2),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1, 1), 3, 6)}},
    {.op = "Conv",
     .attrs = {LEAT_CASE_INTS("strides", 1, 1, 1, 1), LEAT_CASE_STR("padding", "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 1), 1, 2),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1), 3, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1), 11)}},
    {.op = "Conv3D",
     .name = "16 x 16 x 16",
     .attrs = {SAME},
     .inputs = {X(2, 16, 16, 16, 16), X(3, 3, 3, 16, 32)},
     .reference = forward_reference,
     .tolerance = 1e-3,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
