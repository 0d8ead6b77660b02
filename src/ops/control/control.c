// The ops that steer a step and compute nothing: control flow, nodes to wait for, assertions,
// printing.
#include "ops/family.h"

#define LEAT_CONTROL_SOURCES(X) \
  X(assert)                     \
  X(flow)                       \
  X(print)

LEAT_OP_FAMILY(control, LEAT_CONTROL_SOURCES)
