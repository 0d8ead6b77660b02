// Shapes, full and partial. leat_shape_t is a full shape: every size is known and at least 0, and
// their product fits int64, so code may multiply sizes without a test for overflow.
// leat_partial_shape_t is what shape inference knows before a graph runs: each size may be unknown
// (-1), and so may the rank.
//
// Up to 8 sizes of a full shape lie in the struct, and more (up to 254) in a block that copies
// share:
//
//   rank 2    { element_count 6, rank 2, inline_dims [2, 3] }
//   rank 9    { element_count n, rank 9, shared_dims ──▶ {references, 9 sizes} }
//
// A plain copy of the struct is therefore not enough: a second owner uses leat_shape_retain() or
// leat_shape_share(), and each owner ends with leat_shape_release(). A partial shape owns nothing
// and is copied freely as long as its sizes live.
#ifndef LEAT_TENSOR_SHAPE_H_
#define LEAT_TENSOR_SHAPE_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/string_builder.h"

// TensorFlow's limit on the rank.
#define LEAT_SHAPE_MAX_RANK 254
#define LEAT_SHAPE_INLINE_RANK 8

typedef struct leat_shape_dims_s leat_shape_dims_t;  // reference counted

typedef struct leat_shape_s {
  // The product of the sizes; 1 for a scalar, 0 when any size is 0.
  int64_t element_count;
  int32_t rank;
  union {
    int64_t inline_dims[LEAT_SHAPE_INLINE_RANK];
    leat_shape_dims_t* shared_dims;  // rank > LEAT_SHAPE_INLINE_RANK
  };
} leat_shape_t;

// The only way to make a shape from sizes that come from outside. |dims| is copied.
// INVALID_ARGUMENT for a negative size, a rank over 254, or a product, taken from the left, over
// INT64_MAX; RESOURCE_EXHAUSTED without memory for a rank over 8. On failure |*out_shape| is a
// shape that may be released.
LEAT_MUST_USE leat_status_t leat_shape_create(int rank, const int64_t* dims,
                                              leat_shape_t* out_shape);
static inline leat_shape_t leat_shape_scalar(void) {
  return (leat_shape_t){.element_count = 1, .rank = 0};
}
// |size| must be at least 0, which is not tested.
static inline leat_shape_t leat_shape_vector(int64_t size) {
  return (leat_shape_t){.element_count = size, .rank = 1, .inline_dims = {size}};
}
// The rare part of the functions below, for ranks over LEAT_SHAPE_INLINE_RANK; callers use those.
const int64_t* leat_shape_shared_dims(const leat_shape_t* shape);
// The sizes, |rank| of them; valid as long as |shape| stays where it is and is not released.
static inline const int64_t* leat_shape_dims(const leat_shape_t* shape) {
  return shape->rank <= LEAT_SHAPE_INLINE_RANK ? shape->inline_dims
                                               : leat_shape_shared_dims(shape);
}
// The size of dimension |index|, which must be below the rank; negative indices are
// leat_axis_resolve()'s.
static inline int64_t leat_shape_dim(const leat_shape_t* shape, int index) {
  return leat_shape_dims(shape)[index];
}
// Add an owner to the shared sizes of a shape of high rank, and take one away.
void leat_shape_retain_shared(const leat_shape_t* shape);
void leat_shape_release_shared(leat_shape_t* shape);
// A second owner's copy, to be released on its own. Ranks up to 8 only copy the struct.
static inline leat_shape_t leat_shape_retain(const leat_shape_t* shape) {
  if (LEAT_UNLIKELY(shape->rank > LEAT_SHAPE_INLINE_RANK)) leat_shape_retain_shared(shape);
  return *shape;
}
// Accepts a zeroed shape. A released shape of a rank over 8 is a zeroed one; others are left as
// they are.
static inline void leat_shape_release(leat_shape_t* shape) {
  if (LEAT_UNLIKELY(shape->rank > LEAT_SHAPE_INLINE_RANK)) leat_shape_release_shared(shape);
}
// Makes a second owner's copy in |out_shape|, whose old content is not released. Only the sizes
// that the rank has are copied, so that sharing the shape of a scalar takes a few instructions.
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
// The product of dimensions [begin, end), with end <= rank. A part of an empty shape whose product
// does not fit gives INT64_MAX, which nobody visits, since the whole has no elements.
int64_t leat_shape_product(const leat_shape_t* shape, int begin, int end);
// "[2,3]" for messages: at most |size| bytes, NUL-terminated, with "..." where sizes were left out.
// Returns |buffer|.
const char* leat_shape_print(const leat_shape_t* shape, char* buffer, size_t size);
// Prints a shape into a buffer of the enclosing block, for an argument of printf.
#define LEAT_SHAPE_TEXT(shape) leat_shape_print((shape), (char[160]){0}, 160)

// NumPy broadcasting: sizes are paired from the last one on, and each pair is equal or has a 1.
// INVALID_ARGUMENT when the shapes do not fit. The caller releases |*out_shape|.
LEAT_MUST_USE leat_status_t leat_shape_broadcast(const leat_shape_t* a, const leat_shape_t* b,
                                                 leat_shape_t* out_shape);

// Counts a negative axis from the end, so that -1 is the last one; false, with |*inout_axis|
// unchanged, when it is none of |rank|.
static inline bool leat_axis_resolve(int64_t* inout_axis, int64_t rank) {
  if (*inout_axis < -rank || *inout_axis >= rank) return false;
  if (*inout_axis < 0) *inout_axis += rank;
  return true;
}

// A value that borrows its sizes, mostly from an arena of the graph whose nodes have the shape.
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
// Borrows the sizes of |shape|, which lie in |*shape| itself for small ranks.
leat_partial_shape_t leat_partial_shape_of(const leat_shape_t* shape);
bool leat_partial_shape_is_full(leat_partial_shape_t shape);
// Equal as descriptions: an unknown size equals only an unknown size.
static inline bool leat_partial_shape_equal(leat_partial_shape_t a, leat_partial_shape_t b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}
// Whether a value of shape |full| satisfies |partial|.
bool leat_partial_shape_admits(leat_partial_shape_t partial, const leat_shape_t* full);
// INVALID_ARGUMENT when a size or the rank is unknown or the element count is too large. The caller
// releases |*out_shape|.
LEAT_MUST_USE leat_status_t leat_partial_shape_to_full(leat_partial_shape_t shape,
                                                       leat_shape_t* out_shape);
// The shape with all that is known of either; INVALID_ARGUMENT when the two contradict each other.
// The sizes lie in |arena|.
LEAT_MUST_USE leat_status_t leat_partial_shape_merge(leat_partial_shape_t a, leat_partial_shape_t b,
                                                     leat_arena_t* arena,
                                                     leat_partial_shape_t* out_shape);
// Copies |dims| into |arena|. INVALID_ARGUMENT for a rank outside of -1 to 254 and a size below -1.
// |dims| may be NULL for a rank of 0 or -1.
LEAT_MUST_USE leat_status_t leat_partial_shape_create(int rank, const int64_t* dims,
                                                      leat_arena_t* arena,
                                                      leat_partial_shape_t* out_shape);
// "[2,?]" or "<unknown>", as leat_shape_print.
const char* leat_partial_shape_print(leat_partial_shape_t shape, char* buffer, size_t size);
#define LEAT_PARTIAL_SHAPE_TEXT(shape) leat_partial_shape_print((shape), (char[160]){0}, 160)

#endif  // LEAT_TENSOR_SHAPE_H_
