// FusedBatchNorm has two modes with different inputs: training computes mean and variance over the
// batch and takes empty tensors in their place, inference takes both as given. The references are
// the textbook formulas in double. The variance that comes out for the running average is
// multiplied by n / (n - 1), as TensorFlow does, while the normalization divides by n. Channel
// counts of 67 leave a rest behind every vector width. A mean that is missing in inference or a
// scale of another length is refused. _FusedBatchNormEx is both modes with a Relu behind them, and
// perhaps a tensor that is added before it; TensorFlow's CPU kernel has no such tensor, so that the
// reference is the formula here too.
#include <math.h>

#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define POSITIVE(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), 0.5, 2)
#define NONE LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))
#define EPSILON 1e-3

static double epsilon_of(const leat_reference_t* r) {
  const leat_attr_t* attr = &r->op_case->attrs[0];
  return leat_string_view_equals(attr->name, "epsilon") ? (double)attr->value.f : 1e-4;
}

// Channels last. Inputs x, scale, offset (, mean, variance).
static void training_reference(const leat_reference_t* r) {
  const leat_shape_t* shape = &r->inputs[0].shape;
  const int64_t channels = leat_shape_dim(shape, shape->rank - 1);
  const int64_t rows = shape->element_count / channels;
  for (int64_t c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < rows; ++i) mean += r->in[0][i * channels + c] / (double)rows;
    for (int64_t i = 0; i < rows; ++i) {
      variance += pow(r->in[0][i * channels + c] - mean, 2) / (double)rows;
    }
    const double factor = r->in[1][c] / sqrt(variance + epsilon_of(r));
    for (int64_t i = c; i < rows * channels; i += channels) {
      r->out[0][i] = (r->in[0][i] - mean) * factor + r->in[2][c];
    }
    r->out[1][c] = r->out[3][c] = mean;
    r->out[2][c] = variance * (double)rows / (double)(rows - 1);
    r->out[4][c] = variance;
  }
}

static void inference_reference(const leat_reference_t* r) {
  const leat_shape_t* shape = &r->inputs[0].shape;
  const int64_t channels = leat_shape_dim(shape, shape->rank - 1);
  for (int64_t i = 0; i < shape->element_count; ++i) {
    const int64_t c = i % channels;
    const double factor = r->in[1][c] / sqrt(r->in[4][c] + epsilon_of(r));
    r->out[0][i] = (r->in[0][i] - r->in[3][c]) * factor + r->in[2][c];
  }
  for (int64_t c = 0; c < channels; ++c) {
    r->out[1][c] = r->out[3][c] = r->in[3][c];
    r->out[2][c] = r->out[4][c] = r->in[4][c];
  }
}

// Inputs x, scale, offset, mean, variance, and perhaps the side input.
static void activate(const leat_reference_t* r) {
  for (int64_t i = 0; i < r->inputs[0].shape.element_count; ++i) {
    const double side = r->input_count > 5 ? r->in[5][i] : 0;
    r->out[0][i] = fmax(r->out[0][i] + side, 0);
  }
  r->out[5][0] = 0;
}
static void activated_training_reference(const leat_reference_t* r) {
  training_reference(r);
  activate(r);
}
static void activated_inference_reference(const leat_reference_t* r) {
  inference_reference(r);
  activate(r);
}
static void extended_inference_reference(const leat_reference_t* r) {
  inference_reference(r);
  r->out[5][0] = 0;
}

#define FROZEN LEAT_CASE_REAL("epsilon", EPSILON), LEAT_CASE_BOOL("is_training", false)
#define RELU LEAT_CASE_STR("activation_mode", "Relu")
#define WRONG(title, text, given, ...)                                                   \
  {.op = "_FusedBatchNormEx", .name = title, .code = LEAT_INVALID_ARGUMENT,              \
   .message = text, .attrs = given, .inputs = {X(2, 3, 4, 8), POSITIVE(8), X(8), X(8),   \
                                               POSITIVE(8), __VA_ARGS__}}
#define ATTRS(...) {FROZEN, __VA_ARGS__}

