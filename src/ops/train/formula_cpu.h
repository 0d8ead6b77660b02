// The macros in which the formulas of the optimizers are written. Where they are used T is the
// element type, |s| the arrays and |count| their length. A file in which all types are real defines
// REAL, which adds the formulas that have no complex form.
#ifndef LEAT_OPS_TRAIN_FORMULA_CPU_H_
#define LEAT_OPS_TRAIN_FORMULA_CPU_H_

#include "ops/train/optimizers_cpu.h"

// Declares c0, c1, ...: the scalars in the op's order.
#define ARGUMENT(index) const T c##index = ((const T*)s->scalars)[index]
// Declares the arrays of variable |index|: what is read, and what is written.
#define VARIABLE(index, name)            \
  const T* name##_in = s->in[index];     \
  T* name##_out = s->out[index]
#define GRADIENT const T* gradient = s->gradient
// The pragma promises that elements are independent, so that the loop is vectorised.
#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < count; ++i)
#define ONE ((T)1)
#define SIGN(x) ((x) > 0 ? ONE : (x) < 0 ? -ONE : (x))  // 0 and NaN stay what they are
#define POSITIVE(x) ((x) < 0 ? (T)0 : (x))

#endif  // LEAT_OPS_TRAIN_FORMULA_CPU_H_
