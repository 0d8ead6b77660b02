// Tensors inside a variant: an optional value, or a tensor as an element of another.
#ifndef LEAT_KERNEL_BOXED_TENSORS_H_
#define LEAT_KERNEL_BOXED_TENSORS_H_

#include "tensor/tensor.h"

typedef struct leat_boxed_tensors_s {
  leat_reference_count_t references;
  const leat_variant_vtable_t* vtable;  // of the variants that hold it
  bool has_value;
  int32_t count;
  leat_tensor_t items[];
} leat_boxed_tensors_t;

// Perhaps a value: 0 tensors and no value, or some.
extern const leat_variant_vtable_t leat_optional_vtable;
// One tensor.
extern const leat_variant_vtable_t leat_tensor_box_vtable;

// |out_variant| (empty before) holds a box with room for |count| tensors, each "no tensor".
LEAT_MUST_USE leat_status_t leat_boxed_tensors_create(const leat_variant_vtable_t* vtable,
                                                      bool has_value, int count,
                                                      leat_variant_t* out_variant,
                                                      leat_boxed_tensors_t** out_box);
// NULL where |variant| holds something else.
static inline leat_boxed_tensors_t* leat_boxed_tensors_of(const leat_variant_t* variant,
                                                          const leat_variant_vtable_t* vtable) {
  return variant->vtable == vtable ? variant->self : NULL;
}

#endif  // LEAT_KERNEL_BOXED_TENSORS_H_
