// The matrix product on the CPU: C = op(A) * op(B) + D, all matrices row-major.
//
//   op(A) [m, k], op(B) [k, n], C and D [m, n]; lda, ldb, ldc and ldd are the distances in elements
//   between rows as stored, so that a transposed A is stored as [k, m] with lda >= m.
//
// D may be NULL (nothing is added; C is not read, so that garbage and NaN there are harmless), C
// itself, or another matrix; with ldd 0 it is one row for all rows of C (a bias). D is added to the
// complete sum of products, with one more rounding, as a separate addition would be. A zero in A
// does not hide a NaN or an infinity in B. m, n or k of 0 are legal. C overlaps neither A nor B,
// nor a D that is not C itself.
//
// Nothing here fails or blocks, and all functions are thread-safe. |workspace| has
// leat_gemm_*_workspace_bytes at 64-byte alignment; with NULL the product borrows from a cache of
// the process (a steady program then calls no malloc; when memory is exhausted, an unpacked loop
// serves). |pool| may be NULL. The bits of the result depend on the shape and the instruction set,
// never on the number of threads, except where oneDNN serves.
//
// float and double have a packed, blocked kernel for each instruction set. half and bfloat16
// accumulate in float. Integers wrap (uint32 and uint64 share the functions of the signed types).
#ifndef LEAT_DEVICE_CPU_GEMM_H_
#define LEAT_DEVICE_CPU_GEMM_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/thread_pool.h"

typedef enum leat_gemm_op_e {
  LEAT_GEMM_PLAIN = 0,
  LEAT_GEMM_TRANSPOSE = 1,
  LEAT_GEMM_ADJOINT = 2,  // transposed and conjugated; TRANSPOSE for real types
} leat_gemm_op_t;

// |m|, |n| and |k| are those of the product, after the transposition; the leading dimensions are
// those of the matrices as stored.
typedef struct leat_gemm_shape_s {
  leat_gemm_op_t op_a, op_b;
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int64_t ldd;  // for a D that is not C
} leat_gemm_shape_t;

// The shape of a product of dense matrices, without gaps between rows.
leat_gemm_shape_t leat_gemm_shape_dense(leat_gemm_op_t op_a, leat_gemm_op_t op_b, int64_t m,
                                        int64_t n, int64_t k);

// The size of the workspace for a product on |pool|; 0 where none is needed.
size_t leat_gemm_f32_workspace_bytes(const leat_gemm_shape_t* shape,
                                     const leat_thread_pool_t* pool);
size_t leat_gemm_f64_workspace_bytes(const leat_gemm_shape_t* shape,
                                     const leat_thread_pool_t* pool);

// The policy of leat_gemm_f32, as measured. The kernels of this library serve products up to 128 x
// 128 x 128 and vectors, where they are up to 1.5 times as fast, and 12 to 24 rows times a
// transposed matrix; oneDNN serves the rest (3 to 10 % faster), where its module is present.
bool leat_gemm_f32_prefers_onednn(const leat_gemm_shape_t* shape);

// The function to call. Where oneDNN serves, the bits may depend on the number of threads.
void leat_gemm_f32(const leat_gemm_shape_t* shape, const float* a, const float* b, const float* d,
                   float* c, void* workspace, leat_thread_pool_t* pool);
// The product without oneDNN and without the matrix unit: its bits never depend on the threads.
void leat_gemm_f32_portable(const leat_gemm_shape_t* shape, const float* a, const float* b,
                            const float* d, float* c, void* workspace, leat_thread_pool_t* pool);
void leat_gemm_f64(const leat_gemm_shape_t* shape, const double* a, const double* b,
                   const double* d, double* c, void* workspace, leat_thread_pool_t* pool);

// C = op(A) * op(B), plus C when |accumulate|. Elements have their dtype's layout: half and
// bfloat16 are uint16_t, complex numbers (real, imaginary) pairs. Unsigned types use the signed
// function.
#define LEAT_GEMM_GENERIC_TYPES(X) \
  X(f16, uint16_t)                 \
  X(bf16, uint16_t)                \
  X(i8, int8_t)                    \
  X(i16, int16_t)                  \
  X(i32, int32_t)                  \
  X(i64, int64_t)                  \
  X(c64, float)                    \
  X(c128, double)
#define LEAT_GEMM_DECLARE(name, type)                                                     \
  void leat_gemm_##name(const leat_gemm_shape_t* shape, const type* a, const type* b,     \
                        bool accumulate, type* c, leat_thread_pool_t* pool);
LEAT_GEMM_GENERIC_TYPES(LEAT_GEMM_DECLARE)
#undef LEAT_GEMM_DECLARE

#endif  // LEAT_DEVICE_CPU_GEMM_H_
