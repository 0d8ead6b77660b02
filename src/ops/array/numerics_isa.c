// The loops of CheckNumerics (numerics_isa.h). Without the sign the bits of a number are not
// negative as a signed integer, and signed integers are what every instruction set has a maximum
// for.
#include "ops/array/numerics_cpu.h"

#define DEFINE_LARGEST(bits, type, signed_type)                              \
  static type largest_##bits(const type* items, int64_t count) {             \
    const type mask = (type)~((type)1 << (bits - 1));                        \
    signed_type largest = 0;                                                 \
    for (int64_t i = 0; i < count; ++i) {                                    \
      signed_type magnitude = (signed_type)(items[i] & mask);                \
      largest = magnitude > largest ? magnitude : largest;                   \
    }                                                                        \
    return (type)largest;                                                    \
  }
DEFINE_LARGEST(16, uint16_t, int16_t)
DEFINE_LARGEST(32, uint32_t, int32_t)
DEFINE_LARGEST(64, uint64_t, int64_t)

const leat_numerics_loops_t LEAT_ISA_NAME(leat_numerics_loops) = {
    .largest_16 = largest_16,
    .largest_32 = largest_32,
    .largest_64 = largest_64,
};
