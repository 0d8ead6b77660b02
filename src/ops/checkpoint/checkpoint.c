// Saving and restoring variables (section 3.3): checkpoints of both versions.
#include "ops/family.h"

#define LEAT_CHECKPOINT_SOURCES(X) \
  X(save)                          \
  X(remap)                         \
  X(restore)                       \
  X(shard)

LEAT_OP_FAMILY(checkpoint, LEAT_CHECKPOINT_SOURCES)
