// Sizes and values of recurrent kernels: what lstm_cpu.c and gru_cpu.c share. The kernels compute
// in float, whatever the node's type is. Halves are converted before and after the pass, so a state
// that runs through many steps of a sequence is rounded once at the end; floats are shared and not
// copied.
//
//   inputs ─widen─▶ pass->inputs ─▶ steps of the kernel ─▶ pass->outputs ─narrow─▶ outputs
//
// A kernel reads and checks the sizes, begins the pass, allocates its outputs in their order,
// computes, and ends the pass. leat_block_pass_end must follow leat_block_pass_begin in any case.
// It releases what the pass holds and converts outputs only where the kernel has succeeded. A pass
// starts as zeros but for its sizes, hence it can be ended wherever the kernel failed. The shapes
// of inputs are checked against a text with a letter for each dimension ("bc w4"), because these
// ops have up to LEAT_BLOCK_MAX_TENSORS inputs, and a text can be compared with the op's definition
// at a glance. Products run on the step's pool, stop early when the step is cancelled, and are
// deterministic where that is asked for (ops/matrix/product_cpu.h).
#include "ops/recurrent/block_pass_cpu.h"

#include "base/checked.h"
#include "ops/matrix/product_cpu.h"
#include "ops/nn/widen_cpu.h"

leat_status_t leat_block_sizes_read(const leat_kernel_context_t* c, int x, int state,
                                    bool is_sequence, leat_block_sizes_t* out_sizes) {
  const leat_shape_t* shape = &leat_kernel_input(c, x)->shape;
  const leat_shape_t* previous = &leat_kernel_input(c, state)->shape;
  if (shape->rank != 2 + is_sequence || previous->rank != 2) {
    return leat_kernel_invalid(c, "x has shape %s and the state %s, must have ranks %d and 2",
                               LEAT_SHAPE_TEXT(shape), LEAT_SHAPE_TEXT(previous), 2 + is_sequence);
  }
  *out_sizes = (leat_block_sizes_t){.steps = is_sequence ? leat_shape_dim(shape, 0) : 1,
                                    .batch = leat_shape_dim(shape, is_sequence),
                                    .inputs = leat_shape_dim(shape, is_sequence + 1),
                                    .cells = leat_shape_dim(previous, 1)};
  int64_t columns, sum;
  if (!leat_checked_multiply(out_sizes->cells, 4, &columns) ||
      !leat_checked_add(columns, out_sizes->inputs, &sum)) {
    return leat_kernel_invalid(c, "the state has shape %s, must have fewer cells",
                               LEAT_SHAPE_TEXT(previous));
  }
  return leat_ok_status();
}

// The size that |letter| names.
static int64_t size_of(const leat_block_sizes_t* sizes, char letter) {
  switch (letter) {
    case 't': return sizes->steps;
    case 'b': return sizes->batch;
    case 'i': return sizes->inputs;
    case 'w': return sizes->inputs + sizes->cells;
    case '2': return 2 * sizes->cells;
    case '4': return 4 * sizes->cells;
    default: return sizes->cells;
  }
}

leat_status_t leat_block_sizes_check(const leat_kernel_context_t* c, int first, const char* shapes,
                                     const leat_block_sizes_t* sizes) {
  int input = first, axis = 0;
  for (const char* at = shapes;; ++at) {
    const leat_shape_t* shape = &leat_kernel_input(c, input)->shape;
    bool ends = *at == ' ' || *at == '\0';
    bool fits = ends ? axis == shape->rank
                     : axis < shape->rank &&
                           (*at == '*' || leat_shape_dim(shape, axis) == size_of(sizes, *at));
    if (!fits) {
      return leat_kernel_invalid(
          c, "input %d has shape %s, which does not go with a batch of %lld, %lld inputs and %lld "
          "cells", input, LEAT_SHAPE_TEXT(shape), (long long)sizes->batch,
          (long long)sizes->inputs, (long long)sizes->cells);
    }
    if (*at == '\0') return leat_ok_status();
    axis = ends ? 0 : axis + 1;
    input += ends;
  }
}

leat_status_t leat_block_pass_begin(leat_kernel_context_t* c, int first, leat_block_pass_t* pass) {
  LEAT_DCHECK(leat_kernel_input_count(c) <= LEAT_BLOCK_MAX_TENSORS);
  for (int i = first; i < leat_kernel_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_widen(c, leat_kernel_input(c, i), &pass->inputs[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_block_pass_allocate(leat_kernel_context_t* c, leat_block_pass_t* pass, int index,
                                       const char* letters) {
  int64_t dims[3];
  leat_tensor_t* output;
  int rank = 0;
  for (; letters[rank]; ++rank) dims[rank] = size_of(&pass->sizes, letters[rank]);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, index, rank, dims, &output));
  LEAT_RETURN_IF_ERROR(leat_widen_output(c, output, &pass->outputs[index]));
  pass->output_count = index + 1;
  return leat_ok_status();
}

leat_status_t leat_block_pass_end(leat_kernel_context_t* c, leat_block_pass_t* pass,
                                  leat_status_t status) {
  for (int i = 0; i < pass->output_count; ++i) {
    if (!status) leat_narrow(c, &pass->outputs[i], leat_kernel_output(c, i));
    leat_tensor_release(&pass->outputs[i]);
  }
  for (int i = 0; i < LEAT_BLOCK_MAX_TENSORS; ++i) leat_tensor_release(&pass->inputs[i]);
  return status;
}

leat_status_t leat_block_allocate_temporary(leat_kernel_context_t* c, int64_t steps, int64_t rows,
                                            int64_t columns, leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(3, (const int64_t[]){steps, rows, columns}, &shape));
  return leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, out_tensor);
}

static void multiply(const leat_kernel_context_t* c, const leat_gemm_shape_t* shape, const float* a,
                     const float* b, float* product) {
  leat_product_run(c, leat_multiply_of(LEAT_DTYPE_FLOAT, c->services->deterministic), shape,
                   sizeof(float), a, b, product);
}

void leat_block_multiply(const leat_kernel_context_t* c, const float* a, const float* b,
                         bool is_transposed, int64_t ldb, int64_t rows, int64_t columns,
                         int64_t depth, float* product) {
  leat_gemm_shape_t shape = leat_gemm_shape_dense(
      LEAT_GEMM_PLAIN, is_transposed ? LEAT_GEMM_TRANSPOSE : LEAT_GEMM_PLAIN, rows, columns, depth);
  shape.ldb = ldb;
  multiply(c, &shape, a, b, product);
}

void leat_block_multiply_transposed(const leat_kernel_context_t* c, const float* a, const float* b,
                                    int64_t rows, int64_t columns, int64_t depth, float* product) {
  leat_gemm_shape_t shape =
      leat_gemm_shape_dense(LEAT_GEMM_TRANSPOSE, LEAT_GEMM_PLAIN, rows, columns, depth);
  multiply(c, &shape, a, b, product);
}
