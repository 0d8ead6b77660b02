// Attribute values from messages and into messages, where the C API carries them as bytes.
#ifndef LEAT_CAPI_ATTR_MESSAGE_H_
#define LEAT_CAPI_ATTR_MESSAGE_H_

#include "capi/handles.h"

// The value in a serialised AttrValue; it lies in |storage|. INVALID_ARGUMENT when it does not
// parse.
LEAT_MUST_USE leat_status_t leat_capi_attr_decode(leat_string_view_t bytes,
                                                  leat_graph_storage_t* storage,
                                                  leat_attr_value_t* out_value);
// The shape in a serialised TensorShapeProto; its dims lie in |arena|.
LEAT_MUST_USE leat_status_t leat_capi_shape_decode(leat_string_view_t bytes, leat_arena_t* arena,
                                                   leat_partial_shape_t* out_shape);

#endif  // LEAT_CAPI_ATTR_MESSAGE_H_
