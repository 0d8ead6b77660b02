// A selection is what x[a:b:c, ..., newaxis, i] selects: StridedSlice's begin, end, strides and
// five masks, resolved against a shape.
//
//   x [4, 5, 6], x[1, ..., newaxis, ::2]  ->  index 1 of dimension 0, all of dimension 1,
//                                             0, 2, 4 of dimension 2; result [5, 1, 3]
//
// The same code serves the kernels and the shape functions; for the latter begins, ends and sizes
// may be unknown. A selection is plain data, owned by whoever declares it, and computing it takes
// no memory. It is some 10 KiB large.
#ifndef LEAT_OPS_INDEX_SELECTION_H_
#define LEAT_OPS_INDEX_SELECTION_H_

#include "tensor/shape.h"

// The masks have 32 bits, and an ellipsis may be added.
#define LEAT_SELECTION_MAX_ITEMS 31
#define LEAT_SELECTION_NEW_AXIS (-1)
#define LEAT_SELECTION_UNKNOWN INT64_MIN  // inference has the same number (LEAT_VALUE_UNKNOWN)

// Bit i of each mask is about item i.
typedef struct leat_selection_masks_s {
  uint32_t begin, end;  // the range begins or ends where the dimension does
  uint32_t ellipsis;    // the item stands for as many dimensions as are left; at most one bit
  uint32_t new_axis;    // the item makes a new dimension of size 1
  uint32_t shrink;      // the item is a single index, and its dimension is dropped
} leat_selection_masks_t;

// The items between the brackets: begin, end and stride of each.
typedef struct leat_selection_items_s {
  int count;
  // LEAT_SELECTION_UNKNOWN where a number is not known; strides must be known.
  int64_t begin[LEAT_SELECTION_MAX_ITEMS + 1];
  int64_t end[LEAT_SELECTION_MAX_ITEMS + 1];
  int64_t strides[LEAT_SELECTION_MAX_ITEMS + 1];
} leat_selection_items_t;

// What is selected: along dimension d of the input, the |sizes|[d] indices begin[d],
// begin[d] + strides[d], and so on.
typedef struct leat_selection_s {
  // For each dimension of the input: its first index, step and size.
  int rank;
  int64_t begin[LEAT_SHAPE_MAX_RANK];
  int64_t strides[LEAT_SHAPE_MAX_RANK];
  int64_t sizes[LEAT_SHAPE_MAX_RANK];  // -1: unknown
  // For each dimension of the result: its dimension in the input, or LEAT_SELECTION_NEW_AXIS, and
  // its size.
  int result_rank;
  int source[LEAT_SHAPE_MAX_RANK + LEAT_SELECTION_MAX_ITEMS];
  int64_t result[LEAT_SHAPE_MAX_RANK + LEAT_SELECTION_MAX_ITEMS];
} leat_selection_t;

// Resolves |items| and |masks| against the |rank| sizes |dims|, -1 where unknown. INVALID_ARGUMENT
// where TensorFlow gives it: an index out of range, a stride of 0, too many items, two ellipses.
LEAT_MUST_USE leat_status_t leat_selection_make(const leat_selection_items_t* items,
                                                leat_selection_masks_t masks, int rank,
                                                const int64_t* dims,
                                                leat_selection_t* out_selection);

#endif  // LEAT_OPS_INDEX_SELECTION_H_
