// Ops of neural networks: activations, biases, convolutions, pools, normalisations, losses.
#include "ops/family.h"

#define LEAT_NN_SOURCES(X) \
  X(bias)                  \
  X(relu)                  \
  X(softmax)               \
  X(cross_entropy)         \
  X(conv2d)                \
  X(max_pool)              \
  X(avg_pool)

LEAT_OP_FAMILY(nn, LEAT_NN_SOURCES)
