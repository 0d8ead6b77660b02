// A strided copy moves a block of elements between two arrangements in memory, each given by one
// stride for every dimension. Transpose, Slice, Reverse, Tile, BroadcastTo, Pad, Concat, Split and
// many other kernels are such copies:
//
//   for every index (i, j, ...):
//     to[i * to_strides[0] + j * to_strides[1] + ...] =
//         from[i * from_strides[0] + j * from_strides[1] + ...]
//
// A source stride of 0 repeats an element, a negative one reverses a dimension.
//
// A kernel calls leat_strided_begin, adds the dimensions from the outermost to the innermost, and
// calls leat_strided_copy. Neighbouring dimensions that form one run of equal steps on both sides
// are merged as they are added, so that the copy sees few and long dimensions. Plain elements are
// moved as bytes of their size, with vectors and on the threads of the step's pool where that pays;
// objects (strings, variants) are copied one by one on the calling thread, because copying one may
// fail.
#ifndef LEAT_OPS_ARRAY_STRIDED_CPU_H_
#define LEAT_OPS_ARRAY_STRIDED_CPU_H_

#include "kernel/kernel.h"

#define LEAT_STRIDED_MAX_RANK (2 * LEAT_SHAPE_MAX_RANK)

// The block in the making. It lives on the stack for one copy, and is some 12 KiB large.
typedef struct leat_strided_s {
  int dtype;
  int rank;
  bool is_empty;
  // The caller sets this where it copies into a variable: the copy is then completed even when the
  // step is told to end, because half an update would be worse than a late one.
  bool is_unbroken;
  // Strides are in elements.
  int64_t sizes[LEAT_STRIDED_MAX_RANK];
  int64_t to_strides[LEAT_STRIDED_MAX_RANK];
  int64_t from_strides[LEAT_STRIDED_MAX_RANK];
} leat_strided_t;

// Begins a block of elements of |dtype| without dimensions: one element.
static inline void leat_strided_begin(leat_strided_t* s, int dtype) {
  s->dtype = dtype;
  s->rank = 0;
  s->is_empty = s->is_unbroken = false;
}
// Begins a copy from input 0 of a kernel to output 0, which is allocated with |shape|. |out_from|
// and |out_to| become the strides of the dense input and output; each has room for
// LEAT_SHAPE_MAX_RANK.
LEAT_MUST_USE leat_status_t leat_strided_begin_output(leat_strided_t* s, leat_kernel_context_t* c,
                                                      const leat_shape_t* shape,
                                                      leat_tensor_t** out_output,
                                                      int64_t* out_from, int64_t* out_to);
// Adds the next inner dimension, of |size| elements. After merging there may be at most
// LEAT_STRIDED_MAX_RANK dimensions.
void leat_strided_add(leat_strided_t* s, int64_t size, int64_t to_stride, int64_t from_stride);
// Copies the block. |from| and |to| are the addresses of the element whose indices are all 0; the
// two blocks must not overlap. Elements of |to| that are objects must be valid, since they are
// replaced. May change |s|, so that a block serves one copy. Fails only for objects.
LEAT_MUST_USE leat_status_t leat_strided_copy(const leat_kernel_context_t* c, leat_strided_t* s,
                                              const void* from, void* to);

// Copies |count| runs of |run| elements each; the runs begin |from_stride| elements apart in the
// source and |to_stride| elements apart in the target. This is the most frequent kind of block.
LEAT_MUST_USE leat_status_t leat_strided_copy_runs(const leat_kernel_context_t* c, int dtype,
                                                   int64_t count, int64_t run, const void* from,
                                                   int64_t from_stride, void* to,
                                                   int64_t to_stride);

// Returns the address of element |index| of an array of |dtype|.
static inline void* leat_element_at(const void* elements, int dtype, int64_t index) {
  return (char*)(uintptr_t)elements + index * (int64_t)leat_dtype_size(dtype);
}
// Whether elements of |dtype| own something: strings, handles, variants.
static inline bool leat_dtype_is_object(int dtype) {
  return leat_dtype_in(dtype, LEAT_DTYPES_OBJECT);
}

#endif  // LEAT_OPS_ARRAY_STRIDED_CPU_H_
