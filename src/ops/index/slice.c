// The op Slice, which takes a box of the input: its shape, value, gradient and registration.
//
//   x [d_0, ...], begin [n], size [n] -> [size_0, ...]      size -1: d_i - begin_i
//
// Input |begin| is read as a shape, in which an unknown item is -1. The value function serves
// vectors of known integers, since programs take shapes apart with Slice. The gradient pads dC/dy
// with zeros.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// Computes the sizes of the output. A size of -1 reaches to the end of the dimension; it is unknown
// where |begin| (-1: unknown) or the input's size is.
static leat_status_t sizes_to_dims(leat_inference_t* c, leat_partial_shape_t input,
                                   leat_partial_shape_t begin, leat_partial_value_t sizes,
                                   int64_t* out_dims) {
  (void)c;
  for (int d = 0; d < sizes.count; ++d) {
    int64_t size = sizes.items[d];
    out_dims[d] = size == LEAT_VALUE_UNKNOWN ? LEAT_DIM_UNKNOWN : size;
    if (size == LEAT_VALUE_UNKNOWN || size >= 0) continue;
    if (size < -1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Out of bounds slicing on dimension %d: sizes vector cannot be < -1, "
                              "but was %lld",
                              d, (long long)size);
    }
    int64_t from = begin.rank < 0 ? LEAT_DIM_UNKNOWN : begin.dims[d];
    if (from == LEAT_DIM_UNKNOWN || input.rank < 0) continue;
    LEAT_RETURN_IF_ERROR(leat_inference_add(input.dims[d], -from, &out_dims[d]));
  }
  return leat_ok_status();
}

// The rank is that of any of the three inputs which is known. The sizes are known only where the
// input |size| is a constant, at least in part.
static leat_status_t slice_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), begin, sizes, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &begin));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &sizes));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, begin, sizes, &begin));
  int64_t rank = leat_partial_shape_dim(begin, 0);
  if (rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %lld",
                            LEAT_SHAPE_MAX_RANK, (long long)rank);
  }
  if (rank != LEAT_DIM_UNKNOWN) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, input, (int)rank, &input));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 1, &begin));
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 2, &value));
  if (value.rank == 1) {
    int64_t dims[LEAT_SHAPE_MAX_RANK];
    if (value.count > LEAT_SHAPE_MAX_RANK) return leat_ok_status();
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, begin, value.count, &begin));
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, input, value.count, &input));
    LEAT_RETURN_IF_ERROR(sizes_to_dims(c, input, begin, value, dims));
    LEAT_RETURN_IF_ERROR(leat_inference_make(c, value.count, dims, &shape));
  } else if (input.rank >= 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_unknown_of_rank(c, input.rank, &shape));
  } else {
    return leat_ok_status();
  }
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t slice_value(leat_inference_t* c) {
  leat_partial_value_t value;
  int64_t begin, size;
  bool begin_is_known, size_is_known;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &value));
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, 1, &begin_is_known, &begin));
  LEAT_RETURN_IF_ERROR(leat_inference_index(c, 2, &size_is_known, &size));
  if (value.rank != 1 || !begin_is_known || !size_is_known) return leat_ok_status();
  if (begin < 0 || begin > value.count) return leat_ok_status();
  if (size == -1) size = value.count - begin;
  if (size < 0 || size > value.count - begin) return leat_ok_status();
  return leat_inference_set_output_value(c, 0, 1, (int)size, value.items + begin);
}

// Pads the gradient with zeros: |begin| of them before it in each dimension, and after it as many
// as the input's size leaves.
static leat_status_t slice_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t input = leat_gradient_input(g, 0), begin = leat_gradient_input(g, 1);
  leat_attrs_t index = LEAT_ATTRS(LEAT_TYPE("out_type", leat_build_type_of(b, begin)));
  leat_output_t size = leat_build(b, "Shape", LEAT_INPUTS(leat_gradient_output(g, 0)), index);
  leat_output_t shape = leat_build(b, "Shape", LEAT_INPUTS(input), index);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t column = leat_build(b, "Pack", LEAT_INPUTS(leat_build_unary(b, "Rank", input), one),
                                    LEAT_NO_ATTRS);
  leat_output_t rest = leat_build_binary(b, "Sub", leat_build_binary(b, "Sub", shape, size), begin);
  leat_output_t before = leat_build_binary(b, "Reshape", begin, column);
  leat_output_t after = leat_build_binary(b, "Reshape", rest, column);
  leat_output_t paddings =
      leat_build(b, "ConcatV2", LEAT_INPUTS(before, after, one), LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 0,
                          leat_build_binary(b, "Pad", leat_gradient_of_output(g, 0), paddings));
  return leat_ok_status();
}

const leat_op_row_t leat_slice_ops[] = {
    {.name = "Slice",
     .inputs = "input: T; begin: Index; size: Index",
     .outputs = "output: T",
     .attrs = "T: type; Index: {int32, int64}",
     .shape = slice_shape,
     .value = slice_value,
     .gradient = slice_gradient,
     .identities = LEAT_IDENTITY_SAME_SHAPE | LEAT_IDENTITY_AT_ORIGIN,
     .doc = "The box of the sizes that begins at begin; a size of -1 reaches to the end."},
    LEAT_OP_ROWS_END,
};
