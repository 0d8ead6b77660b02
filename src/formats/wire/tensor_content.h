// Tensors in messages between machines: all elements as raw bytes (tensor_content of TensorProto),
// also those of a scalar, and also strings, handles and variants, which graphs and files hold in
// lists. This is how TensorFlow's workers send values, and how they expect them.
//
//   numbers                      the elements, little-endian
//   strings, handles, variants   a varint size for each, then the bytes of all; those of a handle
//                                are a ResourceHandleProto, those of a variant a
//                                VariantTensorDataProto
#ifndef LEAT_FORMATS_WIRE_TENSOR_CONTENT_H_
#define LEAT_FORMATS_WIRE_TENSOR_CONTENT_H_

#include "formats/generated/tensor.h"
#include "tensor/tensor.h"

// Fills |out_proto|, which lies in |arena|. Elements that are numbers are a view of |tensor|'s, so
// that the tensor must outlive the message. INVALID_ARGUMENT for a variant that cannot be encoded.
LEAT_MUST_USE leat_status_t leat_tensor_to_content(const leat_tensor_t* tensor, leat_arena_t* arena,
                                                   leat_pb_tensor_proto_t* out_proto);
// The tensor that |proto| holds, in either form: leat_tensor_from_proto, which also takes handles
// and variants in tensor_content. |arena| is for the call's own use.
LEAT_MUST_USE leat_status_t leat_tensor_from_content(const leat_pb_tensor_proto_t* proto,
                                                     leat_arena_t* arena,
                                                     leat_buffer_source_t* source,
                                                     leat_tensor_t* out_tensor);

#endif  // LEAT_FORMATS_WIRE_TENSOR_CONTENT_H_
