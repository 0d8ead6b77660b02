// half and bfloat16 through float: a kernel written for float runs over float copies of its inputs
// and outputs. Tensors of any other type are shared as they are, so the same code serves them.
#ifndef LEAT_OPS_NN_WIDEN_CPU_H_
#define LEAT_OPS_NN_WIDEN_CPU_H_

#include "kernel/kernel.h"

static inline bool leat_is_narrow(int dtype) {
  return dtype == LEAT_DTYPE_HALF || dtype == LEAT_DTYPE_BFLOAT16;
}
// The type that a kernel of |dtype| computes in.
static inline int leat_wide_type(int dtype) {
  return leat_is_narrow(dtype) ? LEAT_DTYPE_FLOAT : dtype;
}

// |count| elements of a narrow |dtype| to float and back.
void leat_widen_elements(int dtype, const void* from, float* to, int64_t count);
void leat_narrow_elements(int dtype, const float* from, void* to, int64_t count);

// |out_wide| is ended by leat_tensor_release.
LEAT_MUST_USE leat_status_t leat_widen(leat_kernel_context_t* c, const leat_tensor_t* tensor,
                                       leat_tensor_t* out_wide);
// Room for the values of |output|, to be given to leat_narrow once they are there.
LEAT_MUST_USE leat_status_t leat_widen_output(leat_kernel_context_t* c, const leat_tensor_t* output,
                                              leat_tensor_t* out_wide);
void leat_narrow(leat_kernel_context_t* c, const leat_tensor_t* wide, leat_tensor_t* output);

// All inputs that are narrow and output 0 made wide at once, for kernels of several tensors.
#define LEAT_WIDE_MAX_INPUTS 6
typedef struct leat_wide_s {
  leat_tensor_t inputs[LEAT_WIDE_MAX_INPUTS];
  int input_count;
} leat_wide_t;
// On failure nothing is held.
LEAT_MUST_USE leat_status_t leat_wide_begin(leat_kernel_context_t* c, leat_wide_t* out_wide);
void leat_wide_end(leat_wide_t* wide);

#endif  // LEAT_OPS_NN_WIDEN_CPU_H_
