// Tables from keys to values (section 4.7): hash tables that are filled once, that change, and
// dense ones; filled from tensors or text files.
#include "ops/family.h"

#define LEAT_LOOKUP_SOURCES(X) \
  X(table_handle)              \
  X(table_access)              \
  X(table_initialize)

LEAT_OP_FAMILY(lookup, LEAT_LOOKUP_SOURCES)
