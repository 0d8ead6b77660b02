// Single numbers as elements of variant tensors: the types that TensorFlow can read back from a
// variant's message without a registered decoder.
#ifndef LEAT_TENSOR_NUMBER_VARIANT_H_
#define LEAT_TENSOR_NUMBER_VARIANT_H_

#include "tensor/object.h"

// |metadata| are the bytes of a number of type |type_name|: "int" (32 bits), "float", "double" or
// "bool". INVALID_ARGUMENT for any other type, and for a number of bytes that the type does not
// have. The caller owns |*out_variant|.
LEAT_MUST_USE leat_status_t leat_number_variant_decode(leat_string_view_t type_name,
                                                       leat_string_view_t metadata,
                                                       leat_variant_t* out_variant);

#endif  // LEAT_TENSOR_NUMBER_VARIANT_H_
