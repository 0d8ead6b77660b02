// The ops of the two ends of an edge that crosses devices (section 3.2.2).
#include "ops/family.h"

#define LEAT_SENDRECV_SOURCES(X) \
  X(transfer)

LEAT_OP_FAMILY(sendrecv, LEAT_SENDRECV_SOURCES)
