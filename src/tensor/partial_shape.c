// Partial shapes, which are what shape inference knows before a graph runs: the rank may be unknown
// (-1), and so may each size. They are compared, merged and printed here; graph/inference/ and the
// shape functions of the ops are the callers.
//
// A partial shape is a small value whose sizes are borrowed: it owns no memory and is never freed.
// Whatever makes a new one puts the sizes into the caller's arena, which usually is the graph's,
// where they live as long as the nodes that have this shape. A partial shape with a known rank has
// no size below -1, which leat_partial_shape_create() checks.
#include <stdio.h>
#include <string.h>

#include "tensor/shape.h"

leat_partial_shape_t leat_partial_shape_of(const leat_shape_t* shape) {
  return (leat_partial_shape_t){shape->rank, shape->rank > 0 ? leat_shape_dims(shape) : NULL};
}

bool leat_partial_shape_is_full(leat_partial_shape_t shape) {
  if (shape.rank < 0) return false;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.dims[i] < 0) return false;
  }
  return true;
}

bool leat_partial_shape_admits(leat_partial_shape_t partial, const leat_shape_t* full) {
  if (partial.rank < 0) return true;
  if (partial.rank != full->rank) return false;
  const int64_t* dims = leat_shape_dims(full);
  for (int i = 0; i < partial.rank; ++i) {
    if (partial.dims[i] >= 0 && partial.dims[i] != dims[i]) return false;
  }
  return true;
}

leat_status_t leat_partial_shape_to_full(leat_partial_shape_t shape, leat_shape_t* out_shape) {
  *out_shape = (leat_shape_t){0};
  if (!leat_partial_shape_is_full(shape)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape creation failed: shape is %s, must be fully defined",
                            LEAT_PARTIAL_SHAPE_TEXT(shape));
  }
  return leat_shape_create(shape.rank, shape.dims, out_shape);
}

leat_status_t leat_partial_shape_create(int rank, const int64_t* dims, leat_arena_t* arena,
                                        leat_partial_shape_t* out_shape) {
  *out_shape = leat_partial_shape_unknown();
  if (rank < -1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape creation failed: rank is %d, must be between -1 and %d", rank,
                            LEAT_SHAPE_MAX_RANK);
  }
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < LEAT_DIM_UNKNOWN) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Shape creation failed: dimension %d is %lld, must be >= -1", i,
                              (long long)dims[i]);
    }
  }
  int64_t* copy = NULL;
  if (rank > 0) {
    void* memory = NULL;
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate_array(arena, (size_t)rank, sizeof(int64_t), &memory));
    copy = memcpy(memory, dims, (size_t)rank * sizeof(int64_t));
  }
  *out_shape = (leat_partial_shape_t){rank, copy};
  return leat_ok_status();
}

// The error of a merge of two shapes that differ in rank, or else in dimension |d|.
static leat_status_t contradiction(leat_partial_shape_t a, leat_partial_shape_t b, int d) {
  if (a.rank != b.rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shapes must be equal rank, but are %d and %d. Shapes are %s and %s.",
                            a.rank, b.rank, LEAT_PARTIAL_SHAPE_TEXT(a), LEAT_PARTIAL_SHAPE_TEXT(b));
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Dimension %d in both shapes must be equal, but are %lld and %lld. "
                          "Shapes are %s and %s.",
                          d, (long long)a.dims[d], (long long)b.dims[d],
                          LEAT_PARTIAL_SHAPE_TEXT(a), LEAT_PARTIAL_SHAPE_TEXT(b));
}

leat_status_t leat_partial_shape_merge(leat_partial_shape_t a, leat_partial_shape_t b,
                                       leat_arena_t* arena, leat_partial_shape_t* out_shape) {
  *out_shape = leat_partial_shape_unknown();
  if (a.rank < 0) return leat_partial_shape_create(b.rank, b.dims, arena, out_shape);
  if (b.rank < 0) return leat_partial_shape_create(a.rank, a.dims, arena, out_shape);
  if (a.rank != b.rank) return contradiction(a, b, -1);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < a.rank && i < LEAT_SHAPE_MAX_RANK; ++i) {
    if (a.dims[i] >= 0 && b.dims[i] >= 0 && a.dims[i] != b.dims[i]) return contradiction(a, b, i);
    dims[i] = a.dims[i] >= 0 ? a.dims[i] : b.dims[i];
  }
  return leat_partial_shape_create(a.rank, dims, arena, out_shape);
}

// Writes the sizes, "2,?,3", into |size| bytes as far as they leave room for the end ",...]", which
// then stands for the rest. Returns the number of bytes written.
static size_t print_dims(leat_partial_shape_t shape, char* buffer, size_t size) {
  static const size_t tail_bytes = sizeof(",...]");
  size_t used = 0;
  for (int i = 0; i < shape.rank; ++i) {
    char item[24];
    const char* comma = i > 0 ? "," : "";
    int length = shape.dims[i] < 0
                     ? snprintf(item, sizeof(item), "%s?", comma)
                     : snprintf(item, sizeof(item), "%s%lld", comma, (long long)shape.dims[i]);
    if (used + (size_t)length + tail_bytes > size) {
      int written = snprintf(buffer + used, size - used, "%s...", comma);
      return written < 0 ? used : used + (size_t)written;
    }
    memcpy(buffer + used, item, (size_t)length);
    used += (size_t)length;
  }
  return used;
}

const char* leat_partial_shape_print(leat_partial_shape_t shape, char* buffer, size_t size) {
  if (size == 0) return buffer;
  if (shape.rank < 0 || size < sizeof("[...]") + 1) {
    snprintf(buffer, size, "%s", shape.rank < 0 ? "<unknown>" : "[...]");
    return buffer;
  }
  buffer[0] = '[';
  size_t used = 1 + print_dims(shape, buffer + 1, size - 1);
  snprintf(buffer + used, size - used, "]");
  return buffer;
}
