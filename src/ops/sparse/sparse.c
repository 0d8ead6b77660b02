// Tensors that state only what they have: indices with values, and rows of different lengths.
#include "ops/family.h"

#define LEAT_SPARSE_SOURCES(X) \
  X(edit_distance)             \
  X(feature_cross)             \
  X(reorder)                   \
  X(ragged_range)              \
  X(tensors_map)               \
  X(serialized_entries)        \
  X(sparse_dense)              \
  X(sparse_sum)                \
  X(empty_rows)                \
  X(set_operation)             \
  X(sparse_reshape)            \
  X(sparse_to_dense)

LEAT_OP_FAMILY(sparse, LEAT_SPARSE_SOURCES)
