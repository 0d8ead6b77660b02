// Ops on the arrangement of tensors: shapes, slices, joins, index order.
#include "ops/family.h"

#define LEAT_ARRAY_SOURCES(X) \
  X(concat)         \
  X(constant)       \
  X(fill)           \
  X(gather)         \
  X(gather_nd)      \
  X(identity)       \
  X(mirror_pad)     \
  X(numerics)       \
  X(pack)           \
  X(pad)            \
  X(placeholder)    \
  X(reshape)        \
  X(scatter_nd)     \
  X(shape)          \
  X(slice)          \
  X(split)          \
  X(strided_assign) \
  X(strided_slice)  \
  X(tile)           \
  X(transpose)

LEAT_OP_FAMILY(array, LEAT_ARRAY_SOURCES)
