// The kinds of values that the dataset family keeps in variants and that messages may hold.
#ifndef LEAT_OPS_DATASET_VALUES_H_
#define LEAT_OPS_DATASET_VALUES_H_

#include "tensor/object.h"

// An element of a dataset, compressed (compressed_element_cpu.c).
extern const leat_variant_vtable_t leat_compressed_element_vtable;
// How many elements an iterator has given (iterator_state_cpu.c).
extern const leat_variant_vtable_t leat_iterator_position_vtable;

#endif  // LEAT_OPS_DATASET_VALUES_H_
