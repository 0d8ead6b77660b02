// Cases of BiasAdd and its gradient.
#include "op_harness/op_harness.h"

static bool is_channels_first(const leat_reference_t* r) {
  const leat_attr_t* attr = &r->op_case->attrs[0];
  return leat_string_view_equals(attr->value.s, "NCHW");
}

// The channel of element |i| of |shape|.
static int64_t channel_of(const leat_shape_t* shape, bool first, int64_t i) {
  const int64_t channels = leat_shape_dim(shape, first ? 1 : shape->rank - 1);
  return first ? i / leat_shape_product(shape, 2, shape->rank) % channels : i % channels;
}

static void add_reference(const leat_reference_t* r) {
  const leat_shape_t* shape = &r->outputs[0].shape;
  for (int64_t i = 0; i < shape->element_count; ++i) {
    r->out[0][i] = r->in[0][i] + r->in[1][channel_of(shape, is_channels_first(r), i)];
  }
}

static void grad_reference(const leat_reference_t* r) {
  const leat_shape_t* shape = &r->inputs[0].shape;
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) r->out[0][i] = 0;
  for (int64_t i = 0; i < shape->element_count; ++i) {
    r->out[0][channel_of(shape, is_channels_first(r), i)] += r->in[0][i];
  }
}
#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -4, 4)
#define NCHW {LEAT_CASE_STR("data_format", "NCHW")}

static const leat_op_case_t kCases[] = {
    {.op = "BiasAdd",
     .inputs = {X(3, 5), X(5)},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED,
     .reference = add_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "BiasAdd",
     .name = "channels first",
     .attrs = NCHW,
     .inputs = {X(2, 3, 4, 5), X(3)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = add_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "BiasAdd", .name = "rows that fill vectors", .inputs = {X(70, 67), X(67)},
     .reference = add_reference},
    {.op = "BiasAdd", .name = "few channels", .inputs = {X(3, 50, 3), X(3)},
     .reference = add_reference},
    {.op = "BiasAdd",
     .name = "none",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), X(2)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2))}},
    {.op = "BiasAdd", .name = "a bias too long", .inputs = {X(3, 5), X(6)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "BiasAdd", .name = "a vector", .inputs = {X(5), X(5)}, .code = LEAT_INVALID_ARGUMENT},
    {.op = "BiasAddV1", .inputs = {X(3, 5), X(5)}, .reference = add_reference,
     .gradient = LEAT_GRADIENT_ONCE},
    {.op = "BiasAddGrad",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(6, 5), -2, 2)},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPES_SIGNED,
     .reference = grad_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "BiasAddGrad", .name = "channels first", .attrs = NCHW, .inputs = {X(2, 3, 4, 5)},
     .reference = grad_reference, .gradient = LEAT_GRADIENT_ONCE},
    {.op = "BiasAddGrad", .name = "many rows", .inputs = {X(3000, 17)},
     .reference = grad_reference, .tolerance = 1e-4},
    {.op = "BiasAddGrad",
     .name = "no rows",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2))},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0, 0)}},
    {.op = "BiasAdd", .name = "of images", .inputs = {X(128, 28, 28, 32), X(32)},
     .reference = add_reference, .bench = true, .bench_only = true},
    {.op = "BiasAddGrad", .name = "of images", .inputs = {X(128, 28, 28, 32)},
     .reference = grad_reference, .tolerance = 1e-3, .bench = true, .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
