// Ops that order others and compute nothing. Switch, Merge and the loop ops join them with frames.
#include "ops/family.h"

#define LEAT_CONTROL_SOURCES(X) \
  X(flow)                     \
  X(no_op)

LEAT_OP_FAMILY(control, LEAT_CONTROL_SOURCES)
