// Shapes. leat_shape_t is a full shape: every size is known and at least 0, and their product fits
// int64. Up to 8 sizes lie in the struct, and more (up to 254) in a block that copies share; a copy
// is the struct and leat_shape_retain(). leat_partial_shape_t is what shape inference knows: each
// size may be unknown (-1), and so may the rank.
#ifndef LEAT_TENSOR_SHAPE_H_
#define LEAT_TENSOR_SHAPE_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/string_builder.h"

#define LEAT_SHAPE_MAX_RANK 254
#define LEAT_SHAPE_INLINE_RANK 8

typedef struct leat_shape_dims_s leat_shape_dims_t;  // reference counted

typedef struct leat_shape_s {
  int64_t element_count;
  int32_t rank;
  union {
    int64_t inline_dims[LEAT_SHAPE_INLINE_RANK];
    leat_shape_dims_t* shared_dims;  // rank > LEAT_SHAPE_INLINE_RANK
  };
} leat_shape_t;

// INVALID_ARGUMENT for a negative size, a rank over 254, or an element count over INT64_MAX.
LEAT_MUST_USE leat_status_t leat_shape_create(int rank, const int64_t* dims,
                                              leat_shape_t* out_shape);
static inline leat_shape_t leat_shape_scalar(void) {
  return (leat_shape_t){.element_count = 1, .rank = 0};
}
// |size| >= 0.
static inline leat_shape_t leat_shape_vector(int64_t size) {
  return (leat_shape_t){.element_count = size, .rank = 1, .inline_dims = {size}};
}
const int64_t* leat_shape_shared_dims(const leat_shape_t* shape);
static inline const int64_t* leat_shape_dims(const leat_shape_t* shape) {
  return shape->rank <= LEAT_SHAPE_INLINE_RANK ? shape->inline_dims
                                               : leat_shape_shared_dims(shape);
}
static inline int64_t leat_shape_dim(const leat_shape_t* shape, int index) {
  return leat_shape_dims(shape)[index];
}
// A second owner's copy.
void leat_shape_retain_shared(const leat_shape_t* shape);
void leat_shape_release_shared(leat_shape_t* shape);
static inline leat_shape_t leat_shape_retain(const leat_shape_t* shape) {
  if (LEAT_UNLIKELY(shape->rank > LEAT_SHAPE_INLINE_RANK)) leat_shape_retain_shared(shape);
  return *shape;
}
static inline void leat_shape_release(leat_shape_t* shape) {
  if (LEAT_UNLIKELY(shape->rank > LEAT_SHAPE_INLINE_RANK)) leat_shape_release_shared(shape);
}
// The same, into |out_shape|, whose old content is not released. Only the sizes that the rank has
// are copied, so that sharing the shape of a scalar takes a few instructions.
static inline void leat_shape_share(const leat_shape_t* shape, leat_shape_t* out_shape) {
  out_shape->element_count = shape->element_count;
  out_shape->rank = shape->rank;
  if (LEAT_UNLIKELY(shape->rank > LEAT_SHAPE_INLINE_RANK)) {
    leat_shape_retain_shared(shape);
    out_shape->shared_dims = shape->shared_dims;
  } else {
    for (int i = 0; i < shape->rank; ++i) out_shape->inline_dims[i] = shape->inline_dims[i];
  }
}
bool leat_shape_equal(const leat_shape_t* a, const leat_shape_t* b);
// Product of dims [begin, end); end <= rank.
int64_t leat_shape_product(const leat_shape_t* shape, int begin, int end);
// "[2,3]" for messages; at most |size| bytes, NUL-terminated; returns |buffer|.
const char* leat_shape_print(const leat_shape_t* shape, char* buffer, size_t size);
#define LEAT_SHAPE_TEXT(shape) leat_shape_print((shape), (char[160]){0}, 160)

// NumPy broadcasting of two shapes; INVALID_ARGUMENT when they do not fit.
LEAT_MUST_USE leat_status_t leat_shape_broadcast(const leat_shape_t* a, const leat_shape_t* b,
                                                 leat_shape_t* out_shape);

// Counts a negative axis from the end; false when it is none of |rank|.
static inline bool leat_axis_resolve(int64_t* inout_axis, int64_t rank) {
  if (*inout_axis < -rank || *inout_axis >= rank) return false;
  if (*inout_axis < 0) *inout_axis += rank;
  return true;
}

typedef struct leat_partial_shape_s {
  int32_t rank;         // -1: unknown
  const int64_t* dims;  // -1: unknown; borrowed (an arena's); NULL for rank <= 0
} leat_partial_shape_t;

#define LEAT_DIM_UNKNOWN INT64_C(-1)
static inline leat_partial_shape_t leat_partial_shape_unknown(void) {
  return (leat_partial_shape_t){-1, NULL};
}
static inline leat_partial_shape_t leat_partial_shape_scalar(void) {
  return (leat_partial_shape_t){0, NULL};
}
// Borrows the dims of |shape|.
leat_partial_shape_t leat_partial_shape_of(const leat_shape_t* shape);
bool leat_partial_shape_is_full(leat_partial_shape_t shape);
static inline bool leat_partial_shape_equal(leat_partial_shape_t a, leat_partial_shape_t b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}
// Whether a value of shape |full| satisfies |partial|.
bool leat_partial_shape_admits(leat_partial_shape_t partial, const leat_shape_t* full);
// INVALID_ARGUMENT when not full or too large.
LEAT_MUST_USE leat_status_t leat_partial_shape_to_full(leat_partial_shape_t shape,
                                                       leat_shape_t* out_shape);
// The shape with all that is known of either; INVALID_ARGUMENT when the two contradict each other.
// The sizes lie in |arena|.
LEAT_MUST_USE leat_status_t leat_partial_shape_merge(leat_partial_shape_t a, leat_partial_shape_t b,
                                                     leat_arena_t* arena,
                                                     leat_partial_shape_t* out_shape);
LEAT_MUST_USE leat_status_t leat_partial_shape_create(int rank, const int64_t* dims,
                                                      leat_arena_t* arena,
                                                      leat_partial_shape_t* out_shape);
// "[2,?]", "<unknown>".
const char* leat_partial_shape_print(leat_partial_shape_t shape, char* buffer, size_t size);
#define LEAT_PARTIAL_SHAPE_TEXT(shape) leat_partial_shape_print((shape), (char[160]){0}, 160)

#endif  // LEAT_TENSOR_SHAPE_H_
