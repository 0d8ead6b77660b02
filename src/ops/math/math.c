// Arithmetic: elementwise functions, comparisons, casts, sums and other reductions, ranges.
#include "ops/family.h"

#define LEAT_MATH_SOURCES(X) \
  X(add_n)                  \
  X(arg)                    \
  X(binary)                 \
  X(bincount)               \
  X(bitwise)                \
  X(broadcast)              \
  X(cast)                   \
  X(compare)                \
  X(complex)                \
  X(cross)                  \
  X(fused)                  \
  X(histogram)              \
  X(range)                  \
  X(reduction)              \
  X(scan)                   \
  X(segment)                \
  X(select)                 \
  X(sparse_segment)         \
  X(special)                \
  X(unary)

LEAT_OP_FAMILY(math, LEAT_MATH_SOURCES)
