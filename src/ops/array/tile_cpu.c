// CPU kernels of Tile and BroadcastTo: strided copies with source strides of 0.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/family.h"

static leat_status_t read_multiples(const leat_kernel_context_t* c, const leat_shape_t* input,
                                    int64_t* out_multiples, int64_t* out_dims) {
  const leat_tensor_t* multiples = leat_kernel_input(c, 1);
  if (multiples->shape.rank != 1 || multiples->shape.element_count != input->rank) {
    return leat_kernel_invalid(c, "multiples has shape %s, must be a vector of %d",
                               LEAT_SHAPE_TEXT(&multiples->shape), input->rank);
  }
  for (int d = 0; d < input->rank; ++d) {
    out_multiples[d] = leat_tensor_index_at(multiples, d);
    if (out_multiples[d] < 0 ||
        !leat_checked_multiply(leat_shape_dim(input, d), out_multiples[d], &out_dims[d])) {
      return leat_kernel_invalid(c, "multiples[%d] is %lld, must be non-negative and not too large",
                                 d, (long long)out_multiples[d]);
    }
  }
  return leat_ok_status();
}

static leat_status_t repeat(leat_kernel_context_t* c, const leat_shape_t* shape,
                            const int64_t* multiples) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (shape->element_count == 0) return leat_ok_status();
  int64_t from[LEAT_SHAPE_MAX_RANK], to[LEAT_SHAPE_MAX_RANK];
  leat_shape_strides(&input->shape, from);
  leat_shape_strides(shape, to);
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  for (int d = 0; d < shape->rank; ++d) {
    int64_t size = leat_shape_dim(&input->shape, d);
    leat_strided_add(&block, multiples[d], to[d] * size, 0);
    leat_strided_add(&block, size, to[d], from[d]);
  }
  return leat_strided_copy(c, &block, input->data, output->data);
}

static leat_status_t tile__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  int64_t multiples[LEAT_SHAPE_MAX_RANK], dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(read_multiples(c, input, multiples, dims));
  bool is_whole = true;
  for (int d = 0; d < input->rank; ++d) is_whole = is_whole && multiples[d] == 1;
  if (is_whole) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(input->rank, dims, &shape));
  leat_status_t status = repeat(c, &shape, multiples);
  leat_shape_release(&shape);
  return status;
}

// ---- BroadcastTo --------------------------------------------------------------------------------

static leat_status_t broadcast(leat_kernel_context_t* c, const leat_shape_t* shape) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (input->shape.element_count == shape->element_count) {
    return leat_kernel_pass_input_reshaped(c, 0, 0, shape);
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (shape->element_count == 0) return leat_ok_status();
  int64_t from[LEAT_SHAPE_MAX_RANK], to[LEAT_SHAPE_MAX_RANK];
  leat_shape_strides(&input->shape, from);
  leat_shape_strides(shape, to);
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  int extra = shape->rank - input->shape.rank;
  for (int d = 0; d < shape->rank; ++d) {
    bool is_repeated = d < extra || leat_shape_dim(&input->shape, d - extra) == 1;
    leat_strided_add(&block, leat_shape_dim(shape, d), to[d], is_repeated ? 0 : from[d - extra]);
  }
  return leat_strided_copy(c, &block, input->data, output->data);
}

static leat_status_t check_broadcast(const leat_kernel_context_t* c, const leat_shape_t* shape) {
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  int extra = shape->rank - input->rank;
  bool fits = extra >= 0;
  for (int d = 0; fits && d < input->rank; ++d) {
    int64_t size = leat_shape_dim(input, d);
    fits = size == 1 || size == leat_shape_dim(shape, d + extra);
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "input has shape %s, must be one that can be broadcast to %s",
                             LEAT_SHAPE_TEXT(input), LEAT_SHAPE_TEXT(shape));
}

static leat_status_t broadcast_to__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* sizes = leat_kernel_input(c, 1);
  int64_t dims[LEAT_SHAPE_MAX_RANK], rank = sizes->shape.element_count;
  if (sizes->shape.rank > 1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "shape has shape %s, must be a vector of at most %d",
                               LEAT_SHAPE_TEXT(&sizes->shape), LEAT_SHAPE_MAX_RANK);
  }
  for (int64_t d = 0; d < rank; ++d) dims[d] = leat_tensor_index_at(sizes, d);
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)rank, dims, &shape));
  leat_status_t status = check_broadcast(c, &shape);
  if (!status) status = broadcast(c, &shape);
  leat_shape_release(&shape);
  return status;
}

const leat_kernel_row_t leat_tile_kernels_cpu[] = {
    {.op = "Tile",
     .device_type = "CPU",
     .constraints = "Tmultiples: " LEAT_TYPES_INDEX,
     .compute = tile__cpu},
    {.op = "BroadcastTo",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8,
     .compute = broadcast_to__cpu},
    LEAT_KERNEL_ROWS_END,
};
