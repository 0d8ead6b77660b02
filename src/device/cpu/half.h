// half (IEEE binary16) and bfloat16, as bits in a uint16_t, to and from float. Kernels of these
// types compute in float: they convert each element on the way in and round once on the way out.
// vector_math.h converts arrays with vector instructions and gives the same results to the bit;
// these functions are for single numbers and for what is left over.
//
// Rounding is to nearest, ties to even. Overflow gives infinity, small values give denormals. A NaN
// stays a NaN: quiet, with its sign and the high bits of its payload, as the F16C instructions do.
//
//   half      1 sign, 5 exponent, 10 fraction    largest 65504, smallest normal 2^-14
//   bfloat16  1 sign, 8 exponent,  7 fraction    the upper half of a float
#ifndef LEAT_DEVICE_CPU_HALF_H_
#define LEAT_DEVICE_CPU_HALF_H_

#include <stdint.h>
#include <string.h>

// The bits of a float as a number and back, without a pointer cast that aliasing rules forbid.
static inline uint32_t leat_float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float leat_float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline float leat_bfloat16_to_float(uint16_t bits) {
  return leat_float_from_bits((uint32_t)bits << 16);
}

// Adding 0x7fff, and 1 more if the last bit that is kept is odd, carries into that bit exactly when
// rounding goes up. A NaN is set quiet instead, since the sum could turn it into infinity.
static inline uint16_t leat_bfloat16_from_float(float value) {
  const uint32_t bits = leat_float_bits(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float leat_half_to_float(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) {  // infinity, or a NaN that becomes quiet
    const uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
    return leat_float_from_bits(sign | 0x7f800000 | quiet | (magnitude & 0x3ff) << 13);
  }
  if (magnitude < 0x400) {  // a denormal is an integer times 2^-24, which float holds exactly
    const float value = (float)magnitude * 0x1p-24f;
    return leat_float_from_bits(sign | leat_float_bits(value));
  }
  return leat_float_from_bits(sign | ((magnitude << 13) + 0x38000000));
}

// Three ranges: what rounds to 2^16 or more is infinity, normal numbers are rounded by an addition
// as above, and below 2^-14 the result is a denormal.
static inline uint16_t leat_half_from_float(float value) {
  const uint32_t bits = leat_float_bits(value);
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to 2^16 or more
  if (magnitude < 0x38800000) {  // below 2^-14: adding 2^-1 leaves the rounded denormal in the bits
    const float shifted = leat_float_from_bits(magnitude) + 0.5f;
    return (uint16_t)(sign | (leat_float_bits(shifted) - 0x3f000000));
  }
  return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

#endif  // LEAT_DEVICE_CPU_HALF_H_
