// The ops on containers of tensors within a step: stacks and TensorArrays, which are resources that
// live as long as their step (loops of section 4.4 save in them what their gradients need), and
// lists, maps and optionals, which are values held in variant tensors.
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
