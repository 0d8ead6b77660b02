// The most that the machine's arithmetic and memory reach, measured by two loops per instruction
// set. Benchmarks compare their figures with these limits.
#ifndef LEAT_DEVICE_CPU_PEAK_H_
#define LEAT_DEVICE_CPU_PEAK_H_

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

typedef struct leat_peak_functions_s {
  // Does multiply-adds of float in registers only; returns the number of floating point operations.
  double (*multiply_add)(int64_t rounds);
  // Reads |size| bytes (a multiple of 512, 64-byte aligned); returns a value that depends on all of
  // them, so that the compiler cannot drop the loop.
  uint64_t (*read)(const void* data, size_t size);
} leat_peak_functions_t;

LEAT_ISA_DECLARE(leat_peak_functions_t, leat_peak);

#endif  // LEAT_DEVICE_CPU_PEAK_H_
