// The family of ops on tensors of strings.
#include "ops/family.h"

#define LEAT_STRING_SOURCES(X) \
  X(format)                    \
  X(hash)                      \
  X(join)                      \
  X(ngrams)                    \
  X(number)                    \
  X(regex)                     \
  X(string_split)              \
  X(text)

LEAT_OP_FAMILY(string, LEAT_STRING_SOURCES)
