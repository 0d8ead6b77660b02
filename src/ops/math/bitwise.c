// Ops on the bits of integers, elementwise. They have no gradient. Bits of a shift count outside of
// the type's width are not defined in C, so that the kernels clamp it.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

#define INTEGERS "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"
#define BINARY(op, op_flags, identity, text) \
  {.name = op,                          \
   .inputs = "x: T; y: T",              \
   .outputs = "z: T",                   \
   .attrs = INTEGERS,                   \
   .flags = op_flags,                   \
   .shape = leat_shape_broadcast_binary, \
   .gradient = leat_gradient_none,      \
   .identities = identity,              \
   .doc = text}
#define EITHER_ZERO (LEAT_IDENTITY_ZERO | LEAT_IDENTITY_EITHER_SIDE)
#define EITHER_ALL_ONES (LEAT_IDENTITY_ALL_ONES | LEAT_IDENTITY_EITHER_SIDE)
#define UNARY(op, output, identity, text) \
  {.name = op,                          \
   .inputs = "x: T",                    \
   .outputs = output,                   \
   .attrs = INTEGERS,                   \
   .shape = leat_shape_unchanged,       \
   .gradient = leat_gradient_none,      \
   .identities = identity,              \
   .doc = text}

const leat_op_row_t leat_bitwise_ops[] = {
    UNARY("Invert", "y: T", LEAT_IDENTITY_INVOLUTION, "x with every bit flipped."),
    UNARY("PopulationCount", "y: uint8", 0, "How many bits of x are set."),
    BINARY("BitwiseAnd", LEAT_OP_COMMUTATIVE, EITHER_ALL_ONES, "The bits set in both x and y."),
    BINARY("BitwiseOr", LEAT_OP_COMMUTATIVE, EITHER_ZERO, "The bits set in x or y."),
    BINARY("BitwiseXor", LEAT_OP_COMMUTATIVE, EITHER_ZERO, "The bits set in one of x and y."),
    BINARY("LeftShift", 0, LEAT_IDENTITY_ZERO,
           "x shifted left by y bits; y is clamped to the width of the type."),
    BINARY("RightShift", 0, LEAT_IDENTITY_ZERO,
           "x shifted right by y bits, keeping the sign; y is clamped to the width of the type."),
    LEAT_OP_ROWS_END,
};
