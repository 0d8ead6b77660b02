// Three-dimensional convolutions, and Conv, which does two and three dimensions by its attributes.
// The reference covers stride 1 with padding, position by position; strides and dilations have
// small expected results that were added up by hand. One case has sizes that fill no block of the
// matrix product into which the kernels turn a convolution. The gradients are checked by
// differences, and the backward ops by values. An image without its fifth dimension is refused.
// _FusedConv3D gets filters of one tap, so that the list of ops behind the convolution can be
// computed in the head.
#include <math.h>

#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -1, 1)

// What the taps of the filter give for output |i|: stride 1, SAME, channels last, [batch, planes,
// rows, columns, channels], in groups of the filter's input channels.
static double sum_of_taps(const leat_reference_t* r, int64_t i) {
  const int64_t* in = leat_shape_dims(&r->inputs[0].shape);
  const int64_t* f = leat_shape_dims(&r->inputs[1].shape);
  const int64_t* out = leat_shape_dims(&r->outputs[0].shape);
  const int64_t o = i % out[4], x = i / out[4] % out[3], y = i / (out[4] * out[3]) % out[2];
  const int64_t z = i / (out[4] * out[3] * out[2]) % out[1];
  const int64_t b = i / (out[4] * out[3] * out[2] * out[1]);
  const int64_t first = o / (out[4] / (in[4] / f[3])) * f[3];  // channel of the group
  double sum = 0;
  for (int64_t k = 0; k < f[0] * f[1] * f[2] * f[3]; ++k) {
    const int64_t plane = z + k / (f[3] * f[2] * f[1]) - (f[0] - 1) / 2;
    const int64_t row = y + k / (f[3] * f[2]) % f[1] - (f[1] - 1) / 2;
    const int64_t column = x + k / f[3] % f[2] - (f[2] - 1) / 2;
    if (plane < 0 || plane >= in[1] || row < 0 || row >= in[2]) continue;
    if (column < 0 || column >= in[3]) continue;
    const int64_t at = ((b * in[1] + plane) * in[2] + row) * in[3] + column;
    sum += r->in[0][at * in[4] + first + k % f[3]] * r->in[1][k * f[4] + o];
  }
  return sum;
}
static void forward_reference(const leat_reference_t* r) {
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) r->out[0][i] = sum_of_taps(r, i);
}
// With a bias, a tensor that is added, and a Relu.
static void fused_reference(const leat_reference_t* r) {
  const int64_t channels = r->inputs[2].shape.element_count;
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    r->out[0][i] = fmax(sum_of_taps(r, i) + r->in[2][i % channels] + r->in[3][i], 0);
  }
}
#define SAME LEAT_CASE_INTS("strides", 1, 1, 1, 1, 1), LEAT_CASE_STR("padding", "SAME")
#define VALID LEAT_CASE_INTS("strides", 1, 1, 1, 1, 1), LEAT_CASE_STR("padding", "VALID")

#define S(literal) {literal, sizeof(literal) - 1}
#define ONES LEAT_CASE_INTS("strides", 1, 1, 1, 1, 1)
#define OPS(count, ...)                                                                       \
  LEAT_CASE_INT("num_args", count),                                                           \
      LEAT_CASE_LIST_("fused_ops", LEAT_ATTR_STRING, leat_string_view_t, strings, __VA_ARGS__)
#define CHANNEL(value) LEAT_ITEMS(FLOAT, LEAT_DIMS(1), value)
#define CUBE(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1, 1), __VA_ARGS__)
// A filter of one tap: y = 2 x, then the list.
#define FUSED(title, ops, result, ...)                                                        \
  {.op = "_FusedConv3D", .name = title, .attrs = {SAME, ops},                                 \
   .inputs = {CUBE(1, -3, 2, -5), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 2), __VA_ARGS__}, \
   .expected = {result}}
