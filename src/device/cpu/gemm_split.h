// The matrix product of floats on a matrix unit that multiplies bfloat16 (AMX of x86-64).
//
// A float has 24 significant bits and is exactly the sum of three bfloat16 of 8 bits each: a = a0 +
// a1 + a2. Of the nine products of parts, six are summed in float:
//
//   a b = a0 b0 + (a0 b1 + a1 b0) + (a0 b2 + a1 b1 + a2 b0) + less than 2^-24 |a b|
//
// The three that are left out are as small as the rounding of a float multiplication. The unit
// multiplies bfloat16 sixteen times as fast as vectors multiply floats, so that six products still
// take less than half the time. Its sums of 32 products round less often than a chain of
// multiply-adds: errors are about half of the plain kernel's, and products of integers are as
// exact.
//
// The unit takes subnormal numbers for zero, in parts and in sums. Therefore panels (32 rows of A,
// 32 columns of B) whose largest magnitude lies outside of 2^-40 .. 2^60, which is the case for NaN
// and infinity too, are multiplied by the plain kernel. What other panels lose is below 2^-86 of
// their largest |a| times their largest |b|, or below 2^-126, for each product summed.
#ifndef LEAT_DEVICE_CPU_GEMM_SPLIT_H_
#define LEAT_DEVICE_CPU_GEMM_SPLIT_H_

#include "device/cpu/gemm_kernels.h"

// The kernels of this unit, with block_f32 alone; NULL where this machine has no such unit.
const leat_gemm_kernels_t* leat_gemm_split_kernels(void);

#endif  // LEAT_DEVICE_CPU_GEMM_SPLIT_H_
