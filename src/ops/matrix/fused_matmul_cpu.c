// The CPU kernel of _FusedMatMul. The product is that of MatMul, in blocks of rows, and what
// follows is applied to each block (device/cpu/row_step.h, ops/nn/epilogue_cpu.h).
#include "kernel/step_check.h"
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

// Computes |product| and what follows in blocks of rows. Before each block it looks at the step's
// cancellation.
static void multiply(const leat_kernel_context_t* c, const leat_gemm_shape_t* product,
                     const leat_row_step_t* step, leat_tensor_t* output) {
  const leat_tensor_t* a = leat_kernel_input(c, 0);
  const leat_tensor_t* b = leat_kernel_input(c, 1);
  const bool is_deterministic = c->services->deterministic;
  const size_t item_bytes = leat_dtype_size(output->dtype);
  const int64_t rows = leat_product_block_rows(product);
  for (int64_t begin = 0; begin < product->m; begin += rows) {
    size_t a_bytes;
    leat_gemm_shape_t block = leat_product_block(product, begin, rows, item_bytes, &a_bytes);
    if (begin > 0 && leat_step_is_over(c->services, true)) return;
    leat_row_step_multiply(
        step, leat_multiply_of(output->dtype, is_deterministic), &block, item_bytes,
        leat_tensor_data(a, const char) + a_bytes, b->data,
        leat_tensor_data(output, char) + (size_t)(begin * product->ldc) * item_bytes, begin,
        is_deterministic, c->services->pool);
  }
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
  multiply(c, &product, &run.step, output);
  leat_epilogue_end(&run);
  return leat_ok_status();
}

const leat_kernel_row_t leat_fused_matmul_kernels_cpu[] = {
    LEAT_CPU_KERNEL("_FusedMatMul", "T: bfloat16, half, float", leat_fused_matmul_t, create,
                    fused_matmul__cpu, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
