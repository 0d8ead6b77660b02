// The loops of CheckNumerics, compiled once per instruction set: each finds the largest of |count|
// floating-point numbers' bits without their signs; 0 when there are none. All numbers are finite
// just when that is less than the bits of infinity.
#ifndef LEAT_OPS_ARRAY_NUMERICS_CPU_H_
#define LEAT_OPS_ARRAY_NUMERICS_CPU_H_

#include "base/cpu.h"

#include <stdint.h>

typedef struct leat_numerics_loops_s {
  uint16_t (*largest_16)(const uint16_t* items, int64_t count);
  uint32_t (*largest_32)(const uint32_t* items, int64_t count);
  uint64_t (*largest_64)(const uint64_t* items, int64_t count);
} leat_numerics_loops_t;
LEAT_ISA_DECLARE(leat_numerics_loops_t, leat_numerics_loops);

#endif  // LEAT_OPS_ARRAY_NUMERICS_CPU_H_
