// Reducers: how numbers of one type are folded into an accumulator. Sum, Prod, Max and their like
// differ only in the reducer, and the segment ops and fused programs use reducers too. An
// accumulator has 8 bytes (double, int64 or uint64; 16 for complex numbers: two doubles), so that
// long sums stay accurate: floats are added in short runs, and the runs' totals in double.
//
//   elements ─▶ widen (half to float, ...) ─▶ fold ─▶ accumulator ─▶ finish ─▶ result
//
// A kernel makes a reducer when it is created. A run starts accumulators, folds elements into them,
// in one call or several, merges the accumulators that belong together, and finishes them:
//
//   leat_reducer_start(&reducer, &total, 1);
//   leat_reducer_row(&reducer, x, n, &total);
//   leat_reducer_finish(&reducer, LEAT_FINISH_PLAIN, &total, out, 1, n);
//
// Seven kinds of numbers have folds of their own, compiled per instruction set (reduction_isa.c) or
// plain (reducer_cpu.c); elements of other types are widened to one of these kinds, a block at a
// time. Every instruction set folds in the same order, with the same number of lanes whatever a
// vector's width, so that a sum has the same bits on every machine. A caller that cuts a row into
// several accumulators must cut it by its length alone and merge in order, for the same reason.
//
// A reducer is immutable after creation and owns nothing. All functions run on any thread, do not
// block and allocate nothing, but for leat_reduction_run, which starts parallel work on the
// kernel's pool and may allocate a temporary tensor.
#ifndef LEAT_OPS_MATH_REDUCTION_CPU_H_
#define LEAT_OPS_MATH_REDUCTION_CPU_H_

#include "base/cpu.h"
#include "kernel/kernel.h"

// What is folded. Only the first five have folds; LEAT_REDUCTION_FOLDS is their number.
typedef enum leat_reduction_e {
  LEAT_REDUCTION_SUM,
  LEAT_REDUCTION_PROD,
  LEAT_REDUCTION_MAX,
  LEAT_REDUCTION_MIN,
  LEAT_REDUCTION_NORM,  // sum of squares
  LEAT_REDUCTION_FOLDS,
  LEAT_REDUCTION_ALL = LEAT_REDUCTION_FOLDS,  // All is the minimum of 0 and 1
  LEAT_REDUCTION_ANY,                         // Any is the maximum of 0 and 1
} leat_reduction_t;

// The kinds of numbers that folds take: F for real, I for signed and U for unsigned integers, C for
// complex numbers, with the bits of one. Accumulators are of the kinds F64, I64, U64 and C128.
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

// Folds |rows| rows of |n| elements, whose beginnings lie |stride| elements apart, into |n|
// accumulators: element j of each row goes into accumulator j, the rows in order.
typedef void (*leat_fold_rows_fn_t)(const void* x, int64_t stride, int64_t rows, int64_t n,
                                    void* accumulators);
// One reduction of one kind of numbers. Both functions start from what the accumulators hold.
typedef struct leat_fold_s {
  // Folds |n| neighbouring elements into one accumulator.
  void (*row)(const void* x, int64_t n, void* accumulator);
  // Folds rows into as many accumulators as there are columns; NULL: there is no such fold.
  leat_fold_rows_fn_t rows;
} leat_fold_t;

// The table of folds of one instruction set. A pair without a fold here is looked up among the
// plain ones, which leat_reducer_create does.
typedef struct leat_folds_s {
  leat_fold_t items[LEAT_REDUCTION_FOLDS][LEAT_FOLD_COUNT];
} leat_folds_t;
LEAT_ISA_DECLARE(leat_folds_t, leat_folds);

// How elements of one type are reduced. Callers use the functions below and read the two sizes; the
// functions inside are called through leat_reducer_x.
typedef struct leat_reducer_s {
  leat_fold_t fold;
  leat_fold_rows_fn_t merge;  // folds accumulators into accumulators
  // Converts elements to what |fold| takes; NULL: it takes them as they are.
  void (*widen)(const void* x, void* out, int64_t n);
  // Converts accumulators to results.
  void (*narrow)(const void* accumulators, void* out, int64_t n);
  uint64_t start;  // the accumulator of no terms: its bits, or those of its real part
  int accumulator_bytes, element_bytes;
  leat_fold_kind_t total;  // the kind of the accumulators: F64, I64, U64 or C128
  // A row folded in pieces of LEAT_REDUCTION_PIECE elements gives the bits of one call.
  bool resumes;
} leat_reducer_t;

