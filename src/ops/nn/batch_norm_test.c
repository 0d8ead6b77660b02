// FusedBatchNorm has two modes with different inputs: training computes mean and variance over the
// batch and takes empty tensors in their place, inference takes both as given. The references are
// the textbook formulas in double. The variance that comes out for the running average is
// multiplied by n / (n - 1), as TensorFlow does, while the normalization divides by n. Channel
// counts of 67 leave a rest behind every vector width. A mean that is missing in inference or a
// scale of another length is refused.
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
    {.op = "FusedBatchNormV3",
     .name = "28 x 28 x 32",
     .inputs = {X(64, 28, 28, 32), POSITIVE(32), X(32), NONE, NONE},
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
