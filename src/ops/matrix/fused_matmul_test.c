// _FusedMatMul and _FusedBatchMatMulV2 are products that the optimizer joins with the bias,
// normalization, activation or sum behind them. The reference multiplies in double and applies each
// op of the attribute |fused_ops| by its formula. Half of the file is refusals: these ops can also
// be written by hand into a graph, so a list in another order, an argument too few and a shape that
// would be repeated must all be named and not computed somehow. A NaN must stay one behind an
// activation. tests/session/fused_products_test.c compares every list of ops with the ops
// themselves.
#include <math.h>

#include "op_harness/op_harness.h"

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define POSITIVE(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), 0.5, 2)
#define S(literal) {literal, sizeof(literal) - 1}
#define OPS(count, ...)                                                                       \
  LEAT_CASE_INT("num_args", count),                                                           \
      LEAT_CASE_LIST_("fused_ops", LEAT_ATTR_STRING, leat_string_view_t, strings, __VA_ARGS__)

static double activated(leat_string_view_t op, double x) {
  if (leat_string_view_equals(op, "Relu")) return x < 0 ? 0 : x;
  if (leat_string_view_equals(op, "Relu6")) return x < 0 ? 0 : x > 6 ? 6 : x;
  if (leat_string_view_equals(op, "Elu")) return x < 0 ? expm1(x) : x;
  if (leat_string_view_equals(op, "LeakyRelu")) return x < 0 ? x * (double)0.2f : x;
  if (leat_string_view_equals(op, "Tanh")) return tanh(x);
  if (leat_string_view_equals(op, "Sigmoid")) return 1 / (1 + exp(-x));
  if (leat_string_view_equals(op, "GeluExact")) return x / 2 * erfc(-x / sqrt(2));
  return x / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

// The product, then each op of the list.
static void reference(const leat_reference_t* r) {
  const leat_attr_value_t* ops = &r->op_case->attrs[1].value;
  const int64_t n = leat_shape_dim(&r->outputs[0].shape, 1);
  const int64_t k = leat_shape_dim(&r->inputs[0].shape, 1);
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    double y = 0;
    int arg = 2;
    for (int64_t p = 0; p < k; ++p) y += r->in[0][i / n * k + p] * r->in[1][p * n + i % n];
    for (uint32_t s = 0; s < ops->count; ++s) {
      if (leat_string_view_equals(ops->strings[s], "BiasAdd")) {
        y += r->in[arg++][i % n];
      } else if (leat_string_view_equals(ops->strings[s], "Add")) {
        y += r->in[arg++][i];
      } else if (leat_string_view_equals(ops->strings[s], "FusedBatchNorm")) {
        const double* const* v = r->in + arg;
        y = (y - v[2][i % n]) * v[0][i % n] / sqrt(v[3][i % n] + 0.0001) + v[1][i % n];
        arg += 4;
      } else {
        y = activated(ops->strings[s], y);
      }
    }
    r->out[0][i] = y;
  }
}

#define FLOATS (LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(HALF) | LEAT_DTYPE_BIT(BFLOAT16))
// Products of halves whose sums are large would differ from the reference by roundings.
#define CASE(title, ops, ...)                                                                \
  {.op = "_FusedMatMul", .name = title, .attrs = {ops}, .inputs = {__VA_ARGS__},             \
   .types = FLOATS, .tolerance = 4e-6, .reference = reference}
#define BIASED(activation) \
  CASE("BiasAdd, " activation, OPS(1, S("BiasAdd"), S(activation)), X(5, 3), X(3, 17), X(17))
#define NORMALIZED(activation)                                                                \
  CASE("FusedBatchNorm, " activation, OPS(4, S("FusedBatchNorm"), S(activation)), X(5, 3),    \
       X(3, 17), X(17), X(17), X(17), POSITIVE(17))
