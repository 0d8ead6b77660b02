// The loops of what follows integer products, compiled for each instruction set.
#include "base/checked.h"
#include "ops/quantize/quantized_epilogue_cpu.h"

static void scale(const int32_t* sums, const float* scales, const float* bias, int64_t count,
                  float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = (float)sums[i] * scales[i] + bias[i];
}

static inline float limited(float x, float least, float most) {
  return nearbyintf(LEAT_MIN(LEAT_MAX(x, least), most));
}

static void to_bytes(const float* x, float factor, float shift, float least, float most,
                     int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = (uint8_t)(int32_t)limited(x[i] * factor + shift, least, most);
  }
}

static void to_ints(const float* x, float factor, float shift, float least, float most,
                    int64_t count, int32_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = (int32_t)limited(x[i] * factor + shift, least, most);
  }
}

const leat_quantized_epilogue_loops_t LEAT_ISA_NAME(leat_quantized_epilogue_loops) = {
    scale, to_bytes, to_ints};
