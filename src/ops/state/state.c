// Variables and what updates them (section 4.7): references and resources.
#include "ops/family.h"

#define LEAT_STATE_SOURCES(X) \
  X(variable)                 \
  X(assign)                   \
  X(counter)                  \
  X(resource_gather)          \
  X(resource_variable)        \
  X(scatter)                  \
  X(session_tensor)           \
  X(temporary)

LEAT_OP_FAMILY(state, LEAT_STATE_SOURCES)