static const leat_op_case_t kCases[] = {
    {.op = "FusedBatchNorm",
     .inputs = {X(2, 3, 4, 5), POSITIVE(5), X(5), NONE, NONE},
     .reference = training_reference,
     .tolerance = 1e-4},
    {.op = "FusedBatchNormV2",
     .name = "rows that fill vectors",
     .attrs = {LEAT_CASE_REAL("epsilon", EPSILON)},
     .inputs = {X(3, 6, 6, 67), POSITIVE(67), X(67), NONE, NONE},
     .reference = training_reference,
     .tolerance = 1e-4},
    {.op = "FusedBatchNorm",
     .name = "inference",
     .attrs = {LEAT_CASE_REAL("epsilon", EPSILON), LEAT_CASE_BOOL("is_training", false)},
     .inputs = {X(2, 3, 4, 5), POSITIVE(5), X(5), X(5), POSITIVE(5)},
     .reference = inference_reference,
     .tolerance = 1e-4},
    {.op = "FusedBatchNorm",
     .name = "a scale too long",
     .inputs = {X(2, 3, 4, 5), POSITIVE(6), X(5), NONE, NONE},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FusedBatchNorm",
     .name = "inference without a mean",
     .attrs = {LEAT_CASE_REAL("epsilon", EPSILON), LEAT_CASE_BOOL("is_training", false)},
     .inputs = {X(2, 3, 4, 5), POSITIVE(5), X(5), NONE, NONE},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "FusedBatchNorm",
     .name = "a matrix",
     .inputs = {X(4, 5), POSITIVE(5), X(5), NONE, NONE},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "_FusedBatchNormEx",
     .attrs = {FROZEN},
     .inputs = {X(2, 3, 4, 8), POSITIVE(8), X(8), X(8), POSITIVE(8)},
     .reference = extended_inference_reference,
     .tolerance = 1e-4},
    {.op = "_FusedBatchNormEx",
     .name = "Relu in inference",
     .attrs = {FROZEN, RELU},
     .inputs = {X(5, 13, 14, 68), POSITIVE(68), X(68), X(68), POSITIVE(68)},
     .reference = activated_inference_reference,
     .tolerance = 1e-4},
    {.op = "_FusedBatchNormEx",
     .name = "side input and Relu in inference",
     .attrs = {FROZEN, RELU},
     .inputs = {X(5, 13, 14, 68), POSITIVE(68), X(68), X(68), POSITIVE(68), X(5, 13, 14, 68)},
     .reference = activated_inference_reference,
     .tolerance = 1e-4},
    {.op = "_FusedBatchNormEx",
     .name = "side input and Relu in training",
     .attrs = {LEAT_CASE_REAL("epsilon", EPSILON), RELU},
     .inputs = {X(2, 3, 4, 8), POSITIVE(8), X(8), NONE, NONE, X(2, 3, 4, 8)},
     .reference = activated_training_reference,
     .tolerance = 1e-4},
    // Two images of one row and column, channels first: (x - mean) 2 + offset + side input.
    {.op = "_FusedBatchNormEx",
     .name = "channels first",
     .attrs = {LEAT_CASE_REAL("epsilon", 0), LEAT_CASE_BOOL("is_training", false), RELU,
               LEAT_CASE_STR("data_format", "NCHW")},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 4, 1, 2), 1, 2, 3, 4, 5, 6, 7, 8),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 2, 2, 4, 4), LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 0, 1,
                2, -90), LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 0, 0, 0),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 1, 4, 4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 4, 1, 2), 10, 20, 30, 40, 50, 60, 70, 80)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 4, 1, 2), 10, 22, 37, 49, 62, 74, 0, 6),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 0, 0, 0),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 1, 4, 4),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 0, 0, 0),
                  LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 1, 1, 4, 4), LEAT_SCALAR_ITEM(FLOAT, 0)}},
    WRONG("an activation that is none", "Unsupported activation mode: Elu",
          ATTRS(LEAT_CASE_STR("activation_mode", "Elu")), {0}),
    WRONG("two side inputs", "num_side_inputs is 2, must be at most 1", ATTRS(RELU),
          X(2, 3, 4, 8), X(2, 3, 4, 8)),
    WRONG("a side input that nothing activates", "num_side_inputs is 1",
          ATTRS(LEAT_CASE_STR("activation_mode", "Identity")), X(2, 3, 4, 8)),
    WRONG("a side input of another shape", "side_input is [2,3,4,1], must have the shape",
          ATTRS(RELU), X(2, 3, 4, 1)),
    {.op = "FusedBatchNormV3",
     .name = "28 x 28 x 32",
     .inputs = {X(64, 28, 28, 32), POSITIVE(32), X(32), NONE, NONE},
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
