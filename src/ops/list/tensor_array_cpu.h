// Functions that the kernels for one slot and those for many slots of a TensorArray share.
#ifndef LEAT_OPS_LIST_TENSOR_ARRAY_CPU_H_
#define LEAT_OPS_LIST_TENSOR_ARRAY_CPU_H_

#include "ops/list/tensor_slots_cpu.h"

// Finds the array that input 0 names, whichever of the three forms the handle has (a reference to
// two strings, two strings, a resource). The result is retained.
LEAT_MUST_USE leat_status_t leat_slots_find(leat_kernel_context_t* c, leat_slots_t** out_slots);
// INVALID_ARGUMENT unless the array's elements are of |dtype|.
LEAT_MUST_USE leat_status_t leat_slots_check_dtype(const leat_kernel_context_t* c,
                                                   const leat_slots_t* slots, int dtype);

#define LEAT_SLOTS_TYPES                                                                      \
  "bfloat16, bool, complex128, complex64, double, float, half, int16, int32, int64, int8, "   \
  "string, uint16, uint32, uint64, uint8"

#endif  // LEAT_OPS_LIST_TENSOR_ARRAY_CPU_H_
