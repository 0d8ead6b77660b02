// Matrix product: C = op(A) * op(B) + D, all row-major.
//
//   op(A) [m, k], op(B) [k, n], C and D [m, n]; lda, ldb, ldc and ldd are the distances in elements
//   between rows as stored, so a transposed A is stored as [k, m] with lda >= m.
//
// D may be NULL (nothing is added; C is not read, so garbage and NaN there are harmless), C itself,
// or another matrix; with ldd 0 it is one row for all rows of C (a bias). It is added to the whole
// sum, rounded once more, as a sum of its own would be. A zero in A does not hide a NaN or an
// infinity in B. m, n or k of 0 are legal. C overlaps neither A nor B, nor D but where D is C.
// Nothing here fails or blocks: |workspace| is leat_gemm_*_workspace_bytes at 64-byte alignment, or
// NULL, which borrows from a cache of the process (no malloc in a steady call; when memory is gone
// an unpacked loop serves). |pool| may be NULL. The bits of the result depend on the shape and the
// instruction set, never on the number of threads.
//
// float and double are a packed, blocked kernel for each instruction set. half and bfloat16
// accumulate in float. Integers wrap around (uint32 and uint64 share the signed code).
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

typedef struct leat_gemm_shape_s {
  leat_gemm_op_t op_a, op_b;
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int64_t ldd;  // of a D that is not C
} leat_gemm_shape_t;

// The shape of dense matrices without gaps.
leat_gemm_shape_t leat_gemm_shape_dense(leat_gemm_op_t op_a, leat_gemm_op_t op_b, int64_t m,
                                        int64_t n, int64_t k);

size_t leat_gemm_f32_workspace_bytes(const leat_gemm_shape_t* shape,
                                     const leat_thread_pool_t* pool);
size_t leat_gemm_f64_workspace_bytes(const leat_gemm_shape_t* shape,
                                     const leat_thread_pool_t* pool);

// The policy of leat_gemm_f32, as measured: ours to 128 x 128 x 128 and for vectors, where it is up
// to 1.5 times as fast, and for 12 to 24 rows times a transposed matrix; oneDNN else (3 to 10 %),
// where its module is present.
bool leat_gemm_f32_prefers_onednn(const leat_gemm_shape_t* shape);

// The one to call. Where oneDNN serves, the bits may depend on the number of threads.
void leat_gemm_f32(const leat_gemm_shape_t* shape, const float* a, const float* b, const float* d,
                   float* c, void* workspace, leat_thread_pool_t* pool);
// Always ours.
void leat_gemm_f32_portable(const leat_gemm_shape_t* shape, const float* a, const float* b,
                            const float* d, float* c, void* workspace, leat_thread_pool_t* pool);
void leat_gemm_f64(const leat_gemm_shape_t* shape, const double* a, const double* b,
                   const double* d, double* c, void* workspace, leat_thread_pool_t* pool);

// C = op(A) * op(B), plus C when |accumulate|. Data are the dtype's own layout: half and bfloat16
// are uint16_t, complex are (real, imaginary) pairs. Unsigned types take the signed function.
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
