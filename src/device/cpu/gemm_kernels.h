// The part of the matrix product that is compiled once per instruction set: one thread's product of
// one block of C (gemm_isa.c with gemm_kernel.inc and gemm_rows.inc). gemm.c chooses which kernel
// serves a product, divides C among threads, and calls these functions; nobody else does.
//
// A product that is large enough to pay for it is packed: a block of A and a block of B are copied
// into the order in which the inner loop reads them, so that each load takes whole cache lines and
// the blocks stay in the caches. The inner loop keeps a tile of C in registers.
//
//        depth         columns            columns
//      ┌───────┐     ┌─────────┐        ┌─────────┐
// rows│ A     │  x  │ B       │depth = │ tile │  │rows
//      └───────┘     └─────────┘        └─────────┘
#ifndef LEAT_DEVICE_CPU_GEMM_KERNELS_H_
#define LEAT_DEVICE_CPU_GEMM_KERNELS_H_

#include "base/checked.h"
#include "base/cpu.h"
#include "device/cpu/gemm.h"

// Sizes in elements: blocks of |rows| x |depth| of A and |depth| x |columns| of B are packed at a
// time, and tiles of C are |tile_rows| x |tile_columns|.
typedef struct leat_gemm_blocking_s {
  int64_t rows, columns, depth;
  int64_t tile_rows, tile_columns;
  // The bytes that are packed for a part of C of |rows| x |columns|, for a kernel whose packing
  // differs from those blocks; NULL for others.
  size_t (*packed_bytes)(int64_t rows, int64_t columns, int64_t depth);
} leat_gemm_blocking_t;

// An A of at most so many elements is packed once, as a whole. A larger A is packed block by block,
// again for each block of columns. As floats they take half a MiB.
#define LEAT_GEMM_WHOLE_ELEMENTS (128 * 1024)

// The number of elements of A that are packed at a time: all of a small A, else one block.
static inline int64_t leat_gemm_packed_count(int64_t m, int64_t k, int64_t block_rows,
                                             int64_t block_depth) {
  if (m * k <= LEAT_GEMM_WHOLE_ELEMENTS) return m * k;
  return LEAT_MIN(m, block_rows) * LEAT_MIN(k, block_depth);
}

// The largest such number for any A of at most |m| rows: a smaller A may be packed as a whole.
static inline int64_t leat_gemm_packed_most(int64_t m, int64_t k, int64_t block_rows,
                                            int64_t block_depth) {
  if (m * k <= LEAT_GEMM_WHOLE_ELEMENTS) return m * k;
  return LEAT_MAX(LEAT_GEMM_WHOLE_ELEMENTS,
                  leat_gemm_packed_count(m, k, block_rows, block_depth));
}

// The functions of one element type. |ld| and the strides count elements; a vector's stride need
// not be 1. Nothing here allocates or fails.
#define LEAT_GEMM_KERNEL_FIELDS(type, suffix)                                                  \
  leat_gemm_blocking_t blocking_##suffix;                                                      \
  /* |workspace| holds a packed block of A, then one of B. */                                  \
  void (*block_##suffix)(const leat_gemm_shape_t* shape, const type* a, const type* b,         \
                         const type* d, type* c, void* workspace);                             \
  /* A of few rows, as it is, times a transposed B. */                                         \
  void (*dots_##suffix)(const leat_gemm_shape_t* shape, const type* a, const type* b,          \
                        bool accumulate, type* c);                                             \
  /* y[r * y_stride] = (matrix [rows, columns] . x)[r], added to y when |accumulate| */        \
  void (*rows_##suffix)(int64_t rows, int64_t columns, const type* matrix, int64_t ld,         \
                        const type* x, int64_t x_stride, bool accumulate, type* y,             \
                        int64_t y_stride);                                                     \
  /* y[c * y_stride] = (x . matrix [rows, columns])[c], added to y when |accumulate| */        \
  void (*columns_##suffix)(int64_t rows, int64_t columns, const type* matrix, int64_t ld,      \
                           const type* x, int64_t x_stride, bool accumulate, type* y,          \
                           int64_t y_stride);

// The table of one instruction set, for the two types that have packed kernels.
typedef struct leat_gemm_kernels_s {
  LEAT_GEMM_KERNEL_FIELDS(float, f32)
  LEAT_GEMM_KERNEL_FIELDS(double, f64)
} leat_gemm_kernels_t;

// One table for each instruction set; gemm.c takes the best one of the machine.
LEAT_ISA_DECLARE(leat_gemm_kernels_t, leat_gemm_kernels);

#endif  // LEAT_DEVICE_CPU_GEMM_KERNELS_H_
