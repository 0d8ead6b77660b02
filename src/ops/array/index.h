// Reading the small integer inputs that say where: axes, sizes, positions. In kernels from tensors of
// any integer type, in shape functions from what is known of a value.
#ifndef LEAT_OPS_ARRAY_INDEX_H_
#define LEAT_OPS_ARRAY_INDEX_H_

#include "graph/inference.h"
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

// Counts a negative axis from the end; false when it is none of |rank|.
static inline bool leat_axis_resolve(int64_t* inout_axis, int64_t rank) {
  if (*inout_axis < -rank || *inout_axis >= rank) return false;
  if (*inout_axis < 0) *inout_axis += rank;
  return true;
}
// The axis that input |input| of a kernel names, one element; INVALID_ARGUMENT when it is none.
LEAT_MUST_USE leat_status_t leat_axis_read(const leat_kernel_context_t* c, int input,
                                           int64_t rank, int* out_axis);
// Strides in elements of a dense tensor of |shape|; |out_strides| has its rank.
void leat_shape_strides(const leat_shape_t* shape, int64_t* out_strides);

// ---- While the graph is built -------------------------------------------------------------------

// What is known of integer input |input| of one element: true and its value, or false.
LEAT_MUST_USE leat_status_t leat_inference_index(leat_inference_t* c, int input, bool* out_is_known,
                                                 int64_t* out_value);
// The same value with input |input|'s own items and count, where all of them are known.
LEAT_MUST_USE leat_status_t leat_inference_indices(leat_inference_t* c, int input,
                                                   bool* out_is_known,
                                                   leat_partial_value_t* out_value);
// The axis of |rank| dimensions (-1: unknown) that scalar input |input| names, negative ones resolved
// where the rank is known; INVALID_ARGUMENT when it is none of them.
LEAT_MUST_USE leat_status_t leat_inference_axis(leat_inference_t* c, int input, int rank,
                                                bool* out_is_known, int* out_axis);
// |shape| with |size| as dimension |axis|.
LEAT_MUST_USE leat_status_t leat_inference_replace_dim(leat_inference_t* c,
                                                       leat_partial_shape_t shape, int axis,
                                                       int64_t size,
                                                       leat_partial_shape_t* out_shape);
// Unknown when |size| is; INVALID_ARGUMENT when |divisor| does not divide it.
LEAT_MUST_USE leat_status_t leat_inference_divide(int64_t size, int64_t divisor, int64_t* out_size);
// Unknown when either is; INVALID_ARGUMENT when the sum overflows or is negative.
LEAT_MUST_USE leat_status_t leat_inference_add(int64_t size, int64_t addend, int64_t* out_size);
// Product of the known sizes and how many are unknown.
LEAT_MUST_USE leat_status_t leat_inference_count(leat_partial_shape_t shape, int64_t* out_count,
                                                 int* out_unknown_count, int* out_unknown_axis);

// Output 0 has the elements of input 0 in their order (value functions of Reshape and its kin).
leat_status_t leat_value_rearranged(leat_inference_t* c);

#endif  // LEAT_OPS_ARRAY_INDEX_H_
