// Attribute values and shapes as serialized messages, where the C API passes them as bytes:
// TF_SetAttrValueProto, TF_SetAttrTensorShapeProto and their kin. The bytes come from the caller,
// so each function checks them whole.
#ifndef LEAT_CAPI_GRAPH_ATTR_MESSAGE_H_
#define LEAT_CAPI_GRAPH_ATTR_MESSAGE_H_

#include "capi/handles.h"

// Decodes a serialized AttrValue; the value lies in |storage|. INVALID_ARGUMENT where |bytes| are
// not one.
LEAT_MUST_USE leat_status_t leat_capi_attr_decode(leat_string_view_t bytes,
                                                  leat_graph_storage_t* storage,
                                                  leat_attr_value_t* out_value);
// Decodes a serialized TensorShapeProto; its sizes lie in |arena|.
LEAT_MUST_USE leat_status_t leat_capi_shape_decode(leat_string_view_t bytes, leat_arena_t* arena,
                                                   leat_partial_shape_t* out_shape);

#endif  // LEAT_CAPI_GRAPH_ATTR_MESSAGE_H_
