// Combines runs of elements in place: sums, differences, products, quotients, minima or maxima.
// Scattering, sums of gradients and the gradient of mirrored padding use this where several values
// meet at one element. A kernel asks once for the function of its type and calls it for each run,
// so that the loop over elements holds no decision:
//
//   leat_combine_fn_t add = leat_combine_find(LEAT_COMBINE_ADD, LEAT_DTYPE_FLOAT);
//   for (int64_t i = 0; i < rows; ++i) add(sums + index[i] * width, rows_of + i * width, width);
//
// Integers wrap. Nothing here locks: the functions may run on several threads at once, but not on
// the same elements.
#ifndef LEAT_DEVICE_CPU_COMBINE_H_
#define LEAT_DEVICE_CPU_COMBINE_H_

#include "tensor/tensor.h"

typedef enum leat_combine_e {
  // Copies; serves every type of plain bytes.
  LEAT_COMBINE_ASSIGN,
  LEAT_COMBINE_ADD,  // bools: or; strings: appended
  LEAT_COMBINE_SUB,
  LEAT_COMBINE_MIN,
  LEAT_COMBINE_MAX,
  LEAT_COMBINE_MUL,
  LEAT_COMBINE_DIV,  // integers: rounded toward zero; no divisor may be 0
} leat_combine_t;

// to[i] = to[i] <how> from[i] for |count| elements; |to| and |from| do not overlap, or are the
// same.
typedef void (*leat_combine_fn_t)(void* to, const void* from, int64_t count);
// The function for |dtype|; NULL where the type has no such operation, and for strings.
leat_combine_fn_t leat_combine_find(leat_combine_t how, int dtype);
// Appends from[i] to to[i] for |count| strings. On failure (memory) some are appended already.
LEAT_MUST_USE leat_status_t leat_combine_strings(void* to, const void* from, int64_t count);

// sum[i] = a[i] + b[i] for |count| numbers of |dtype|. |sum| may be |a|, and otherwise overlaps
// neither operand. false, with nothing done, for types that are no numbers.
bool leat_numbers_add(int dtype, const void* a, const void* b, void* sum, int64_t count);

#endif  // LEAT_DEVICE_CPU_COMBINE_H_
