// Reading the small integer inputs of kernels that say where: axes, sizes, positions.
#ifndef LEAT_OPS_ARRAY_INDEX_CPU_H_
#define LEAT_OPS_ARRAY_INDEX_CPU_H_

#include "kernel/kernel.h"

// Element |at| of a tensor of integers.
static inline int64_t leat_index_read(const leat_tensor_t* tensor, int64_t at) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_INT32: return leat_tensor_data(tensor, const int32_t)[at];
    case LEAT_DTYPE_INT64: return leat_tensor_data(tensor, const int64_t)[at];
    case LEAT_DTYPE_INT16: return leat_tensor_data(tensor, const int16_t)[at];
    case LEAT_DTYPE_UINT16: return leat_tensor_data(tensor, const uint16_t)[at];
    case LEAT_DTYPE_INT8: return leat_tensor_data(tensor, const int8_t)[at];
    default: return leat_tensor_data(tensor, const uint8_t)[at];
  }
}
// Writes element |at| of an int32 or int64 tensor.
static inline void leat_index_write(leat_tensor_t* tensor, int64_t at, int64_t value) {
  if (tensor->dtype == LEAT_DTYPE_INT64) {
    leat_tensor_data(tensor, int64_t)[at] = value;
  } else {
    leat_tensor_data(tensor, int32_t)[at] = (int32_t)value;
  }
}

// Asks for a row of a table that may be far larger than the caches, some rows before its turn.
// Inline at all costs: a function that only fetches has no effect that GCC sees, and is left out.
#define LEAT_ROWS_AHEAD 8
__attribute__((always_inline)) static inline void leat_row_fetch(const void* row, size_t bytes) {
  for (size_t at = 0; at < bytes && at < 8 * LEAT_CACHE_LINE_BYTES; at += LEAT_CACHE_LINE_BYTES) {
    __builtin_prefetch((const char*)row + at);
  }
}

// The axis that input |input| of a kernel names, one element; INVALID_ARGUMENT when it is none.
LEAT_MUST_USE leat_status_t leat_axis_read(const leat_kernel_context_t* c, int input,
                                           int64_t rank, int* out_axis);
// Strides in elements of a dense tensor of |shape|; |out_strides| has its rank.
void leat_shape_strides(const leat_shape_t* shape, int64_t* out_strides);

#endif  // LEAT_OPS_ARRAY_INDEX_CPU_H_
