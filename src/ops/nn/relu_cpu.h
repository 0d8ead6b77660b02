// The loops of the activations, a table by op and type. A loop takes arrays: the features of an
// activation; dy and x (or y, as the op says) of a gradient; those of the leaky ops are followed by
// alpha, repeated for each element. relu_isa.c fills the table for each instruction set.
#ifndef LEAT_OPS_NN_RELU_CPU_H_
#define LEAT_OPS_NN_RELU_CPU_H_

#include "ops/math/elementwise_cpu.h"

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
  // No ops, but parts of fused products (epilogue_cpu.h).
  LEAT_ACTIVATION_GELU_EXACT,
  LEAT_ACTIVATION_GELU_APPROXIMATE,
  LEAT_ACTIVATION_COUNT,
} leat_activation_t;

typedef struct leat_activation_loops_s {
  leat_elementwise_loops_t items[LEAT_ACTIVATION_COUNT];
} leat_activation_loops_t;
LEAT_ISA_DECLARE(leat_activation_loops_t, leat_activation_loops);

#endif  // LEAT_OPS_NN_RELU_CPU_H_
