// The family of ops on tensors that hold only what is there: sparse tensors, which are indices with
// values, and ragged ones, whose rows have different lengths.
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
