// The state of a _FusedElementwise kernel: the program of ops/math/fused.h, resolved to loops and
// reducers of the CPU. leat_fused_create (fused_create_cpu.c) builds it once per node; the kernel
// (fused_cpu.c) and the shapes (fused_shape_cpu.c) only read it, on any thread. The plans for the
// last few shapes are the exception; they have a lock of their own.
//
//   node's attributes ─▶ leat_fused_program_t ─▶ leat_fused_t ─▶ leat_fused_plan_t ─▶ a run
//                        borrowed view           once a node     once per shapes
//
// The state owns all it points to, in |arena|. The shapes of steps and the plans lie elsewhere, and
// leat_fused_destroy releases them one by one.
#ifndef LEAT_OPS_MATH_FUSED_CPU_H_
#define LEAT_OPS_MATH_FUSED_CPU_H_

#include "base/sync.h"
#include "ops/math/elementwise_cpu.h"
#include "ops/math/fused.h"
#include "ops/math/reduction_cpu.h"

_Static_assert(LEAT_FUSED_MAX_OPERANDS == LEAT_ELEMENTWISE_MAX_INPUTS, "a step is a loop's call");

// One step. There are four kinds: an op that computes (|elementwise|), a BroadcastTo (|elementwise|
// without a loop), a reduction (|reduction|) and a Reshape (neither). Operands are numbered as in
// the program: below |input_count| an input of the node, from there on a step.
typedef struct leat_fused_step_s {
  // Stands for the node that the step was before fusion: error messages name it. The step's kernel
  // state lies in |arena| too, and is destroyed by the row's own function.
  leat_kernel_t kernel;
  // The step's kernel state: one of the two is set, or neither for a Reshape.
  const leat_elementwise_t* elementwise;
  const leat_reduction_state_t* reduction;
  int64_t axes;                           // how many of the last axes a reduction reduces
  leat_shape_t shape;                     // the output shape of a Reshape or BroadcastTo step
  int16_t base;  // the operand whose elements the step gives: itself, unless it is a Reshape
  uint8_t input_types[LEAT_ELEMENTWISE_MAX_INPUTS];
  uint8_t output_type;
  // An operand is an input, or |input_count| + a step. kernel.input_count says how many there are.
  int16_t operands[LEAT_ELEMENTWISE_MAX_INPUTS];
  int16_t output;        // the node's output that the step computes; -1: none
  int16_t block;         // the block of the work area for its pieces when it is no output
  // Bit i: no later step reads input i, so that the step's output may take its bytes. Inputs from
  // number 64 on are never taken.
  uint64_t forwardable;
} leat_fused_step_t;

#define LEAT_FUSED_MAX_PLANS 4

// What a kernel has planned for the last few shapes of its inputs (fused_plan_cpu.h), from the
// first place on. It is the only part of the kernel that its runs change.
typedef struct leat_fused_plans_s {
  leat_spinlock_t lock;
  struct leat_fused_plan_s* items[LEAT_FUSED_MAX_PLANS];
  unsigned oldest;  // the place that is tried next for a new one, modulo their number
} leat_fused_plans_t;

// The kernel's state. It is filled by leat_fused_create and ended by leat_fused_destroy.
typedef struct leat_fused_s {
  leat_arena_t arena;
  leat_fused_plans_t plans;
  int input_count, step_count;
  int block_count;        // blocks of the work area that the steps need at once
  int64_t element_bytes;  // bytes of the largest element of any operand or result
  leat_fused_step_t* steps;
} leat_fused_t;

// The operand whose elements |operand| gives: an input, or a step that computes.
static inline int leat_fused_base(const leat_fused_t* fused, int operand) {
  return operand < fused->input_count ? operand : fused->steps[operand - fused->input_count].base;
}

// true for a BroadcastTo step: it has no loop, the engine gathers its pieces.
static inline bool leat_fused_repeats(const leat_elementwise_t* elementwise) {
  return elementwise && !elementwise->loop;
}

// A copy of |program| whose kernel is the step's, so that an error names the original node.
static inline leat_kernel_context_t leat_fused_step_context(const leat_kernel_context_t* program,
                                                            const leat_fused_step_t* step) {
  leat_kernel_context_t c = *program;
  c.kernel = &step->kernel;
  return c;
}

// Marks in |out_reduced| [rank] the last |axes| axes, those that the reduction reduces.
static inline void leat_fused_mark_reduced(const leat_fused_step_t* step, int rank,
                                           bool* out_reduced) {
  for (int d = 0; d < rank; ++d) out_reduced[d] = d >= rank - step->axes;
}

// Computes the output shape of |step| from the tensors of its operands; for a Reshape or
// BroadcastTo, operands[0] is the tensor it reads. The caller releases the shape. INVALID_ARGUMENT,
// in the name of the step's node, when the operands do not fit.
LEAT_MUST_USE leat_status_t leat_fused_step_shape(const leat_kernel_context_t* program,
                                                  const leat_fused_step_t* step,
                                                  const leat_tensor_t* const operands[],
                                                  leat_shape_t* out_shape);

// Fills |state| (a leat_fused_t) from the node's attributes. INVALID_ARGUMENT for a program whose
// types or counts do not agree; leat_fused_destroy must be called even then.
LEAT_MUST_USE leat_status_t leat_fused_create(leat_kernel_creation_t* c, void* state);
void leat_fused_destroy(void* state);

#endif  // LEAT_OPS_MATH_FUSED_CPU_H_
