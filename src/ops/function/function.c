// The ops of functions (section 10): arguments and return values, calls, branches and loops of
// calls.
#include "ops/family.h"

#define LEAT_FUNCTION_SOURCES(X) \
  X(branch)                    \
  X(call)                      \
  X(loop)

LEAT_OP_FAMILY(function, LEAT_FUNCTION_SOURCES)
