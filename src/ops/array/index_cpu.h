// Reading the small integer inputs of kernels that say where something is: axes, sizes, positions.
// Here too is the fetching of rows ahead, which kernels that go through a table by number share.
// All functions run on the calling thread and take no locks.
#ifndef LEAT_OPS_ARRAY_INDEX_CPU_H_
#define LEAT_OPS_ARRAY_INDEX_CPU_H_

#include "kernel/kernel.h"

// Returns element |at| of a tensor of integers: int8, int16, int32, int64, uint16, or any type
// whose elements are uint8. |at| is not checked, and the value may be any: whoever uses it as an
// index checks it first.
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
// Writes element |at| of an int32 or int64 tensor. The value must fit the type.
static inline void leat_index_write(leat_tensor_t* tensor, int64_t at, int64_t value) {
  if (tensor->dtype == LEAT_DTYPE_INT64) {
    leat_tensor_data(tensor, int64_t)[at] = value;
  } else {
    leat_tensor_data(tensor, int32_t)[at] = (int32_t)value;
  }
}

// Asks the processor to fetch a row of a table that may be far larger than the caches; a loop does
// so LEAT_ROWS_AHEAD rows before it reads the row. The function is always inlined, because GCC sees
// no effect in one that only fetches, and would leave out the call.
#define LEAT_ROWS_AHEAD 8
__attribute__((always_inline)) static inline void leat_row_fetch(const void* row, size_t bytes) {
  for (size_t at = 0; at < bytes && at < 8 * LEAT_CACHE_LINE_BYTES; at += LEAT_CACHE_LINE_BYTES) {
    __builtin_prefetch((const char*)row + at);
  }
}

// Writes where item |at| of a tensor of |shape| is, an item being what the first |rank| dimensions
// number: "[2]", "[0,1]", or "" where |rank| is 0; it stands behind the tensor's name in messages.
// Returns |buffer|, which holds |size| characters; what is longer is cut off.
const char* leat_index_place(const leat_shape_t* shape, int rank, int64_t at, char* buffer,
                             size_t size);
#define LEAT_INDEX_PLACE(shape, rank, at) \
  leat_index_place((shape), (rank), (at), (char[160]){0}, 160)

// Reads the axis of a tensor of |rank| from input |input|, which has one element and may be
// negative; |out_axis| is in [0, rank). INVALID_ARGUMENT when it is no axis.
LEAT_MUST_USE leat_status_t leat_axis_read(const leat_kernel_context_t* c, int input,
                                           int64_t rank, int* out_axis);
// Computes the strides, in elements, of a dense tensor of |shape|, one for each dimension:
// |out_strides| has room for the rank. All are 1 where the tensor has no elements: its sizes other
// than 0 may have a product that overflows.
void leat_shape_strides(const leat_shape_t* shape, int64_t* out_strides);

#endif  // LEAT_OPS_ARRAY_INDEX_CPU_H_
