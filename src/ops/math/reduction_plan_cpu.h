// What a reduction has to do once sizes of 1 are dropped and neighbouring dimensions that share
// their fate are merged: kept and reduced dimensions take turns.
//
//   [2, 3, 1, 4, 5], axes {0, 3, 4}  ->  [reduced 2, kept 3, reduced 20]
//
// Elements that go into one output are numbered in their order in memory: its "terms".
#ifndef LEAT_OPS_MATH_REDUCTION_PLAN_CPU_H_
#define LEAT_OPS_MATH_REDUCTION_PLAN_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_reduction_walk_s {
  int rank;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int64_t strides[LEAT_SHAPE_MAX_RANK];
  int64_t total;
} leat_reduction_walk_t;

typedef struct leat_reduction_plan_s {
  // The innermost merged dimension, dense, and whether it is reduced.
  int64_t inner;
  bool inner_is_reduced;
  // The other dimensions, outermost first, with strides in elements.
  leat_reduction_walk_t kept, reduced;
} leat_reduction_plan_t;

// Offset of element |index| of a walk.
int64_t leat_reduction_offset(const leat_reduction_walk_t* walk, int64_t index);

// Reads axes (int32 or int64, negative ones count from the end) into |out_reduced| [rank]; true is
// reduced. INVALID_ARGUMENT for an axis out of range or given twice.
LEAT_MUST_USE leat_status_t leat_reduction_axes(leat_kernel_context_t* c, const leat_tensor_t* axes,
                                                int rank, bool* out_reduced);
// The output's shape, ended by leat_shape_release.
LEAT_MUST_USE leat_status_t leat_reduction_shape(const leat_shape_t* input, const bool* reduced,
                                                 bool keep_dims, leat_shape_t* out_shape);
// |input| is not empty.
void leat_reduction_plan(const leat_shape_t* input, const bool* reduced,
                         leat_reduction_plan_t* out_plan);

#endif  // LEAT_OPS_MATH_REDUCTION_PLAN_CPU_H_
