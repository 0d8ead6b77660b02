// Elements and slices of tensors by their places: they are taken, written, found, dealt out by
// number and put together again.
#include "ops/family.h"

#define LEAT_INDEX_SOURCES(X) \
  X(gather)                   \
  X(gather_nd)                \
  X(row_update)               \
  X(scatter_nd)               \
  X(search)                   \
  X(slice)                    \
  X(stitch)                   \
  X(strided_assign)           \
  X(strided_slice)            \
  X(unique)                   \
  X(where)

LEAT_OP_FAMILY(index, LEAT_INDEX_SOURCES)
