// What x[a:b:c, ..., newaxis, i] selects: StridedSlice's begin, end, strides and five masks,
// resolved against a shape. The same code serves the kernels and, with parts unknown, the shape
// functions.
#ifndef LEAT_OPS_INDEX_SELECTION_H_
#define LEAT_OPS_INDEX_SELECTION_H_

#include "tensor/shape.h"

#define LEAT_SELECTION_MAX_ITEMS 31  // the masks have 32 bits
#define LEAT_SELECTION_NEW_AXIS (-1)
#define LEAT_SELECTION_UNKNOWN INT64_MIN  // inference has the same number (LEAT_VALUE_UNKNOWN)

// Bit i speaks of item i.
typedef struct leat_selection_masks_s {
  uint32_t begin, end;  // begin or end of the range is the dimension's
  uint32_t ellipsis;    // stands for as many dimensions as are left; at most one
  uint32_t new_axis;    // a new dimension of size 1
  uint32_t shrink;      // a single index: the dimension goes
} leat_selection_masks_t;

typedef struct leat_selection_items_s {
  int count;
  // LEAT_SELECTION_UNKNOWN where not known (strides always are).
  int64_t begin[LEAT_SELECTION_MAX_ITEMS + 1];
  int64_t end[LEAT_SELECTION_MAX_ITEMS + 1];
  int64_t strides[LEAT_SELECTION_MAX_ITEMS + 1];
} leat_selection_items_t;

typedef struct leat_selection_s {
  // By dimension of the input.
  int rank;
  int64_t begin[LEAT_SHAPE_MAX_RANK];
  int64_t strides[LEAT_SHAPE_MAX_RANK];
  int64_t sizes[LEAT_SHAPE_MAX_RANK];  // -1: unknown
  // By dimension of the result: its dimension in the input, or NEW_AXIS.
  int result_rank;
  int source[LEAT_SHAPE_MAX_RANK + LEAT_SELECTION_MAX_ITEMS];
  int64_t result[LEAT_SHAPE_MAX_RANK + LEAT_SELECTION_MAX_ITEMS];
} leat_selection_t;

// INVALID_ARGUMENT where TensorFlow's is.
LEAT_MUST_USE leat_status_t leat_selection_make(const leat_selection_items_t* items,
                                                leat_selection_masks_t masks, int rank,
                                                const int64_t* dims,
                                                leat_selection_t* out_selection);

#endif  // LEAT_OPS_INDEX_SELECTION_H_
