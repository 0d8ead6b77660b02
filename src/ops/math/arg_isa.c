// Searches for extrema, per instruction set.
#include "ops/math/arg_cpu.h"

#include "device/cpu/half.h"
#include "ops/math/loops_cpu.h"

#define ARG_LANES 64

// |wins|(a, b): a beats b, or b is no number. |load| makes a value of an element. What is not a
// number loses.
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

// Column by column.
#define ARG(name, type, value_type, load, wins)                                          \
  COLUMN(name, type, value_type, load, wins)                                             \
  static void name(const void* data, int64_t stride, int64_t n, int64_t width,           \
                   int64_t* out_indices) {                                               \
    for (int64_t j = 0; j < width; ++j) {                                                \
      out_indices[j] = name##_column((const type*)data + j, stride, n);                  \
    }                                                                                    \
  }

// In vectors: a dense column in two passes, for the extremum and for where it is first; several
// columns side by side.
#define VECTOR_ARG(name, type, wins, beats)                                              \
  COLUMN(name, type, type, PLAIN, wins)                                                  \
  static int64_t name##_row(const type* x, int64_t n) {                                  \
    type bests[ARG_LANES];                                                               \
    memcpy(bests, x, sizeof bests);                                                      \
    int64_t i = ARG_LANES;                                                               \
    for (; i + ARG_LANES <= n; i += ARG_LANES) {                                         \
      for (int l = 0; l < ARG_LANES; ++l) {                                              \
        const type value = x[i + l], before = bests[l];                                  \
        bests[l] = (value beats before) | (value != value) ? value : before;             \
      }                                                                                  \
    }                                                                                    \
    type best = bests[0];                                                                \
    for (int l = 1; l < ARG_LANES; ++l) {                                                \
      best = (bests[l] beats best) | (bests[l] != bests[l]) ? bests[l] : best;           \
    }                                                                                    \
    for (; i < n; ++i) best = (x[i] beats best) | (x[i] != x[i]) ? x[i] : best;          \
    if (best != best) return name##_column(x, 1, n);                                     \
    for (i = 0; i + ARG_LANES <= n; i += ARG_LANES) {                                    \
      int is_here = 0;                                                                   \
      for (int l = 0; l < ARG_LANES; ++l) is_here |= x[i + l] == best;                   \
      if (is_here) break;                                                                \
    }                                                                                    \
    while (x[i] != best) ++i;                                                            \
    return i;                                                                            \
  }                                                                                      \
  static void name(const void* data, int64_t stride, int64_t n, int64_t width,           \
                   int64_t* out_indices) {                                               \
    const type* x = data;                                                                \
    if (width == 1) {                                                                    \
      const bool is_dense = stride == 1 && n >= 4 * ARG_LANES;                           \
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
#define VECTOR_BOTH(suffix, type)            \
  VECTOR_ARG(max_##suffix, type, ABOVE, >)   \
  VECTOR_ARG(min_##suffix, type, BELOW, <)
VECTOR_BOTH(f32, float)
VECTOR_BOTH(f64, double)
VECTOR_BOTH(i32, int32_t)
VECTOR_BOTH(i64, int64_t)
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

#define ENTRIES(name)                                                                    \
  LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name) LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, name)      \
  [LEAT_DTYPE_HALF] = name##_half, [LEAT_DTYPE_BFLOAT16] = name##_bfloat16,              \
  [LEAT_DTYPE_BOOL] = name##_u8,

extern const leat_arg_loops_t LEAT_ISA_NAME(leat_arg_loops);
const leat_arg_loops_t LEAT_ISA_NAME(leat_arg_loops) = {.max = {ENTRIES(max)},
                                                        .min = {ENTRIES(min)}};
