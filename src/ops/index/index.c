// The family of ops that take, write and find elements and slices of tensors by their positions.
// This list registers each source's ops and kernels.
#include "graph/rewrite_rule.h"
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

#define LEAT_INDEX_RULES(X) X(strided_slice)

LEAT_OP_FAMILY_WITH_RULES(index, LEAT_INDEX_SOURCES, LEAT_INDEX_RULES)
