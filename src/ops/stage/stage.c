// Staging areas, in which a step leaves tuples of tensors for the next one, in order or by key.
#include "ops/family.h"

#define LEAT_STAGE_SOURCES(X) \
  X(staging)                  \
  X(map_stage)

LEAT_OP_FAMILY(stage, LEAT_STAGE_SOURCES)
