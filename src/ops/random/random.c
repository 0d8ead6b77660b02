// The family of random ops. For the same seeds they give the same numbers as TensorFlow's, whatever
// the number of threads.
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
