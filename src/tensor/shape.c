// Full shapes: each size is known. The invariant is that every size is at least 0 and that the
// product of the sizes, multiplied from the left, fits int64. So code may compute with
// |element_count| and with products of leading sizes and never test for overflow. TensorFlow
// multiplies from the left as well, which is visible: [0, 2^62, 4] is a legal shape with no
// elements, and [2^62, 4, 0] is refused.
//
// leat_shape_create() is the only function that makes a shape from sizes, and it returns a status;
// an op whose output would be too large fails there. Up to 8 sizes lie in the struct. More lie in a
// block that copies share by a reference count, so that the struct stays small and a shape of an
// ordinary rank is copied without an allocation.
#include "tensor/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/sync.h"

struct leat_shape_dims_s {
  leat_reference_count_t references;
  int64_t dims[];
};

static leat_status_t count_elements(int rank, const int64_t* dims, int64_t* out_count) {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    if (LEAT_UNLIKELY(dims[i] < 0)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Expected shape dimensions to be non-negative, got %lld in dimension "
                              "%d", (long long)dims[i], i);
    }
    if (LEAT_UNLIKELY(!leat_checked_multiply(count, dims[i], &count))) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Shape creation failed: %s has more than 2**63 - 1 elements",
                              LEAT_PARTIAL_SHAPE_TEXT(((leat_partial_shape_t){rank, dims})));
    }
  }
  *out_count = count;
  return leat_ok_status();
}

leat_status_t leat_shape_create(int rank, const int64_t* dims, leat_shape_t* out_shape) {
  *out_shape = (leat_shape_t){0};
  if (LEAT_UNLIKELY(rank < 0 || rank > LEAT_SHAPE_MAX_RANK)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape creation failed: rank is %d, must be between 0 and %d", rank,
                            LEAT_SHAPE_MAX_RANK);
  }
  int64_t count = 0;
  LEAT_RETURN_IF_ERROR(count_elements(rank, dims, &count));
  if (rank <= LEAT_SHAPE_INLINE_RANK) {
    for (int i = 0; i < rank; ++i) out_shape->inline_dims[i] = dims[i];
  } else {
    void* memory = NULL;
    size_t dims_bytes = (size_t)rank * sizeof(int64_t);
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
        leat_allocator_system(), sizeof(leat_shape_dims_t) + dims_bytes, &memory));
    leat_shape_dims_t* shared = memory;
    atomic_init(&shared->references, 1);
    memcpy(shared->dims, dims, dims_bytes);
    out_shape->shared_dims = shared;
  }
  out_shape->rank = rank;
  out_shape->element_count = count;
  return leat_ok_status();
}

const int64_t* leat_shape_shared_dims(const leat_shape_t* shape) {
  return shape->shared_dims->dims;
}

void leat_shape_retain_shared(const leat_shape_t* shape) {
  leat_reference_count_retain(&shape->shared_dims->references);
}

void leat_shape_release_shared(leat_shape_t* shape) {
  if (leat_reference_count_release(&shape->shared_dims->references)) {
    leat_allocator_free(leat_allocator_system(), shape->shared_dims);
  }
  *shape = (leat_shape_t){0};
}

bool leat_shape_equal(const leat_shape_t* a, const leat_shape_t* b) {
  if (a->rank != b->rank || a->element_count != b->element_count) return false;
  const int64_t* a_dims = leat_shape_dims(a);
  const int64_t* b_dims = leat_shape_dims(b);
  for (int i = 0; i < a->rank; ++i) {
    if (a_dims[i] != b_dims[i]) return false;
  }
  return true;
}

int64_t leat_shape_product(const leat_shape_t* shape, int begin, int end) {
  const int64_t* dims = leat_shape_dims(shape);
  int64_t product = 1;
  bool fits = true;
  for (int i = begin; i < end; ++i) {
    if (dims[i] == 0) return 0;
    fits = fits && leat_checked_multiply(product, dims[i], &product);
  }
  // The sizes of an empty shape may have a part whose product does not fit, but nobody visits the
  // elements of such a part, because the whole has none.
  return fits ? product : INT64_MAX;
}

const char* leat_shape_print(const leat_shape_t* shape, char* buffer, size_t size) {
  leat_partial_shape_t partial = {shape->rank, leat_shape_dims(shape)};
  return leat_partial_shape_print(partial, buffer, size);
}

leat_status_t leat_shape_broadcast(const leat_shape_t* a, const leat_shape_t* b,
                                   leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  const int64_t* a_dims = leat_shape_dims(a);
  const int64_t* b_dims = leat_shape_dims(b);
  int rank = LEAT_MAX(a->rank, b->rank);
  *out_shape = (leat_shape_t){0};
  for (int i = 1; i <= rank; ++i) {  // from the last dimension
    int64_t x = i <= a->rank ? a_dims[a->rank - i] : 1;
    int64_t y = i <= b->rank ? b_dims[b->rank - i] : 1;
    if (LEAT_UNLIKELY(x != y && x != 1 && y != 1)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s",
                              LEAT_SHAPE_TEXT(a), LEAT_SHAPE_TEXT(b));
    }
    dims[rank - i] = x == 1 ? y : x;
  }
  return leat_shape_create(rank, dims, out_shape);
}
