// The plan of a reduction: which elements go into which output. Dimensions of size 1 are dropped,
// and neighbouring dimensions that are both kept or both reduced are merged, so that kept and
// reduced dimensions alternate and the kernel meets few of them.
//
//   [2, 3, 1, 4, 5], axes {0, 3, 4}  ->  [reduced 2, kept 3, reduced 20]
//
// The elements that are folded into one output are its terms, numbered in the order in which they
// lie in memory. The innermost merged dimension is dense; whether it is kept or reduced decides how
// the kernel walks. Nothing here allocates except the shape, and all functions run on any thread.
#ifndef LEAT_OPS_MATH_REDUCTION_PLAN_CPU_H_
#define LEAT_OPS_MATH_REDUCTION_PLAN_CPU_H_

#include "kernel/kernel.h"

// Some dimensions of the input, outermost first, with strides in elements; |total| is the product
// of the sizes. An index of the walk counts its innermost dimension fastest.
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

// The offset in elements of |index|, a number below the walk's total.
int64_t leat_reduction_offset(const leat_reduction_walk_t* walk, int64_t index);

// Reads axes (int32 or int64, negative ones count from the end) into |out_reduced| [rank]; true is
// reduced. INVALID_ARGUMENT for an axis out of range or given twice.
LEAT_MUST_USE leat_status_t leat_reduction_axes(leat_kernel_context_t* c, const leat_tensor_t* axes,
                                                int rank, bool* out_reduced);
// Computes the output's shape; the caller ends it with leat_shape_release.
LEAT_MUST_USE leat_status_t leat_reduction_shape(const leat_shape_t* input, const bool* reduced,
                                                 bool keep_dims, leat_shape_t* out_shape);
// Merges the dimensions of |input|, which must not be empty.
void leat_reduction_plan(const leat_shape_t* input, const bool* reduced,
                         leat_reduction_plan_t* out_plan);

#endif  // LEAT_OPS_MATH_REDUCTION_PLAN_CPU_H_
