// Boxes of tensors. A box does not change once it is filled, so variants share it. Zeros and sums
// are made tensor by tensor, which may be variants again (kernel/tensor_sum.h); the row splits of a
// ragged tensor stay as they are.
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

static leat_status_t box_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                struct leat_tensor_s** out_tensors, size_t* out_tensor_count) {
  return leat_make_status(LEAT_UNIMPLEMENTED, "A tensor in a variant cannot leave its process");
}

#define BOX_VTABLE(text, zeros, sum)                                                \
  {.type_name = text, .retain = box_retain, .release = box_release,                \
   .zeros_like = zeros, .add = sum, .encode = box_encode}
const leat_variant_vtable_t leat_optional_vtable =
    BOX_VTABLE("tensorflow::data::Optional", box_zeros_like, box_add);
const leat_variant_vtable_t leat_tensor_box_vtable =
    BOX_VTABLE("tensorflow::Tensor", box_zeros_like, box_add);
const leat_variant_vtable_t leat_ragged_box_vtable =
    BOX_VTABLE("RaggedTensorVariant", box_zeros_like, box_add);
const leat_variant_vtable_t leat_composite_box_vtable =
    BOX_VTABLE("CompositeTensorVariant", NULL, NULL);
const leat_variant_vtable_t leat_csr_box_vtable =
    BOX_VTABLE("tensorflow::CSRSparseMatrix", NULL, NULL);
