// Staging areas, in which one step leaves tuples of tensors for a later one, in order or by key. A
// pipeline uses them to copy the next batch to a device while the current one is computed.
#include "ops/family.h"

#define LEAT_STAGE_SOURCES(X) \
  X(staging)                  \
  X(map_stage)

LEAT_OP_FAMILY(stage, LEAT_STAGE_SOURCES)
