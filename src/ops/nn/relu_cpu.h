// The loops of the activations, a table by op and type. relu_isa.c fills the table for each
// instruction set. Most activations are elementwise kernels (relu_cpu.c, elementwise_cpu.h), and
// the epilogue of fused products (epilogue_cpu.h) calls loops from here over its rows.
//
// A loop takes arrays: the features of an activation; dy and x (or y, as the op says) of a
// gradient; those of the leaky ops are followed by alpha, repeated for each element. All are of
// float or double, since half and bfloat16 are converted by the engine; a few activations have
// loops for these too. No loop has a fault to report.
#ifndef LEAT_OPS_NN_RELU_CPU_H_
#define LEAT_OPS_NN_RELU_CPU_H_

#include "ops/math/elementwise_cpu.h"

// The ops. The gradients of RELU and RELU6 may be given x or the activation's value y, because both
// are positive in the same places. Those of LEAKY_RELU, SOFTPLUS and SOFTSIGN need x, those of ELU
// and SELU need y, so that a training step need not keep x.
typedef enum leat_activation_e {
  LEAT_ACTIVATION_RELU,
  LEAT_ACTIVATION_RELU_GRAD,
  LEAT_ACTIVATION_RELU6,
  LEAT_ACTIVATION_RELU6_GRAD,
  LEAT_ACTIVATION_LEAKY_RELU,
  LEAT_ACTIVATION_LEAKY_RELU_GRAD,
  LEAT_ACTIVATION_ELU,
  LEAT_ACTIVATION_ELU_GRAD,
  LEAT_ACTIVATION_SELU,
  LEAT_ACTIVATION_SELU_GRAD,
  LEAT_ACTIVATION_SOFTPLUS,
  LEAT_ACTIVATION_SOFTPLUS_GRAD,
  LEAT_ACTIVATION_SOFTSIGN,
  LEAT_ACTIVATION_SOFTSIGN_GRAD,
  // No ops, but parts of fused products (epilogue_cpu.h): x times the probability that a normal
  // variable is below x, and an approximation of that with tanh.
  LEAT_ACTIVATION_GELU_EXACT,
  LEAT_ACTIVATION_GELU_APPROXIMATE,
  // The number of loops by type, not an op.
  LEAT_ACTIVATION_COUNT,
} leat_activation_t;

// items[op][leat_loop_type(dtype)] is the loop, or NULL.
typedef struct leat_activation_loops_s {
  leat_elementwise_loops_t items[LEAT_ACTIVATION_COUNT];
} leat_activation_loops_t;
LEAT_ISA_DECLARE(leat_activation_loops_t, leat_activation_loops);

#endif  // LEAT_OPS_NN_RELU_CPU_H_
