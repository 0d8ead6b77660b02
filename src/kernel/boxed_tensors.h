// Tensors inside of a variant, as ops for optional values, for ragged tensors and for tensors as
// elements of others use them. A box is reference counted by the variants that hold it and, once it
// is filled, only read, so any number of threads may look into it.
//
//   leat_boxed_tensors_t* box = leat_boxed_tensors_of(variant, &leat_optional_vtable);
//   if (!box) return ...;             // a variant of another kind
//   if (box->has_value) use(box->items, box->count);
#ifndef LEAT_KERNEL_BOXED_TENSORS_H_
#define LEAT_KERNEL_BOXED_TENSORS_H_

#include "tensor/tensor.h"

typedef struct leat_boxed_tensors_s {
  leat_reference_count_t references;
  const leat_variant_vtable_t* vtable;  // of the variants that hold it: one of the kinds below
  bool has_value;
  int32_t count;
  leat_tensor_t items[];
} leat_boxed_tensors_t;

// An optional value: several tensors, or no value and no tensors.
extern const leat_variant_vtable_t leat_optional_vtable;
// One tensor.
extern const leat_variant_vtable_t leat_tensor_box_vtable;
// A ragged tensor: its nested row splits, the outermost first, and behind them its flat values.
// Only the values are added; the splits of both operands must be equal.
extern const leat_variant_vtable_t leat_ragged_box_vtable;
// The tensors of which a composite value consists, such as a sparse tensor. It is not added.
extern const leat_variant_vtable_t leat_composite_box_vtable;
// A sparse matrix in compressed rows (ops/csr/csr_matrix_cpu.h). It is not added.
extern const leat_variant_vtable_t leat_csr_box_vtable;

// Makes |out_variant|, which must be empty, hold a new box with |count| tensors, each "no tensor";
// the caller fills them through |out_box|.
LEAT_MUST_USE leat_status_t leat_boxed_tensors_create(const leat_variant_vtable_t* vtable,
                                                      bool has_value, int count,
                                                      leat_variant_t* out_variant,
                                                      leat_boxed_tensors_t** out_box);
// The box in |variant|; NULL where it holds something else.
static inline leat_boxed_tensors_t* leat_boxed_tensors_of(const leat_variant_t* variant,
                                                          const leat_variant_vtable_t* vtable) {
  return variant->vtable == vtable ? variant->self : NULL;
}

#endif  // LEAT_KERNEL_BOXED_TENSORS_H_
