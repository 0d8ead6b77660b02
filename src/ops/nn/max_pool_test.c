// Cases of the max pools and their gradients. The harness runs each case and compares it with the
// definition of a max pool, written here as loops over the window (find_maximum), in the types that
// the op has and with the gradient checked against finite differences. Further cases are what the
// definition leaves open and TensorFlow decides: windows with a NaN, equal items, and what is
// refused. Windows of one plane and 2 x 2 positions appear in many sizes, because they have loops
// of their own. Average pools are tested in avg_pool_test.c.
#include <float.h>
#include <math.h>

#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -4, 4)
#define WINDOW(k, s, p)                                                               \
  LEAT_CASE_INTS("ksize", 1, k, k, 1), LEAT_CASE_INTS("strides", 1, s, s, 1),         \
      LEAT_CASE_STR("padding", p)
#define WINDOW_3D(k, s, p)                                                            \
  LEAT_CASE_INTS("ksize", 1, k, k, k, 1), LEAT_CASE_INTS("strides", 1, s, s, s, 1),   \
      LEAT_CASE_STR("padding", p)
// One plane and 2 x 2 positions; |planes| and |s| are the strides.
#define PLANE_WINDOW(planes, s, p)                                                     \
  LEAT_CASE_INTS("ksize", 1, 1, 2, 2, 1), LEAT_CASE_INTS("strides", 1, planes, s, s, 1), \
      LEAT_CASE_STR("padding", p)
// A window of four positions in a row, which has no loops of its own.
#define ROW_WINDOW                                                                      \
  LEAT_CASE_INTS("ksize", 1, 1, 4, 1), LEAT_CASE_INTS("strides", 1, 1, 4, 1),           \
      LEAT_CASE_STR("padding", "VALID")
// A window of positions in channels.
#define CHANNEL_WINDOW(k, s)                                                    \
  LEAT_CASE_INTS("ksize", 1, 1, 1, k), LEAT_CASE_INTS("strides", 1, 1, 1, s),   \
      LEAT_CASE_STR("padding", "VALID")
// Four images of four positions, with a NaN at each position in turn.
#define NANS(...) \
  LEAT_ITEMS(FLOAT, LEAT_DIMS(__VA_ARGS__), NAN, 1, 2, 5, 1, NAN, 2, 5, 1, 2, NAN, 5, 1, 5, 2, NAN)
#define FOUR(...) LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 1, 1, 1), __VA_ARGS__)
#define POOLED LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED

