// What the machine's arithmetic and memory reach at most: the measured limits that figures of speed
// are compared with.
#ifndef LEAT_DEVICE_CPU_PEAK_H_
#define LEAT_DEVICE_CPU_PEAK_H_

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

typedef struct leat_peak_functions_s {
  // Multiply-adds of float in registers only; returns how many floating point operations were done.
  double (*multiply_add)(int64_t rounds);
  // Reads |size| bytes (a multiple of 512, 64-byte aligned); returns something of all of them.
  uint64_t (*read)(const void* data, size_t size);
} leat_peak_functions_t;

LEAT_ISA_DECLARE(leat_peak_functions_t, leat_peak);

#endif  // LEAT_DEVICE_CPU_PEAK_H_
