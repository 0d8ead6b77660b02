// Index tuples: the rows of an integer tensor [..., depth], each of which names an element or a
// slice of another tensor. GatherNd, ScatterNd and the ops like them use them. Of a tensor [d_0,
// ..., d_n] a tuple (i_0, ..., i_(depth-1)) names the slice [d_depth, ..., d_n] whose first element
// is
//
//   i_0 * strides[0] + ... + i_(depth-1) * strides[depth - 1]
//
// The functions run on the calling thread, and leat_nd_index_at may run on many at once.
#ifndef LEAT_OPS_INDEX_ND_INDEX_CPU_H_
#define LEAT_OPS_INDEX_ND_INDEX_CPU_H_

#include "ops/array/index_cpu.h"

// The tuples of a tensor and the tensor shape that they index. It borrows |indices|, whose type may
// be any that leat_index_read takes. Plain data: nothing has to be released.
typedef struct leat_nd_index_s {
  const leat_tensor_t* indices;
  int depth;
  int64_t count;  // tuples
  int64_t slice;  // elements of what one tuple names
  int64_t dims[LEAT_SHAPE_MAX_RANK];     // of the indexed tensor, |depth| of them
  int64_t strides[LEAT_SHAPE_MAX_RANK];  // in elements
} leat_nd_index_t;

// What a tuple out of range does: it fails the kernel, or it is passed over (read as zeros).
typedef enum leat_bad_indices_e {
  LEAT_BAD_INDICES_FAIL = 0,
  LEAT_BAD_INDICES_IGNORE = 1,
} leat_bad_indices_t;
// Reads attribute "bad_indices_policy" while a kernel is made; INVALID_ARGUMENT for an unknown one.
LEAT_MUST_USE leat_status_t leat_bad_indices_read(const leat_kernel_creation_t* creation,
                                                  leat_bad_indices_t* out_policy);

// Makes the index of |indices|, which it borrows, into a tensor of |shape|. INVALID_ARGUMENT when
// |indices| is a scalar or its tuples are longer than the rank of |shape|. The tuples themselves
// are not looked at yet.
LEAT_MUST_USE leat_status_t leat_nd_index_make(const leat_kernel_context_t* c,
                                               const leat_tensor_t* indices,
                                               const leat_shape_t* shape,
                                               leat_nd_index_t* out_index);
// Returns the first element that tuple |at| names, or -1 when it is out of range.
static inline int64_t leat_nd_index_at(const leat_nd_index_t* index, int64_t at) {
  int64_t element = 0, first = at * index->depth;
  for (int d = 0; d < index->depth; ++d) {
    int64_t item = leat_index_read(index->indices, first + d);
    if (LEAT_UNLIKELY((uint64_t)item >= (uint64_t)index->dims[d])) return -1;
    element += item * index->strides[d];
  }
  return element;
}
// Makes the INVALID_ARGUMENT that names tuple |at|, which is out of range, and the shape that it
// should index into, called |what|.
LEAT_MUST_USE leat_status_t leat_nd_index_error(const leat_kernel_context_t* c,
                                                const leat_nd_index_t* index, const char* what,
                                                int64_t at);

#endif  // LEAT_OPS_INDEX_ND_INDEX_CPU_H_
