// The family of ops that make constants and arrange tensors: shapes, joins and splits, paddings,
// the order of elements. This list registers each source's ops and kernels.
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
