// The words that the formulas of the optimizers are written in. T is the element type where they
// are used; |s| the arrays, |count| their length. Where all types are real, REAL is defined before.
#ifndef LEAT_OPS_TRAIN_FORMULA_CPU_H_
#define LEAT_OPS_TRAIN_FORMULA_CPU_H_

#include "ops/train/optimizers_cpu.h"

#define ARGUMENT(index) const T c##index = ((const T*)s->scalars)[index]
#define VARIABLE(index, name)            \
  const T* name##_in = s->in[index];     \
  T* name##_out = s->out[index]
// The gradient is multiplied first. Not a complex one: of an infinity 1 may make a NaN.
#ifdef REAL
#define GRADIENT                   \
  const T* gradient = s->gradient; \
  const T scale = s->scale ? *(const T*)s->scale : ONE
#define GRADIENT_AT(i) (gradient[i] * scale)
#else
#define GRADIENT const T* gradient = s->gradient
#define GRADIENT_AT(i) gradient[i]
#endif
#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < count; ++i)
#define ONE ((T)1)
#define SIGN(x) ((x) > 0 ? ONE : (x) < 0 ? -ONE : (x))  // NaN stays
#define POSITIVE(x) ((x) < 0 ? (T)0 : (x))

#endif  // LEAT_OPS_TRAIN_FORMULA_CPU_H_
