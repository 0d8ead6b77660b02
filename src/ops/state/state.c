// The family of ops of variables and what updates them (section 4.7 of the white paper): by
// reference and by resource handle. This list registers each source's ops and kernels.
#include "graph/rewrite_rule.h"
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

#define LEAT_STATE_RULES(X) X(scatter)

LEAT_OP_FAMILY_WITH_RULES(state, LEAT_STATE_SOURCES, LEAT_STATE_RULES)