#define WRONG(title, status, text, ops, ...)                                                  \
  {.op = "_FusedMatMul", .name = title, .attrs = {ops}, .inputs = {__VA_ARGS__},              \
   .code = LEAT_##status, .message = text}

static const leat_op_case_t kCases[] = {
    CASE("BiasAdd", OPS(1, S("BiasAdd")), X(1, 3), X(3, 17), X(17)),
    BIASED("Relu"),
    BIASED("Relu6"),
    BIASED("Elu"),
    BIASED("LeakyRelu"),
    BIASED("Tanh"),
    BIASED("Sigmoid"),
    BIASED("GeluApproximate"),
    BIASED("GeluExact"),
    NORMALIZED("Relu"),
    NORMALIZED("Elu"),
    CASE("BiasAdd, Add", OPS(2, S("BiasAdd"), S("Add")), X(5, 3), X(3, 17), X(17), X(5, 17)),
    CASE("BiasAdd, Add, Relu", OPS(2, S("BiasAdd"), S("Add"), S("Relu")), X(5, 3), X(3, 17),
         X(17), X(5, 17)),
    CASE("Relu", OPS(0, S("Relu")), X(5, 3), X(3, 17)),
    CASE("Add", OPS(1, S("Add")), X(5, 3), X(3, 17), X(5, 17)),
    CASE("a bias of rank 2", OPS(1, S("BiasAdd")), X(2, 3), X(3, 4), X(1, 4)),
    CASE("nothing to add up", OPS(1, S("BiasAdd")), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(3, 0)),
         LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 4)), X(4)),
    CASE("no columns", OPS(1, S("BiasAdd"), S("Relu")), X(3, 2),
         LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0))),
    {.op = "_FusedMatMul",
     .name = "a NaN stays one",
     .attrs = {OPS(1, S("BiasAdd"), S("Relu"))},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), NAN), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 2),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 1, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), NAN, NAN)}},
    {.op = "_FusedMatMul",
     .name = "a slope of one's own",
     .attrs = {OPS(0, S("LeakyRelu")), LEAT_CASE_REAL("leakyrelu_alpha", 0.5f)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), -2), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, -2)},
     .types = FLOATS,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), -1, 4)}},
    WRONG("no list", INVALID_ARGUMENT, "fused_ops is []", LEAT_CASE_INT("num_args", 0), X(2, 3),
          X(3, 4)),
    WRONG("an op that is none", UNIMPLEMENTED, "fused_ops is [BiasAdd,Abs]",
          OPS(1, S("BiasAdd"), S("Abs")), X(2, 3), X(3, 4), X(4)),
    WRONG("another order", UNIMPLEMENTED, "fused_ops is [Relu,BiasAdd], must be at most one of",
          OPS(1, S("Relu"), S("BiasAdd")), X(2, 3), X(3, 4), X(4)),
    WRONG("two biases", UNIMPLEMENTED, "fused_ops", OPS(2, S("BiasAdd"), S("BiasAdd")), X(2, 3),
          X(3, 4), X(4), X(4)),
    WRONG("two activations", UNIMPLEMENTED, "fused_ops", OPS(0, S("Relu"), S("Tanh")), X(2, 3),
          X(3, 4)),
    WRONG("an argument too few", INVALID_ARGUMENT, "num_args is 0, must be 1", OPS(0, S("BiasAdd")),
          X(2, 3), X(3, 4)),
    WRONG("an argument too many", INVALID_ARGUMENT, "num_args is 2, must be 1",
          OPS(2, S("BiasAdd")), X(2, 3), X(3, 4), X(4), X(4)),
    WRONG("a normalization without a variance", INVALID_ARGUMENT, "num_args is 3, must be 4",
          OPS(3, S("FusedBatchNorm")), X(2, 3), X(3, 4), X(4), X(4), X(4)),
    WRONG("a short bias", INVALID_ARGUMENT, "bias is [3], must be", OPS(1, S("BiasAdd")), X(2, 3),
          X(3, 4), X(3)),
    WRONG("a scalar bias", INVALID_ARGUMENT, "bias is [], must be", OPS(1, S("BiasAdd")), X(2, 3),
          X(3, 1), LEAT_SCALAR_ITEM(FLOAT, 1)),
    WRONG("a bias for every row", INVALID_ARGUMENT, "bias is [2,4], must be", OPS(1, S("BiasAdd")),
          X(2, 3), X(3, 4), X(2, 4)),
    WRONG("a long mean", INVALID_ARGUMENT, "mean is [5], must be", OPS(4, S("FusedBatchNorm")),
          X(2, 3), X(3, 4), X(4), X(4), X(5), X(4)),
    WRONG("an addend that would repeat", INVALID_ARGUMENT, "must have the shape [2,4]",
          OPS(1, S("Add")), X(2, 3), X(3, 4), X(1, 4)),
    WRONG("inner sizes that differ", INVALID_ARGUMENT, NULL, OPS(1, S("BiasAdd")), X(2, 3), X(2, 4),
          X(4)),
    WRONG("a vector", INVALID_ARGUMENT, NULL, OPS(1, S("BiasAdd")), X(3), X(3, 4), X(4)),
    // [1 2], [3 4] times one column [1, 10], with 100 and the addend, of which Relu keeps the rest.
    {.op = "_FusedBatchMatMulV2",
     .name = "a batch times one matrix",
     .attrs = {OPS(2, S("BiasAdd"), S("Add"), S("Relu"))},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 2), 1, 2, 3, 4),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 10), LEAT_ITEMS(FLOAT, LEAT_DIMS(1), 100),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1), 3, -200)},
     .types = FLOATS,
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1), 124, 0)}},
    {.op = "_FusedBatchMatMulV2",
     .name = "no batch",
     .attrs = {OPS(1, S("BiasAdd"))},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 3)), X(3, 4), X(4)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2, 4))}},
    {.op = "_FusedBatchMatMulV2",
     .name = "batches that differ",
     .attrs = {OPS(1, S("BiasAdd"))},
     .inputs = {X(2, 2, 3), X(3, 3, 4), X(4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "_FusedBatchMatMulV2",
     .name = "an addend that would repeat",
     .attrs = {OPS(1, S("Add"))},
     .inputs = {X(2, 2, 3), X(3, 4), X(2, 4)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "must have the shape [2,2,4]"},
};

LEAT_OP_TEST_MAIN(kCases)
