// Comparisons, and the logical ops over their results. x and y broadcast, the output is bool; none
// has a gradient, because a comparison is constant almost everywhere.
//
// Equal and NotEqual can be told (incompatible_shape_error = false) that operands whose shapes do
// not broadcast are simply not equal: the output is then one scalar. So the output's shape is known
// only when both shapes are. ApproximateEqual does not broadcast. compare_cpu.c has the kernels and
// compare_isa.c the loops.
#include "ops/op_rows.h"

#include "graph/gradient.h"
#include "graph/inference/inference.h"

// The shape of a comparison for which shapes that do not fit are no error: unknown unless both
// operands' shapes are fully known, and a scalar where they do not broadcast.
static leat_status_t tolerant_equality_shape(leat_inference_t* c) {
  leat_partial_shape_t x = leat_inference_input(c, 0), y = leat_inference_input(c, 1);
  if (!leat_partial_shape_is_full(x) || !leat_partial_shape_is_full(y)) return leat_ok_status();
  leat_partial_shape_t output;
  leat_status_t status = leat_inference_broadcast(c, x, y, &output);
  if (status) {
    leat_status_free(status);
    output = leat_partial_shape_scalar();
  }
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t equality_shape(leat_inference_t* c) {
  bool is_error = leat_node_attr_bool(c->node, "incompatible_shape_error", true);
  return is_error ? leat_shape_broadcast_binary(c) : tolerant_equality_shape(c);
}

static leat_status_t approximate_shape(leat_inference_t* c) {
  leat_partial_shape_t merged;
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, leat_inference_input(c, 0),
                                            leat_inference_input(c, 1), &merged));
  return leat_shape_unchanged(c);
}

#define ORDER(op, text)                                                                  \
  {.name = op,                                                                           \
   .inputs = "x: T; y: T",                                                               \
   .outputs = "z: bool",                                                                 \
   .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, "    \
            "half, uint32, uint64}",                                                     \
   .shape = leat_shape_broadcast_binary,                                                 \
   .gradient = leat_gradient_none,                                                       \
   .doc = text}
#define EQUALITY(op, text)                                       \
  {.name = op,                                                   \
   .inputs = "x: T; y: T",                                       \
   .outputs = "z: bool",                                         \
   .attrs = "T: type; incompatible_shape_error: bool = true",    \
   .flags = LEAT_OP_COMMUTATIVE,                                 \
   .shape = equality_shape,                                      \
   .gradient = leat_gradient_none,                               \
   .doc = text}
#define LOGICAL(op, identity, text)     \
  {.name = op,                          \
   .inputs = "x: bool; y: bool",        \
   .outputs = "z: bool",                \
   .flags = LEAT_OP_COMMUTATIVE,        \
   .shape = leat_shape_broadcast_binary, \
   .gradient = leat_gradient_none,      \
   .identities = (identity) | LEAT_IDENTITY_EITHER_SIDE, \
   .doc = text}

const leat_op_row_t leat_compare_ops[] = {
    ORDER("Less", "x < y."),
    ORDER("LessEqual", "x <= y."),
    ORDER("Greater", "x > y."),
    ORDER("GreaterEqual", "x >= y."),
    EQUALITY("Equal", "x == y."),
    EQUALITY("NotEqual", "x != y."),
    {.name = "ApproximateEqual",
     .inputs = "x: T; y: T",
     .outputs = "z: bool",
     .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
              "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}; "
              "tolerance: float = 1e-05",
     .flags = LEAT_OP_COMMUTATIVE,
     .shape = approximate_shape,
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SAME_SHAPE(0, 1)),
     .doc = "Whether x and y, of one shape, differ by no more than the tolerance."},
    LOGICAL("LogicalAnd", LEAT_IDENTITY_ALL_ONES, "x and y."),
    LOGICAL("LogicalOr", LEAT_IDENTITY_ZERO, "x or y."),
    LEAT_OP_ROWS_END,
};
