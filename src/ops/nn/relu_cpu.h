// Loops of the activations: |x| alone (|dy| NULL) or with the gradient.
#ifndef LEAT_OPS_NN_RELU_CPU_H_
#define LEAT_OPS_NN_RELU_CPU_H_

#include <stdint.h>

#include "base/cpu.h"

#define LEAT_ACTIVATIONS(X) \
  X(relu)                   \
  X(relu6)                  \
  X(leaky_relu)             \
  X(elu)                    \
  X(selu)                   \
  X(softplus)               \
  X(softsign)

// y = f(x) or dx = f'(x, dy), in place or apart.
typedef void (*leat_activation_fn_t)(const void* dy, const void* x, void* y, int64_t n,
                                     float alpha);

typedef struct leat_activation_loops_s {
#define LEAT_ACTIVATION_FIELDS(name) leat_activation_fn_t name, name##_grad;
  LEAT_ACTIVATIONS(LEAT_ACTIVATION_FIELDS)
#undef LEAT_ACTIVATION_FIELDS
} leat_activation_loops_t;
LEAT_ISA_DECLARE(leat_activation_loops_t, leat_activation_loops_f32);
LEAT_ISA_DECLARE(leat_activation_loops_t, leat_activation_loops_f64);

#endif  // LEAT_OPS_NN_RELU_CPU_H_
