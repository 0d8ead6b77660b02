// Shapes to and from TensorShapeProto, the message that graphs, tensors and checkpoints state
// shapes in. There a size of -1 is unknown, and so is the rank where unknown_rank is set. A NULL
// message, which is a field that is absent, is the scalar's shape.
#ifndef LEAT_FORMATS_WIRE_SHAPE_PROTO_H_
#define LEAT_FORMATS_WIRE_SHAPE_PROTO_H_

#include "formats/generated/tensor.h"
#include "tensor/shape.h"

// A full shape, which the caller releases. INVALID_ARGUMENT when the rank or a size is unknown, a
// size is under -1, the rank over 254 or the element count over 2^63-1.
LEAT_MUST_USE leat_status_t leat_shape_from_proto(const leat_pb_tensor_shape_proto_t* proto,
                                                  leat_shape_t* out_shape);
// A partial shape, its dims in |arena|.
LEAT_MUST_USE leat_status_t leat_partial_shape_from_proto(const leat_pb_tensor_shape_proto_t* proto,
                                                          leat_arena_t* arena,
                                                          leat_partial_shape_t* out_shape);
// The message, in |arena|; dimensions have no names.
LEAT_MUST_USE leat_status_t leat_partial_shape_to_proto(leat_partial_shape_t shape,
                                                        leat_arena_t* arena,
                                                        leat_pb_tensor_shape_proto_t** out_proto);

#endif  // LEAT_FORMATS_WIRE_SHAPE_PROTO_H_
