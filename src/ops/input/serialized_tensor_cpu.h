// Tensors as the bytes of a TensorProto.
#ifndef LEAT_OPS_INPUT_SERIALIZED_TENSOR_CPU_H_
#define LEAT_OPS_INPUT_SERIALIZED_TENSOR_CPU_H_

#include "tensor/tensor.h"

// Element |index| of the string tensor |target| becomes |tensor|, numbers as their bytes; strings
// too with |packs_strings| (tensor_content), else in a list.
LEAT_MUST_USE leat_status_t leat_tensor_serialize(const leat_tensor_t* tensor, bool packs_strings,
                                                  leat_tensor_t* target, int64_t index);
// INVALID_ARGUMENT where |text| is no tensor, or none of |dtype|.
LEAT_MUST_USE leat_status_t leat_tensor_parse(leat_string_view_t text, int dtype,
                                              leat_buffer_source_t* source,
                                              leat_tensor_t* out_tensor);

#endif  // LEAT_OPS_INPUT_SERIALIZED_TENSOR_CPU_H_
