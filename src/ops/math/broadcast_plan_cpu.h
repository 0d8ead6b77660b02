// How operands lie under the output of a broadcast, once neighbouring dimensions that behave alike
// are merged: along each merged dimension an operand is either read on (its stride, in elements) or
// repeated (stride 0). Two equal shapes merge into one dimension, whatever their rank.
#ifndef LEAT_OPS_MATH_BROADCAST_PLAN_CPU_H_
#define LEAT_OPS_MATH_BROADCAST_PLAN_CPU_H_

#include "tensor/shape.h"

#define LEAT_BROADCAST_MAX_INPUTS 3

typedef struct leat_broadcast_s {
  int rank;  // >= 1
  int count;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int64_t strides[LEAT_BROADCAST_MAX_INPUTS][LEAT_SHAPE_MAX_RANK];
} leat_broadcast_t;

// Every one of |inputs| broadcasts to |output|, which is not empty.
void leat_broadcast_plan(const leat_shape_t* const inputs[], int count, const leat_shape_t* output,
                         leat_broadcast_t* out_plan);

// A place in the output: coordinates in merged dimensions and the operands' offsets (elements).
typedef struct leat_broadcast_place_s {
  int64_t coordinates[LEAT_SHAPE_MAX_RANK];
  int64_t offsets[LEAT_BROADCAST_MAX_INPUTS];
} leat_broadcast_place_t;
void leat_broadcast_seek(const leat_broadcast_t* plan, int64_t index,
                         leat_broadcast_place_t* out_place);
// Moves |n| elements on, to the end of the innermost row at most.
void leat_broadcast_advance(const leat_broadcast_t* plan, int64_t n,
                            leat_broadcast_place_t* inout_place);
// Elements from the place to the end of its innermost row.
static inline int64_t leat_broadcast_row_left(const leat_broadcast_t* plan,
                                              const leat_broadcast_place_t* place) {
  return plan->dims[plan->rank - 1] - place->coordinates[plan->rank - 1];
}

#endif  // LEAT_OPS_MATH_BROADCAST_PLAN_CPU_H_
