// _FusedConv2D and _FusedDepthwiseConv2dNative are convolutions that the optimizer joins with what
// follows them. The filter of most cases has one tap of weight 2, so that the result is 2 x and the
// list of ops behind it can be computed in the head. NaN, images of padding only and inputs without
// elements must still pass through the whole list. What a graph may say wrongly is refused with the
// name of what is wrong: a list that does not exist, arguments that are too many, a bias of another
// type or length. tests/session/fused_products_test.c compares every list of ops with the ops
// themselves.
#include <math.h>

#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define S(literal) {literal, sizeof(literal) - 1}
#define ONES LEAT_CASE_INTS("strides", 1, 1, 1, 1)
#define SAME LEAT_CASE_STR("padding", "SAME")
#define VALID LEAT_CASE_STR("padding", "VALID")
#define OPS(count, ...)                                                                       \
  LEAT_CASE_INT("num_args", count),                                                           \
      LEAT_CASE_LIST_("fused_ops", LEAT_ATTR_STRING, leat_string_view_t, strings, __VA_ARGS__)
#define F LEAT_DTYPE_FLOAT
#define ARGS(...) LEAT_CASE_TYPES("TArgs", __VA_ARGS__), LEAT_CASE_INT("num_host_args", 0)

// A filter of one tap: y = 2 x, then the list.
#define POINT LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 1), 2)
#define PAIR(first, second) LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 1), first, second)
#define CHANNEL(value) LEAT_ITEMS(FLOAT, LEAT_DIMS(1), value)
#define SMALL(title, ops, args, first, second, ...)                                           \
  {.op = "_FusedConv2D", .name = title, .attrs = {ONES, SAME, ops, args},                     \
   .inputs = {PAIR(1, -3), POINT, __VA_ARGS__},                                        \
   .expected = {PAIR(first, second)}}
#define WRONG(title, status, text, ...)                                                       \
  {.op = "_FusedConv2D", .name = title, .code = LEAT_##status, .message = text,               \
   .attrs = __VA_ARGS__}
#define ATTRS(...) {ONES, __VA_ARGS__}

