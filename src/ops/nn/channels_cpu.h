// Kernels work with the channels last. Tensors that have them second (NCHW, NCDHW) are turned.
#ifndef LEAT_OPS_NN_CHANNELS_CPU_H_
#define LEAT_OPS_NN_CHANNELS_CPU_H_

#include "kernel/kernel.h"

// |tensor| wide (widen_cpu.h), and with the channels last if it |turns|; ended the same way.
LEAT_MUST_USE leat_status_t leat_widen_turned(leat_kernel_context_t* c, bool turns,
                                              const leat_tensor_t* tensor,
                                              leat_tensor_t* out_tensor);
// Room for |output|'s values in that form: |wide| is for the loops, and the end brings what they
// made of it to |output|.
typedef struct leat_turned_output_s {
  leat_tensor_t* output;
  bool turns;
  leat_tensor_t last, wide;  // of the output's type; of the type that computes
} leat_turned_output_t;
LEAT_MUST_USE leat_status_t leat_turned_output_begin(leat_kernel_context_t* c, bool turns,
                                                     leat_tensor_t* output,
                                                     leat_turned_output_t* out_turned);
// Gives |status| back, and brings nothing when it is an error.
LEAT_MUST_USE leat_status_t leat_turned_output_end(leat_kernel_context_t* c,
                                                   leat_turned_output_t* turned,
                                                   leat_status_t status);

#endif  // LEAT_OPS_NN_CHANNELS_CPU_H_
