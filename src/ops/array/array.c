// Ops on the arrangement of tensors: shapes, slices, joins, index order.
#include "ops/family.h"

#define LEAT_ARRAY_SOURCES(X) \
  X(band)           \
  X(concat)         \
  X(constant)       \
  X(fake_quant)     \
  X(fill)           \
  X(gather)         \
  X(gather_nd)      \
  X(identity)       \
  X(matrix_diag)    \
  X(mirror_pad)     \
  X(numerics)       \
  X(pack)           \
  X(pad)            \
  X(pad_sum)        \
  X(patches)        \
  X(placeholder)    \
  X(quantization)   \
  X(quantized)      \
  X(reshape)        \
  X(reverse)        \
  X(row_update)     \
  X(scatter_nd)     \
  X(search)         \
  X(shape)          \
  X(slice)          \
  X(space_batch)    \
  X(space_depth)    \
  X(split)          \
  X(stitch)         \
  X(strided_assign) \
  X(strided_slice)  \
  X(tile)           \
  X(transpose)      \
  X(unique)         \
  X(where)

LEAT_OP_FAMILY(array, LEAT_ARRAY_SOURCES)
