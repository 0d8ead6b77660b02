// The ops ArgMax and ArgMin: where along an axis the largest or smallest element is. The output has
// the input's shape without the axis. The ops have no gradient, because an index does not change
// with small changes of the input.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static int64_t axis_of(const leat_tensor_t* tensor) {
  if (tensor->dtype == LEAT_DTYPE_INT16) return *leat_tensor_data(tensor, const int16_t);
  return leat_tensor_index_at(tensor, 0);
}

static leat_status_t arg_shape(leat_inference_t* c) {
  leat_partial_shape_t axis_shape, output = leat_partial_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &axis_shape));
  leat_partial_shape_t input = leat_inference_input(c, 0);
  if (input.rank < 0) return leat_ok_status();
  if (input.rank <= 1) {
    leat_inference_set_output(c, 0, output);
    return leat_ok_status();
  }
  const leat_tensor_t* axis_tensor = leat_inference_input_tensor(c, 1);
  if (!axis_tensor) {
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, input.rank - 1, &output));
    leat_inference_set_output(c, 0, output);
    return leat_ok_status();
  }
  int64_t axis = axis_of(axis_tensor);
  if (axis < -input.rank || axis >= input.rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Dimension (%lld) must be in the range [%d, %d), where %d is the "
                            "number of dimensions in the input.",
                            (long long)axis, -input.rank, input.rank, input.rank);
  }
  if (axis < 0) axis += input.rank;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < input.rank; ++d) {
    if (d != axis) dims[rank++] = input.dims[d];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

#define TYPES                                                                                  \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "      \
  "uint64, qint8, quint8, qint32, qint16, quint16, bool}; "
#define ROW(op, axis_types, output_types, text)                                          \
  {.name = op,                                                                           \
   .inputs = "input: T; dimension: Tidx",                                                \
   .outputs = "output: output_type",                                                     \
   .attrs = TYPES "Tidx: " axis_types " = int32; output_type: " output_types " = int64", \
   .shape = arg_shape,                                                                   \
   .gradient = leat_gradient_none,                                                       \
   .contract = LEAT_RULES(LEAT_RULE_SCALAR(1)),                                          \
   .doc = text}

const leat_op_row_t leat_arg_ops[] = {
    ROW("ArgMax", "{int16, int32, int64}", "{int16, uint16, int32, int64}",
        "Index of the largest element along a dimension, the first of equal ones."),
    ROW("ArgMin", "{int32, int64}", "{int32, int64}",
        "Index of the smallest element along a dimension, the first of equal ones."),
    LEAT_OP_ROWS_END,
};
