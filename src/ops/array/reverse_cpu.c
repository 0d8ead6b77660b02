// The CPU kernels of Reverse, ReverseV2, ReverseSequence and Roll. All of them are strided copies
// (strided_cpu.h):
//
//   Reverse          one copy; a reversed dimension begins at its last element and has a negative
//                    stride in the source
//   ReverseSequence  two copies for each batch entry: its first steps reversed, the rest as it is
//   Roll             each rolled dimension is cut in two pieces, which change places, so that n
//                    rolled dimensions make 2^n boxes, each one copy:   | A | B |  ->  | B | A |
//
// No kernel here has a loop over elements of its own: whatever type and rank a tensor has, it is a
// matter of strides. Axes, lengths and shifts are inputs, so that the kernels check them each time
// they run. Where Reverse, ReverseV2 or Roll would move nothing, the output shares the bytes of the
// input.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// ---- Reverse ------------------------------------------------------------------------------------

// Reverses the dimensions d for which |marks|[d] is true.
static leat_status_t reverse_marked(leat_kernel_context_t* c, const bool* marks) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &input->shape;
  bool any = false;
  for (int d = 0; d < shape->rank; ++d) any |= marks[d] && leat_shape_dim(shape, d) > 1;
  if (!any) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (shape->element_count == 0) return leat_ok_status();
  int64_t strides[LEAT_SHAPE_MAX_RANK], first = 0;
  leat_shape_strides(shape, strides);
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  for (int d = 0; d < shape->rank; ++d) {
    int64_t size = leat_shape_dim(shape, d);
    if (marks[d]) first += (size - 1) * strides[d];
    leat_strided_add(&block, size, strides[d], marks[d] ? -strides[d] : strides[d]);
  }
  return leat_strided_copy(c, &block, leat_element_at(input->data, input->dtype, first),
                           output->data);
}

static leat_status_t reverse__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* dims = leat_kernel_input(c, 1);
  int rank = leat_kernel_input(c, 0)->shape.rank;
  // TensorFlow's Reverse refuses a tensor without elements in dimension 0, and so does this one; in
  // both, ReverseV2 takes it.
  if (rank > 0 && leat_shape_dim(&leat_kernel_input(c, 0)->shape, 0) == 0) {
    return leat_kernel_invalid(c, "first dimension of tensor is 0, must be at least 1");
  }
  if (dims->shape.rank != 1 || dims->shape.element_count != rank) {
    return leat_kernel_invalid(c, "dims has shape %s, must be a vector of %d",
                               LEAT_SHAPE_TEXT(&dims->shape), rank);
  }
  return reverse_marked(c, dims->data);
}

static leat_status_t reverse_v2__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* axes = leat_kernel_input(c, 1);
  int rank = leat_kernel_input(c, 0)->shape.rank;
  bool marks[LEAT_SHAPE_MAX_RANK];
  if (axes->shape.rank != 1) {
    return leat_kernel_invalid(c, "axis has shape %s, must be a vector",
                               LEAT_SHAPE_TEXT(&axes->shape));
  }
  for (int d = 0; d < rank; ++d) marks[d] = false;
  for (int64_t i = 0; i < axes->shape.element_count; ++i) {
    int64_t axis = leat_tensor_index_at(axes, i);
    if (!leat_axis_resolve(&axis, rank) || marks[axis]) {
      return leat_kernel_invalid(c, "axis[%lld] is %lld, must be in [%d, %d) and none twice",
                                 (long long)i, (long long)axis, -rank, rank);
    }
    marks[axis] = true;
  }
  return reverse_marked(c, marks);
}

// ---- ReverseSequence ----------------------------------------------------------------------------

typedef struct sequence_state_s {
  int64_t seq_dim, batch_dim;
} sequence_state_t;

static leat_status_t create_sequence(leat_kernel_creation_t* creation, void* memory) {
  sequence_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(creation, "seq_dim", &state->seq_dim));
  return leat_kernel_attr_int(creation, "batch_dim", &state->batch_dim);
}

