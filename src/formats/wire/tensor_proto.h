// Tensors to and from TensorProto.
#ifndef LEAT_FORMATS_WIRE_TENSOR_PROTO_H_
#define LEAT_FORMATS_WIRE_TENSOR_PROTO_H_

#include "formats/generated/tensor.h"
#include "tensor/tensor.h"

// The tensor that |proto| holds, its bytes copied into a buffer of |source|. tensor_content is
// taken where there is any, else the list of the dtype, whose last value fills what it leaves (no
// value: zeros). INVALID_ARGUMENT for a shape that is not full, an unknown dtype, or content of
// another size than the shape's, and for a variant of an unknown kind, or which its kind refuses
// (leat_variant_kinds_set); RESOURCE_EXHAUSTED when there is no memory for the shape.
LEAT_MUST_USE leat_status_t leat_tensor_from_proto(const leat_pb_tensor_proto_t* proto,
                                                   leat_buffer_source_t* source,
                                                   leat_tensor_t* out_tensor);

// How many of a tensor's elements |proto| gives in the list of its dtype; the last of them fills
// the rest. 0 where they are in tensor_content, or where nothing is given.
size_t leat_tensor_proto_listed(const leat_pb_tensor_proto_t* proto, int64_t element_count);

// Fills |out_proto|, which lies in |arena| but for the elements: a view of |tensor|'s, so that the
// tensor must outlive it. One number goes into the list of the dtype, more into tensor_content.
LEAT_MUST_USE leat_status_t leat_tensor_to_proto(const leat_tensor_t* tensor, leat_arena_t* arena,
                                                 leat_pb_tensor_proto_t* out_proto);
// The same, with the first |listed| elements in the list of the dtype and nothing in
// tensor_content. The elements behind them must equal the last of them. Numbers and strings only
// (UNIMPLEMENTED); |listed| is from 1 to the number of elements.
LEAT_MUST_USE leat_status_t leat_tensor_to_listed_proto(const leat_tensor_t* tensor, size_t listed,
                                                        leat_arena_t* arena,
                                                        leat_pb_tensor_proto_t* out_proto);

// The elements alone, each in the list of the dtype, however many: as checkpoints of the first
// version have them. Numbers and strings only (UNIMPLEMENTED). Strings are views of |tensor|'s.
LEAT_MUST_USE leat_status_t leat_tensor_elements_to_proto(const leat_tensor_t* tensor,
                                                          leat_arena_t* arena,
                                                          leat_pb_tensor_proto_t* out_proto);

// Elements of string tensors as tensor_content and checkpoints have them: the varint sizes of all,
// then their bytes. |count| elements from |bytes| into |out_strings| (zeroed); all of |bytes| must
// be used.
LEAT_MUST_USE leat_status_t leat_string_elements_decode(leat_string_view_t bytes, int64_t count,
                                                        TF_TString* out_strings);

#endif  // LEAT_FORMATS_WIRE_TENSOR_PROTO_H_
