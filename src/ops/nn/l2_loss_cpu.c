// CPU kernel of L2Loss, half the sum of squares: t -> scalar. Blocks of a fixed size are summed
// separately and their sums added in order, so that the result does not depend on the number of
// threads.
#include "ops/nn/l2_loss_cpu.h"

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/nn/widen_cpu.h"

#define BLOCK 32768

typedef struct sum_s {
  const leat_tensor_t* x;
  double* partials;
} sum_t;

static void sum_blocks(void* data, int64_t begin, int64_t end) {
  const sum_t* sum = data;
  const leat_square_sums_t* sums = LEAT_ISA_SELECT(leat_square_sums);
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = block * BLOCK;
    const int64_t count = LEAT_MIN(sum->x->shape.element_count - first, BLOCK);
    sum->partials[block] = sum->x->dtype == LEAT_DTYPE_DOUBLE
                               ? sums->f64(leat_tensor_data(sum->x, const double) + first, count)
                               : sums->f32(leat_tensor_data(sum->x, const float) + first, count);
  }
}

// |x| is float or double.
static leat_status_t sum_squares(leat_kernel_context_t* c, const leat_tensor_t* x,
                                 double* out_sum) {
  const int64_t blocks = (x->shape.element_count + BLOCK - 1) / BLOCK;
  const leat_shape_t shape = leat_shape_vector(blocks);
  leat_tensor_t partials;
  *out_sum = 0;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &shape, &partials));
  sum_t sum = {x, partials.data};
  leat_kernel_parallel_for(c, blocks, BLOCK * 0.1, sum_blocks, &sum);
  for (int64_t i = 0; i < blocks; ++i) *out_sum += sum.partials[i];
  leat_tensor_release(&partials);
  return leat_ok_status();
}

static leat_status_t l2_loss__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  const leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t *output, wide;
  double sum;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(leat_widen(c, x, &wide));
  leat_status_t status = sum_squares(c, &wide, &sum);
  leat_tensor_release(&wide);
  LEAT_RETURN_IF_ERROR(status);
  const float loss = (float)(sum * 0.5);
  if (x->dtype == LEAT_DTYPE_DOUBLE) {
    *leat_tensor_data(output, double) = sum * 0.5;
  } else if (x->dtype == LEAT_DTYPE_FLOAT) {
    *leat_tensor_data(output, float) = loss;
  } else {
    leat_narrow_elements(x->dtype, &loss, output->data, 1);
  }
  return leat_ok_status();
}

const leat_kernel_row_t leat_l2_loss_kernels_cpu[] = {
    {.op = "L2Loss",
     .device_type = "CPU",
     .constraints = "T: half, bfloat16, float, double",
     .compute = l2_loss__cpu},
    LEAT_KERNEL_ROWS_END,
};
