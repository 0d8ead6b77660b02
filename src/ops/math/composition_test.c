// _UnaryOpsComposition runs a list of functions, each on the result of the one before. Numbers for
// which every function of the list is exact show the order; a chain of transcendental functions
// over more elements than a piece holds, in all types, is compared with the C library. The numbers
// of half were computed by TensorFlow: they differ from those of float rounded at the end. An empty
// list and ops that are none, or that have other operands, are refused.
#include <math.h>

#include "op_harness/op_harness.h"

#define S(literal) {literal, sizeof(literal) - 1}
#define NAMES(...) \
  LEAT_CASE_LIST_("op_names", LEAT_ATTR_STRING, leat_string_view_t, strings, __VA_ARGS__)

static void chain_reference(const leat_reference_t* r) {
  for (int64_t i = 0; i < r->inputs[0].shape.element_count; ++i) {
    r->out[0][i] = tanh(log1p(fabs(sin(r->in[0][i]))));
  }
}

static const leat_op_case_t kCases[] = {
    {.op = "_UnaryOpsComposition",
     .name = "in their order",
     .attrs = {NAMES(S("Relu"), S("Sqrt"), S("Neg"), S("Reciprocal"))},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), -4, 1, 4, 16)},
     .types = LEAT_DTYPES_FLOATING & ~LEAT_DTYPE_BIT(BFLOAT16),
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(4), -INFINITY, -1, -0.5, -0.25)}},
    {.op = "_UnaryOpsComposition",
     .name = "one op",
     .attrs = {NAMES(S("Square"))},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), -3, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 9, 4)}},
    {.op = "_UnaryOpsComposition",
     .name = "several pieces",
     .attrs = {NAMES(S("Sin"), S("Abs"), S("Log1p"), S("Tanh"))},
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(71, 13, 11), -3, 3)},
     .types = LEAT_DTYPES_FLOATING & ~LEAT_DTYPE_BIT(BFLOAT16),
     .reference = chain_reference},
    {.op = "_UnaryOpsComposition",
     .name = "half is rounded after each op",
     .attrs = {NAMES(S("Exp"), S("Sqrt"), S("Square"))},
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(4), 0.1, 0.7, 3.3, 5.1)},
     .exact = true,
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(4), 1.1064453125, 2.013671875,
                 27.15625, 164.125)}},
    {.op = "_UnaryOpsComposition",
     .name = "nothing",
     .attrs = {NAMES(S("Exp"), S("Log"))},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(3, 0))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(3, 0))}},
    {.op = "_UnaryOpsComposition",
     .name = "no ops",
     .attrs = {LEAT_CASE_ATTR_("op_names", .kind = LEAT_ATTR_STRING, .is_list = true)},
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2), -1, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "at least one op"},
    {.op = "_UnaryOpsComposition",
     .name = "an op that is none",
     .attrs = {NAMES(S("Exp"), S("Exp2"))},
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2), -1, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "registered for op: Exp2, which is item 1"},
    {.op = "_UnaryOpsComposition",
     .name = "an op of two operands",
     .attrs = {NAMES(S("ReluGrad"))},
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2), -1, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "registered for op: ReluGrad"},
    {.op = "_UnaryOpsComposition",
     .name = "an op with another result",
     .attrs = {NAMES(S("IsNan"))},
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2), -1, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "registered for op: IsNan"},
};

LEAT_OP_TEST_MAIN(kCases)
