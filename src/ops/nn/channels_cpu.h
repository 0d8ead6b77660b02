// Kernels work with the channels last. A tensor that has them second (NCHW, NCDHW) is transposed to
// temporary memory before the loops, and a result back after them.
//
//   leat_widen_transposed(input) ──▶ loops ──▶ wide of a leat_transposed_output_t
//
// leat_transposed_output_begin allocates |wide|, and leat_transposed_output_end brings it to the
// output. |is_transposed| says whether there is anything to transpose; where not, and where no
// conversion is needed either, tensors are shared and nothing is copied. All functions run on the
// step's pool and block until they are done. RESOURCE_EXHAUSTED when there is no memory.
#ifndef LEAT_OPS_NN_CHANNELS_CPU_H_
#define LEAT_OPS_NN_CHANNELS_CPU_H_

#include "kernel/kernel.h"

// Gives |tensor| in the type that the loops compute in (widen_cpu.h), with the channels last if
// |is_transposed|. The caller ends |out_tensor| by leat_tensor_release.
LEAT_MUST_USE leat_status_t leat_widen_transposed(leat_kernel_context_t* c, bool is_transposed,
                                                  const leat_tensor_t* tensor,
                                                  leat_tensor_t* out_tensor);
// A result under way. The loops write to |wide|; |last| is the same with the output's type.
typedef struct leat_transposed_output_s {
  leat_tensor_t* output;
  bool is_transposed;
  leat_tensor_t last, wide;  // both have the channels last
} leat_transposed_output_t;
LEAT_MUST_USE leat_status_t leat_transposed_output_begin(leat_kernel_context_t* c,
                                                         bool is_transposed, leat_tensor_t* output,
                                                         leat_transposed_output_t* out_transposed);
// Brings |wide| to the output unless |status| is an error, releases what begin allocated, and
// returns |status|.
LEAT_MUST_USE leat_status_t leat_transposed_output_end(leat_kernel_context_t* c,
                                                       leat_transposed_output_t* transposed,
                                                       leat_status_t status);

#endif  // LEAT_OPS_NN_CHANNELS_CPU_H_
