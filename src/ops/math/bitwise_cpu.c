// CPU kernels of bitwise ops. A shift count outside the type's width is clamped to it.
#include "ops/family.h"
#include "ops/math/binary_cpu.h"
#include "ops/math/unary_cpu.h"

#define BINARY(name, index)                                                           \
  LEAT_ELEMENTWISE_CREATE(create_##name, leat_binary_loops, leat_binary_plain_loops,  \
                          LEAT_BINARY_##index, 0, 0.4f)
BINARY(BitwiseAnd, AND)
BINARY(BitwiseOr, OR)
BINARY(BitwiseXor, XOR)
BINARY(LeftShift, LEFT_SHIFT)
BINARY(RightShift, RIGHT_SHIFT)

#define UNARY(name, index)                                                            \
  LEAT_ELEMENTWISE_CREATE(create_##name, leat_unary_loops, leat_unary_plain_loops,    \
                          LEAT_UNARY_##index, 0, 0.4f)
UNARY(Invert, INVERT)
UNARY(PopulationCount, POPULATION_COUNT)

#define INTEGERS "int8, int16, int32, int64, uint8, uint16, uint32, uint64"

const leat_kernel_row_t leat_bitwise_kernels_cpu[] = {
    LEAT_ELEMENTWISE_ROW(BitwiseAnd, INTEGERS, leat_elementwise_broadcast__cpu),
    LEAT_ELEMENTWISE_ROW(BitwiseOr, INTEGERS, leat_elementwise_broadcast__cpu),
    LEAT_ELEMENTWISE_ROW(BitwiseXor, INTEGERS, leat_elementwise_broadcast__cpu),
    LEAT_ELEMENTWISE_ROW(LeftShift, INTEGERS, leat_elementwise_broadcast__cpu),
    LEAT_ELEMENTWISE_ROW(RightShift, INTEGERS, leat_elementwise_broadcast__cpu),
    LEAT_ELEMENTWISE_ROW(Invert, INTEGERS, leat_elementwise_same__cpu),
    LEAT_ELEMENTWISE_ROW(PopulationCount, INTEGERS, leat_elementwise_same__cpu),
    LEAT_KERNEL_ROWS_END,
};
