// The CPU kernels of bitwise ops: the loops are in binary_isa.c, binary_loops_cpu.c (shifts) and
// unary_isa.c. A shift count is clamped to [0, bits - 1].
#include "ops/kernel_rows.h"
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
    LEAT_ELEMENTWISE_ROW_BROADCAST(BitwiseAnd, INTEGERS),
    LEAT_ELEMENTWISE_ROW_BROADCAST(BitwiseOr, INTEGERS),
    LEAT_ELEMENTWISE_ROW_BROADCAST(BitwiseXor, INTEGERS),
    LEAT_ELEMENTWISE_ROW_BROADCAST(LeftShift, INTEGERS),
    LEAT_ELEMENTWISE_ROW_BROADCAST(RightShift, INTEGERS),
    LEAT_ELEMENTWISE_ROW_SAME(Invert, INTEGERS),
    LEAT_ELEMENTWISE_ROW_SAME(PopulationCount, INTEGERS),
    LEAT_KERNEL_ROWS_END,
};
