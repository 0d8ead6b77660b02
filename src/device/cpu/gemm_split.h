// The matrix product of floats on a matrix unit that multiplies bfloat16 (AMX of x86-64).
//
// A float (24 significant bits) is exactly the sum of three bfloat16 (8 bits each). Six of the nine
// products of parts are summed, in float; the other three are together below 2^-24 of |a * b|, as
// is the rounding of a multiplication. The unit multiplies bfloat16 sixteen times as fast as
// vectors multiply floats, so six products still take less than half the time. Its sums of 32
// products round less often than a chain of multiply-adds: errors are about half of the plain
// kernel's, and products of integers are as exact.
//
// The unit takes subnormal numbers for zero, parts and sums alike. So panels (32 rows of A, 32
// columns of B) whose largest magnitude lies outside of 2^-40 .. 2^60, which NaN and infinity do,
// are multiplied without it. What the others lose is below 2^-86 of their largest |a| times their
// largest |b|, or below 2^-126, for each product summed.
#ifndef LEAT_DEVICE_CPU_GEMM_SPLIT_H_
#define LEAT_DEVICE_CPU_GEMM_SPLIT_H_

#include "device/cpu/gemm_kernels.h"

// block_f32 alone, or NULL where this machine has no such unit.
const leat_gemm_kernels_t* leat_gemm_split_kernels(void);

#endif  // LEAT_DEVICE_CPU_GEMM_SPLIT_H_
