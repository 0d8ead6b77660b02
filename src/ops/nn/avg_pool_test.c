// Average pools in two and three dimensions, with their gradients. The reference handles square
// windows with the channels last; the other layouts have results that were worked out by hand. What
// is easily wrong is the padding: padded positions are not counted in the average, so windows at
// the border divide by less than their size. Gradients with respect to the input are checked by
// differences in AvgPool's cases and by values in AvgPoolGrad's.
#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -4, 4)
#define WINDOW(k, s, p)                                                         \
  LEAT_CASE_INTS("ksize", 1, k, k, 1), LEAT_CASE_INTS("strides", 1, s, s, 1),   \
      LEAT_CASE_STR("padding", p)

// Channels last, square windows; from the attributes' first three.
static void pool_reference(const leat_reference_t* r) {
  const leat_attr_t* attrs = r->op_case->attrs;
  const int64_t size = attrs[0].value.ints[1], stride = attrs[1].value.ints[1];
  const bool same = leat_string_view_equals(attrs[2].value.s, "SAME");
  const int64_t* in = leat_shape_dims(&r->inputs[0].shape);
  const int64_t* out = leat_shape_dims(&r->outputs[0].shape);
  int64_t pads[2] = {0};
  for (int d = 0; d < 2; ++d) {
    const int64_t needed = (out[1 + d] - 1) * stride + size - in[1 + d];
    pads[d] = same && needed > 0 ? needed / 2 : 0;
  }
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    const int64_t c = i % in[3], x = i / in[3] % out[2], y = i / (in[3] * out[2]) % out[1];
    const int64_t image = i / (in[3] * out[2] * out[1]);
    double sum = 0;
    int64_t count = 0;
    for (int64_t k = 0; k < size * size; ++k) {
      const int64_t u = y * stride - pads[0] + k / size, v = x * stride - pads[1] + k % size;
      if (u < 0 || u >= in[1] || v < 0 || v >= in[2]) continue;
      sum += r->in[0][((image * in[1] + u) * in[2] + v) * in[3] + c];
      ++count;
    }
    r->out[0][i] = sum / (double)count;
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "AvgPool",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {X(2, 5, 4, 3)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = pool_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "AvgPool",
     .name = "padded, overlapping",
     .attrs = {WINDOW(3, 2, "SAME")},
     .inputs = {X(2, 6, 7, 37)},
     .reference = pool_reference},
    {.op = "AvgPool",
     .name = "padding does not count",
     .attrs = {WINDOW(3, 1, "SAME")},
     .inputs = {X(1, 3, 3, 1)},
     .reference = pool_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "AvgPool",
     .name = "channels first",
     .attrs = {LEAT_CASE_INTS("ksize", 1, 1, 2, 2), LEAT_CASE_INTS("strides", 1, 1, 2, 2),
               LEAT_CASE_STR("padding", "VALID"), LEAT_CASE_STR("data_format", "NCHW")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 2), 1, 2, 3, 4, 8, 7, 6, 5)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1), 2.5, 6.5)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "AvgPool",
     .name = "a window larger than the input",
     .attrs = {WINDOW(6, 1, "VALID")},
     .inputs = {X(1, 3, 3, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "AvgPoolGrad",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 2, 2, 1),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1), 8)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 2, 2, 2, 2)}},
    {.op = "AvgPoolGrad",
     .name = "of a shape that does not fit",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 2, 2, 1), X(1, 2, 2, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "AvgPool3D",
     .attrs = {LEAT_CASE_INTS("ksize", 1, 2, 1, 1, 1), LEAT_CASE_INTS("strides", 1, 2, 1, 1, 1),
               LEAT_CASE_STR("padding", "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 2, 1), 1, 2, 5, 8)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 2, 1), 3, 5)}},
    {.op = "AvgPool",
     .name = "28 x 28 x 32",
     .attrs = {WINDOW(2, 2, "SAME")},
     .inputs = {X(128, 28, 28, 32)},
     .reference = pool_reference,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
