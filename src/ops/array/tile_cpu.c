// The CPU kernels of Tile, TileGrad and BroadcastTo.
//
//   Tile         x [n], multiples [3]  ->  x x x        [3 n]
//   BroadcastTo  x [1, n] to [3, n]    ->  rows x, x, x
//
// Both are strided copies (strided_cpu.h) in which a repeated dimension has a source stride of 0:
// Tile adds two dimensions for each of the input, the copies and the elements. TileGrad adds the
// tiles up, row by row on the calling thread, so that the sums have the same bits each time. Where
// nothing is repeated the output shares the bytes of the input.
#include "base/checked.h"
#include "device/cpu/combine.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// Reads the multiples, which must not be negative, and computes the sizes of the output.
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

// Writes the output of Tile, which has |shape|.
static leat_status_t repeat(leat_kernel_context_t* c, const leat_shape_t* shape,
                            const int64_t* multiples) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  leat_strided_t block;
  int64_t from[LEAT_SHAPE_MAX_RANK], to[LEAT_SHAPE_MAX_RANK];
  // Without elements the other sizes may be so large that the strides would overflow.
  if (shape->element_count == 0) return leat_kernel_allocate_output(c, 0, shape, &output);
  LEAT_RETURN_IF_ERROR(leat_strided_begin_output(&block, c, shape, &output, from, to));
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

// ---- TileGrad -----------------------------------------------------------------------------------

// Reads the multiples, which must divide the input; |out_dims| is the size of a tile.
static leat_status_t read_tiles(const leat_kernel_context_t* c, const leat_shape_t* input,
                                int64_t* out_dims) {
  const leat_tensor_t* multiples = leat_kernel_input(c, 1);
  if (multiples->shape.rank != 1 || multiples->shape.element_count != input->rank) {
    return leat_kernel_invalid(c, "multiples has shape %s, must be a vector of %d",
                               LEAT_SHAPE_TEXT(&multiples->shape), input->rank);
  }
  for (int d = 0; d < input->rank; ++d) {
    int64_t multiple = leat_tensor_index_at(multiples, d), size = leat_shape_dim(input, d);
    if (multiple <= 0 || size % multiple != 0) {
      return leat_kernel_invalid(c, "multiples[%d] is %lld, must be positive and divide %lld", d,
                                 (long long)multiple, (long long)size);
    }
    out_dims[d] = size / multiple;
  }
  return leat_ok_status();
}

// Adds each row of the input's last dimension, tile by tile, to the row of the output at the same
// place within the tile. The input has elements, and the output is zeroed.
static void add_tiles(const leat_tensor_t* input, const leat_tensor_t* output,
                      leat_combine_fn_t add) {
  int last = input->shape.rank - 1;
  const int64_t* sizes = leat_shape_dims(&input->shape);
  const int64_t* tile = leat_shape_dims(&output->shape);
  int64_t rows = input->shape.element_count / sizes[last];
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rest = row, to = 0, stride = 1;
    for (int d = last - 1; d >= 0; --d) {
      to += rest % sizes[d] % tile[d] * stride;
      rest /= sizes[d];
      stride *= tile[d];
    }
    for (int64_t k = 0; k < sizes[last]; k += tile[last]) {
      add(leat_element_at(output->data, input->dtype, to * tile[last]),
          leat_element_at(input->data, input->dtype, row * sizes[last] + k), tile[last]);
    }
  }
}

static leat_status_t tile_grad__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(read_tiles(c, &input->shape, dims));
  leat_combine_fn_t add = leat_combine_find(LEAT_COMBINE_ADD, input->dtype);
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_shape_create(input->shape.rank, dims, &shape));
  bool is_whole = leat_shape_equal(&shape, &input->shape);
  leat_status_t status = is_whole ? leat_kernel_pass_input_reshaped(c, 0, 0, &shape)
                                  : leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  if (status || is_whole) return status;
  if (!add) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "type %s cannot be added",
                             leat_dtype_name(input->dtype));
  }
  leat_tensor_fill_zero(output);
  if (input->shape.element_count > 0) add_tiles(input, output, add);
  return leat_ok_status();
}

// ---- BroadcastTo --------------------------------------------------------------------------------

// Writes the output of BroadcastTo. Where the element counts are equal nothing is repeated: only
// dimensions of size 1 are added.
static leat_status_t broadcast(leat_kernel_context_t* c, const leat_shape_t* shape) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (input->shape.element_count == shape->element_count) {
    return leat_kernel_pass_input_reshaped(c, 0, 0, shape);
  }
  leat_tensor_t* output;
  leat_strided_t block;
  int64_t from[LEAT_SHAPE_MAX_RANK], to[LEAT_SHAPE_MAX_RANK];
  LEAT_RETURN_IF_ERROR(leat_strided_begin_output(&block, c, shape, &output, from, to));
  int extra = shape->rank - input->shape.rank;
  for (int d = 0; d < shape->rank; ++d) {
    bool is_repeated = d < extra || leat_shape_dim(&input->shape, d - extra) == 1;
    leat_strided_add(&block, leat_shape_dim(shape, d), to[d], is_repeated ? 0 : from[d - extra]);
  }
  return leat_strided_copy(c, &block, input->data, output->data);
}

// Checks that each size of the input, aligned at the last dimension, is 1 or that of |shape|.
static leat_status_t check_broadcast(const leat_kernel_context_t* c, const leat_shape_t* shape) {
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  int extra = shape->rank - input->rank;
  bool fits = extra >= 0;
  for (int d = 0; fits && d < input->rank; ++d) {
    int64_t size = leat_shape_dim(input, d);
    fits = size == 1 || size == leat_shape_dim(shape, d + extra);
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "Incompatible shapes: %s vs. %s, to which the input is broadcast",
                             LEAT_SHAPE_TEXT(input), LEAT_SHAPE_TEXT(shape));
}

static leat_status_t broadcast_to__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* sizes = leat_kernel_input(c, 1);
  int64_t dims[LEAT_SHAPE_MAX_RANK], rank = sizes->shape.element_count;
  if (sizes->shape.rank != 1 || rank > LEAT_SHAPE_MAX_RANK) {
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
     .access = LEAT_ACCESS_REPEATED,
     .compute = tile__cpu},
    {.op = "TileGrad",
     .device_type = "CPU",
     .compute = tile_grad__cpu},
    {.op = "BroadcastTo",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8,
     .access = LEAT_ACCESS_REPEATED,
     .compute = broadcast_to__cpu},
    LEAT_KERNEL_ROWS_END,
};
