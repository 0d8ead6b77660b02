// Adds, subtracts, multiplies or divides runs of elements, or takes their least or greatest, in
// place: what scattering, sums of gradients and the gradient of mirrored padding do where several
// values meet at one element. Integers wrap around.
#ifndef LEAT_DEVICE_CPU_COMBINE_H_
#define LEAT_DEVICE_CPU_COMBINE_H_

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
// The same for strings, which are put one after the other.
LEAT_MUST_USE leat_status_t leat_combine_strings(void* to, const void* from, int64_t count);

// sum[i] = a[i] + b[i] for |count| numbers of |dtype|; |sum| may be |a|, and otherwise lies apart
// from |a| and |b|. false, and nothing is done, for types that are no numbers.
bool leat_numbers_add(int dtype, const void* a, const void* b, void* sum, int64_t count);

#endif  // LEAT_DEVICE_CPU_COMBINE_H_
