// Adds, subtracts, takes the least or greatest of runs of elements in place: what scattering and
// the gradient of mirrored padding do where several values meet. Integers wrap around.
#ifndef LEAT_OPS_ARRAY_COMBINE_CPU_H_
#define LEAT_OPS_ARRAY_COMBINE_CPU_H_

#include "tensor/tensor.h"

typedef enum leat_combine_e {
  LEAT_COMBINE_ASSIGN,
  LEAT_COMBINE_ADD,  // of bools: or; of strings: one after the other
  LEAT_COMBINE_SUB,
  LEAT_COMBINE_MIN,
  LEAT_COMBINE_MAX,
  LEAT_COMBINE_MUL,
  LEAT_COMBINE_DIV,  // of integers: towards zero; none of the divisors may be 0
} leat_combine_t;

// to[i] = to[i] <how> from[i] for |count| elements that lie apart or are the same.
typedef void (*leat_combine_fn_t)(void* to, const void* from, int64_t count);
// NULL where the type has no such operation, and for strings.
leat_combine_fn_t leat_combine_find(leat_combine_t how, int dtype);
LEAT_MUST_USE leat_status_t leat_combine_strings(void* to, const void* from, int64_t count);

#endif  // LEAT_OPS_ARRAY_COMBINE_CPU_H_
