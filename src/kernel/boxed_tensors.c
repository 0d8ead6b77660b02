// Boxes of tensors. A box does not change once it is filled, so variants share it. Zeros and sums
// are made tensor by tensor, which may be variants again (kernel/tensor_sum.h); the row splits of a
// ragged tensor stay as they are. Boxes go to other tasks and into files in TensorFlow's form, but
// for composite values and sparse matrices; what comes from there is checked as far as kernels rely
// on it.
#include "kernel/boxed_tensors.h"

#include <string.h>

#include "kernel/tensor_sum.h"

static void box_retain(void* self) {
  leat_reference_count_retain(&((leat_boxed_tensors_t*)self)->references);
}

static void box_release(void* self) {
  leat_boxed_tensors_t* box = self;
  if (!leat_reference_count_release(&box->references)) return;
  for (int i = 0; i < box->count; ++i) leat_tensor_release(&box->items[i]);
  leat_allocator_free(leat_allocator_system(), box);
}

leat_status_t leat_boxed_tensors_create(const leat_variant_vtable_t* vtable, bool has_value,
                                        int count, leat_variant_t* out_variant,
                                        leat_boxed_tensors_t** out_box) {
  leat_boxed_tensors_t* box;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), sizeof *box + (size_t)count * sizeof(leat_tensor_t),
      (void**)&box));
  box->references = 1;
  box->vtable = vtable;
  box->has_value = has_value;
  box->count = count;
  *out_variant = (leat_variant_t){vtable, box};
  *out_box = box;
  return leat_ok_status();
}

// How many of the first tensors are not added but must be equal: the splits of a ragged tensor.
static int fixed_count(const leat_boxed_tensors_t* box) {
  return box->vtable == &leat_ragged_box_vtable ? box->count - 1 : 0;
}

static bool tensors_are_equal(const leat_tensor_t* a, const leat_tensor_t* b) {
  return a->dtype == b->dtype && leat_shape_equal(&a->shape, &b->shape) &&
         memcmp(a->data, b->data, leat_tensor_size_bytes(a)) == 0;
}

static leat_status_t check_sum(const leat_boxed_tensors_t* a, const leat_boxed_tensors_t* b) {
  bool fits = a->has_value == b->has_value && a->count == b->count;
  for (int i = 0; fits && i < fixed_count(a); ++i) {
    fits = tensors_are_equal(&a->items[i], &b->items[i]);
  }
  if (fits) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Adding variants failed: they hold different numbers of tensors, or "
                          "ragged tensors of different row splits");
}

// |a| + |b|, tensor by tensor; zeros like |a| where |b| is NULL.
static leat_status_t box_combine(const leat_boxed_tensors_t* a, const leat_boxed_tensors_t* b,
                                 leat_variant_t* out_variant) {
  leat_boxed_tensors_t* box;
  if (b) LEAT_RETURN_IF_ERROR(check_sum(a, b));
  LEAT_RETURN_IF_ERROR(
      leat_boxed_tensors_create(a->vtable, a->has_value, a->count, out_variant, &box));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < a->count && !status; ++i) {
    if (i < fixed_count(a)) {
      box->items[i] = leat_tensor_share(&a->items[i]);
    } else {
      status = b ? leat_tensor_sum(&a->items[i], &b->items[i], &box->items[i])
                 : leat_tensor_zeros_like(&a->items[i], &box->items[i]);
    }
  }
  if (status) {
    box_release(box);
    *out_variant = (leat_variant_t){0};
  }
  return status;
}

static leat_status_t box_zeros_like(void* self, leat_variant_t* out_variant) {
  return box_combine(self, NULL, out_variant);
}

static leat_status_t box_add(void* a, void* b, leat_variant_t* out_variant) {
  return box_combine(a, b, out_variant);
}

// ---- In messages --------------------------------------------------------------------------------

static leat_status_t refuse_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                   struct leat_tensor_s** out_tensors, size_t* out_tensor_count) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "A %s cannot leave its process",
                          ((const leat_boxed_tensors_t*)self)->vtable->type_name);
}

// In a message a box is its tensors. An optional has a byte besides, which tells none from one
// without tensors.
static leat_status_t box_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                struct leat_tensor_s** out_tensors, size_t* out_tensor_count) {
  const leat_boxed_tensors_t* box = self;
  const char byte = box->has_value;
  *out_metadata_size = box->vtable == &leat_optional_vtable;
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(leat_allocator_system(), &byte,
                                                   *out_metadata_size, out_metadata));
  leat_status_t status =
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)box->count + 1, out_tensors);
  if (status) {
    leat_allocator_free(leat_allocator_system(), *out_metadata);
    return status;
  }
  for (int i = 0; i < box->count; ++i) (*out_tensors)[i] = leat_tensor_share(&box->items[i]);
  *out_tensor_count = (size_t)box->count;
  return leat_ok_status();
}

