// The inner loops of the bias, compiled for each instruction set. A sum over one array runs in 64
// partial sums side by side: they fill the vector units, and rounding errors grow more slowly than
// in one running sum. The order of additions follows from the sizes alone. Sums over rows go by
// 1024 columns at a time, so that the sums stay in the first-level cache, and take four rows in one
// pass, so that each sum is loaded and stored once for four additions.
#include "base/checked.h"
#include "ops/nn/bias_cpu.h"

#define WIDTH 64        // partial sums of a whole array
#define COLUMNS 1024    // columns that sum_rows takes at a time

#define T float
#define FN(name) name##_f32
#include "ops/nn/bias_loops.inc"

#define T double
#define FN(name) name##_f64
#include "ops/nn/bias_loops.inc"

extern const leat_bias_loops_t LEAT_ISA_NAME(leat_bias_loops);
const leat_bias_loops_t LEAT_ISA_NAME(leat_bias_loops) = {
    .add_f32 = add_f32,
    .add_f64 = add_f64,
    .shift_f32 = shift_f32,
    .shift_f64 = shift_f64,
    .sum_rows_f32 = sum_rows_f32,
    .sum_rows_f64 = sum_rows_f64,
    .sum_f32 = sum_f32,
    .sum_f64 = sum_f64,
};
