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

// true when |value| replaces |best|. |wins|(a, b) says that a beats b or b is NaN; a value that is
// NaN never replaces anything. |load| turns an element into a value that can be compared.
#define IS_BETTER(wins, value, best) (wins(value, best) & ((value) == (value)))

#define COLUMN(name, type, value_type, load, wins)                                       \
  static int64_t name##_column(const type* x, int64_t stride, int64_t n) {               \
    int64_t best_index = 0;                                                              \
    value_type best = load(x[0]);                                                        \
    for (int64_t i = 1; i < n; ++i) {                                                    \
      const value_type value = load(x[i * stride]);                                      \
      const int is_better = IS_BETTER(wins, value, best);                                \
      best = is_better ? value : best;                                                   \
      best_index = is_better ? i : best_index;                                           \
    }                                                                                    \
    return best_index;                                                                   \
  }

// Defines a search that goes through one column after the other.
#define ARG(name, type, value_type, load, wins)                                          \
  COLUMN(name, type, value_type, load, wins)                                             \
  static void name(const void* data, int64_t stride, int64_t n, int64_t width,           \
                   int64_t* out_indices) {                                               \
    for (int64_t j = 0; j < width; ++j) {                                                \
      out_indices[j] = name##_column((const type*)data + j, stride, n);                  \
    }                                                                                    \
  }

// Defines the search for the first element that equals |value|, which must be among them.
#define FIND(suffix, type)                                                               \
  static int64_t find_##suffix(const type* x, int64_t n, type value) {                   \
    typedef type vector_t __attribute__((vector_size(VECTOR_BYTES)));                    \
    enum { WIDTH = sizeof(vector_t) / sizeof(type) };                                    \
    const vector_t wanted = value - (vector_t){0};                                       \
    int64_t i = 0;                                                                       \
    for (; i + 4 * WIDTH <= n; i += 4 * WIDTH) {                                         \
      ints_t is_here = {0};                                                              \
      LEAT_UNROLL for (int v = 0; v < 4; ++v) {                                          \
        vector_t part;                                                                   \
        memcpy(&part, x + i + v * WIDTH, sizeof part);                                   \
        is_here |= (ints_t)(part == wanted);                                             \
      }                                                                                  \
      if (has_lane(is_here)) break;                                                      \
    }                                                                                    \
    while (x[i] != value) ++i;                                                           \
    return i;                                                                            \
  }

// Defines a search in vectors: a long dense row in two passes, a short or strided one element by
// element, and several columns side by side.
#define VECTOR_ARG(name, suffix, type, total_type, KIND, REDUCTION, wins)                \
  COLUMN(name, type, type, PLAIN, wins)                                                  \
  static int64_t name##_row(const type* x, int64_t n) {                                  \
    total_type total = (total_type)x[0];                                                 \
    LEAT_ISA_NAME(leat_folds).items[REDUCTION][LEAT_FOLD_##KIND].row(x, n, &total);      \
    const type best = (type)total;                                                       \
    return best == best ? find_##suffix(x, n, best) : name##_column(x, 1, n);            \
  }                                                                                      \
  static void name(const void* data, int64_t stride, int64_t n, int64_t width,           \
                   int64_t* out_indices) {                                               \
    const type* x = data;                                                                \
    if (width == 1) {                                                                    \
      const bool is_dense = stride == 1 && n >= 256;                                     \
      *out_indices = is_dense ? name##_row(x, n) : name##_column(x, stride, n);          \
      return;                                                                            \
    }                                                                                    \
    type bests[LEAT_ARG_MAX_WIDTH];                                                      \
    memcpy(bests, x, (size_t)width * sizeof *bests);                                     \
    memset(out_indices, 0, (size_t)width * sizeof *out_indices);                         \
    for (int64_t i = 1; i < n; ++i) {                                                    \
      const type* row = x + i * stride;                                                  \
      for (int64_t j = 0; j < width; ++j) {                                              \
        const type value = row[j];                                                       \
        const int is_better = IS_BETTER(wins, value, bests[j]);                          \
        bests[j] = is_better ? value : bests[j];                                         \
        out_indices[j] = is_better ? i : out_indices[j];                                 \
      }                                                                                  \
    }                                                                                    \
  }

#define ABOVE(a, b) (!((a) <= (b)))
#define BELOW(a, b) (!((a) >= (b)))
#define PLAIN(x) (x)
#define VECTOR_BOTH(suffix, type, total, KIND)                                           \
  FIND(suffix, type)                                                                     \
  VECTOR_ARG(max_##suffix, suffix, type, total, KIND, LEAT_REDUCTION_MAX, ABOVE)         \
  VECTOR_ARG(min_##suffix, suffix, type, total, KIND, LEAT_REDUCTION_MIN, BELOW)
VECTOR_BOTH(f32, float, double, F32)
VECTOR_BOTH(f64, double, double, F64)
VECTOR_BOTH(i32, int32_t, int64_t, I32)
VECTOR_BOTH(i64, int64_t, int64_t, I64)

// Types that exist in the baseline only.
#if !defined(__AVX2__)
#define BOTH(suffix, type)                        \
  ARG(max_##suffix, type, type, PLAIN, ABOVE)     \
  ARG(min_##suffix, type, type, PLAIN, BELOW)
BOTH(i8, int8_t)
BOTH(i16, int16_t)
BOTH(u8, uint8_t)
BOTH(u16, uint16_t)
BOTH(u32, uint32_t)
BOTH(u64, uint64_t)
ARG(max_half, uint16_t, float, leat_half_to_float, ABOVE)
ARG(min_half, uint16_t, float, leat_half_to_float, BELOW)
ARG(max_bfloat16, uint16_t, float, leat_bfloat16_to_float, ABOVE)
ARG(min_bfloat16, uint16_t, float, leat_bfloat16_to_float, BELOW)
#define REST(name)                                                                       \
  LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, name)                                              \
  [LEAT_LOOP_TYPE_HALF] = name##_half, [LEAT_LOOP_TYPE_BFLOAT16] = name##_bfloat16,              \
  [LEAT_LOOP_TYPE_BOOL] = name##_u8,
#else
#define REST(name) [LEAT_LOOP_TYPE_INT32] = name##_i32, [LEAT_LOOP_TYPE_INT64] = name##_i64,
#endif
#define ENTRIES(name) LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name) REST(name)

extern const leat_arg_loops_t LEAT_ISA_NAME(leat_arg_loops);
const leat_arg_loops_t LEAT_ISA_NAME(leat_arg_loops) = {.max = {ENTRIES(max)},
                                                        .min = {ENTRIES(min)}};
