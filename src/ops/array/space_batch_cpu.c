// The CPU kernels of SpaceToBatch, BatchToSpace and their N-dimensional forms. Both directions
// relate a large tensor [batch, large..., rest] to a small one [batch * phases, small..., rest],
// where the phase is the position within a block and phases = the product of the block sizes. In
// each spatial dimension
//
//   position p of the small tensor, phase q  =  position p * block + q - before of the large tensor
//
// where |before| is the padding (or crop) before the data. The batch of each phase lies in the
// small tensor as a whole, one phase after the other. So each phase is one strided copy of the
// positions that exist in both tensors; what the copies leave out is padding, which is zeroed
// before.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

typedef struct blocks_state_s {
  int64_t block_size;  // of an op on images; 0: input 1 gives a size for each dimension
  bool to_batch;
} blocks_state_t;

typedef struct blocks_s {
  leat_kernel_context_t* c;
  bool to_batch;
  int count;  // spatial dimensions
  int64_t phases;  // positions within a block
  int64_t sizes[LEAT_SHAPE_MAX_RANK];   // of blocks
  int64_t before[LEAT_SHAPE_MAX_RANK], after[LEAT_SHAPE_MAX_RANK];
  int64_t large[LEAT_SHAPE_MAX_RANK], small[LEAT_SHAPE_MAX_RANK];  // dimensions of the tensors
} blocks_t;

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  blocks_state_t* state = memory;
  leat_string_view_t op = creation->kernel->op->name;
  state->to_batch = leat_string_view_starts_with(op, LEAT_SV("Space"));
  if (leat_string_view_ends_with(op, LEAT_SV("ND"))) return leat_ok_status();
  return leat_kernel_attr_int(creation, "block_size", &state->block_size);
}

// Reads the block sizes, which must be positive.
static leat_status_t read_sizes(blocks_t* b, int64_t block_size) {
  b->phases = 1;
  b->count = 2;
  const leat_tensor_t* sizes = leat_kernel_input(b->c, 1);
  if (block_size == 0) {
    if (sizes->shape.rank != 1 || sizes->shape.element_count >= LEAT_SHAPE_MAX_RANK) {
      return leat_kernel_invalid(b->c, "block_shape has shape %s, must be a vector",
                                 LEAT_SHAPE_TEXT(&sizes->shape));
    }
    b->count = (int)sizes->shape.element_count;
  }
  for (int d = 0; d < b->count; ++d) {
    b->sizes[d] = block_size ? block_size : leat_tensor_index_at(sizes, d);
    if (b->sizes[d] < 1 || !leat_checked_multiply(b->phases, b->sizes[d], &b->phases)) {
      return leat_kernel_invalid(b->c, "block_shape[%d] is %lld, must be positive and not too "
                                 "large",
                                 d, (long long)b->sizes[d]);
    }
  }
  return leat_ok_status();
}

// Reads the paddings or crops, [count, 2], which must not be negative.
static leat_status_t read_margins(blocks_t* b, int input) {
  const leat_tensor_t* margins = leat_kernel_input(b->c, input);
  const leat_shape_t* shape = &margins->shape;
  if (shape->rank != 2 || leat_shape_dim(shape, 0) != b->count || leat_shape_dim(shape, 1) != 2) {
    return leat_kernel_invalid(b->c, "input %d has shape %s, must be [%d,2]", input,
                               LEAT_SHAPE_TEXT(shape), b->count);
  }
  for (int d = 0; d < b->count; ++d) {
    b->before[d] = leat_tensor_index_at(margins, 2 * d);
    b->after[d] = leat_tensor_index_at(margins, 2 * d + 1);
    if (b->before[d] < 0 || b->after[d] < 0) {
      return leat_kernel_invalid(b->c, "input %d has [%lld, %lld] for dimension %d, must be "
                                 "non-negative",
                                 input, (long long)b->before[d], (long long)b->after[d], d);
    }
  }
  return leat_ok_status();
}

// ---- Shapes -------------------------------------------------------------------------------------

