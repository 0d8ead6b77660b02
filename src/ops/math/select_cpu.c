// The CPU kernels of Select, SelectV2 and ClipByValue. All run a loop of three operands
// (ternary_isa.c) through the elementwise engine, which broadcasts; this file checks the shapes
// that each op allows.
//
// A scalar condition of Select passes one of its inputs through without a copy. A vector condition
// over the rows of t becomes a column [rows, 1, ..., 1], which broadcasts. The output may
// take the bytes of t or e (inputs 1 and 2, mask 6), unless the elements are objects such as
// strings, which are copied.
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"

static leat_status_t create_select(leat_kernel_creation_t* c, void* state) {
  return leat_elementwise_create(
      c, state, LEAT_ISA_SELECT(leat_ternary_loops)->items[LEAT_TERNARY_SELECT],
      leat_ternary_loops_base.items[LEAT_TERNARY_SELECT], NULL, 1, 0.4f);
}

static leat_status_t create_clip(leat_kernel_creation_t* c, void* state) {
  return leat_elementwise_create(
      c, state, LEAT_ISA_SELECT(leat_ternary_loops)->items[LEAT_TERNARY_CLIP],
      leat_ternary_loops_base.items[LEAT_TERNARY_CLIP], NULL, 0, 0.4f);
}

// Selects between |then| and |otherwise|, which have one shape, by |condition|, which broadcasts to
// it.
static leat_status_t select_into(leat_kernel_context_t* c, const leat_tensor_t* condition,
                                 const leat_tensor_t* then, const leat_tensor_t* otherwise) {
  const leat_elementwise_t* e = leat_kernel_state(c);
  const leat_tensor_t* inputs[] = {condition, then, otherwise};
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(c, e->object_output ? 0 : 6, 0,
                                                           &then->shape, &output));
  return leat_elementwise_run(c, e, inputs, output);
}

// |condition| is a scalar (one whole tensor is the result), a vector over the rows of the others,
// or it has their shape.
static leat_status_t select__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* condition = leat_kernel_input(c, 0);
  const leat_tensor_t* then = leat_kernel_input(c, 1);
  const leat_tensor_t* otherwise = leat_kernel_input(c, 2);
  if (!leat_shape_equal(&then->shape, &otherwise->shape)) {
    return leat_kernel_invalid(c, "e is %s, must have the shape of t, %s",
                               LEAT_SHAPE_TEXT(&otherwise->shape), LEAT_SHAPE_TEXT(&then->shape));
  }
  if (condition->shape.rank == 0) {
    leat_kernel_pass_input(c, *leat_tensor_data(condition, bool) ? 1 : 2, 0);
    return leat_ok_status();
  }
  if (leat_shape_equal(&condition->shape, &then->shape)) {
    return select_into(c, condition, then, otherwise);
  }
  int rank = then->shape.rank;
  if (condition->shape.rank != 1 || rank < 1 ||
      leat_shape_dim(&then->shape, 0) != condition->shape.element_count) {
    return leat_kernel_invalid(c, "condition is %s, must be a vector over the rows of t, %s",
                               LEAT_SHAPE_TEXT(&condition->shape), LEAT_SHAPE_TEXT(&then->shape));
  }
  int64_t dims[LEAT_SHAPE_MAX_RANK] = {condition->shape.element_count};
  for (int d = 1; d < rank; ++d) dims[d] = 1;
  leat_tensor_t column = *condition;  // borrows the buffer
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &column.shape));
  leat_status_t status = select_into(c, &column, then, otherwise);
  leat_shape_release(&column.shape);
  return status;
}

static leat_status_t select_v2__cpu(leat_kernel_context_t* c) {
  const leat_elementwise_t* e = leat_kernel_state(c);
  const leat_tensor_t* inputs[3];
  for (int i = 0; i < 3; ++i) inputs[i] = leat_kernel_input(c, i);
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_elementwise_shape(c, 3, inputs, &shape));
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_forward_any_or_allocate(c, e->object_output ? 0 : 6, 0,
                                                             &shape, &output);
  if (!status) status = leat_elementwise_run(c, e, inputs, output);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t clip__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* inputs[3];
  for (int i = 0; i < 3; ++i) {
    inputs[i] = leat_kernel_input(c, i);
    if (inputs[i]->shape.rank == 0 || leat_shape_equal(&inputs[i]->shape, &inputs[0]->shape)) {
      continue;
    }
    return leat_kernel_invalid(c, "clip_value_min and clip_value_max must be either of the same "
                               "shape as input, or a scalar. input shape: %s, clip_value_%s "
                               "shape: %s", LEAT_SHAPE_TEXT(&inputs[0]->shape),
                               i == 1 ? "min" : "max", LEAT_SHAPE_TEXT(&inputs[i]->shape));
  }
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &inputs[0]->shape, &output));
  return leat_elementwise_run(c, leat_kernel_state(c), inputs, output);
}

#define SELECTABLE                                                                             \
  "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, " \
  "complex64, complex128, bool, string, resource, variant"

const leat_kernel_row_t leat_select_kernels_cpu[] = {
    {.op = "Select",
     .device_type = "CPU",
     .constraints = SELECTABLE,
     .create = create_select,
     .state_bytes = sizeof(leat_elementwise_t),
     .access = LEAT_ACCESS_IF_SAME,
     .compute = select__cpu},
    {.op = "SelectV2",
     .device_type = "CPU",
     .constraints = SELECTABLE,
     .create = create_select,
     .state_bytes = sizeof(leat_elementwise_t),
     .access = LEAT_ACCESS_BROADCAST,
     .compute = select_v2__cpu},
    {.op = "ClipByValue",
     .device_type = "CPU",
     .constraints = "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, "
                    "complex64, complex128",
     .create = create_clip,
     .state_bytes = sizeof(leat_elementwise_t),
     .access = LEAT_ACCESS_IF_SAME,
     .compute = clip__cpu},
    LEAT_KERNEL_ROWS_END,
};
