// How a program of _FusedElementwise runs over inputs of given shapes: the shapes of its steps,
// which of them run by tiles, how long a tile is, and where the pieces of each operand come from. A
// plan depends on the shapes alone, so that a kernel keeps those for the last few and a run over
// inputs of such shapes plans nothing and allocates nothing but its outputs and scratch tensors.
#ifndef LEAT_OPS_MATH_FUSED_PLAN_CPU_H_
#define LEAT_OPS_MATH_FUSED_PLAN_CPU_H_

#include "base/sync.h"
#include "ops/math/fused_cpu.h"

#define LEAT_FUSED_WORK_BYTES (40 << 10)  // beside what is read and written, in a cache of 48 KiB

// Where the pieces of an operand come from.
typedef enum leat_fused_source_e {
  LEAT_FUSED_WHOLE,     // a tensor with an element for each of the output
  LEAT_FUSED_STEP,      // a step that is run by tiles
  LEAT_FUSED_SCALAR,    // laid out once
  LEAT_FUSED_ROW,       // repeated: laid out once, a row longer than a tile
  LEAT_FUSED_GATHERED,  // laid out for each tile
} leat_fused_source_t;

typedef struct leat_fused_operand_s {
  leat_fused_source_t source;
  int block;     // to lay it out in, or the first of two; unless it is gathered
  bool is_laid;  // there, by an earlier step
} leat_fused_operand_t;

typedef struct leat_fused_plan_step_s {
  leat_tensor_t result;  // its type and shape; it has no bytes
  bool is_tiled;
  bool is_kept;  // is run by tiles, yet wanted in memory: another step reduces it afterwards
  leat_fused_operand_t operands[LEAT_ELEMENTWISE_MAX_INPUTS];
  leat_broadcast_t* gather;  // where the operands that it lays out lie under its result, or NULL
} leat_fused_plan_step_t;

typedef struct leat_fused_plan_s {
  leat_arena_t arena;
  const leat_fused_t* fused;
  const leat_shape_t* inputs;     // the shapes that it is for
  leat_fused_plan_step_t* steps;
  bool any_tiled;
  int64_t count;        // elements of the largest step
  int64_t reduced_row;  // of which tiles and shards have a whole number
  int64_t long_row;     // that is reduced in parts, of many tiles each; 0: none is
  int64_t tile, block_bytes;
  int block_count, gathered_count;  // of the blocks the last ones are for what is gathered
  double cost_ns;                   // of an element
  _Atomic(int) users;   // runs that have taken it and not yet returned it
  bool is_shared;       // among the kernel's: it stays when nobody uses it
} leat_fused_plan_t;

// The plan for the inputs of |c|, from among the kernel's or made now. The caller returns it.
LEAT_MUST_USE leat_status_t leat_fused_plan_take(leat_kernel_context_t* c,
                                                 const leat_fused_plan_t** out_plan);
void leat_fused_plan_return(const leat_fused_plan_t* plan);
// Frees what a kernel keeps; nobody runs it any more.
void leat_fused_plans_free(leat_fused_plans_t* plans);

// The elements of the largest step for one of the result of step |s|.
static inline int64_t leat_fused_plan_terms(const leat_fused_plan_t* plan, int s) {
  return plan->count / plan->steps[s].result.shape.element_count;
}
// In how many parts a long row is reduced.
static inline int64_t leat_fused_plan_parts(const leat_fused_plan_t* plan) {
  return (plan->long_row + LEAT_REDUCTION_MAX_ROW - 1) / LEAT_REDUCTION_MAX_ROW;
}

#endif  // LEAT_OPS_MATH_FUSED_PLAN_CPU_H_
