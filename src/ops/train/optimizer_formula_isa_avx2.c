// The formulas of the optimizers for float and double, compiled for the base instruction set and
// for AVX2: loops that the compiler vectorises. They wait for memory more than they compute, so
// that AVX-512 would gain nothing.
#include <math.h>
#include <stdbool.h>

#define REAL
#include "ops/train/formula_cpu.h"

#define ROUND(x) (x)

#define T float
#define FN(name) name##_f32
#define SQRT sqrtf
#define ABS fabsf
#define POW powf
#define EXP expf
#include "ops/train/optimizer_formula.inc"
#undef T
#undef FN
#undef SQRT
#undef ABS
#undef POW
#undef EXP

#define T double
#define FN(name) name##_f64
#define SQRT sqrt
#define ABS fabs
#define POW pow
#define EXP exp
#include "ops/train/optimizer_formula.inc"

const leat_optimizer_table_t LEAT_ISA_NAME(leat_optimizer_table) = {
#define ENTRY(NAME, name, ...) [LEAT_OPTIMIZER_##NAME] = name##_f32,
    .f32 = {LEAT_OPTIMIZER_FORMULAS(ENTRY)},
#undef ENTRY
#define ENTRY(NAME, name, ...) [LEAT_OPTIMIZER_##NAME] = name##_f64,
    .f64 = {LEAT_OPTIMIZER_FORMULAS(ENTRY)},
#undef ENTRY
#define ENTRY(NAME, loop, op, side) [LEAT_PROLOGUE_##NAME] = prologue_##loop##_f32,
    .prologue_f32 = {LEAT_PROLOGUE_STEPS(ENTRY)},
#undef ENTRY
#define ENTRY(NAME, loop, op, side) [LEAT_PROLOGUE_##NAME] = prologue_##loop##_f64,
    .prologue_f64 = {LEAT_PROLOGUE_STEPS(ENTRY)},
#undef ENTRY
};
