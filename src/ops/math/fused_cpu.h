// The state of a _FusedElementwise kernel: its program, made out.
#ifndef LEAT_OPS_MATH_FUSED_CPU_H_
#define LEAT_OPS_MATH_FUSED_CPU_H_

#include "base/sync.h"
#include "ops/math/elementwise_cpu.h"
#include "ops/math/fused.h"
#include "ops/math/reduction_cpu.h"

_Static_assert(LEAT_FUSED_MAX_OPERANDS == LEAT_ELEMENTWISE_MAX_INPUTS, "a step is a loop's call");

typedef struct leat_fused_step_s {
  leat_kernel_t kernel;  // as the node's own would be: what messages name
  // The kernel's state, one of these; of a step that reshapes neither.
  const leat_elementwise_t* elementwise;
  const leat_reduction_state_t* reduction;
  int64_t axes;                           // that a reduction reduces
  leat_shape_t shape;                     // of a step that reshapes or repeats
  int16_t base;  // the operand whose elements it gives: itself, unless it reshapes
  uint8_t input_types[LEAT_ELEMENTWISE_MAX_INPUTS];
  uint8_t output_type;
  int16_t operands[LEAT_ELEMENTWISE_MAX_INPUTS];  // an input, or |input_count| + a step
  int16_t output;        // which one of the node's it is; -1
  int16_t block;         // of the work area where its pieces lie when it is no output
  uint64_t forwardable;  // inputs that nobody reads after the step: its output may take their bytes
} leat_fused_step_t;

#define LEAT_FUSED_MAX_PLANS 4

// What a kernel has planned for the last few shapes of its inputs (fused_plan_cpu.h), from the
// first place on. It is the only part of the kernel that its runs change.
typedef struct leat_fused_plans_s {
  leat_spinlock_t lock;
  struct leat_fused_plan_s* items[LEAT_FUSED_MAX_PLANS];
  unsigned oldest;  // the place that is tried next for a new one, modulo their number
} leat_fused_plans_t;

typedef struct leat_fused_s {
  leat_arena_t arena;
  leat_fused_plans_t plans;
  int input_count, step_count;
  int block_count;        // of the work area
  int64_t element_bytes;  // of the largest element
  leat_fused_step_t* steps;
} leat_fused_t;

// The operand whose elements |operand| gives: an input, or a step that computes.
static inline int leat_fused_base(const leat_fused_t* fused, int operand) {
  return operand < fused->input_count ? operand : fused->steps[operand - fused->input_count].base;
}

// Repeats its operand: there is no loop, its pieces are gathered.
static inline bool leat_fused_repeats(const leat_elementwise_t* elementwise) {
  return elementwise && !elementwise->loop;
}

// The program's context as the step's own node would have it, for messages.
static inline leat_kernel_context_t leat_fused_step_context(const leat_kernel_context_t* program,
                                                            const leat_fused_step_t* step) {
  leat_kernel_context_t c = *program;
  c.kernel = &step->kernel;
  return c;
}

// The axes that a reduction reduces, of |rank|.
static inline void leat_fused_mark_reduced(const leat_fused_step_t* step, int rank,
                                           bool* out_reduced) {
  for (int d = 0; d < rank; ++d) out_reduced[d] = d >= rank - step->axes;
}

// The shape of what |step| gives of |operands|; operand 0 of one that reshapes is what it shows.
LEAT_MUST_USE leat_status_t leat_fused_step_shape(const leat_kernel_context_t* program,
                                                  const leat_fused_step_t* step,
                                                  const leat_tensor_t* const operands[],
                                                  leat_shape_t* out_shape);

LEAT_MUST_USE leat_status_t leat_fused_create(leat_kernel_creation_t* c, void* state);
void leat_fused_destroy(void* state);

#endif  // LEAT_OPS_MATH_FUSED_CPU_H_
