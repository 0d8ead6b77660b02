// The ops Range and LinSpace: vectors of evenly spaced numbers. Their shapes depend on the values
// of their inputs, so that most of this file computes a size from values that are known.
//
//   Range: start, limit, delta -> [ceil((limit - start) / delta)]
//   LinSpace: start, stop, num -> [num]
//
// Values may be known in two ways: the input is a constant of any numeric type, or shape inference
// has followed a small integer (the rank of a tensor, say) through other nodes. The size of a range
// must be the same here and in the kernel, so that both call range_size.h.
#include "ops/math/range_size.h"

#include "base/checked.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Reads the scalar |tensor| as an integer or a real number; false for types of the other kind.
static bool read_integer(const leat_tensor_t* tensor, int64_t* out_value) {
  switch (tensor->dtype) {
#define LEAT_READ_(DTYPE, type) \
  case LEAT_DTYPE_##DTYPE: *out_value = (int64_t)*leat_tensor_data(tensor, const type); return true;
    LEAT_READ_(INT8, int8_t)
    LEAT_READ_(INT16, int16_t)
    LEAT_READ_(INT32, int32_t)
    LEAT_READ_(INT64, int64_t)
    LEAT_READ_(UINT16, uint16_t)
    LEAT_READ_(UINT32, uint32_t)
    LEAT_READ_(UINT64, uint64_t)
#undef LEAT_READ_
    default: return false;
  }
}
static bool read_real(const leat_tensor_t* tensor, double* out_value) {
  if (tensor->dtype == LEAT_DTYPE_FLOAT) {
    *out_value = (double)*leat_tensor_data(tensor, const float);
  } else if (tensor->dtype == LEAT_DTYPE_DOUBLE) {
    *out_value = *leat_tensor_data(tensor, const double);
  } else {
    return false;
  }
  return true;
}

// Computes the size when all inputs are constants; |out_size| keeps its value (unknown) otherwise.
static leat_status_t size_of_constants(leat_inference_t* c, int64_t* out_size) {
  const leat_tensor_t* inputs[3];
  for (int i = 0; i < 3; ++i) {
    inputs[i] = leat_inference_input_tensor(c, i);
    if (!inputs[i] || inputs[i]->shape.element_count != 1) return leat_ok_status();
  }
  int64_t integers[3];
  if (read_integer(inputs[0], &integers[0]) && read_integer(inputs[1], &integers[1]) &&
      read_integer(inputs[2], &integers[2])) {
    return leat_range_size_integer(integers[0], integers[1], integers[2], out_size);
  }
  double reals[3];
  if (read_real(inputs[0], &reals[0]) && read_real(inputs[1], &reals[1]) &&
      read_real(inputs[2], &reals[2])) {
    return leat_range_size_real(reals[0], reals[1], reals[2],
                                inputs[0]->dtype == LEAT_DTYPE_DOUBLE, out_size);
  }
  return leat_ok_status();
}

// Reads the three inputs as inferred integers; |*out_known| says whether all of them are known.
static leat_status_t range_arguments(leat_inference_t* c, int64_t* out_arguments, bool* out_known) {
  *out_known = true;
  for (int i = 0; i < 3; ++i) {
    leat_partial_value_t value;
    LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, i, &value));
    *out_known = *out_known && value.rank >= 0 && value.count == 1 &&
                 value.items[0] != LEAT_VALUE_UNKNOWN;
    if (*out_known) out_arguments[i] = value.items[0];
  }
  return leat_ok_status();
}

static leat_status_t range_shape(leat_inference_t* c) {
  for (int i = 0; i < 3; ++i) {
    leat_partial_shape_t scalar;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 0, &scalar));
  }
  int64_t size = LEAT_DIM_UNKNOWN, arguments[3];
  LEAT_RETURN_IF_ERROR(size_of_constants(c, &size));
  if (size == LEAT_DIM_UNKNOWN) {  // for example Range(0, Rank(x), 1)
    bool is_known;
    LEAT_RETURN_IF_ERROR(range_arguments(c, arguments, &is_known));
    if (is_known) {
      LEAT_RETURN_IF_ERROR(
          leat_range_size_integer(arguments[0], arguments[1], arguments[2], &size));
    }
  }
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &size, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

// Infers the items of a small integer range, such as the axes of a tensor.
static leat_status_t range_value(leat_inference_t* c) {
  int64_t arguments[3], size, items[LEAT_SHAPE_MAX_RANK];
  bool is_known;
  LEAT_RETURN_IF_ERROR(range_arguments(c, arguments, &is_known));
  if (!is_known) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_range_size_integer(arguments[0], arguments[1], arguments[2], &size));
  if (size > LEAT_SHAPE_MAX_RANK) return leat_ok_status();
  for (int64_t i = 0; i < size; ++i) items[i] = arguments[0] + i * arguments[2];
  return leat_inference_set_output_value(c, 0, 1, (int)size, items);
}

static leat_status_t lin_space_shape(leat_inference_t* c) {
  for (int i = 0; i < 3; ++i) {
    leat_partial_shape_t scalar;
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 0, &scalar));
  }
  const leat_tensor_t* count = leat_inference_input_tensor(c, 2);
  int64_t size = count ? leat_tensor_index_at(count, 0) : LEAT_DIM_UNKNOWN;
  if (count && size <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Requires num > 0: %lld", (long long)size);
  }
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &size, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

const leat_op_row_t leat_range_ops[] = {
    {.name = "Range",
     .inputs = "start: Tidx; limit: Tidx; delta: Tidx",
     .outputs = "output: Tidx",
     .attrs = "Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, "
              "uint64} = int32",
     .shape = range_shape,
     .value = range_value,
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_COUNT(0, 1), LEAT_RULE_COUNT(1, 1), LEAT_RULE_COUNT(2, 1)),
     .doc = "The numbers from start up to, but not including, limit in steps of delta."},
    {.name = "LinSpace",
     .inputs = "start: T; stop: T; num: Tidx",
     .outputs = "output: T",
     .attrs = "T: {bfloat16, half, float, double}; Tidx: {int32, int64} = int32",
     .shape = lin_space_shape,
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_SCALAR(0), LEAT_RULE_SCALAR(1), LEAT_RULE_SCALAR(2)),
     .doc = "num evenly spaced numbers from start to stop, both included."},
    LEAT_OP_ROWS_END,
};
