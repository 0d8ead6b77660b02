// The kernels of the matrix product for one instruction set. This file is compiled once per set. It
// chooses the width of a vector, the number of rows that a tile keeps in registers, and a fused
// multiply-add where the machine has one, and includes gemm_kernel.inc for float and for double.
// gemm.c calls the table that comes out of it.
//
// A tile of TILE_ROWS x 2 vectors needs 2 TILE_ROWS registers for sums and a few for operands: 12
// rows fit the 32 registers of AVX-512 and of aarch64, 6 rows the 16 of AVX2 and SSE. Block sizes
// are chosen for the caches: a packed block of A takes half of the second-level cache, a panel of B
// fits into the first-level cache.
//
// Fused multiply-adds round once, so that instruction sets differ in the last bits of a product.
// Within one set the result is the same for any number of threads.
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "device/cpu/gemm_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))
// Also in the baseline: a tile whose loops are not unrolled does not stay in registers.
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL_DEPTH _Pragma("GCC unroll 4")

#define TILES_TO_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define TILES_TO_12(X) TILES_TO_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#define TILES_TO_14(X) TILES_TO_12(X) X(13) X(14)

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define TILE_ROWS 12
#define DOT_ROWS 5
#define TILE_TABLE TILES_TO_12
#define FMA_F32(a, b, c) ((f32_vector_t)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define FMA_F64(a, b, c) ((f64_vector_t)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FMA_SCALAR_F32 fmaf
#define FMA_SCALAR_F64 fma
#elif defined(__FMA__)
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#define DOT_ROWS 2
#define TILE_TABLE TILES_TO_6
#define FMA_F32(a, b, c) ((f32_vector_t)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define FMA_F64(a, b, c) ((f64_vector_t)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FMA_SCALAR_F32 fmaf
#define FMA_SCALAR_F64 fma
#elif defined(__aarch64__)
#define VECTOR_BYTES 16
#define TILE_ROWS 12
#define DOT_ROWS 5
#define TILE_TABLE TILES_TO_12
#define FMA_F32(a, b, c) \
  ((f32_vector_t)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define FMA_F64(a, b, c) \
  ((f64_vector_t)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#define FMA_SCALAR_F32 fmaf
#define FMA_SCALAR_F64 fma
#else
#define VECTOR_BYTES 16
#define TILE_ROWS 6
#define DOT_ROWS 2
#define TILE_TABLE TILES_TO_6
#define FMA_F32(a, b, c) ((a) * (b) + (c))
#define FMA_F64(a, b, c) ((a) * (b) + (c))
#define FMA_SCALAR_F32(a, b, c) ((a) * (b) + (c))
#define FMA_SCALAR_F64(a, b, c) ((a) * (b) + (c))
#endif

// A packed block of A takes BLOCK_ROWS * BLOCK_DEPTH elements: 240 KiB for float, half of the
// smallest second-level cache.
#define BLOCK_DEPTH 256
// When operands are read in place, because packing costs more than it saves: matrices that fit the
// first-level cache; few rows of A over a B that fits the second-level cache; an A that meets only
// a few panels of B.
#define DIRECT_ELEMENTS (16 * 1024)
#define DIRECT_ROWS 120
#define FEW_ROWS 24
#define L2_ELEMENTS (448 * 1024)
#define DIRECT_PANELS 7

// For few rows times a transposed B: the columns of a tile, and the depth for which the rows of A
// fit the first-level cache.
#define DOT_COLUMNS 4
#define DOT_DEPTH 832

#define REAL float
#define NAME(x) f32_##x
#define LANES ((int)(VECTOR_BYTES / sizeof(float)))
#define FMA FMA_F32
#define FMA_SCALAR FMA_SCALAR_F32
#define BLOCK_ROWS 240
#define BLOCK_COLUMNS 1024
#include "device/cpu/gemm_kernel.inc"
#undef REAL
#undef NAME
#undef LANES
#undef FMA
#undef FMA_SCALAR

#define REAL double
#define NAME(x) f64_##x
#define LANES ((int)(VECTOR_BYTES / sizeof(double)))
#define FMA FMA_F64
#define FMA_SCALAR FMA_SCALAR_F64
#include "device/cpu/gemm_kernel.inc"

const leat_gemm_kernels_t LEAT_ISA_NAME(leat_gemm_kernels) = {
    .blocking_f32 = {BLOCK_ROWS, BLOCK_COLUMNS, BLOCK_DEPTH, TILE_ROWS, 2 * VECTOR_BYTES / 4},
    .block_f32 = f32_gemm_block,
    .dots_f32 = f32_gemm_dots,
    .rows_f32 = f32_gemv_rows,
    .columns_f32 = f32_gemv_columns,
    .blocking_f64 = {BLOCK_ROWS, BLOCK_COLUMNS, BLOCK_DEPTH, TILE_ROWS, 2 * VECTOR_BYTES / 8},
    .block_f64 = f64_gemm_block,
    .dots_f64 = f64_gemm_dots,
    .rows_f64 = f64_gemv_rows,
    .columns_f64 = f64_gemv_columns,
};
