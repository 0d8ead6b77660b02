// The kinds of variants that this family makes and that may cross to another task: lists of tensors
// and maps of tensors. src/init.c has all such kinds in one list, since graphs and messages hold
// them.
#ifndef LEAT_OPS_LIST_VALUES_H_
#define LEAT_OPS_LIST_VALUES_H_

#include "tensor/object.h"

// "tensorflow::TensorList" (tensor_list_value_cpu.c), "tensorflow::TensorMap" (tensor_map_cpu.c).
extern const leat_variant_vtable_t leat_tensor_list_vtable;
extern const leat_variant_vtable_t leat_tensor_map_vtable;

#endif  // LEAT_OPS_LIST_VALUES_H_