// Where in the input the greatest item of window |i| of an output of shape |out| lies: the
// definition of a max pool, channels last. The first three attributes of the case are sizes and
// strides of the windows, which may differ from axis to axis, and the padding.
static int64_t find_maximum(const leat_reference_t* r, const leat_shape_t* out, int64_t i) {
  const leat_attr_t* attrs = r->op_case->attrs;
  const bool same = leat_string_view_equals(attrs[2].value.s, "SAME");
  const leat_shape_t* in = &r->inputs[0].shape;
  const int spatial = in->rank - 2;
  int64_t dims[3] = {1, 1, 1}, outs[3] = {1, 1, 1}, pads[3] = {0};
  int64_t size[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  for (int d = 0; d < spatial; ++d) {
    const int at = 3 - spatial + d;
    dims[at] = leat_shape_dim(in, 1 + d);
    outs[at] = leat_shape_dim(out, 1 + d);
    size[at] = attrs[0].value.ints[1 + d];
    stride[at] = attrs[1].value.ints[1 + d];
    const int64_t needed = (outs[at] - 1) * stride[at] + size[at] - dims[at];
    pads[at] = same && needed > 0 ? needed / 2 : 0;
  }
  const int64_t channels = leat_shape_dim(in, in->rank - 1);
  const int64_t positions = dims[0] * dims[1] * dims[2];
  const int64_t c = i % channels, p = i / channels;
  const int64_t place[] = {p / (outs[2] * outs[1]) % outs[0], p / outs[2] % outs[1], p % outs[2]};
  const int64_t image = p / (outs[2] * outs[1] * outs[0]);
  int64_t best = -1;
  for (int64_t k = 0; k < positions; ++k) {
    const int64_t at[] = {k / (dims[1] * dims[2]), k / dims[2] % dims[1], k % dims[2]};
    const int64_t item = (image * positions + k) * channels + c;
    bool inside = true;
    for (int d = 3 - spatial; d < 3; ++d) {
      const int64_t begin = place[d] * stride[d] - pads[d];
      inside &= at[d] >= begin && at[d] < begin + size[d];
    }
    if (inside && (best < 0 || r->in[0][item] > r->in[0][best])) best = item;
  }
  return best;
}

static void pool_reference(const leat_reference_t* r) {
  const leat_shape_t* out = &r->outputs[0].shape;
  for (int64_t i = 0; i < out->element_count; ++i) {
    r->out[0][i] = r->in[0][find_maximum(r, out, i)];
  }
}

// Input 2 is the gradient of the output: each of its items goes to the maximum of its window.
static void grad_reference(const leat_reference_t* r) {
  const leat_shape_t* out = &r->inputs[2].shape;
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) r->out[0][i] = 0;
  for (int64_t i = 0; i < out->element_count; ++i) {
    r->out[0][find_maximum(r, out, i)] += r->in[2][i];
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "MaxPool",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {X(2, 5, 4, 3)},
     .types = POOLED,
     .reference = pool_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MaxPool",
     .name = "padded, overlapping",
     .attrs = {WINDOW(3, 2, "SAME")},
     .inputs = {X(2, 6, 7, 5)},
     .reference = pool_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MaxPool",
     .name = "many channels",
     .attrs = {WINDOW(2, 2, "SAME")},
     .inputs = {X(1, 5, 5, 71)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = pool_reference},
    {.op = "MaxPool",
     .name = "large windows over many channels",
     .attrs = {WINDOW(3, 1, "SAME")},
     .inputs = {X(2, 4, 5, 133)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = pool_reference},
    {.op = "MaxPool",
     .name = "channels first",
     .attrs = {LEAT_CASE_INTS("ksize", 1, 1, 2, 2), LEAT_CASE_INTS("strides", 1, 1, 2, 2),
               LEAT_CASE_STR("padding", "VALID"), LEAT_CASE_STR("data_format", "NCHW")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 2), 1, 2, 3, 4, 8, 7, 6, 5)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1), 4, 8)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MaxPool",
     .name = "over channels",
     .attrs = {LEAT_CASE_INTS("ksize", 1, 1, 1, 2), LEAT_CASE_INTS("strides", 1, 1, 1, 2),
               LEAT_CASE_STR("padding", "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 4), 1, 2, 4, 3, 8, 7, 6, 5)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 2), 2, 4, 8, 6)}},
    {.op = "MaxPool",
     .name = "a window larger than the input",
     .attrs = {WINDOW(6, 1, "VALID")},
     .inputs = {X(1, 3, 3, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MaxPool",
     .name = "over the batch",
     .attrs = {LEAT_CASE_INTS("ksize", 2, 1, 1, 1), LEAT_CASE_INTS("strides", 1, 1, 1, 1),
               LEAT_CASE_STR("padding", "SAME")},
     .inputs = {X(2, 3, 3, 1)},
     .code = LEAT_UNIMPLEMENTED},
    {.op = "MaxPoolV2",
     .attrs = {LEAT_CASE_STR("padding", "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 1, 2, 3, 0),
                LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 2, 2, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 2, 2, 1)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1), 3)}},
    {.op = "MaxPoolGrad",
     .name = "the first of equals",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 3, 3, 3, 3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1), 3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1), 7)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 1), 7, 0, 0, 0)}},
    // TensorFlow's MaxPool looks past a NaN wherever it is. Its other ops take a NaN at the first
    // position of a window for the maximum, and look past all others.
    {.op = "MaxPool",
     .name = "NaN at each position",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {NANS(4, 2, 2, 1)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {FOUR(5, 5, 5, 5)}},
    {.op = "MaxPool",
     .name = "NaN at each position of a row",
     .attrs = {ROW_WINDOW},
     .inputs = {NANS(4, 1, 4, 1)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {FOUR(5, 5, 5, 5)}},
    {.op = "MaxPool",
     .name = "nothing but NaN and -infinity",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 2), NAN, -INFINITY, NAN, -INFINITY, NAN,
                           -INFINITY, NAN, -INFINITY)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 2), -FLT_MAX, -FLT_MAX)}},
    {.op = "MaxPool",
     .name = "nothing but NaN and -infinity in a row",
     .attrs = {ROW_WINDOW},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 4, 2), NAN, -INFINITY, NAN, -INFINITY, NAN,
                           -INFINITY, NAN, -INFINITY)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 2), -FLT_MAX, -FLT_MAX)}},
    {.op = "MaxPoolGrad",
     .name = "NaN at each position",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {NANS(4, 2, 2, 1), FOUR(5, 5, 5, 5), FOUR(10, 20, 30, 40)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 2, 2, 1), 10, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 30,
                             0, 40, 0, 0)}},
    {.op = "MaxPoolGrad",
     .name = "NaN at each position of a row",
     .attrs = {ROW_WINDOW},
     .inputs = {NANS(4, 1, 4, 1), FOUR(5, 5, 5, 5), FOUR(10, 20, 30, 40)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4, 1, 4, 1), 10, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 30,
                             0, 40, 0, 0)}},
    {.op = "MaxPoolWithArgmax",
     .name = "NaN at each position",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {NANS(4, 2, 2, 1)},
     .expected = {FOUR(NAN, 5, 5, 5), LEAT_ITEMS(INT64, LEAT_DIMS(4, 1, 1, 1), 0, 3, 3, 1)}},
    {.op = "MaxPoolGrad",
     .name = "of a shape that is not the output's",
     .attrs = {WINDOW(2, 2, "VALID")},
     .inputs = {X(1, 2, 2, 1), X(1, 1, 1, 1), X(1, 1, 2, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MaxPoolWithArgmax",
     .attrs = {WINDOW(2, 2, "SAME")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 2, 1), 1, 2, 3, 0, 5, 4, 3, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1, 1), 3, 5),
                  LEAT_ITEMS(INT64, LEAT_DIMS(2, 1, 1, 1), 2, 0)}},
    {.op = "MaxPoolWithArgmax",
     .name = "counts the batch",
     .attrs = {WINDOW(2, 2, "SAME"), LEAT_CASE_BOOL("include_batch_in_index", true),
               LEAT_CASE_TYPE("Targmax", INT32)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 2, 1), 1, 2, 3, 0, 5, 4, 3, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1, 1), 3, 5),
                  LEAT_ITEMS(INT32, LEAT_DIMS(2, 1, 1, 1), 2, 4)}},
    {.op = "MaxPoolWithArgmax",
     .name = "a window over channels that does not divide them",
     .attrs = {CHANNEL_WINDOW(2, 2)},
     .inputs = {X(1, 1, 1, 3)},
     .code = LEAT_UNIMPLEMENTED,
     .message = "evenly divide"},
    {.op = "MaxPoolGrad",
     .name = "a stride over channels",
     .attrs = {CHANNEL_WINDOW(1, 2)},
     .inputs = {X(1, 1, 1, 3), X(1, 1, 1, 3), X(1, 1, 1, 3)},
     .code = LEAT_UNIMPLEMENTED,
     .message = "the stride over channels is 2"},
    {.op = "MaxPoolGradWithArgmax",
     .name = "a place outside",
     .attrs = {WINDOW(2, 2, "SAME")},
     .inputs = {X(1, 2, 2, 1), X(1, 1, 1, 1), LEAT_ITEMS(INT64, LEAT_DIMS(1, 1, 1, 1), 4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MaxPool3D",
     .attrs = {WINDOW_3D(2, 2, "SAME")},
     .inputs = {X(2, 3, 4, 3, 2)},
     .reference = pool_reference},
    // Windows of one plane and 2 x 2 positions have loops of their own, in both directions.
    {.op = "MaxPool3D",
     .name = "windows of 1 x 2 x 2",
     .attrs = {PLANE_WINDOW(1, 2, "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 2, 1), 0, 1, 2, 3, 4, 5, 6, 7)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1, 1), 3, 7)}},
    {.op = "MaxPool3D",
     .name = "windows of 1 x 2 x 2, some of them cut",
     .attrs = {PLANE_WINDOW(1, 2, "SAME")},
     .inputs = {X(2, 3, 5, 4, 3)},
     .reference = pool_reference},
    {.op = "MaxPool3D",
     .name = "windows of 1 x 2 x 2, two planes apart",
     .attrs = {PLANE_WINDOW(2, 3, "VALID")},
     .inputs = {X(2, 5, 5, 8, 2)},
     .reference = pool_reference},
    {.op = "MaxPool3DGrad",
     .name = "windows of 1 x 2 x 2",
     .attrs = {PLANE_WINDOW(1, 2, "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 2, 1), 0, 1, 2, 3, 7, 6, 5, 4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1, 1), 3, 7),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 1, 1, 1), 10, 20)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2, 2, 2, 1), 0, 0, 0, 10, 20, 0, 0, 0)}},
    {.op = "MaxPool3DGrad",
     .name = "all of equal maxima get the gradient",
     .attrs = {PLANE_WINDOW(1, 2, "VALID")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 2, 1), 3, 1, 3, 3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1, 1), 10)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 2, 1), 10, 0, 10, 10)}},
    {.op = "MaxPool3DGrad",
     .name = "windows of 1 x 2 x 2, some of them cut",
     .attrs = {PLANE_WINDOW(1, 2, "SAME")},
     .inputs = {X(2, 3, 5, 4, 3), X(2, 3, 3, 2, 3), X(2, 3, 3, 2, 3)},
     .reference = grad_reference},
    {.op = "MaxPool3DGrad",
     .name = "windows of 1 x 2 x 2, two planes apart",
     .attrs = {PLANE_WINDOW(2, 3, "VALID")},
     .inputs = {X(2, 5, 5, 8, 2), X(2, 3, 2, 3, 2), X(2, 3, 2, 3, 2)},
     .reference = grad_reference},
    {.op = "MaxPool",
     .name = "28 x 28 x 32",
     .attrs = {WINDOW(2, 2, "SAME")},
     .inputs = {X(128, 28, 28, 32)},
     .reference = pool_reference,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
