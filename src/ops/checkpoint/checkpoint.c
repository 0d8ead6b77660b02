// The ops that save and restore variables (section 3.3), for checkpoints of both versions of the
// format.
#include "ops/family.h"

#define LEAT_CHECKPOINT_SOURCES(X) \
  X(save)                          \
  X(remap)                         \
  X(restore)                       \
  X(shard)

LEAT_OP_FAMILY(checkpoint, LEAT_CHECKPOINT_SOURCES)