#define ATTRS(...) {SAME, __VA_ARGS__}
#define WRONG(title, status, text, given, ...)                                                 \
  {.op = "_FusedConv3D", .name = title, .code = LEAT_##status, .message = text, .attrs = given, \
   .inputs = {X(1, 2, 2, 1, 1), X(1, 1, 1, 1, 1), __VA_ARGS__}}

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
    {.op = "Conv",
     .name = "integers",
     .attrs = {LEAT_CASE_INTS("strides", 1, 1, 1, 1, 1), LEAT_CASE_STR("padding", "SAME")},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 2, 1, 1, 2), 1, 2, 3, 2147483647),
                LEAT_ITEMS(INT32, LEAT_DIMS(2, 1, 1, 2, 1), 5, 6, 7, 8)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 2, 1, 1, 1), 30, 9)}},
    FUSED("BiasAdd", OPS(1, S("BiasAdd")), CUBE(7, -1, 9, -5), CHANNEL(5)),
    FUSED("BiasAdd, Relu", OPS(1, S("BiasAdd"), S("Relu")), CUBE(7, 0, 9, 0), CHANNEL(5)),
    FUSED("BiasAdd, LeakyRelu",
          OPS(1, S("BiasAdd"), S("LeakyRelu")), CUBE(7, (double)-0.2f, 9, -1), CHANNEL(5)),
    FUSED("BiasAdd, Add, Relu6", OPS(2, S("BiasAdd"), S("Add"), S("Relu6")), CUBE(6, 0, 6, 5),
          CHANNEL(5), CUBE(1, -20, 2, 10)),
    {.op = "_FusedConv3D",
     .name = "channels first",
     .attrs = {ONES, LEAT_CASE_STR("padding", "VALID"), LEAT_CASE_STR("data_format", "NCDHW"),
               OPS(2, S("BiasAdd"), S("Add"))},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1, 2), 1, 2, 10, 20),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 2, 2), 1, 2, 3, 4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 100, 200),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1, 2), 1000, 2000, 3000, 4000)},
     .types = LEAT_DTYPES_FLOATING & ~LEAT_DTYPE_BIT(DOUBLE),
     .tolerance = 1e-2,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1, 2), 1131, 2162, 3242, 4284)}},
    {.op = "_FusedConv3D",
     .name = "two groups and several shards",
     .attrs = {SAME, OPS(2, S("BiasAdd"), S("Add"), S("Relu"))},
     .inputs = {X(3, 8, 9, 10, 6), X(3, 3, 3, 3, 4), X(4), X(3, 8, 9, 10, 4)},
     .reference = fused_reference,
     .tolerance = 1e-4},
    {.op = "_FusedConv3D",
     .name = "a Pad and nothing else",
     .attrs = {ONES, LEAT_CASE_STR("padding", "VALID"),
               LEAT_CASE_INTS("padding_list", 0, 0, 1, 0, 0, 0, 0, 1, 0, 0),
               LEAT_CASE_INT("num_args", 0)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 2, 1), 0, 0, 6, 0)}},
    {.op = "_FusedConv3D",
     .name = "a bias where there is only padding",
     .attrs = {ONES, LEAT_CASE_STR("padding", "SAME"),
               LEAT_CASE_INTS("padding_list", 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
               OPS(1, S("BiasAdd"))},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0, 1, 2, 1)),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 2), CHANNEL(5)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 2, 1), 5, 5)}},
    WRONG("no list and no padding", INVALID_ARGUMENT, "fused_ops is []",
          ATTRS(LEAT_CASE_INT("num_args", 1)), CHANNEL(1)),
    WRONG("an op that is none", UNIMPLEMENTED, "fused_ops is [BiasAdd,Cos]",
          ATTRS(OPS(1, S("BiasAdd"), S("Cos"))), CHANNEL(1)),
    WRONG("an addend of other sizes", INVALID_ARGUMENT, "must have the shape [1,2,2,1,1]",
          ATTRS(OPS(2, S("BiasAdd"), S("Add"))), CHANNEL(1), X(1, 2, 1, 1, 1)),
    WRONG("a bias of another length", INVALID_ARGUMENT, "bias is [2], must be",
          ATTRS(OPS(1, S("BiasAdd"))), X(2)),
    WRONG("a list of paddings that is too short", INVALID_ARGUMENT,
          "padding_list has 2 values, must have 10",
          ATTRS(OPS(1, S("BiasAdd")), LEAT_CASE_INTS("padding_list", 1, 1)), CHANNEL(1)),
    WRONG("a padding of the batch", INVALID_ARGUMENT, "padding_list of the batch",
          ATTRS(OPS(1, S("BiasAdd")),
           LEAT_CASE_INTS("padding_list", 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)), CHANNEL(1)),
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
