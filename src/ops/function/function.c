// Where values enter and leave a function body, or a graph whose edges are fed.
#include "ops/family.h"

#define LEAT_FUNCTION_SOURCES(X) \
  X(argument)                  \
  X(branch)                    \
  X(call)                      \
  X(counted_loop)              \
  X(loop)

LEAT_OP_FAMILY(function, LEAT_FUNCTION_SOURCES)
