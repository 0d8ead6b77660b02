// The family of arithmetic ops: elementwise functions, comparisons, casts, reductions, segment ops,
// scans and ranges. Each name in the list is a source with a table of ops and one of kernels.
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
