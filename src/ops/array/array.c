// Ops on the arrangement of tensors: shapes, slices, joins, index order.
#include "ops/family.h"

#define LEAT_ARRAY_SOURCES(X) \
  X(constant)    \
  X(identity)    \
  X(numerics)    \
  X(placeholder) \
  X(shape)

LEAT_OP_FAMILY(array, LEAT_ARRAY_SOURCES)
