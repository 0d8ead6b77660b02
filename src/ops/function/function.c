// The ops of functions (section 10): arguments and return values, calls, branches and loops of
// calls.
#include "ops/family.h"

#define LEAT_FUNCTION_SOURCES(X) \
  X(argument)                  \
  X(branch)                    \
  X(call)                      \
  X(counted_loop)              \
  X(loop)

LEAT_OP_FAMILY(function, LEAT_FUNCTION_SOURCES)
