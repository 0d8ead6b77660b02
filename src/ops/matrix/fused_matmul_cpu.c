// The CPU kernels of _FusedMatMul and _FusedBatchMatMulV2. The products are those of MatMul and
// BatchMatMulV2, in blocks of rows, and what follows is applied to each block
// (device/cpu/row_step.h, ops/nn/epilogue_cpu.h), which sees the rows of all matrices of a batch as
// those of one matrix.
#include "ops/kernel_rows.h"
#include "ops/matrix/matmul_cpu.h"
#include "ops/matrix/product_cpu.h"
#include "ops/nn/epilogue_cpu.h"
#include "ops/nn/widen_cpu.h"

typedef struct leat_fused_matmul_s {
  leat_matmul_t matmul;
  leat_epilogue_t epilogue;
} leat_fused_matmul_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  leat_fused_matmul_t* fused = state;
  LEAT_RETURN_IF_ERROR(leat_matmul_create(c, &fused->matmul));
  return leat_epilogue_create(c, fused->matmul.dtype, &fused->epilogue);
}

static leat_status_t fused_matmul__cpu(leat_kernel_context_t* c) {
  const leat_fused_matmul_t* fused = leat_kernel_state(c);
  leat_gemm_shape_t product;
  leat_tensor_t* output;
  const leat_tensor_t* addend;
  LEAT_RETURN_IF_ERROR(leat_matmul_find(c, &fused->matmul, &product));
  const int64_t dims[] = {product.m, product.n};
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 2, dims, &output));
  LEAT_RETURN_IF_ERROR(leat_epilogue_addend(c, &fused->epilogue, &output->shape, &addend));
  leat_epilogue_run_t run;
  LEAT_RETURN_IF_ERROR(leat_epilogue_begin(c, &fused->epilogue, product.m, product.n,
                                           leat_is_narrow(fused->matmul.dtype),
                                           addend ? addend->data : NULL, &run));
  leat_product_run_step(c, leat_multiply_of(output->dtype, c->services->deterministic), &product,
                        leat_dtype_size(output->dtype), leat_kernel_input(c, 0)->data,
                        leat_kernel_input(c, 1)->data, output->data, &run.step, 0);
  leat_epilogue_end(&run);
  return leat_ok_status();
}

static leat_status_t create_batch(leat_kernel_creation_t* c, void* state) {
  leat_fused_matmul_t* fused = state;
  LEAT_RETURN_IF_ERROR(leat_matmul_create_batch(c, &fused->matmul));
  return leat_epilogue_create(c, fused->matmul.dtype, &fused->epilogue);
}

static leat_status_t fused_batch_matmul__cpu(leat_kernel_context_t* c) {
  const leat_fused_matmul_t* fused = leat_kernel_state(c);
  leat_matmul_batch_t batch;
  leat_tensor_t* output;
  const leat_tensor_t* addend;
  LEAT_RETURN_IF_ERROR(leat_matmul_begin_batch(c, &fused->matmul, leat_kernel_input(c, 0),
                                               leat_kernel_input(c, 1), &batch, &output));
  LEAT_RETURN_IF_ERROR(leat_epilogue_addend(c, &fused->epilogue, &output->shape, &addend));
  leat_epilogue_run_t run;
  LEAT_RETURN_IF_ERROR(leat_epilogue_begin(c, &fused->epilogue, batch.count * batch.product.m,
                                           batch.product.n, leat_is_narrow(fused->matmul.dtype),
                                           addend ? addend->data : NULL, &run));
  leat_matmul_run_batch(c, &batch, &run.step);
  leat_epilogue_end(&run);
  return leat_ok_status();
}

const leat_kernel_row_t leat_fused_matmul_kernels_cpu[] = {
    LEAT_CPU_KERNEL("_FusedMatMul", "T: bfloat16, half, float", leat_fused_matmul_t, create,
                    fused_matmul__cpu, .expensive = true),
    LEAT_CPU_KERNEL("_FusedBatchMatMulV2", "T: bfloat16, half, float", leat_fused_matmul_t,
                    create_batch, fused_batch_matmul__cpu, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
