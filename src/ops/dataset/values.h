// The kinds of values that the dataset family keeps in variants and that messages may hold.
#ifndef LEAT_OPS_DATASET_VALUES_H_
#define LEAT_OPS_DATASET_VALUES_H_

#include "tensor/object.h"

// An element of a dataset, compressed (compressed_element_cpu.c).
extern const leat_variant_vtable_t leat_compressed_element_vtable;
// Makes one of |message|, an encoded CompressedElement, which is copied, and checked when it is
// uncompressed.
LEAT_MUST_USE leat_status_t leat_compressed_element_create(leat_string_view_t message,
                                                           leat_variant_t* out_variant);
// How many elements an iterator has given (iterator_state_cpu.c).
extern const leat_variant_vtable_t leat_iterator_position_vtable;

#endif  // LEAT_OPS_DATASET_VALUES_H_