// Copies steps [begin, end) of batch entry |entry|, as they are or, if |back_to_front|, reversed.
static leat_status_t copy_steps(leat_kernel_context_t* c, int64_t entry, int64_t begin, int64_t end,
                                bool back_to_front) {
  const sequence_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int64_t strides[LEAT_SHAPE_MAX_RANK];
  leat_shape_strides(&input->shape, strides);
  int64_t batch = entry * strides[state->batch_dim], step = strides[state->seq_dim];
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  for (int d = 0; d < input->shape.rank; ++d) {
    if (d == state->batch_dim) continue;
    bool is_seq = d == state->seq_dim;
    leat_strided_add(&block, is_seq ? end - begin : leat_shape_dim(&input->shape, d), strides[d],
                     is_seq && back_to_front ? -strides[d] : strides[d]);
  }
  int64_t from = batch + (back_to_front ? end - 1 : begin) * step, to = batch + begin * step;
  if (end == begin) return leat_ok_status();
  return leat_strided_copy(c, &block, leat_element_at(input->data, input->dtype, from),
                           leat_element_at(leat_kernel_output(c, 0)->data, input->dtype, to));
}

// Checks the attributes against the rank, and every length against the number of steps.
static leat_status_t check_sequence(const leat_kernel_context_t* c) {
  const sequence_state_t* state = leat_kernel_state(c);
  const leat_shape_t* input = &leat_kernel_input(c, 0)->shape;
  const leat_tensor_t* lengths = leat_kernel_input(c, 1);
  int64_t seq = state->seq_dim, batch = state->batch_dim;
  if (seq == batch) {
    return leat_kernel_invalid(c, "batch_dim == seq_dim == %lld, must be two dimensions",
                               (long long)seq);
  }
  if (seq < 0 || batch < 0 || seq >= input->rank || batch >= input->rank) {
    return leat_kernel_invalid(c, "seq_dim is %lld and batch_dim %lld, must be two of %d "
                               "dimensions",
                               (long long)seq, (long long)batch, input->rank);
  }
  if (lengths->shape.rank != 1 ||
      lengths->shape.element_count != leat_shape_dim(input, (int)batch)) {
    return leat_kernel_invalid(c, "seq_lengths has shape %s, must be a vector of %lld",
                               LEAT_SHAPE_TEXT(&lengths->shape),
                               (long long)leat_shape_dim(input, (int)batch));
  }
  for (int64_t i = 0; i < lengths->shape.element_count; ++i) {
    int64_t length = leat_tensor_index_at(lengths, i);
    if (length < 0) {
      return leat_kernel_invalid(c, "seq_lens(%lld) < 0: %lld", (long long)i, (long long)length);
    }
    if (length > leat_shape_dim(input, (int)seq)) {
      return leat_kernel_invalid(c, "seq_lens(%lld) > input.dims(%lld): %lld > %lld", (long long)i,
                                 (long long)seq, (long long)length,
                                 (long long)leat_shape_dim(input, (int)seq));
    }
  }
  return leat_ok_status();
}

static leat_status_t reverse_sequence__cpu(leat_kernel_context_t* c) {
  const sequence_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const leat_tensor_t* lengths = leat_kernel_input(c, 1);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(check_sequence(c));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  int64_t steps = leat_shape_dim(&input->shape, (int)state->seq_dim);
  for (int64_t i = 0; i < lengths->shape.element_count; ++i) {
    int64_t length = leat_tensor_index_at(lengths, i);
    LEAT_RETURN_IF_ERROR(copy_steps(c, i, 0, length, true));
    LEAT_RETURN_IF_ERROR(copy_steps(c, i, length, steps, false));
  }
  return leat_ok_status();
}

// ---- Roll ---------------------------------------------------------------------------------------

