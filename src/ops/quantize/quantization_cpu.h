// The loops of QuantizeAndDequantize over |count| elements, compiled for each instruction set: y =
// round(clamp(x, min, max) * scale) * inverse. "even" rounds halves to the even neighbour, "up"
// rounds them up. |to| may be |from|. The loops neither allocate nor block.
#ifndef LEAT_OPS_QUANTIZE_QUANTIZATION_CPU_H_
#define LEAT_OPS_QUANTIZE_QUANTIZATION_CPU_H_

#include "base/cpu.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct leat_quantization_f32_s {
  float min, max, scale, inverse;
} leat_quantization_f32_t;
typedef struct leat_quantization_f64_s {
  double min, max, scale, inverse;
} leat_quantization_f64_t;

typedef struct leat_quantization_loops_s {
  void (*even_f32)(const leat_quantization_f32_t* q, const float* from, float* to, int64_t count);
  void (*up_f32)(const leat_quantization_f32_t* q, const float* from, float* to, int64_t count);
  void (*even_f64)(const leat_quantization_f64_t* q, const double* from, double* to,
                   int64_t count);
  void (*up_f64)(const leat_quantization_f64_t* q, const double* from, double* to, int64_t count);
} leat_quantization_loops_t;
LEAT_ISA_DECLARE(leat_quantization_loops_t, leat_quantization_loops);

#endif  // LEAT_OPS_QUANTIZE_QUANTIZATION_CPU_H_