// Computes the shape of the small tensor from the large one; every padded size must be a multiple.
static leat_status_t to_small(blocks_t* b, int rank) {
  for (int d = 0; d < rank; ++d) b->small[d] = b->large[d];
  bool fits = leat_checked_multiply(b->large[0], b->phases, &b->small[0]);
  for (int d = 0; fits && d < b->count; ++d) {
    int64_t padded;
    fits = leat_checked_add(b->large[d + 1], b->before[d], &padded) &&
           leat_checked_add(padded, b->after[d], &padded) && padded % b->sizes[d] == 0;
    if (fits) b->small[d + 1] = padded / b->sizes[d];
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(b->c, "padded sizes must be divisible by those of the blocks");
}

// Computes the shape of the large tensor from the small one.
static leat_status_t to_large(blocks_t* b, int rank) {
  for (int d = 0; d < rank; ++d) b->large[d] = b->small[d];
  bool fits = b->small[0] % b->phases == 0;
  b->large[0] = b->small[0] / b->phases;
  for (int d = 0; fits && d < b->count; ++d) {
    int64_t size;
    fits = leat_checked_multiply(b->small[d + 1], b->sizes[d], &size) && size >= b->before[d] &&
           size - b->before[d] >= b->after[d];
    if (fits) b->large[d + 1] = size - b->before[d] - b->after[d];
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(b->c, "the batch must be divisible by the blocks, and crops must not "
                             "be larger than what they crop");
}

// ---- Copies -------------------------------------------------------------------------------------

static void strides_of(const int64_t* dims, int rank, int64_t* out_strides) {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    out_strides[d] = stride;
    stride *= dims[d];
  }
}

// Copies all positions of one phase from input 0 to |output|, in the direction of the op.
static leat_status_t copy_phase(const blocks_t* b, int rank, int64_t phase, leat_tensor_t* output) {
  const leat_tensor_t* input = leat_kernel_input(b->c, 0);
  int64_t large[LEAT_SHAPE_MAX_RANK], small[LEAT_SHAPE_MAX_RANK];
  strides_of(b->large, rank, large);
  strides_of(b->small, rank, small);
  int64_t at_large = 0, at_small = phase * b->large[0] * small[0], offset[LEAT_SHAPE_MAX_RANK];
  for (int d = b->count - 1; d >= 0; --d) {
    offset[d] = phase % b->sizes[d] - b->before[d];
    phase /= b->sizes[d];
  }
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  leat_strided_add(&block, b->large[0], b->to_batch ? small[0] : large[0],
                   b->to_batch ? large[0] : small[0]);
  for (int d = 0; d < b->count; ++d) {
    int64_t size = b->sizes[d];
    // These are the positions p with 0 <= p * size + offset < large.
    int64_t first = offset[d] >= 0 ? 0 : (-offset[d] + size - 1) / size;
    int64_t room = b->large[d + 1] - offset[d];
    int64_t end = LEAT_MIN(room <= 0 ? 0 : (room - 1) / size + 1, b->small[d + 1]);
    if (end <= first) return leat_ok_status();
    at_small += first * small[d + 1];
    at_large += (first * size + offset[d]) * large[d + 1];
    int64_t step = large[d + 1] * size;
    leat_strided_add(&block, end - first, b->to_batch ? small[d + 1] : step,
                     b->to_batch ? step : small[d + 1]);
  }
  leat_strided_add(&block, small[b->count], 1, 1);
  return leat_strided_copy(
      b->c, &block,
      leat_element_at(input->data, input->dtype, b->to_batch ? at_large : at_small),
      leat_element_at(output->data, input->dtype, b->to_batch ? at_small : at_large));
}

static leat_status_t move_blocks(const blocks_t* b, int rank) {
  leat_tensor_t* output;
  leat_status_t status =
      leat_kernel_allocate_sized(b->c, 0, rank, b->to_batch ? b->small : b->large, &output);
  if (status || output->shape.element_count == 0) return status;
  bool has_margins = false;
  for (int d = 0; d < b->count; ++d) has_margins |= b->before[d] > 0 || b->after[d] > 0;
  if (b->to_batch && has_margins) leat_tensor_fill_zero(output);
  if (leat_kernel_input(b->c, 0)->shape.element_count == 0) return leat_ok_status();
  for (int64_t phase = 0; phase < b->phases; ++phase) {
    LEAT_RETURN_IF_ERROR(copy_phase(b, rank, phase, output));
  }
  return leat_ok_status();
}

static leat_status_t blocks__cpu(leat_kernel_context_t* c) {
  const blocks_state_t* state = leat_kernel_state(c);
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  blocks_t b = {.c = c, .to_batch = state->to_batch};
  LEAT_RETURN_IF_ERROR(read_sizes(&b, state->block_size));
  LEAT_RETURN_IF_ERROR(read_margins(&b, state->block_size ? 1 : 2));
  int rank = input->rank;
  if (rank < b.count + 1 || (state->block_size && rank != 4)) {
    return leat_kernel_invalid(c, "input has shape %s, must have a rank of at least %d",
                               LEAT_SHAPE_TEXT(input), b.count + 1);
  }
  memcpy(b.to_batch ? b.large : b.small, leat_shape_dims(input), (size_t)rank * sizeof(int64_t));
  LEAT_RETURN_IF_ERROR(b.to_batch ? to_small(&b, rank) : to_large(&b, rank));
  return move_blocks(&b, rank);
}

#define BLOCKS_ROW(name)                                                            \
  LEAT_CPU_KERNEL(name, "T: " LEAT_TYPES_REAL, blocks_state_t, create, blocks__cpu)

const leat_kernel_row_t leat_space_batch_kernels_cpu[] = {
    BLOCKS_ROW("SpaceToBatch"),
    BLOCKS_ROW("SpaceToBatchND"),
    BLOCKS_ROW("BatchToSpace"),
    BLOCKS_ROW("BatchToSpaceND"),
    LEAT_KERNEL_ROWS_END,
};