// Reads by how much each dimension moves, reduced to [0, size). Shifts of an axis that is named
// twice are added up.
static leat_status_t read_shifts(const leat_kernel_context_t* c, const leat_shape_t* shape,
                                 int64_t* out_shifts) {
  const leat_tensor_t* shift = leat_kernel_input(c, 1);
  const leat_tensor_t* axis = leat_kernel_input(c, 2);
  if (shape->rank < 1) return leat_kernel_invalid(c, "input must be 1-D or higher, is a scalar");
  if (shift->shape.rank > 1) {
    return leat_kernel_invalid(c, "shift must be a scalar or a 1-D vector. Found: %s",
                               LEAT_SHAPE_TEXT(&shift->shape));
  }
  if (axis->shape.rank > 1) {
    return leat_kernel_invalid(c, "axis must be a scalar or a 1-D vector. Found: %s",
                               LEAT_SHAPE_TEXT(&axis->shape));
  }
  if (!leat_shape_equal(&shift->shape, &axis->shape)) {
    return leat_kernel_invalid(c, "shift and axis must have the same size, have shapes %s and %s",
                               LEAT_SHAPE_TEXT(&shift->shape), LEAT_SHAPE_TEXT(&axis->shape));
  }
  for (int d = 0; d < shape->rank; ++d) out_shifts[d] = 0;
  for (int64_t i = 0; i < axis->shape.element_count; ++i) {
    int64_t d = leat_tensor_index_at(axis, i);
    if (!leat_axis_resolve(&d, shape->rank)) {
      return leat_kernel_invalid(c, "axis[%lld] = %lld is out of range, must be in [%d, %d)",
                                 (long long)i, (long long)d, -shape->rank, shape->rank);
    }
    int64_t size = LEAT_MAX(leat_shape_dim(shape, (int)d), 1);
    int64_t moved = (out_shifts[d] + leat_tensor_index_at(shift, i) % size) % size;
    out_shifts[d] = moved < 0 ? moved + size : moved;
  }
  return leat_ok_status();
}

// Copies one of the 2^n boxes. Bit i of |piece| says whether the box is the part of the i-th rolled
// dimension that wraps to the front. Each rolled dimension has at least two elements, so that there
// are never more boxes than elements.
static leat_status_t roll_piece(leat_kernel_context_t* c, const int64_t* shifts, uint64_t piece) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int64_t strides[LEAT_SHAPE_MAX_RANK], from = 0, to = 0;
  leat_shape_strides(&input->shape, strides);
  leat_strided_t block;
  leat_strided_begin(&block, input->dtype);
  for (int d = 0; d < input->shape.rank; ++d) {
    int64_t size = leat_shape_dim(&input->shape, d);
    if (shifts[d] > 0) {
      bool wraps = piece & 1;
      piece >>= 1;
      from += (wraps ? size - shifts[d] : 0) * strides[d];
      to += (wraps ? 0 : shifts[d]) * strides[d];
      size = wraps ? shifts[d] : size - shifts[d];
    }
    leat_strided_add(&block, size, strides[d], strides[d]);
  }
  return leat_strided_copy(c, &block, leat_element_at(input->data, input->dtype, from),
                           leat_element_at(leat_kernel_output(c, 0)->data, input->dtype, to));
}

static leat_status_t roll__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int64_t shifts[LEAT_SHAPE_MAX_RANK];
  int moving = 0;
  LEAT_RETURN_IF_ERROR(read_shifts(c, shape, shifts));
  for (int d = 0; d < shape->rank; ++d) moving += shifts[d] > 0;
  if (moving == 0 || shape->element_count == 0) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  for (uint64_t piece = 0; piece >> moving == 0; ++piece) {
    LEAT_RETURN_IF_ERROR(roll_piece(c, shifts, piece));
  }
  return leat_ok_status();
}

#define REVERSE_TYPES "T: " LEAT_TYPES_STRINGS

const leat_kernel_row_t leat_reverse_kernels_cpu[] = {
    {.op = "Reverse", .device_type = "CPU", .constraints = REVERSE_TYPES, .compute = reverse__cpu},
    {.op = "ReverseV2",
     .device_type = "CPU",
     .constraints = REVERSE_TYPES,
     .compute = reverse_v2__cpu},
    {.op = "ReverseSequence",
     .device_type = "CPU",
     .constraints = REVERSE_TYPES,
     .create = create_sequence,
     .state_bytes = sizeof(sequence_state_t),
     .compute = reverse_sequence__cpu},
    {.op = "Roll",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL,
     .compute = roll__cpu},
    LEAT_KERNEL_ROWS_END,
};
