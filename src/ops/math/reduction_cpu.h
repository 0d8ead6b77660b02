// Reducers: how numbers of one type are folded into an accumulator. An accumulator is 8 bytes wide
// (double, int64 or uint64; 16 for complex: two doubles), so that sums lose nothing worth naming:
// floats are added in short runs whose totals are doubles.
//
// Every instruction set folds in the same order: the same lanes, whatever a vector's width.
#ifndef LEAT_OPS_MATH_REDUCTION_CPU_H_
#define LEAT_OPS_MATH_REDUCTION_CPU_H_

#include "base/cpu.h"
#include "tensor/dtype.h"

typedef enum leat_reduction_e {
  LEAT_REDUCTION_SUM,
  LEAT_REDUCTION_PROD,
  LEAT_REDUCTION_MAX,
  LEAT_REDUCTION_MIN,
  LEAT_REDUCTION_NORM,  // sum of squares
  LEAT_REDUCTION_ALL,
  LEAT_REDUCTION_ANY,
  LEAT_REDUCTION_COUNT,
} leat_reduction_t;

typedef struct leat_reducer_s {
  int accumulator_bytes;  // 0: there is no reducer
  // |n| accumulators of nothing.
  void (*start)(void* accumulators, int64_t n);
  // Folds |n| neighbours into one accumulator.
  void (*row)(const void* x, int64_t n, void* accumulator);
  // Folds |rows| rows of |n| elements, |stride| elements apart, into |n| accumulators.
  void (*rows)(const void* x, int64_t stride, int64_t rows, int64_t n, void* accumulators);
  // Folds |n| accumulators into |n| others.
  void (*merge)(const void* from, void* accumulators, int64_t n);
  // Writes |n| results; |finish_mean| divides by |count|, |finish_root| takes square roots.
  void (*finish)(const void* accumulators, void* out, int64_t n, int64_t count);
  void (*finish_mean)(const void* accumulators, void* out, int64_t n, int64_t count);
  void (*finish_root)(const void* accumulators, void* out, int64_t n, int64_t count);
} leat_reducer_t;

typedef struct leat_reducers_s {
  leat_reducer_t items[LEAT_REDUCTION_COUNT][LEAT_DTYPE_COUNT];
} leat_reducers_t;
LEAT_ISA_DECLARE(leat_reducers_t, leat_reducers);

// Of this machine's instruction set or of the baseline; without accumulator bytes if there is none.
static inline const leat_reducer_t* leat_reducer(leat_reduction_t reduction, int dtype) {
  const leat_reducer_t* reducer = &LEAT_ISA_SELECT(leat_reducers)->items[reduction][dtype];
  return reducer->accumulator_bytes ? reducer : &leat_reducers_base.items[reduction][dtype];
}

#endif  // LEAT_OPS_MATH_REDUCTION_CPU_H_
