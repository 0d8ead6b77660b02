// Loops of the activations, by op and type. Those of gradients take dy and x (or the activation y);
// the last operand of the leaky ones is alpha, repeated.
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
  LEAT_ACTIVATION_COUNT,
} leat_activation_t;

typedef struct leat_activation_loops_s {
  leat_elementwise_loops_t items[LEAT_ACTIVATION_COUNT];
} leat_activation_loops_t;
LEAT_ISA_DECLARE(leat_activation_loops_t, leat_activation_loops);

#endif  // LEAT_OPS_NN_RELU_CPU_H_
