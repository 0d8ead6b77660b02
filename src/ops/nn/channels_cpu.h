// Kernels work with the channels last. Tensors that have them second (NCHW, NCDHW) are turned.
#ifndef LEAT_OPS_NN_CHANNELS_CPU_H_
#define LEAT_OPS_NN_CHANNELS_CPU_H_

#include "kernel/kernel.h"

// |out_shape| is |shape| [batch, channels, ...] with the channels last. Rank 3 to 8.
leat_shape_t leat_channels_last_shape(const leat_shape_t* shape);
// A copy of |tensor| [batch, channels, ...] with the channels last, ended by leat_tensor_release.
LEAT_MUST_USE leat_status_t leat_channels_to_last(leat_kernel_context_t* c,
                                                  const leat_tensor_t* tensor,
                                                  leat_tensor_t* out_tensor);
// |tensor| wide (widen_cpu.h), and with the channels last if it |turns|; ended the same way.
LEAT_MUST_USE leat_status_t leat_widen_turned(leat_kernel_context_t* c, bool turns,
                                              const leat_tensor_t* tensor,
                                              leat_tensor_t* out_tensor);
// Back: |to| has the channels second.
void leat_channels_to_second(leat_kernel_context_t* c, const leat_tensor_t* from,
                             leat_tensor_t* to);

#endif  // LEAT_OPS_NN_CHANNELS_CPU_H_
