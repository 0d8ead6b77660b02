// Half and bfloat16 by way of float: a kernel that is written for float runs over float copies of
// its inputs and outputs. Each value is rounded once, when the result is narrowed. Tensors of any
// other type are shared as they are, so the same code serves every type. "Narrow" means half or
// bfloat16, "wide" the type that the kernel computes in. The functions run on the step's pool and
// block until they are done; RESOURCE_EXHAUSTED when there is no memory for a copy.
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

// Convert |count| elements of a narrow |dtype| to float, and float to it.
void leat_widen_elements(int dtype, const void* from, float* to, int64_t count);
void leat_narrow_elements(int dtype, const float* from, void* to, int64_t count);

// Gives |tensor| wide: a converted copy, or the tensor itself, shared. The caller ends |out_wide|
// by leat_tensor_release.
LEAT_MUST_USE leat_status_t leat_widen(leat_kernel_context_t* c, const leat_tensor_t* tensor,
                                       leat_tensor_t* out_wide);
// Gives room for the values of |output|: a temporary float tensor, or the output itself, shared.
// The caller passes it to leat_narrow once the values are there, then ends it by
// leat_tensor_release.
LEAT_MUST_USE leat_status_t leat_widen_output(leat_kernel_context_t* c, const leat_tensor_t* output,
                                              leat_tensor_t* out_wide);
// Converts |wide| into |output|; does nothing where they share their elements.
void leat_narrow(leat_kernel_context_t* c, const leat_tensor_t* wide, leat_tensor_t* output);

// All inputs of a kernel made wide at once. Inputs from the seventh on are left out.
#define LEAT_WIDE_MAX_INPUTS 6
typedef struct leat_wide_s {
  leat_tensor_t inputs[LEAT_WIDE_MAX_INPUTS];
  int input_count;
} leat_wide_t;
// On failure nothing is held, and leat_wide_end need not be called.
LEAT_MUST_USE leat_status_t leat_wide_begin(leat_kernel_context_t* c, leat_wide_t* out_wide);
void leat_wide_end(leat_wide_t* wide);

#endif  // LEAT_OPS_NN_WIDEN_CPU_H_
