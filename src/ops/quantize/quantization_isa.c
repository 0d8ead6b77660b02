// The loops of QuantizeAndDequantize, compiled for each instruction set. They differ in how halves
// are rounded: to the even neighbour or up.
#include "ops/quantize/quantization_cpu.h"

#include <math.h>

#define DEFINE_LOOP(mode, bits, type, rounded)                                          \
  static void mode##_f##bits(const leat_quantization_f##bits##_t* q, const type* from,  \
                             type* to, int64_t count) {                                 \
    const type min = q->min, max = q->max, scale = q->scale, inverse = q->inverse;      \
    for (int64_t i = 0; i < count; ++i) {                                               \
      type x = from[i] > max ? max : from[i]; /* a NaN stays one */                     \
      x = (x < min ? min : x) * scale;                                                  \
      to[i] = (rounded) * inverse;                                                      \
    }                                                                                   \
  }
DEFINE_LOOP(even, 32, float, nearbyintf(x))
DEFINE_LOOP(up, 32, float, floorf(x + 0.5f))
DEFINE_LOOP(even, 64, double, nearbyint(x))
DEFINE_LOOP(up, 64, double, floor(x + 0.5))

const leat_quantization_loops_t LEAT_ISA_NAME(leat_quantization_loops) = {
    .even_f32 = even_f32,
    .up_f32 = up_f32,
    .even_f64 = even_f64,
    .up_f64 = up_f64,
};