static const leat_op_case_t kCases[] = {
    SMALL("BiasAdd", OPS(1, S("BiasAdd")), ARGS(F), 7, -1, CHANNEL(5)),
    SMALL("BiasAdd, Relu", OPS(1, S("BiasAdd"), S("Relu")), ARGS(F), 7, 0, CHANNEL(5)),
    SMALL("BiasAdd, Relu6", OPS(1, S("BiasAdd"), S("Relu6")), ARGS(F), 6, 0, CHANNEL(5)),
    SMALL("BiasAdd, LeakyRelu", OPS(1, S("BiasAdd"), S("LeakyRelu")), ARGS(F), 7, (double)-0.2f,
          CHANNEL(5)),
    SMALL("BiasAdd, Add, Relu", OPS(2, S("BiasAdd"), S("Add"), S("Relu")), ARGS(F, F), 8, 19,
          CHANNEL(5), PAIR(1, 20)),
    // (2 x - mean) scale / sqrt(variance + epsilon) + offset
    {.op = "_FusedConv2D",
     .name = "FusedBatchNorm",
     .attrs = {ONES, SAME, OPS(4, S("FusedBatchNorm")), ARGS(F, F, F, F),
               LEAT_CASE_REAL("epsilon", 3)},
     .inputs = {PAIR(1, -3), POINT, CHANNEL(4), CHANNEL(100), CHANNEL(10), CHANNEL(1)},
     .expected = {PAIR(84, 68)}},
    // The vectors of a normalization of halves may be floats.
    {.op = "_FusedConv2D",
     .name = "FusedBatchNorm of half",
     .attrs = {ONES, SAME, OPS(4, S("FusedBatchNorm")), ARGS(F, F, F, F),
               LEAT_CASE_REAL("epsilon", 3)},
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(1, 1, 2, 1), 1, -3),
                LEAT_ITEMS(HALF, LEAT_DIMS(1, 1, 1, 1), 2), CHANNEL(4), CHANNEL(100), CHANNEL(10),
                CHANNEL(1)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(1, 1, 2, 1), 84, 68)}},
    // The op has at least one argument. It is not read where no op of the list wants it.
    SMALL("Relu", OPS(0, S("Relu")), ARGS(F), 2, 0, X(3, 3)),
    {.op = "_FusedConv2D",
     .name = "numbers for the host",
     .attrs = {ONES, SAME, OPS(1, S("BiasAdd")), LEAT_CASE_TYPES("TArgs", F),
               LEAT_CASE_INT("num_host_args", 2)},
     .inputs = {PAIR(1, -3), POINT, CHANNEL(5), X(1), X(1)},
     .expected = {PAIR(7, -1)}},
    {.op = "_FusedConv2D",
     .name = "windows of padding only",
     .attrs = {ONES, LEAT_CASE_STR("padding", "EXPLICIT"),
               LEAT_CASE_INTS("explicit_paddings", 0, 0, 1, 0, 0, 0, 0, 0),
               OPS(1, S("BiasAdd"), S("Tanh")), ARGS(F)},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0, 2, 1)), POINT, CHANNEL(0)},
     .expected = {PAIR(0, 0)}},
    {.op = "_FusedConv2D",
     .name = "a bias where there is no input",
     .attrs = {ONES, LEAT_CASE_STR("padding", "EXPLICIT"),
               LEAT_CASE_INTS("explicit_paddings", 0, 0, 1, 0, 0, 0, 0, 0), OPS(1, S("BiasAdd")),
               ARGS(F)},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0, 2, 1)), POINT, CHANNEL(5)},
     .expected = {PAIR(5, 5)}},
    {.op = "_FusedConv2D",
     .name = "a NaN stays one",
     .attrs = {ONES, VALID, OPS(1, S("BiasAdd"), S("Relu")), ARGS(F)},
     .inputs = {PAIR(NAN, 1), POINT, CHANNEL(1)},
     .expected = {PAIR(NAN, 3)}},
    {.op = "_FusedDepthwiseConv2dNative",
     .name = "BiasAdd, Relu6",
     .attrs = {ONES, VALID, OPS(1, S("BiasAdd"), S("Relu6"))},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 2), 1, -3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 2, 2), 1, 2, 3, -4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(4), 0.5, 1, 10, 20)},
     .types = LEAT_DTYPES_FLOATING,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1, 1, 4), 1.5, 3, 1, 6)}},
    WRONG("no list", INVALID_ARGUMENT, "fused_ops is []",
          ATTRS(SAME, LEAT_CASE_INT("num_args", 1), ARGS(F)),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), X(5)}),
    WRONG("an op that is none", UNIMPLEMENTED, "fused_ops is [BiasAdd,Softplus]",
          ATTRS(SAME, OPS(1, S("BiasAdd"), S("Softplus")), ARGS(F)),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), X(5)}),
    WRONG("an argument too many", INVALID_ARGUMENT, "num_args is 2, must be 1",
          ATTRS(SAME, OPS(2, S("BiasAdd")), ARGS(F, F)),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), X(5), X(5)}),
    WRONG("more arguments than num_args says", INVALID_ARGUMENT, "TArgs has 2 types",
          ATTRS(SAME, OPS(1, S("BiasAdd")), ARGS(F, F)),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), X(5), X(5)}),
    WRONG("a bias of another type", INVALID_ARGUMENT, "type double for argument 0",
          ATTRS(SAME, OPS(1, S("BiasAdd")), ARGS(LEAT_DTYPE_DOUBLE)),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), LEAT_RANDOM(DOUBLE, LEAT_DIMS(5), -1, 1)}),
    WRONG("a short bias", INVALID_ARGUMENT, "bias is [4], must be",
          ATTRS(SAME, OPS(1, S("BiasAdd")), ARGS(F)),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), X(4)}),
    WRONG("an addend of other sizes", INVALID_ARGUMENT, "must have the shape [1,4,4,5]",
          ATTRS(SAME, OPS(2, S("BiasAdd"), S("Add")), ARGS(F, F)),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), X(5), X(1, 4, 4, 1)}),
    WRONG("blocks of channels", UNIMPLEMENTED, "data_format is NCHW_VECT_C",
          ATTRS(SAME, OPS(1, S("BiasAdd")), ARGS(F), LEAT_CASE_STR("data_format", "NCHW_VECT_C")),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), X(5)}),
    WRONG("a transposed filter", UNIMPLEMENTED, "filter_format is OIHW",
          ATTRS(SAME, OPS(1, S("BiasAdd")), ARGS(F), LEAT_CASE_STR("filter_format", "OIHW")),
          .inputs = {X(1, 4, 4, 2), X(3, 3, 2, 5), X(5)}),
    WRONG("channels that do not fit", INVALID_ARGUMENT, NULL,
          ATTRS(SAME, OPS(1, S("BiasAdd")), ARGS(F)),
          .inputs = {X(1, 4, 4, 3), X(3, 3, 2, 5), X(5)}),
    {.op = "_FusedDepthwiseConv2dNative",
     .name = "a bias for the input's channels",
     .attrs = {ONES, SAME, OPS(1, S("BiasAdd"))},
     .inputs = {X(1, 4, 4, 3), X(3, 3, 3, 2), X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "bias is [3], must be"},
};

LEAT_OP_TEST_MAIN(kCases)
