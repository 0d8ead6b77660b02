// The sum of two tensors of any type, and zeros like a tensor, for ZerosLike and for sums of lists,
// maps and other variants. Numbers are added by one loop of the CPU device. A variant is added, or
// made zero, by the functions of its vtable, which call this file again for the tensors that it
// holds. The depth of this recursion is decided by the graph, so it is limited.
#include "kernel/tensor_sum.h"

#include "device/cpu/combine.h"

// How deep variants may hold each other, far above what a program needs: without a limit a graph
// that nests lists in lists could exhaust the stack.
enum { kMostNested = 1000 };
static _Thread_local int nested;

// Counts one level more on this thread; the caller counts it down again.
static leat_status_t enter_variant(void) {
  if (nested == kMostNested) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Variants hold each other more than %d deep, too deep for zeros and "
                            "sums",
                            kMostNested);
  }
  ++nested;
  return leat_ok_status();
}

static leat_status_t add_variants(const leat_variant_t* a, const leat_variant_t* b,
                                  leat_variant_t* sum) {
  LEAT_RETURN_IF_ERROR(enter_variant());
  leat_status_t status = a->vtable->add(a->self, b->self, sum);
  --nested;
  return status;
}

// Adds element by element into |sum|, which was allocated with the same type and shape. Variants
// can be added only if both hold the same type of value and that type has a sum.
static leat_status_t fill_sum(const leat_tensor_t* a, const leat_tensor_t* b,
                              leat_tensor_t* sum) {
  const int64_t count = a->shape.element_count;
  if (a->dtype != LEAT_DTYPE_VARIANT) {
    if (leat_numbers_add(a->dtype, a->data, b->data, sum->data, count)) return leat_ok_status();
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Trying to add unsupported dtype %s",
                            leat_dtype_name(a->dtype));
  }
  const leat_variant_t *left = a->data, *right = b->data;
  leat_variant_t* to = sum->data;
  for (int64_t i = 0; i < count; ++i) {
    if (!left[i].vtable || left[i].vtable != right[i].vtable || !left[i].vtable->add) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Adding variants failed: they hold what cannot be added");
    }
    LEAT_RETURN_IF_ERROR(add_variants(&left[i], &right[i], &to[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_tensor_sum(const leat_tensor_t* a, const leat_tensor_t* b,
                              leat_tensor_t* out_sum) {
  if (a->dtype != b->dtype) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Trying to add two tensors with incompatible element types. One is %s "
                            "and the other is %s",
                            leat_dtype_name(a->dtype), leat_dtype_name(b->dtype));
  }
  if (!leat_shape_equal(&a->shape, &b->shape)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Trying to add two tensors with incompatible element shapes. One is "
                            "%s and the other is %s",
                            LEAT_SHAPE_TEXT(&a->shape), LEAT_SHAPE_TEXT(&b->shape));
  }
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), a->dtype, &a->shape, out_sum));
  leat_status_t status = fill_sum(a, b, out_sum);
  if (status) leat_tensor_release(out_sum);
  return status;
}

leat_status_t leat_tensor_fill_zeros_like(const leat_tensor_t* like, leat_tensor_t* zeros) {
  if (like->dtype != LEAT_DTYPE_VARIANT) {
    leat_tensor_fill_zero(zeros);
    return leat_ok_status();
  }
  const leat_variant_t* from = like->data;
  leat_variant_t* to = zeros->data;
  for (int64_t i = 0; i < like->shape.element_count; ++i) {
    if (!from[i].vtable) continue;
    if (!from[i].vtable->zeros_like) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Making zeros failed: variant is %s, must be of a type that has them",
                              from[i].vtable->type_name);
    }
    LEAT_RETURN_IF_ERROR(enter_variant());
    leat_status_t status = from[i].vtable->zeros_like(from[i].self, &to[i]);
    --nested;
    LEAT_RETURN_IF_ERROR(status);
  }
  return leat_ok_status();
}

leat_status_t leat_tensor_zeros_like(const leat_tensor_t* like, leat_tensor_t* out_zeros) {
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), like->dtype, &like->shape, out_zeros));
  leat_status_t status = leat_tensor_fill_zeros_like(like, out_zeros);
  if (status) leat_tensor_release(out_zeros);
  return status;
}
