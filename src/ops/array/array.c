// Constants and the arrangement of tensors: shapes, joins, parts, paddings, the order of elements.
#include "ops/family.h"

#define LEAT_ARRAY_SOURCES(X) \
  X(band)                     \
  X(concat)                   \
  X(constant)                 \
  X(fill)                     \
  X(identity)                 \
  X(matrix_diag)              \
  X(mirror_pad)               \
  X(numerics)                 \
  X(pack)                     \
  X(pad)                      \
  X(pad_sum)                  \
  X(patches)                  \
  X(placeholder)              \
  X(reshape)                  \
  X(reverse)                  \
  X(shape)                    \
  X(space_batch)              \
  X(space_depth)              \
  X(split)                    \
  X(tile)                     \
  X(transpose)

LEAT_OP_FAMILY(array, LEAT_ARRAY_SOURCES)
