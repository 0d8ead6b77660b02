// Reading segment ids (int16, int32 or int64) and finding them in a sorted vector.
#ifndef LEAT_OPS_MATH_SEGMENT_CPU_H_
#define LEAT_OPS_MATH_SEGMENT_CPU_H_

#include "kernel/kernel.h"
#include "tensor/tensor.h"

static inline int64_t leat_segment_id(const leat_tensor_t* ids, int64_t index) {
  if (ids->dtype == LEAT_DTYPE_INT16) return leat_tensor_data(ids, const int16_t)[index];
  return leat_tensor_index_at(ids, index);
}

// The error of id |at|, which is below |before|, the one before it or 0, or not below |segments|.
LEAT_MUST_USE leat_status_t leat_segment_error(const leat_kernel_context_t* c, int64_t at,
                                               int64_t id, int64_t segments);

// The index of the first of |count| sorted ids that is at least |id|; |count| if there is none.
static inline int64_t leat_segment_find(const leat_tensor_t* ids, int64_t count, int64_t id) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (leat_segment_id(ids, middle) < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

#endif  // LEAT_OPS_MATH_SEGMENT_CPU_H_