// Makes the reducer for the type of the node's first input. UNIMPLEMENTED, with the node's name,
// when |reduction| is not defined for it: a type that is no number, or an extremum of complex
// numbers.
LEAT_MUST_USE leat_status_t leat_reducer_create(const leat_kernel_creation_t* c,
                                                leat_reduction_t reduction,
                                                leat_reducer_t* out_reducer);

// Sets |n| accumulators to that of no terms, which leaves what is folded into it as it is: 0 for a
// sum, 1 for a product, the least number of the type for a maximum. |accumulators| has room for |n|
// times accumulator_bytes, and is aligned to 8 bytes.
void leat_reducer_start(const leat_reducer_t* reducer, void* accumulators, int64_t n);
// The next two are leat_reducer_row and leat_reducer_rows where elements must be widened first.
void leat_reducer_widened_row(const leat_reducer_t* reducer, const void* x, int64_t n,
                              void* accumulator);
void leat_reducer_widened_rows(const leat_reducer_t* reducer, const void* data, int64_t stride,
                               int64_t rows, int64_t n, void* accumulators);
// Folds |n| neighbouring elements into one accumulator.
static inline void leat_reducer_row(const leat_reducer_t* reducer, const void* x, int64_t n,
                                    void* accumulator) {
  if (!reducer->widen) {
    reducer->fold.row(x, n, accumulator);
  } else {
    leat_reducer_widened_row(reducer, x, n, accumulator);
  }
}
// Folds |rows| rows of |n| elements, |stride| elements apart, into |n| accumulators.
static inline void leat_reducer_rows(const leat_reducer_t* reducer, const void* x, int64_t stride,
                                     int64_t rows, int64_t n, void* accumulators) {
  if (!reducer->widen) {
    reducer->fold.rows(x, stride, rows, n, accumulators);
  } else {
    leat_reducer_widened_rows(reducer, x, stride, rows, n, accumulators);
  }
}
// Folds each of |n| accumulators |from| into the one at its place in |accumulators|: the
// accumulators of two parts of a row become that of both. |from| stays as it is.
static inline void leat_reducer_merge(const leat_reducer_t* reducer, const void* from,
                                      void* accumulators, int64_t n) {
  reducer->merge(from, 0, 1, n, accumulators);
}
// How a total becomes a result: MEAN divides by the number of terms, ROOT takes the square root.
typedef enum leat_finish_e { LEAT_FINISH_PLAIN, LEAT_FINISH_MEAN, LEAT_FINISH_ROOT } leat_finish_t;
// Writes |n| results of |count| terms each to |out|, dense elements of the reducer's type. Integers
// divide toward 0, and their mean of no terms is 0. The accumulators are overwritten on the way.
void leat_reducer_finish(const leat_reducer_t* reducer, leat_finish_t finish, void* accumulators,
                         void* out, int64_t n, int64_t count);

// ---- Reducing rows, parts and whole tensors (reduction_cpu.c, fused_cpu.c) ----------------------

// The state of a reduction's kernel.
typedef struct leat_reduction_state_s {
  leat_reducer_t reducer;
  leat_finish_t finish;
  bool keep_dims;
  // The reduction of one element may differ from the element (EuclideanNorm of -1 is 1).
  bool changes_single_values;
} leat_reduction_state_t;

// Terms that are folded into one accumulator; a longer row has several parts.
#define LEAT_REDUCTION_MAX_ROW 65536
#define LEAT_REDUCTION_PIECE 1024  // a resumable row may be folded in pieces of a multiple of this
#define LEAT_REDUCTION_COST_NS 0.15   // estimated time of a term

// Reduces each of |rows| dense rows of |terms| elements (2 to LEAT_REDUCTION_MAX_ROW) to one
// result.
void leat_reduction_reduce_rows(const leat_reduction_state_t* state, const void* x, int64_t rows,
                                int64_t terms, void* out);
// Computes |outputs| results of |terms| terms each from |count| accumulators per output, |partials|
// [partial][output]. The partials are merged in order and overwritten.
void leat_reduction_finish_partials(const leat_reduction_state_t* state, void* partials,
                                    int64_t count, int64_t outputs, int64_t terms, void* out);
// Reduces |input| over the axes that |reduced| [rank] marks into |output|, whose shape is that of
// leat_reduction_shape.
LEAT_MUST_USE leat_status_t leat_reduction_run(leat_kernel_context_t* c,
                                               const leat_reduction_state_t* state,
                                               const leat_tensor_t* input, const bool* reduced,
                                               leat_tensor_t* output);

#endif  // LEAT_OPS_MATH_REDUCTION_CPU_H_
