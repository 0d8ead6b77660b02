// Tensors as serialized TensorProto messages, for kernels in this and other families.
#ifndef LEAT_OPS_INPUT_SERIALIZED_TENSOR_CPU_H_
#define LEAT_OPS_INPUT_SERIALIZED_TENSOR_CPU_H_

#include "tensor/tensor.h"

// Sets element |index| of the string tensor |target| to |tensor|'s TensorProto. |packs_strings|:
// strings are packed into tensor_content; otherwise they are a list.
LEAT_MUST_USE leat_status_t leat_tensor_serialize(const leat_tensor_t* tensor, bool packs_strings,
                                                  leat_tensor_t* target, int64_t index);
// Makes the tensor that |text| describes. INVALID_ARGUMENT where |text| is not a TensorProto or its
// type is not |dtype|, which may be LEAT_DTYPE_INVALID for any.
LEAT_MUST_USE leat_status_t leat_tensor_parse(leat_string_view_t text, int dtype,
                                              leat_buffer_source_t* source,
                                              leat_tensor_t* out_tensor);

#endif  // LEAT_OPS_INPUT_SERIALIZED_TENSOR_CPU_H_
