// Reducers: how numbers of one type are folded into an accumulator. An accumulator is 8 bytes wide
// (double, int64 or uint64; 16 for complex: two doubles), so that sums lose nothing worth naming:
// floats are added in short runs whose totals are doubles.
//
// A few kinds of numbers have folds of their own, per instruction set or plain; elements of other
// types are widened to one of them, a block at a time. Every instruction set folds in the same
// order: the same lanes, whatever a vector's width.
#ifndef LEAT_OPS_MATH_REDUCTION_CPU_H_
#define LEAT_OPS_MATH_REDUCTION_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"

typedef enum leat_reduction_e {
  LEAT_REDUCTION_SUM,
  LEAT_REDUCTION_PROD,
  LEAT_REDUCTION_MAX,
  LEAT_REDUCTION_MIN,
  LEAT_REDUCTION_NORM,  // sum of squares
  LEAT_REDUCTION_FOLDS,
  LEAT_REDUCTION_ALL = LEAT_REDUCTION_FOLDS,  // the least, and
  LEAT_REDUCTION_ANY,                         // the greatest, of 0 and 1
} leat_reduction_t;

typedef enum leat_fold_kind_e {
  LEAT_FOLD_F32,
  LEAT_FOLD_F64,
  LEAT_FOLD_I32,
  LEAT_FOLD_I64,
  LEAT_FOLD_U64,
  LEAT_FOLD_C64,
  LEAT_FOLD_C128,
  LEAT_FOLD_COUNT,
} leat_fold_kind_t;

// Folds |rows| rows of |n| elements, |stride| elements apart, into |n| accumulators.
typedef void (*leat_fold_rows_fn_t)(const void* x, int64_t stride, int64_t rows, int64_t n,
                                    void* accumulators);
typedef struct leat_fold_s {
  void (*row)(const void* x, int64_t n, void* accumulator);  // |n| neighbours into one
  leat_fold_rows_fn_t rows;                                  // NULL: there is no such fold
} leat_fold_t;

typedef struct leat_folds_s {
  leat_fold_t items[LEAT_REDUCTION_FOLDS][LEAT_FOLD_COUNT];
} leat_folds_t;
LEAT_ISA_DECLARE(leat_folds_t, leat_folds);

typedef struct leat_reducer_s {
  leat_fold_t fold;
  leat_fold_rows_fn_t merge;  // of accumulators as elements
  void (*widen)(const void* x, void* out, int64_t n);  // to what |fold| takes; NULL: it is that
  void (*narrow)(const void* accumulators, void* out, int64_t n);
  uint64_t start;  // an accumulator of nothing, or its real part
  int accumulator_bytes, element_bytes;
  leat_fold_kind_t total;  // F64, I64, U64 or C128
  bool resumes;            // a row may be folded in pieces of LEAT_REDUCTION_PIECE elements
} leat_reducer_t;

// For the node's first input; UNIMPLEMENTED when its type does not fold so.
LEAT_MUST_USE leat_status_t leat_reducer_create(const leat_kernel_creation_t* c,
                                                leat_reduction_t reduction,
                                                leat_reducer_t* out_reducer);

// |n| accumulators of nothing.
void leat_reducer_start(const leat_reducer_t* reducer, void* accumulators, int64_t n);
void leat_reducer_widened_row(const leat_reducer_t* reducer, const void* x, int64_t n,
                              void* accumulator);
void leat_reducer_widened_rows(const leat_reducer_t* reducer, const void* data, int64_t stride,
                               int64_t rows, int64_t n, void* accumulators);
// See leat_fold_t.
static inline void leat_reducer_row(const leat_reducer_t* reducer, const void* x, int64_t n,
                                    void* accumulator) {
  if (!reducer->widen) {
    reducer->fold.row(x, n, accumulator);
  } else {
    leat_reducer_widened_row(reducer, x, n, accumulator);
  }
}
static inline void leat_reducer_rows(const leat_reducer_t* reducer, const void* x, int64_t stride,
                                     int64_t rows, int64_t n, void* accumulators) {
  if (!reducer->widen) {
    reducer->fold.rows(x, stride, rows, n, accumulators);
  } else {
    leat_reducer_widened_rows(reducer, x, stride, rows, n, accumulators);
  }
}
// Folds |n| accumulators into |n| others.
static inline void leat_reducer_merge(const leat_reducer_t* reducer, const void* from,
                                      void* accumulators, int64_t n) {
  reducer->merge(from, 0, 1, n, accumulators);
}
// Writes |n| results of |count| terms each; the accumulators are used up.
typedef enum leat_finish_e { LEAT_FINISH_PLAIN, LEAT_FINISH_MEAN, LEAT_FINISH_ROOT } leat_finish_t;
void leat_reducer_finish(const leat_reducer_t* reducer, leat_finish_t finish, void* accumulators,
                         void* out, int64_t n, int64_t count);

// ---- For whoever has the rows (fused_cpu.c) -----------------------------------------------------

// The state of a reduction's kernel.
typedef struct leat_reduction_state_s {
  leat_reducer_t reducer;
  leat_finish_t finish;
  bool keep_dims;
  bool changes_single_values;  // the reduction of one element may differ from it
} leat_reduction_state_t;

#define LEAT_REDUCTION_MAX_ROW 65536  // terms that are folded in one go, a part of an output
#define LEAT_REDUCTION_PIECE 1024     // of those, in which they may be given
#define LEAT_REDUCTION_COST_NS 0.15   // of a term

// What the kernel gives of |rows| rows of 2 to LEAT_REDUCTION_MAX_ROW neighbours each.
void leat_reduction_reduce_rows(const leat_reduction_state_t* state, const void* x, int64_t rows,
                                int64_t terms, void* out);
// What it gives of outputs of |terms| each from the accumulators of their parts, [part][output],
// which are used up.
void leat_reduction_finish_parts(const leat_reduction_state_t* state, void* parts, int64_t count,
                                 int64_t outputs, int64_t terms, void* out);
// What it gives of |input| over the axes that |reduced| [rank] marks, into |output|, as large as
// leat_reduction_shape says.
LEAT_MUST_USE leat_status_t leat_reduction_run(leat_kernel_context_t* c,
                                               const leat_reduction_state_t* state,
                                               const leat_tensor_t* input, const bool* reduced,
                                               leat_tensor_t* output);

#endif  // LEAT_OPS_MATH_REDUCTION_CPU_H_
