// The CPU kernels of SdcaFprint and SdcaShrinkL1, the two small ops around the optimizer of
// stochastic dual coordinate ascent; sdca.c has their definitions, sdca_optimizer_cpu.c the
// optimizer. SdcaFprint makes of each string the 128 bits by which an example is known again; the
// strings are shared among threads. SdcaShrinkL1 moves each weight toward 0 by l1 / l2 and stops
// there, so that small weights become exactly 0, as the L1 norm in the loss demands:
//
//   weight   -0.7   -0.2    0.1    0.5        l1 / l2 = 0.3
//   after    -0.4    0      0      0.2
//
// The variables of SdcaShrinkL1 are updated one after the other, each under its lock, since none
// depends on another; a step that reads them meanwhile may see some shrunk and others not. Before a
// write the variable becomes the only owner of its buffer, so that a tensor that was read from it
// earlier does not change. A weight that is NaN stays NaN.
#include <math.h>

#include "base/fingerprint.h"
#include "kernel/resource.h"
#include "ops/kernel_rows.h"

// ---- Fingerprints -------------------------------------------------------------------------------

typedef struct fprint_s {
  const leat_tensor_t* input;
  uint64_t* output;
} fprint_t;

static void take_fingerprints(void* data, int64_t begin, int64_t end) {
  const fprint_t* f = data;
  for (int64_t i = begin; i < end; ++i) {
    leat_fingerprint128(leat_tensor_string_at(f->input, i), f->output + 2 * i);
  }
}

static leat_status_t fprint__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(
      c, 0, 2, (const int64_t[]){input->shape.element_count, 2}, &output));
  fprint_t f = {input, output->data};
  leat_kernel_parallel_for(c, input->shape.element_count, 30, take_fingerprints, &f);
  return leat_ok_status();
}

// ---- Shrinking ----------------------------------------------------------------------------------

typedef struct shrink_s {
  float l1, l2;
} shrink_t;

static leat_status_t shrink_create(leat_kernel_creation_t* c, void* memory) {
  shrink_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "l1", &state->l1));
  return leat_kernel_attr_float(c, "l2", &state->l2);
}

// Moves |weight| toward 0 by |distance|; NaN stays NaN.
static float shrunk(float weight, float distance) {
  const float size = fabsf(weight) - distance;
  const float sign = weight > 0 ? 1.0f : weight < 0 ? -1.0f : weight;
  return sign * (size < 0 ? 0 : size);
}

// Shrinks the value of |cell|, which is locked.
static leat_status_t shrink_locked(leat_kernel_context_t* c, leat_cell_t* cell) {
  const shrink_t* state = leat_kernel_state(c);
  if (!cell->tensor.dtype) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Attempting to use uninitialized value %s", cell->name);
  }
  LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cell, c->services->memory));
  float* weights = cell->tensor.data;
  for (int64_t i = 0; i < cell->tensor.shape.element_count; ++i) {
    weights[i] = shrunk(weights[i], state->l1 / state->l2);
  }
  return leat_ok_status();
}

static leat_status_t shrink__cpu(leat_kernel_context_t* c) {
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < leat_kernel_input_count(c) && !status; ++i) {
    leat_cell_t* cell = leat_kernel_input_ref(c, i);
    leat_mutex_lock(&cell->mutex);
    status = shrink_locked(c, cell);
    leat_mutex_unlock(&cell->mutex);
  }
  return status;
}

const leat_kernel_row_t leat_sdca_kernels_cpu[] = {
    {.op = "SdcaFprint", .device_type = "CPU", .compute = fprint__cpu},
    LEAT_CPU_KERNEL("SdcaShrinkL1", NULL, shrink_t, shrink_create, shrink__cpu),
    LEAT_KERNEL_ROWS_END,
};
