// Ops on the bits of integers; none is differentiable.
#include "graph/gradient.h"
#include "graph/inference.h"
#include "ops/family.h"

#define INTEGERS "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"
#define BINARY(op, op_flags, text)      \
  {.name = op,                          \
   .inputs = "x: T; y: T",              \
   .outputs = "z: T",                   \
   .attrs = INTEGERS,                   \
   .flags = op_flags,                   \
   .shape = leat_shape_broadcast_binary, \
   .gradient = leat_gradient_none,      \
   .doc = text}
#define UNARY(op, output, text)         \
  {.name = op,                          \
   .inputs = "x: T",                    \
   .outputs = output,                   \
   .attrs = INTEGERS,                   \
   .shape = leat_shape_unchanged,       \
   .gradient = leat_gradient_none,      \
   .doc = text}

const leat_op_row_t leat_bitwise_ops[] = {
    UNARY("Invert", "y: T", "x with every bit flipped."),
    UNARY("PopulationCount", "y: uint8", "How many bits of x are set."),
    BINARY("BitwiseAnd", LEAT_OP_COMMUTATIVE, "The bits set in both x and y."),
    BINARY("BitwiseOr", LEAT_OP_COMMUTATIVE, "The bits set in x or y."),
    BINARY("BitwiseXor", LEAT_OP_COMMUTATIVE, "The bits set in one of x and y."),
    BINARY("LeftShift", 0, "x shifted left by y bits; y is clamped to the width of the type."),
    BINARY("RightShift", 0,
           "x shifted right by y bits, keeping the sign; y is clamped to the width of the type."),
    LEAT_OP_ROWS_END,
};
