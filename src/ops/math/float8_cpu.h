// Conversions between float and the 8-bit floats of neural networks: e5m2 (5 bits of exponent, 2 of
// mantissa; like IEEE, with infinities) and e4m3fn (no infinities, and one NaN per sign). Rounding
// is to nearest, ties to even. Numbers that are too large become infinity in e5m2 and NaN in
// e4m3fn.
#ifndef LEAT_OPS_MATH_FLOAT8_CPU_H_
#define LEAT_OPS_MATH_FLOAT8_CPU_H_

#include "device/cpu/half.h"

// e5m2 is the upper half of a half, so that a shift converts it.
static inline float leat_float8_e5m2_to_float(uint8_t bits) {
  return leat_half_to_float((uint16_t)(bits << 8));
}

// Rounds |magnitude| (the bits of a float without its sign) to a number with |mantissa_bits| bits
// of mantissa and the exponent bias |bias|; returns its bits. A result beyond the largest number is
// returned as larger bits; the caller compares and replaces it.
static inline uint32_t leat_float8_round(uint32_t magnitude, int mantissa_bits, int bias) {
  int exponent = (int)(magnitude >> 23) - 127 + bias;
  uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  int drop = 23 - mantissa_bits;
  if (exponent < 1) {  // a denormal of the target, or 0
    drop += 1 - exponent;
    if (drop > 25) return 0;
    exponent = 1;
  }
  uint32_t kept = mantissa >> drop;
  uint32_t rest = mantissa & ((1u << drop) - 1), half = 1u << (drop - 1);
  kept += rest > half || (rest == half && (kept & 1));
  return ((uint32_t)(exponent - 1) << mantissa_bits) + kept;
}

static inline uint8_t leat_float8_e5m2_from_float(float value) {
  uint32_t bits = leat_float_bits(value), magnitude = bits & 0x7fffffff;
  uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
  if (magnitude > 0x7f800000) return sign | 0x7e;
  uint32_t rounded = magnitude == 0x7f800000 ? 0x7c : leat_float8_round(magnitude, 2, 15);
  return (uint8_t)(sign | (rounded > 0x7c ? 0x7c : rounded));
}

static inline float leat_float8_e4m3fn_to_float(uint8_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x80) << 24, magnitude = bits & 0x7f;
  if (magnitude == 0x7f) return leat_float_from_bits(sign | 0x7fc00000);
  if (magnitude < 8) {  // a denormal is an integer times 2^-9
    float value = (float)magnitude * 0x1p-9f;
    return leat_float_from_bits(sign | leat_float_bits(value));
  }
  return leat_float_from_bits(sign | ((magnitude << 20) + ((127u - 7u) << 23)));
}

static inline uint8_t leat_float8_e4m3fn_from_float(float value) {
  uint32_t bits = leat_float_bits(value), magnitude = bits & 0x7fffffff;
  uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
  if (magnitude >= 0x7f800000) return sign | 0x7f;
  uint32_t rounded = leat_float8_round(magnitude, 3, 7);
  return (uint8_t)(sign | (rounded > 0x7e ? 0x7f : rounded));
}

#endif  // LEAT_OPS_MATH_FLOAT8_CPU_H_
