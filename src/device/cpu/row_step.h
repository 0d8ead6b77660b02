// A step that follows a matrix product or a convolution, such as adding a bias and an activation,
// and is applied to rows of the result as soon as these are complete, while they are still in the
// cache. So a result that is larger than the caches is not read from memory a second time.
//
// Whoever computes rows calls |apply| once for each row, on any thread, for several rows at a time;
// calls for different rows may overlap. The result is seen as a dense matrix: a convolution's as
// [batch * out_height * out_width, out_channels].
#ifndef LEAT_DEVICE_CPU_ROW_STEP_H_
#define LEAT_DEVICE_CPU_ROW_STEP_H_

#include "device/cpu/gemm.h"

typedef struct leat_row_step_s {
  // Changes rows [first, first + count) of the result in place; |rows| is the address of the first
  // of them. |has_bias| says that |bias| has been added already.
  void (*apply)(void* data, void* rows, int64_t first, int64_t count, bool has_bias);
  void* data;
  // The part of the step that oneDNN can do: |bias|, of one float for each column, or NULL, is
  // added before anything else. Only where oneDNN adds it is |has_bias| true.
  const float* bias;
  bool only_bias;  // nothing is left to do once |bias| is added
} leat_row_step_t;

// C = op(A) op(B) on |pool|; a NULL pool means that the calling thread does it all.
typedef void (*leat_row_product_fn_t)(const leat_gemm_shape_t* shape, const void* a, const void* b,
                                      void* c, leat_thread_pool_t* pool);

// Computes C, dense, by |multiply| and applies |step| to its rows; elements have |item_bytes|. A
// large C is computed in blocks of rows that fit the second-level cache. |first| is the number of
// C's first row in the matrix that |step| knows. |is_whole| forbids blocks, since cutting rows may
// change the last bits and the number of blocks depends on the number of threads.
void leat_row_step_multiply(const leat_row_step_t* step, leat_row_product_fn_t multiply,
                            const leat_gemm_shape_t* shape, size_t item_bytes, const void* a,
                            const void* b, void* c, int64_t first, bool is_whole,
                            leat_thread_pool_t* pool);

#endif  // LEAT_DEVICE_CPU_ROW_STEP_H_
