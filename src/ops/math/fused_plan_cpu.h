// How a program of _FusedElementwise runs over inputs of given shapes: the shapes of its steps,
// which of them run by tiles, how long a tile is, and where the pieces of each operand come from. A
// plan depends on the shapes alone, so that a kernel keeps those for the last few and a run over
// inputs of such shapes plans nothing and allocates nothing but its outputs and scratch tensors.
//
//   leat_fused_plan_take(c, &plan);    the kernel's plan for these shapes, or a new one
//   ... all steps run by it ...        on any number of threads, which only read it
//   leat_fused_plan_return(plan);      it may be replaced from now on
//
// A tile is a number of consecutive elements of the largest steps. All tiled steps run over one
// tile before the next begins, and pass their pieces through blocks of a work area, which lies on
// the stack of each shard: block_count blocks of block_bytes each. fused_plan_cpu.c makes plans,
// and fused_cpu.c runs them.
#ifndef LEAT_OPS_MATH_FUSED_PLAN_CPU_H_
#define LEAT_OPS_MATH_FUSED_PLAN_CPU_H_

#include "base/sync.h"
#include "ops/math/fused_cpu.h"

#define LEAT_FUSED_WORK_BYTES (40 << 10)  // at most, for the longest rows that are reduced whole

// Where a tiled step finds the elements of an operand.
typedef enum leat_fused_source_e {
  LEAT_FUSED_WHOLE,     // in a tensor that has an element for each one of the result
  LEAT_FUSED_STEP,      // in the result of another tiled step
  LEAT_FUSED_SCALAR,    // in a block into which one element was repeated at the shard's beginning
  LEAT_FUSED_ROW,       // in two blocks into which a row was repeated, for a tile and a row more
  LEAT_FUSED_GATHERED,  // in a block into which the elements are copied for each tile
} leat_fused_source_t;

// Where one operand of one tiled step is found. |block| is counted in blocks of the work area and
// has no meaning for the other sources.
typedef struct leat_fused_operand_s {
  leat_fused_source_t source;
  int block;     // of a SCALAR, or the first of a ROW's two
  bool is_laid;  // an earlier step with the same operand fills the block
} leat_fused_operand_t;

// What the plan says of one step. A step that is neither tiled nor a reduction runs whole, before
// the tiles; a reduction that is not tiled runs after them, over operands in memory.
typedef struct leat_fused_plan_step_s {
  leat_tensor_t result;  // its type and shape; it has no bytes
  bool is_tiled;
  bool is_kept;  // is tiled, but its result is written to memory for a reduction that runs later
  leat_fused_operand_t operands[LEAT_ELEMENTWISE_MAX_INPUTS];
  leat_broadcast_t* gather;  // how the operands are broadcast that this step copies, or NULL
} leat_fused_plan_step_t;

// A plan. It is immutable once it is made, but for |users|. It owns its shapes, and the rest of its
// parts lie in |arena|.
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

// Finds the plan for the shapes of the inputs of |c|, whose state is a leat_fused_t, or makes one.
// INVALID_ARGUMENT, in the name of the step's node, when the shapes do not fit the program. The
// caller returns the plan when its run has ended, on whatever thread. The kernel's spinlock is held
// for the search only.
LEAT_MUST_USE leat_status_t leat_fused_plan_take(leat_kernel_context_t* c,
                                                 const leat_fused_plan_t** out_plan);
// Ends the use of a plan. A plan that found no place among the kernel's is freed.
void leat_fused_plan_return(const leat_fused_plan_t* plan);
// Frees the plans that a kernel keeps. The caller knows that nobody runs the kernel any more.
void leat_fused_plans_free(leat_fused_plans_t* plans);

// How many elements of the largest step belong to one element of the result of step |s|: the terms
// of a reduction's row, 1 for a tiled step that computes. Only for a plan with tiled steps.
static inline int64_t leat_fused_plan_terms(const leat_fused_plan_t* plan, int s) {
  return plan->count / plan->steps[s].result.shape.element_count;
}
// The number of parts in which a long row is reduced, each of at most LEAT_REDUCTION_MAX_ROW
// elements; 0 where the plan has no long row.
static inline int64_t leat_fused_plan_partials(const leat_fused_plan_t* plan) {
  return (plan->long_row + LEAT_REDUCTION_MAX_ROW - 1) / LEAT_REDUCTION_MAX_ROW;
}

#endif  // LEAT_OPS_MATH_FUSED_PLAN_CPU_H_
