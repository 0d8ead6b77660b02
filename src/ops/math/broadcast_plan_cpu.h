// The plan of a broadcast: how each operand is read along the output. Neighbouring dimensions along
// which the same operands are repeated are merged, so that kernels meet few, long dimensions; along
// each of them an operand is either dense (its stride in elements) or repeated (stride 0).
//
//   x [2, 3, 4], y [4]  ->  dims [6, 4], strides of x [4, 1], strides of y [0, 1]
//
// Two equal shapes merge into one dimension, whatever their rank.
#ifndef LEAT_OPS_MATH_BROADCAST_PLAN_CPU_H_
#define LEAT_OPS_MATH_BROADCAST_PLAN_CPU_H_

#include "tensor/shape.h"

#define LEAT_BROADCAST_MAX_INPUTS 3

// The merged dimensions of the output, outermost first, and each operand's strides in elements.
// |rank| is at least 1: an output of one element has one dimension of size 1. |count| is the number
// of operands. A plan holds no pointers, and can be copied and dropped.
typedef struct leat_broadcast_s {
  int rank;  // >= 1
  int count;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int64_t strides[LEAT_BROADCAST_MAX_INPUTS][LEAT_SHAPE_MAX_RANK];
} leat_broadcast_t;

// Makes the plan of |count| inputs, at most LEAT_BROADCAST_MAX_INPUTS. Each of them must broadcast
// to |output|, and |output| must not be empty; the plan does not check this.
void leat_broadcast_plan(const leat_shape_t* const inputs[], int count, const leat_shape_t* output,
                         leat_broadcast_t* out_plan);

// A place in the output: its coordinates in the merged dimensions, and the offset of the element
// that it reads of each operand.
typedef struct leat_broadcast_place_s {
  int64_t coordinates[LEAT_SHAPE_MAX_RANK];
  int64_t offsets[LEAT_BROADCAST_MAX_INPUTS];
} leat_broadcast_place_t;
// Finds the place of output element |index|, counted in row-major order. It divides once per
// dimension, so that a walk seeks once and then advances.
void leat_broadcast_seek(const leat_broadcast_t* plan, int64_t index,
                         leat_broadcast_place_t* out_place);
// Moves |n| elements on, at most to the end of the innermost row (leat_broadcast_row_left): the
// place is then the beginning of the next row.
void leat_broadcast_advance(const leat_broadcast_t* plan, int64_t n,
                            leat_broadcast_place_t* inout_place);
// Elements from the place to the end of its innermost row.
static inline int64_t leat_broadcast_row_left(const leat_broadcast_t* plan,
                                              const leat_broadcast_place_t* place) {
  return plan->dims[plan->rank - 1] - place->coordinates[plan->rank - 1];
}

#endif  // LEAT_OPS_MATH_BROADCAST_PLAN_CPU_H_
