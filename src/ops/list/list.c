// What holds many tensors within a step: stacks and arrays (section 4.4's loops push and write what
// their gradients need), lists, maps and optional values, which are variants.
#include "ops/family.h"

#define LEAT_LIST_SOURCES(X) \
  X(optional)                \
  X(stack)                   \
  X(tensor_array)            \
  X(tensor_array_batch)      \
  X(tensor_list)             \
  X(tensor_list_batch)       \
  X(tensor_map)

LEAT_OP_FAMILY(list, LEAT_LIST_SOURCES)
