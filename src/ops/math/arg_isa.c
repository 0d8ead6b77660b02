// The searches of ArgMax and ArgMin, compiled per instruction set. Carrying an index along with
// each maximum keeps the compiler from using full vectors, so that a long dense row is searched in
// two passes, each at the speed of memory: the reduction's fold finds the extremum, and a second
// loop finds the first element that equals it. Columns side by side carry an index per column,
// which vectors can do.
//
// Invariant: the first of equal elements wins and NaN loses, in both ways. A fold returns NaN if
// there is one, and then the row is searched element by element instead. Types without vector loops
// exist in the baseline alone.
#include "ops/math/arg_cpu.h"

#include "device/cpu/half.h"
#include "device/cpu/vector_math_lanes.h"
#include "ops/math/loops_cpu.h"
#include "ops/math/reduction_cpu.h"

// true when |value| replaces |best|. |wins| is ABOVE or BELOW; a value that is NaN never replaces
// anything.
#define IS_BETTER(wins, value, best) (wins(value, best) & ((value) == (value)))

// Whether |a| beats |b|, or one of them is NaN.
#define ABOVE(a, b) (!((a) <= (b)))
#define BELOW(a, b) (!((a) >= (b)))

#define TYPE float
#define SUFFIX(name) name##_f32
#define KIND LEAT_FOLD_F32
#define TOTAL double
#include "ops/math/arg_loops.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#define KIND LEAT_FOLD_F64
#define TOTAL double
#include "ops/math/arg_loops.inc"

#define TYPE int32_t
#define SUFFIX(name) name##_i32
#define KIND LEAT_FOLD_I32
#define TOTAL int64_t
#include "ops/math/arg_loops.inc"

#define TYPE int64_t
#define SUFFIX(name) name##_i64
#define KIND LEAT_FOLD_I64
#define TOTAL int64_t
#include "ops/math/arg_loops.inc"

// Types that exist in the baseline only.
#if !defined(__AVX2__)
#define TYPE int8_t
#define SUFFIX(name) name##_i8
#include "ops/math/arg_loops.inc"

#define TYPE int16_t
#define SUFFIX(name) name##_i16
#include "ops/math/arg_loops.inc"

#define TYPE uint8_t
#define SUFFIX(name) name##_u8
#include "ops/math/arg_loops.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_u16
#include "ops/math/arg_loops.inc"

#define TYPE uint32_t
#define SUFFIX(name) name##_u32
#include "ops/math/arg_loops.inc"

#define TYPE uint64_t
#define SUFFIX(name) name##_u64
#include "ops/math/arg_loops.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_half
#define VALUE float
#define LOAD leat_half_to_float
#include "ops/math/arg_loops.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_bfloat16
#define VALUE float
#define LOAD leat_bfloat16_to_float
#include "ops/math/arg_loops.inc"

#define REST(name)                                                                       \
  LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, name)                                              \
  [LEAT_LOOP_TYPE_HALF] = name##_half, [LEAT_LOOP_TYPE_BFLOAT16] = name##_bfloat16,              \
  [LEAT_LOOP_TYPE_BOOL] = name##_u8,
#else
#define REST(name) [LEAT_LOOP_TYPE_INT32] = name##_i32, [LEAT_LOOP_TYPE_INT64] = name##_i64,
#endif
#define ENTRIES(name) LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name) REST(name)

extern const leat_arg_loops_t LEAT_ISA_NAME(leat_arg_loops);
const leat_arg_loops_t LEAT_ISA_NAME(leat_arg_loops) = {.max = {ENTRIES(max_search)},
                                                        .min = {ENTRIES(min_search)}};
