// How a program of _FusedElementwise runs over inputs of given shapes: the shapes of its steps,
// which of them run by tiles, how long a tile is, and where the pieces of each operand come from. A
// plan depends on the shapes alone, so that a kernel keeps those for the last few and a run over
// inputs of such shapes plans nothing and allocates nothing but its outputs and scratch tensors.
#ifndef LEAT_OPS_MATH_FUSED_PLAN_CPU_H_
#define LEAT_OPS_MATH_FUSED_PLAN_CPU_H_

#include "base/sync.h"
#include "ops/math/fused_cpu.h"

#define LEAT_FUSED_WORK_BYTES (40 << 10)  // beside what is read and written, in a cache of 48 KiB

// Where a tiled step finds the elements of an operand.
typedef enum leat_fused_source_e {
  LEAT_FUSED_WHOLE,     // in a tensor that has an element for each one of the result
  LEAT_FUSED_STEP,      // in the result of another tiled step
  LEAT_FUSED_SCALAR,    // in a block into which one element was repeated at the shard's beginning
  LEAT_FUSED_ROW,       // in two blocks into which a row was repeated, for a tile and a row more
  LEAT_FUSED_GATHERED,  // in a block into which the elements are copied for each tile
} leat_fused_source_t;

typedef struct leat_fused_operand_s {
  leat_fused_source_t source;
  int block;     // of a SCALAR, or the first one of a ROW
  bool is_laid;  // an earlier step with the same operand fills the block
} leat_fused_operand_t;

typedef struct leat_fused_plan_step_s {
  leat_tensor_t result;  // its type and shape; it has no bytes
  bool is_tiled;
  bool is_kept;  // is tiled, but its result is written to memory for a reduction that runs later
  leat_fused_operand_t operands[LEAT_ELEMENTWISE_MAX_INPUTS];
  leat_broadcast_t* gather;  // how the operands are broadcast that this step copies, or NULL
} leat_fused_plan_step_t;

typedef struct leat_fused_plan_s {
  leat_arena_t arena;
  const leat_fused_t* fused;
  const leat_shape_t* inputs;     // the shapes that it is for
  leat_fused_plan_step_t* steps;
  bool any_tiled;
  int64_t count;        // elements of the largest step
  int64_t reduced_row;  // elements of a row; a tile and a shard have a whole number of rows
  int64_t long_row;     // elements of a row that is reduced in parts; 0: there is none
  int64_t tile;         // elements of a tile
  int64_t block_bytes;  // bytes of one block of the work area
  int block_count;      // blocks of the work area
  int gathered_count;   // how many of them, at the end, are for GATHERED operands
  double cost_ns;       // time for one element, all tiled steps together
  _Atomic(int) users;   // runs that have taken the plan and not yet returned it
  bool is_shared;       // the kernel keeps the plan, so it stays when no run uses it
} leat_fused_plan_t;

// The plan for the inputs of |c|, from among the kernel's or made now. The caller returns it.
LEAT_MUST_USE leat_status_t leat_fused_plan_take(leat_kernel_context_t* c,
                                                 const leat_fused_plan_t** out_plan);
void leat_fused_plan_return(const leat_fused_plan_t* plan);
// Frees what a kernel keeps; nobody runs it any more.
void leat_fused_plans_free(leat_fused_plans_t* plans);

// How many elements of the largest step belong to one element of the result of step |s|.
static inline int64_t leat_fused_plan_terms(const leat_fused_plan_t* plan, int s) {
  return plan->count / plan->steps[s].result.shape.element_count;
}
// The number of parts in which a long row is reduced.
static inline int64_t leat_fused_plan_parts(const leat_fused_plan_t* plan) {
  return (plan->long_row + LEAT_REDUCTION_MAX_ROW - 1) / LEAT_REDUCTION_MAX_ROW;
}

#endif  // LEAT_OPS_MATH_FUSED_PLAN_CPU_H_
