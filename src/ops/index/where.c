// The ops Where, which lists the positions of elements that are not zero, and OneHot, which makes
// tensors with one value at given positions: their shapes and registration.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

static leat_status_t where_shape(leat_inference_t* c) {
  int64_t dims[2] = {LEAT_DIM_UNKNOWN, leat_inference_input(c, 0).rank};
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t one_hot_shape(leat_inference_t* c) {
  leat_partial_shape_t indices = leat_inference_input(c, 0), shape;
  int64_t axis = leat_node_attr_int(c->node, "axis", -1), depth = LEAT_DIM_UNKNOWN;
  bool is_known;
  if (axis < -1) return leat_make_status(LEAT_INVALID_ARGUMENT, "axis must be >= -1");
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, 1, &is_known, &depth));
  if (is_known && depth < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension size, given by scalar input 1, must be non-negative but is "
                            "%lld",
                            (long long)depth);
  }
  if (indices.rank < 0) return leat_ok_status();
  if (axis > indices.rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Expected axis to be -1 or between [0, %d).  But received: %lld",
                            indices.rank + 1, (long long)axis);
  }
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  int rank = indices.rank + 1, at = (int)((axis + rank) % rank);
  for (int d = 0; d < rank; ++d) dims[d] = d == at ? depth : indices.dims[d < at ? d : d - 1];
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

const leat_op_row_t leat_where_ops[] = {
    {.name = "Where",
     .inputs = "input: T",
     .outputs = "index: int64",
     .attrs = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, "
              "qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool} "
              "= bool",
     .shape = where_shape,
     .doc = "Positions of the elements that are not zero, a row each, in order."},
    {.name = "OneHot",
     .inputs = "indices: TI; depth: int32; on_value: T; off_value: T",
     .outputs = "output: T",
     .attrs = "axis: int = -1; T: type; TI: {uint8, int8, int32, int64} = int64",
     .shape = one_hot_shape,
     .gradient = leat_gradient_none,
     .doc = "A new dimension of size depth that holds on_value at each index, else off_value."},
    LEAT_OP_ROWS_END,
};
