// Arithmetic: elementwise functions, comparisons, casts, sums and other reductions, ranges.
#include "ops/family.h"

#define LEAT_MATH_SOURCES(X) \
  X(add_n)                   \
  X(binary)                  \
  X(bitwise)                 \
  X(broadcast)               \
  X(cast)                    \
  X(compare)                 \
  X(reduction)               \
  X(select)                  \
  X(unary)

LEAT_OP_FAMILY(math, LEAT_MATH_SOURCES)
