// Shapes on the wire: -1 for an unknown size, a flag for an unknown rank.
#include "formats/wire/shape_proto.h"

static leat_status_t read_dims(const leat_pb_tensor_shape_proto_t* proto,
                               int64_t dims[LEAT_SHAPE_MAX_RANK]) {
  if (proto->dim.count > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape decode failed: rank is %zu, must be at most %d",
                            proto->dim.count, LEAT_SHAPE_MAX_RANK);
  }
  for (size_t i = 0; i < proto->dim.count; ++i) dims[i] = proto->dim.items[i].size;
  return leat_ok_status();
}

leat_status_t leat_shape_from_proto(const leat_pb_tensor_shape_proto_t* proto,
                                    leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  *out_shape = leat_shape_scalar();
  if (!proto) return leat_ok_status();
  if (proto->unknown_rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape decode failed: rank is unknown, must be known");
  }
  LEAT_RETURN_IF_ERROR(read_dims(proto, dims));
  return leat_shape_create((int)proto->dim.count, dims, out_shape);
}

leat_status_t leat_partial_shape_from_proto(const leat_pb_tensor_shape_proto_t* proto,
                                            leat_arena_t* arena, leat_partial_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  *out_shape = leat_partial_shape_scalar();
  if (!proto) return leat_ok_status();
  if (proto->unknown_rank) {
    *out_shape = leat_partial_shape_unknown();
    if (proto->dim.count == 0) return leat_ok_status();
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape decode failed: rank is unknown and %zu, must be one of them",
                            proto->dim.count);
  }
  LEAT_RETURN_IF_ERROR(read_dims(proto, dims));
  return leat_partial_shape_create((int)proto->dim.count, dims, arena, out_shape);
}

leat_status_t leat_partial_shape_to_proto(leat_partial_shape_t shape, leat_arena_t* arena,
                                          leat_pb_tensor_shape_proto_t** out_proto) {
  leat_pb_tensor_shape_proto_t* proto;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &proto));
  *out_proto = proto;
  proto->unknown_rank = shape.rank < 0;
  if (shape.rank <= 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)shape.rank, &proto->dim.items));
  proto->dim.count = (size_t)shape.rank;
  for (int i = 0; i < shape.rank; ++i) proto->dim.items[i].size = shape.dims[i];
  return leat_ok_status();
}