// Makes a box of a message's tensors, which are checked before.
static leat_status_t take_tensors(const leat_variant_vtable_t* vtable, bool has_value,
                                  leat_tensor_t* tensors, size_t count,
                                  leat_variant_t* out_variant) {
  leat_boxed_tensors_t* box;
  if (count > INT32_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor decode failed: a %s has %zu tensors, must have fewer than 2^31",
                            vtable->type_name, count);
  }
  LEAT_RETURN_IF_ERROR(
      leat_boxed_tensors_create(vtable, has_value, (int)count, out_variant, &box));
  for (size_t i = 0; i < count; ++i) box->items[i] = leat_tensor_move(&tensors[i]);
  return leat_ok_status();
}

static leat_status_t optional_decode(leat_string_view_t metadata, leat_tensor_t* tensors,
                                     size_t count, leat_variant_t* out_variant) {
  const bool has_value = metadata.size == 1 && metadata.data[0];
  if (metadata.size == 1 && (has_value || count == 0)) {
    return take_tensors(&leat_optional_vtable, has_value, tensors, count, out_variant);
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: an optional has metadata of %zu bytes and %zu "
                          "tensors, must have one byte, which is 0 only without tensors",
                          metadata.size, count);
}

static leat_status_t tensor_decode(leat_string_view_t metadata, leat_tensor_t* tensors,
                                   size_t count, leat_variant_t* out_variant) {
  if (count == 1) return take_tensors(&leat_tensor_box_vtable, true, tensors, 1, out_variant);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: a tensor in a variant is of %zu tensors, must be "
                          "of one",
                          count);
}

// Whether |splits| begin with 0, never fall, and end with |rows|, the number of rows of what they
// split.
static bool are_splits(const leat_tensor_t* splits, int64_t rows) {
  if ((splits->dtype != LEAT_DTYPE_INT32 && splits->dtype != LEAT_DTYPE_INT64) ||
      splits->shape.rank != 1 || splits->shape.element_count == 0) {
    return false;
  }
  int64_t last = 0;
  for (int64_t i = 0; i < splits->shape.element_count; ++i) {
    const int64_t split = leat_tensor_index_at(splits, i);
    if (split < last || (i == 0 && split != 0)) return false;
    last = split;
  }
  return last == rows;
}

// Kernels rely on splits that fit each other and the values.
static leat_status_t ragged_decode(leat_string_view_t metadata, leat_tensor_t* tensors,
                                   size_t count, leat_variant_t* out_variant) {
  bool fits =
      count > 0 && tensors[count - 1].dtype && (count == 1 || tensors[count - 1].shape.rank);
  for (size_t i = count; fits && i-- > 1;) {
    const leat_shape_t* split = &tensors[i].shape;
    const int64_t rows = leat_shape_dim(split, 0) - (i < count - 1);
    fits = tensors[i - 1].dtype == tensors[0].dtype && are_splits(&tensors[i - 1], rows);
  }
  if (fits) return take_tensors(&leat_ragged_box_vtable, true, tensors, count, out_variant);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: a ragged tensor of %zu tensors must have row "
                          "splits that begin with 0, never fall, and end with the number of rows "
                          "of the next tensor",
                          count);
}

#define BOX_VTABLE(text, zeros, sum, to_message, from_message)                      \
  {.type_name = text, .retain = box_retain, .release = box_release,                \
   .zeros_like = zeros, .add = sum, .encode = to_message, .decode = from_message}
const leat_variant_vtable_t leat_optional_vtable = BOX_VTABLE(
    "tensorflow::data::Optional", box_zeros_like, box_add, box_encode, optional_decode);
const leat_variant_vtable_t leat_tensor_box_vtable =
    BOX_VTABLE("tensorflow::Tensor", box_zeros_like, box_add, box_encode, tensor_decode);
const leat_variant_vtable_t leat_ragged_box_vtable =
    BOX_VTABLE("RaggedTensorVariant", box_zeros_like, box_add, box_encode, ragged_decode);
const leat_variant_vtable_t leat_composite_box_vtable =
    BOX_VTABLE("CompositeTensorVariant", NULL, NULL, refuse_encode, NULL);
const leat_variant_vtable_t leat_csr_box_vtable =
    BOX_VTABLE("tensorflow::CSRSparseMatrix", NULL, NULL, refuse_encode, NULL);
