// One pass of a recurrent kernel over its tensors: their sizes, which are checked, and their values
// in float. The functions run on the kernel's thread and may use the step's pool; INVALID_ARGUMENT
// where an input has another shape than the op's.
#ifndef LEAT_OPS_RECURRENT_BLOCK_PASS_CPU_H_
#define LEAT_OPS_RECURRENT_BLOCK_PASS_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_block_sizes_s {
  int64_t steps;  // 1 in ops that compute one step
  int64_t batch, inputs, cells;
} leat_block_sizes_t;

// Reads the sizes from x (input |x|), [batch, inputs] or, where |is_sequence|, [steps, batch,
// inputs], and from |state| (input |state|) [batch, cells]. Fails unless inputs + 4 cells can be
// counted.
LEAT_MUST_USE leat_status_t leat_block_sizes_read(const leat_kernel_context_t* c, int x, int state,
                                                  bool is_sequence,
                                                  leat_block_sizes_t* out_sizes);
// Checks the shapes of the inputs from |first| on. |shapes| has a word for each of them, with a
// letter for each dimension: t steps, b batch, i inputs, c cells, w inputs and cells, 2 and 4 so
// many times the cells, and * for any size. "tbi bc w4" is a sequence, a state and weights.
LEAT_MUST_USE leat_status_t leat_block_sizes_check(const leat_kernel_context_t* c, int first,
                                                   const char* shapes,
                                                   const leat_block_sizes_t* sizes);

// A pass of a kernel over its tensors in float: halves are converted on both ways.
#define LEAT_BLOCK_MAX_TENSORS 18
typedef struct leat_block_pass_s {
  leat_block_sizes_t sizes;
  leat_tensor_t inputs[LEAT_BLOCK_MAX_TENSORS];
  leat_tensor_t outputs[LEAT_BLOCK_MAX_TENSORS];
  int output_count;
} leat_block_pass_t;
// Widens the inputs from |first| on, whose positions stay those of the node. The pass, all zero but
// for its sizes, is ended by leat_block_pass_end, also after a failure.
LEAT_MUST_USE leat_status_t leat_block_pass_begin(leat_kernel_context_t* c, int first,
                                                  leat_block_pass_t* pass);
// Allocates output |index|, of the shape in |letters|. Outputs are allocated in their order.
LEAT_MUST_USE leat_status_t leat_block_pass_allocate(leat_kernel_context_t* c,
                                                     leat_block_pass_t* pass, int index,
                                                     const char* letters);
// Stores the outputs, unless |status| is an error, and releases what the pass holds. Gives
// |status|.
LEAT_MUST_USE leat_status_t leat_block_pass_end(leat_kernel_context_t* c, leat_block_pass_t* pass,
                                                leat_status_t status);

// Allocates [steps, rows, columns] floats for this run, which the caller releases.
LEAT_MUST_USE leat_status_t leat_block_allocate_temporary(leat_kernel_context_t* c, int64_t steps,
                                                          int64_t rows, int64_t columns,
                                                          leat_tensor_t* out_tensor);

static inline const float* leat_block_input(const leat_block_pass_t* pass, int index) {
  return leat_tensor_data(&pass->inputs[index], const float);
}
static inline float* leat_block_output(const leat_block_pass_t* pass, int index) {
  return leat_tensor_data(&pass->outputs[index], float);
}

// product [rows, columns] = a op(b), where |a| [rows, depth] lies densely and |b| is [depth,
// columns] or, where |is_transposed|, [columns, depth], both with rows |ldb| floats apart.
void leat_block_multiply(const leat_kernel_context_t* c, const float* a, const float* b,
                         bool is_transposed, int64_t ldb, int64_t rows, int64_t columns,
                         int64_t depth, float* product);
// product [rows, columns] = a^T b, where |a| [depth, rows] and |b| [depth, columns] lie densely.
void leat_block_multiply_transposed(const leat_kernel_context_t* c, const float* a, const float* b,
                                    int64_t rows, int64_t columns, int64_t depth, float* product);

#endif  // LEAT_OPS_RECURRENT_BLOCK_PASS_CPU_H_
