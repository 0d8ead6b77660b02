// Conversions between float and the 8-bit floats of neural networks, for the casts of cast_isa.c.
// The formats are e5m2 and e4m3fn:
//
//   e5m2     sign, 5 bits of exponent, 2 of mantissa; like IEEE, with infinities and NaNs
//   e4m3fn   sign, 4 bits of exponent, 3 of mantissa; no infinities, and one NaN per sign
//
// Both have denormals. A number is passed as its bits in a uint8_t. Every 8-bit number is exactly a
// float, so that widening loses nothing. Rounding from float is to nearest, ties to even. Numbers
// that are too large become infinity in e5m2 and NaN in e4m3fn, with their sign. All functions are
// pure.
#ifndef LEAT_OPS_MATH_FLOAT8_CPU_H_
#define LEAT_OPS_MATH_FLOAT8_CPU_H_

#include "device/cpu/half.h"

// e5m2 is the upper half of a half, so that a shift converts it.
static inline float leat_float8_e5m2_to_float(uint8_t bits) {
  return leat_half_to_float((uint16_t)(bits << 8));
}

// Rounds |magnitude| (the bits of a float without its sign, no infinity or NaN) to a number with
// |mantissa_bits| bits of mantissa and the exponent bias |bias|; returns its bits. Both formats go
// through this. A result beyond the largest number is returned as larger bits; the caller compares
// and replaces it.
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

// Every NaN becomes one NaN, with the sign of |value|.
static inline uint8_t leat_float8_e5m2_from_float(float value) {
  uint32_t bits = leat_float_bits(value), magnitude = bits & 0x7fffffff;
  uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
  if (magnitude > 0x7f800000) return sign | 0x7e;
  uint32_t rounded = magnitude == 0x7f800000 ? 0x7c : leat_float8_round(magnitude, 2, 15);
  return (uint8_t)(sign | (rounded > 0x7c ? 0x7c : rounded));
}

// The exponent's bias is 7, that of a float 127; the bits are moved to their places in a float and
// the difference is added to the exponent. Exponent bits of 15 are a number, but for the mantissa
// 7.
static inline float leat_float8_e4m3fn_to_float(uint8_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x80) << 24, magnitude = bits & 0x7f;
  if (magnitude == 0x7f) return leat_float_from_bits(sign | 0x7fc00000);
  if (magnitude < 8) {  // a denormal is an integer times 2^-9
    float value = (float)magnitude * 0x1p-9f;
    return leat_float_from_bits(sign | leat_float_bits(value));
  }
  return leat_float_from_bits(sign | ((magnitude << 20) + ((127u - 7u) << 23)));
}

// The largest number is 448. An infinity becomes NaN too, since the format has none.
static inline uint8_t leat_float8_e4m3fn_from_float(float value) {
  uint32_t bits = leat_float_bits(value), magnitude = bits & 0x7fffffff;
  uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
  if (magnitude >= 0x7f800000) return sign | 0x7f;
  uint32_t rounded = leat_float8_round(magnitude, 3, 7);
  return (uint8_t)(sign | (rounded > 0x7e ? 0x7f : rounded));
}

#endif  // LEAT_OPS_MATH_FLOAT8_CPU_H_
