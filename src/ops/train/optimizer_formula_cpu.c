// The formulas of the optimizers for complex types, FTRL's for half and bfloat16, and the function
// that chooses the formula for a type. Complex loops gain little from wide vectors, and FTRL for
// narrow floats rounds after every operation, so that both are compiled once, not per instruction
// set.
#include <complex.h>
#include <math.h>

#include "device/cpu/half.h"
#include "ops/train/formula_cpu.h"

#define T leat_complex64_t
#define FN(name) name##_c64
#define SQRT csqrtf
#include "ops/train/optimizer_formula.inc"
#undef T
#undef FN
#undef SQRT

#define T leat_complex128_t
#define FN(name) name##_c128
#define SQRT csqrt
#include "ops/train/optimizer_formula.inc"

#undef T
#undef FN
#undef SQRT

#define T float
#define SQRT sqrtf
#define ABS fabsf
#define POW powf
#define FN(name) name##_f16
#define ROUND(x) leat_half_to_float(leat_half_from_float(x))
#include "ops/train/ftrl_formula.inc"
#undef FN
#undef ROUND

#define FN(name) name##_bf16
#define ROUND(x) leat_bfloat16_to_float(leat_bfloat16_from_float(x))
#include "ops/train/ftrl_formula.inc"

static const leat_optimizer_fn_t kComplex64[LEAT_OPTIMIZER_COUNT] = {
#define ENTRY(NAME, name, ...) [LEAT_OPTIMIZER_##NAME] = name##_c64,
    LEAT_OPTIMIZER_COMPLEX_FORMULAS(ENTRY)
#undef ENTRY
};
static const leat_optimizer_fn_t kComplex128[LEAT_OPTIMIZER_COUNT] = {
#define ENTRY(NAME, name, ...) [LEAT_OPTIMIZER_##NAME] = name##_c128,
    LEAT_OPTIMIZER_COMPLEX_FORMULAS(ENTRY)
#undef ENTRY
};

leat_prologue_fn_t leat_prologue_step(leat_prologue_t step, int dtype) {
  const leat_optimizer_table_t* table = LEAT_ISA_SELECT_AVX2(leat_optimizer_table);
  LEAT_DCHECK(dtype == LEAT_DTYPE_FLOAT || dtype == LEAT_DTYPE_DOUBLE);
  return dtype == LEAT_DTYPE_DOUBLE ? table->prologue_f64[step] : table->prologue_f32[step];
}

leat_optimizer_fn_t leat_optimizer_formula(leat_optimizer_t optimizer, int dtype) {
  const leat_optimizer_table_t* table = LEAT_ISA_SELECT_AVX2(leat_optimizer_table);
  bool is_v2 = optimizer == LEAT_OPTIMIZER_FTRL_V2;
  bool is_ftrl = is_v2 || optimizer == LEAT_OPTIMIZER_FTRL;
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return table->f32[optimizer];
    case LEAT_DTYPE_DOUBLE: return table->f64[optimizer];
    case LEAT_DTYPE_COMPLEX64: return kComplex64[optimizer];
    case LEAT_DTYPE_COMPLEX128: return kComplex128[optimizer];
    case LEAT_DTYPE_HALF:
      if (is_ftrl) return is_v2 ? ftrl_v2_f16 : ftrl_f16;
      return table->f32[optimizer];
    case LEAT_DTYPE_BFLOAT16:
      if (is_ftrl) return is_v2 ? ftrl_v2_bf16 : ftrl_bf16;
      return table->f32[optimizer];
    default: return NULL;
  }
}
