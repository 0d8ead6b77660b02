// Moves a block of elements between two arrangements in memory, each given by strides: what
// Transpose, Slice, Reverse, Tile, BroadcastTo, Pad, Concat, Split and many others come down to. A
// source stride of 0 repeats, a negative one reverses. Dimensions are added from the outermost to
// the innermost; those that lie together are merged as they come, so that the copy sees few and
// long ones. Plain elements are moved as bytes of their size, by vectors and on several threads
// where it pays; objects are copied one by one.
#ifndef LEAT_OPS_ARRAY_STRIDED_CPU_H_
#define LEAT_OPS_ARRAY_STRIDED_CPU_H_

#include "kernel/kernel.h"

#define LEAT_STRIDED_MAX_RANK (2 * LEAT_SHAPE_MAX_RANK)

typedef struct leat_strided_s {
  int dtype;
  int rank;
  bool is_empty;
  bool is_unbroken;  // set by who copies into a variable: all of it, even when the step ends
  // In elements.
  int64_t sizes[LEAT_STRIDED_MAX_RANK];
  int64_t to_strides[LEAT_STRIDED_MAX_RANK];
  int64_t from_strides[LEAT_STRIDED_MAX_RANK];
} leat_strided_t;

static inline void leat_strided_begin(leat_strided_t* s, int dtype) {
  s->dtype = dtype;
  s->rank = 0;
  s->is_empty = s->is_unbroken = false;
}
// For output 0, allocated with |shape|, of input 0's elements; |out_from| and |out_to| are the
// strides of input and output, LEAT_SHAPE_MAX_RANK of each.
LEAT_MUST_USE leat_status_t leat_strided_begin_output(leat_strided_t* s, leat_kernel_context_t* c,
                                                      const leat_shape_t* shape,
                                                      leat_tensor_t** out_output,
                                                      int64_t* out_from, int64_t* out_to);
// At most LEAT_STRIDED_MAX_RANK of them.
void leat_strided_add(leat_strided_t* s, int64_t size, int64_t to_stride, int64_t from_stride);
// |from| and |to| are the addresses of the element whose indices are all 0; the two blocks do not
// overlap. Elements of |to| that are objects must be valid. May change |s|.
LEAT_MUST_USE leat_status_t leat_strided_copy(const leat_kernel_context_t* c, leat_strided_t* s,
                                              const void* from, void* to);

// The most frequent shape: |count| runs of |run| elements each.
LEAT_MUST_USE leat_status_t leat_strided_copy_runs(const leat_kernel_context_t* c, int dtype,
                                                   int64_t count, int64_t run, const void* from,
                                                   int64_t from_stride, void* to,
                                                   int64_t to_stride);

// Address of element |index| of an array of |dtype|.
static inline void* leat_element_at(const void* elements, int dtype, int64_t index) {
  return (char*)(uintptr_t)elements + index * (int64_t)leat_dtype_size(dtype);
}
static inline bool leat_dtype_is_object(int dtype) {
  return leat_dtype_in(dtype, LEAT_DTYPES_OBJECT);
}

#endif  // LEAT_OPS_ARRAY_STRIDED_CPU_H_
