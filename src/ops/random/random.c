// Random numbers: the same as TensorFlow's for the same seeds, whatever the number of threads.
#include "ops/family.h"

#define LEAT_RANDOM_SOURCES(X) \
  X(bounded_normal)            \
  X(candidate)                 \
  X(distribution)              \
  X(gamma)                     \
  X(multinomial)               \
  X(poisson)                   \
  X(shuffle)                   \
  X(stateless)

LEAT_OP_FAMILY(random, LEAT_RANDOM_SOURCES)
