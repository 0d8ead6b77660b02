// The ops of lookup tables, which map keys to values (section 4.7): hash tables that are filled
// once, hash tables that change, and dense ones; and their filling from tensors or text files.
#include "ops/family.h"

#define LEAT_LOOKUP_SOURCES(X) \
  X(table_handle)              \
  X(table_access)              \
  X(table_initialize)

LEAT_OP_FAMILY(lookup, LEAT_LOOKUP_SOURCES)
