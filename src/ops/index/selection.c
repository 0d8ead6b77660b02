// Resolves a slice (selection.h) in three steps. The items are laid over the input's dimensions,
// where the ellipsis stands for as many as are left; one is added at the end where there is none.
// Then each range is cut to its dimension. Then the dimensions of the result are listed.
//
//   x [4, 5, 6], x[1, ..., newaxis, ::2]
//
//   item       1        ...      newaxis   ::2
//   dimension  0        1        -         2
//   result     (gone)   [5]      [1]       [3]
//
// The rules and the messages are TensorFlow's. Where a begin, an end or a dimension is unknown the
// size is, too, so that shape inference can use the same code as the kernels.
#include "ops/index/selection.h"

#include "base/checked.h"
#include "graph/inference/inference_index.h"

// ---- One dimension ------------------------------------------------------------------------------

// An item as it falls on a dimension.
typedef struct range_s {
  int64_t begin, end, stride;
  bool begin_masked, end_masked, shrinks;
} range_t;

// Counts a negative |x| from the end of the dimension, then cuts it to [low, high].
static int64_t cut(int64_t x, int64_t dim, int64_t low, int64_t high) {
  if (x < 0) x += dim;
  return x < low ? low : x > high ? high : x;
}

// Resolves a single index, whose dimension goes. An unknown one gives 0.
static leat_status_t resolve_index(const range_t* r, int axis, int64_t dim, int64_t* out_begin) {
  if (r->stride <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "only stride 1 allowed on non-range indexing.");
  }
  *out_begin = 0;
  if (r->begin == LEAT_SELECTION_UNKNOWN) return leat_ok_status();
  *out_begin = r->begin < 0 ? dim + r->begin : r->begin;
  if (*out_begin >= 0 && *out_begin < dim) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "slice index %lld of dimension %d out of bounds.", (long long)*out_begin,
                          axis);
}

// Resolves a range to its first index and its size. A range of a negative stride runs from the last
// index down to, if its end is masked, index 0: -1 is then the end.
static leat_status_t resolve_range(const range_t* r, int axis, int64_t dim, int64_t* out_begin,
                                   int64_t* out_size) {
  *out_begin = 0;
  if (r->stride == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "strides[%d] must be non-zero", axis);
  }
  *out_size = r->shrinks ? 1 : LEAT_DIM_UNKNOWN;
  if (dim == LEAT_DIM_UNKNOWN) return leat_ok_status();
  if (r->shrinks) return resolve_index(r, axis, dim, out_begin);
  bool up = r->stride > 0;
  int64_t low = up ? 0 : -1, high = up ? dim : dim - 1;
  bool is_known = (r->begin_masked || r->begin != LEAT_SELECTION_UNKNOWN) &&
                  (r->end_masked || r->end != LEAT_SELECTION_UNKNOWN);
  if (!is_known) return leat_ok_status();
  int64_t begin = r->begin_masked ? (up ? low : high) : cut(r->begin, dim, low, high);
  int64_t end = r->end_masked ? (up ? high : low) : cut(r->end, dim, low, high);
  *out_begin = begin;
  int64_t length = end - begin;
  if (length == 0 || (length < 0) == up) {
    *out_size = 0;
  } else {
    *out_size = length / r->stride + (length % r->stride != 0);
  }
  return leat_ok_status();
}

// ---- All dimensions -----------------------------------------------------------------------------

// Resolves |r| for dimension |axis|, and adds it to the result unless it shrinks.
static leat_status_t add_range(leat_selection_t* s, int axis, const range_t* r,
                               const int64_t* dims) {
  LEAT_RETURN_IF_ERROR(resolve_range(r, axis, dims[axis], &s->begin[axis], &s->sizes[axis]));
  s->strides[axis] = r->stride;
  if (!r->shrinks) s->source[s->result_rank++] = axis;
  return leat_ok_status();
}

// Lays item |i| over the next dimension.
static leat_status_t add_item(const leat_selection_items_t* items, leat_selection_masks_t masks,
                              int i, int rank, const int64_t* dims, int* inout_axis,
                              leat_selection_t* s) {
  uint32_t bit = UINT32_C(1) << i;
  if (*inout_axis == rank) {
    if (rank == 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Attempting to slice scalar input.");
    }
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Index out of range using input dim %d; input has only %d dims",
                            *inout_axis, rank);
  }
  range_t range = {items->begin[i],     items->end[i],       items->strides[i],
                   masks.begin & bit,   masks.end & bit,     masks.shrink & bit};
  return add_range(s, (*inout_axis)++, &range, dims);
}

leat_status_t leat_selection_make(const leat_selection_items_t* items,
                                  leat_selection_masks_t masks, int rank, const int64_t* dims,
                                  leat_selection_t* out_selection) {
  if (masks.ellipsis & (masks.ellipsis - 1)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Multiple ellipses in slice spec not allowed");
  }
  leat_selection_t* s = out_selection;
  s->rank = rank;
  s->result_rank = 0;
  int count = items->count, axis = 0, new_axes_after = 0;
  bool has_ellipsis = false;
  for (int i = 0; i < count; ++i) {
    if (has_ellipsis && (masks.new_axis >> i & 1)) ++new_axes_after;
    if (masks.ellipsis >> i & 1) has_ellipsis = true;
  }
  if (!has_ellipsis) masks.ellipsis |= UINT32_C(1) << count++;
  static const range_t whole = {0, 0, 1, true, true, false};
  for (int i = 0; i < count; ++i) {
    if (masks.ellipsis >> i & 1) {
      int next = LEAT_MIN(rank - (count - i) + 1 + new_axes_after, rank);
      for (; axis < next; ++axis) LEAT_RETURN_IF_ERROR(add_range(s, axis, &whole, dims));
    } else if (masks.new_axis >> i & 1) {
      s->source[s->result_rank++] = LEAT_SELECTION_NEW_AXIS;
    } else {
      LEAT_RETURN_IF_ERROR(add_item(items, masks, i, rank, dims, &axis, s));
    }
  }
  for (; axis < rank; ++axis) LEAT_RETURN_IF_ERROR(add_range(s, axis, &whole, dims));
  for (int d = 0; d < s->result_rank; ++d) {
    s->result[d] = s->source[d] == LEAT_SELECTION_NEW_AXIS ? 1 : s->sizes[s->source[d]];
  }
  return leat_ok_status();
}
