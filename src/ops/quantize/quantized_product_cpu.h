// Products of matrices of 8-bit integers, summed in 32 bits that wrap: what quantised matrix
// products and convolutions have in common.
//
//   out[row][column] = sum over k of (a[row][k] - zero of a) * (b[column][k] - zero of b)
//
// Both factors lie with the summed dimension last, and their zeros (the integers that stand for 0)
// are subtracted before the products, so that a padding is 0. The differences are kept in 16 bits
// where the zeros are small enough, which they are for ranges that contain 0, else in 32. The
// factor b is packed as a whole; rows of a are made by a callback where they are needed, so that a
// convolution never holds all its windows.
//
//   leat_quantized_product_pack, then leat_quantized_product_run, then leat_quantized_product_end
#ifndef LEAT_OPS_QUANTIZE_QUANTIZED_PRODUCT_CPU_H_
#define LEAT_OPS_QUANTIZE_QUANTIZED_PRODUCT_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"

// The number of rows of a that the inner loop multiplies at a time.
#define LEAT_QUANTIZED_ROWS 4

// The inner loops over differences of one width.
typedef struct leat_quantized_loops_s {
  // Writes |count| differences of the integers at from[0], from[stride], ... and |zero|.
  void (*centre)(const void* from, int64_t stride, bool is_signed, int32_t zero, int64_t count,
                 void* to);
  // Multiplies |rows| <= LEAT_QUANTIZED_ROWS rows of a with |columns| of b, all |depth| long.
  void (*multiply)(const void* a, const void* b, int64_t rows, int64_t columns, int64_t depth,
                   int32_t* out);
  size_t size;  // of a difference
} leat_quantized_loops_t;

typedef struct leat_quantized_widths_s {
  leat_quantized_loops_t narrow;  // 16 bits
  leat_quantized_loops_t wide;    // 32 bits
} leat_quantized_widths_t;
LEAT_ISA_DECLARE(leat_quantized_widths_t, leat_quantized_widths);

// An 8-bit factor of a product.
typedef struct leat_quantized_factor_s {
  const leat_tensor_t* tensor;
  int32_t zero;
  const int32_t* zeros;  // of b: one for each column; NULL: all are |zero|
} leat_quantized_factor_t;

static inline bool leat_quantized_factor_is_signed(const leat_quantized_factor_t* factor) {
  return factor->tensor->dtype == LEAT_DTYPE_QINT8;
}

// A product. It may be the first member of a struct that the callbacks need.
typedef struct leat_quantized_product_s {
  int64_t rows, columns, depth;
  leat_quantized_factor_t a, b;
  // Writes the |depth| differences of row |index| of a, with loops->centre.
  void (*row)(const struct leat_quantized_product_s* p, int64_t index, void* to);
  // Takes the sums of |rows| rows from |first| on, which it may overwrite; several threads call it.
  // NULL: the sums go to |out|.
  void (*emit)(const struct leat_quantized_product_s* p, int64_t first, int64_t rows,
               int32_t* sums);
  const leat_quantized_loops_t* loops;
  int32_t* out;  // [rows, columns]
  leat_tensor_t packed;  // b
  leat_tensor_t lines;   // of the threads: rows of a
  leat_tensor_t sums;    // of the threads: what |emit| takes
  int64_t bands;         // into which the rows are divided
} leat_quantized_product_t;

// |row| for a matrix and for a transposed one.
void leat_quantized_matrix_row(const leat_quantized_product_t* p, int64_t index, void* to);
void leat_quantized_transposed_row(const leat_quantized_product_t* p, int64_t index, void* to);

// Chooses the loops and packs b. Column |j| of b begins at b[j * column_stride], and its integers
// are |stride| apart. |rows|, |columns|, |depth|, |a|, |b|, |row| and |emit| or |out| must be set,
// the rest zero.
LEAT_MUST_USE leat_status_t leat_quantized_product_pack(leat_kernel_context_t* c,
                                                        leat_quantized_product_t* p,
                                                        int64_t column_stride, int64_t stride);
// Computes the sums.
LEAT_MUST_USE leat_status_t leat_quantized_product_run(leat_kernel_context_t* c,
                                                       leat_quantized_product_t* p);
// Releases what the product holds, also after a failure.
void leat_quantized_product_end(leat_quantized_product_t* p);

#endif  // LEAT_OPS_QUANTIZE_QUANTIZED_PRODUCT_CPU_H_
