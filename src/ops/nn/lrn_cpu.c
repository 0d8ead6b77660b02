// CPU kernels of LRN, local response normalisation across channels (the AlexNet paper), and its
// gradient. The arithmetic for one pixel is in lrn_isa.c. Pixels do not depend on each other, so
// they are shared among threads, and every number of threads gives the same bits. Half is computed
// in float, because a sum of squares would soon leave its range.
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/nn/lrn_cpu.h"
#include "ops/nn/widen_cpu.h"

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  leat_lrn_t* lrn = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "depth_radius", &lrn->radius));
  if (lrn->radius < 0 || lrn->radius >= INT32_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "depth_radius = %lld larger than int max",
                            (long long)lrn->radius);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "bias", &lrn->bias));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "alpha", &lrn->alpha));
  return leat_kernel_attr_float(c, "beta", &lrn->beta);
}

// Work is shared by blocks of so many pixels, of which each has scratch memory of its own.
#define BLOCK 16

typedef struct rows_s {
  const leat_lrn_t* lrn;
  const float* dy;
  const float* x;
  const float* y;
  float* result;
  float* scratch;
  int64_t depth, scratch_length;  // of a block
  int64_t pixels;
} rows_t;

// The scratch of |block| serves all blocks of a shard.
static float* clear_scratch(const rows_t* rows, int64_t block) {
  float* scratch = rows->scratch + block * rows->scratch_length;
  memset(scratch, 0, (size_t)rows->scratch_length * sizeof(float));
  return scratch;
}

static void run_forward(void* data, int64_t begin, int64_t end) {
  const rows_t* rows = data;
  const leat_lrn_rows_t* loops = LEAT_ISA_SELECT(leat_lrn_rows);
  const int64_t n = rows->depth, last = LEAT_MIN(end * BLOCK, rows->pixels);
  float* scratch = clear_scratch(rows, begin);
  for (int64_t r = begin * BLOCK; r < last; ++r) {
    loops->forward(rows->lrn, n, rows->x + r * n, scratch, rows->result + r * n);
  }
}

static void run_gradient(void* data, int64_t begin, int64_t end) {
  const rows_t* rows = data;
  const leat_lrn_rows_t* loops = LEAT_ISA_SELECT(leat_lrn_rows);
  const int64_t n = rows->depth, last = LEAT_MIN(end * BLOCK, rows->pixels);
  float* scratch = clear_scratch(rows, begin);
  for (int64_t r = begin * BLOCK; r < last; ++r) {
    loops->gradient(rows->lrn, n, rows->dy + r * n, rows->x + r * n, rows->y + r * n, scratch,
                    rows->result + r * n);
  }
}

static leat_status_t compute(leat_kernel_context_t* c, bool is_gradient) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const int64_t depth = leat_shape_dim(shape, 3);
  leat_tensor_t *output, wide_output, scratch;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, shape, &output));
  if (shape->element_count == 0) return leat_ok_status();
  leat_wide_t wide;
  LEAT_RETURN_IF_ERROR(leat_wide_begin(c, &wide));
  const int64_t pixels = shape->element_count / depth;
  const int64_t scratch_length =
      is_gradient ? leat_lrn_gradient_scratch(depth) : leat_lrn_forward_scratch(depth);
  const int64_t blocks = (pixels + BLOCK - 1) / BLOCK;
  const leat_shape_t flat = leat_shape_vector(blocks * scratch_length);
  leat_status_t status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &flat, &scratch);
  if (!status) {
    status = leat_widen_output(c, output, &wide_output);
    if (!status) {
      rows_t rows = {.lrn = leat_kernel_state(c),
                     .dy = is_gradient ? wide.inputs[0].data : NULL,
                     .x = wide.inputs[is_gradient ? 1 : 0].data,
                     .y = is_gradient ? wide.inputs[2].data : NULL,
                     .result = wide_output.data,
                     .scratch = scratch.data,
                     .depth = depth,
                     .scratch_length = scratch_length,
                     .pixels = pixels};
      leat_kernel_parallel_for(c, blocks, 8.0 * BLOCK * (double)depth,
                               is_gradient ? run_gradient : run_forward, &rows);
      leat_narrow(c, &wide_output, output);
      leat_tensor_release(&wide_output);
    }
    leat_tensor_release(&scratch);
  }
  leat_wide_end(&wide);
  return status;
}

static leat_status_t lrn__cpu(leat_kernel_context_t* c) { return compute(c, false); }
static leat_status_t lrn_grad__cpu(leat_kernel_context_t* c) { return compute(c, true); }

#define ROW(name, compute_fn)                                             \
  LEAT_CPU_KERNEL(name, "T: half, float", leat_lrn_t, create, compute_fn)

const leat_kernel_row_t leat_lrn_kernels_cpu[] = {
    ROW("LRN", lrn__cpu),
    ROW("LRNGrad", lrn_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
