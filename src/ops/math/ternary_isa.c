// The loops of three operands, compiled per instruction set: select (condition ? x : y) and clip.
// The elementwise engine calls them for Select, SelectV2 and ClipByValue (select_cpu.c).
//
// Selecting moves bits and does not look at them, so that one loop serves all types of one size.
// Objects (strings, handles, variants) are copied one by one, since the output must own what it
// holds. These loops and those of 16-byte elements exist in the baseline only.
//
// clip computes min(x, high) first and max with low after it. Where low > high the result is
// therefore low, and a NaN stays NaN, because both comparisons with it are false.
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/loops_cpu.h"

#define NAME select_1
#define TYPE uint8_t
#include "ops/math/select_loop.inc"
#define NAME select_2
#define TYPE uint16_t
#include "ops/math/select_loop.inc"
#define NAME select_4
#define TYPE uint32_t
#include "ops/math/select_loop.inc"
#define NAME select_8
#define TYPE uint64_t
#include "ops/math/select_loop.inc"

// Element sizes and types that exist in the baseline only.
#if !defined(__AVX2__)
typedef struct leat_pair64_s {
  uint64_t low, high;
} leat_pair64_t;
#define NAME select_16
#define TYPE leat_pair64_t
#include "ops/math/select_loop.inc"

#define SELECT_OBJECT(name, type, copy)                                     \
  static int name(const void* const inputs[], void* output, int64_t n) {    \
    const uint8_t* condition = inputs[0];                                   \
    type* zs = output;                                                      \
    for (int64_t i = 0; i < n; ++i) {                                       \
      const type* source = (const type*)inputs[condition[i] ? 1 : 2] + i;   \
      leat_status_free(copy);                                               \
    }                                                                       \
    return 0;                                                               \
  }
static leat_string_view_t view_of(const TF_TString* string) {
  return (leat_string_view_t){TF_TString_GetDataPointer(string), TF_TString_GetSize(string)};
}
SELECT_OBJECT(select_string, TF_TString, leat_object_set_string(&zs[i], view_of(source)))
SELECT_OBJECT(select_resource, leat_resource_handle_t*,
              leat_object_copy(LEAT_DTYPE_RESOURCE, source, &zs[i], 1))
SELECT_OBJECT(select_variant, leat_variant_t,
              leat_object_copy(LEAT_DTYPE_VARIANT, source, &zs[i], 1))
#define REST                                                                \
  [LEAT_LOOP_TYPE_COMPLEX128] = select_16,                                  \
  [LEAT_LOOP_TYPE_STRING] = select_string,                                  \
  [LEAT_LOOP_TYPE_RESOURCE] = select_resource,                              \
  [LEAT_LOOP_TYPE_VARIANT] = select_variant,
#else
#define REST
#endif

// A NaN x stays NaN.
#define CLIP(suffix, DTYPE, type, wide, name)                               \
  static int name##_##suffix(const void* const inputs[], void* output, int64_t n) { \
    const type* xs = inputs[0];                                             \
    const type* lows = inputs[1];                                           \
    const type* highs = inputs[2];                                          \
    type* zs = output;                                                      \
    LEAT_LOOP_INDEPENDENT                                                   \
    for (int64_t i = 0; i < n; ++i) {                                       \
      const type x = xs[i], low = lows[i], high = highs[i];                 \
      const type below = high < x ? high : x;                               \
      zs[i] = below < low ? low : below;                                    \
    }                                                                       \
    return 0;                                                               \
  }
LEAT_LOOP_FLOATS(CLIP, clip)
LEAT_LOOP_ISA_INTEGERS(CLIP, clip)

// For complex numbers real and imaginary parts are clipped alone: the bounds are corners of a box.
static int clip_c64(const void* const inputs[], void* output, int64_t n) {
  return clip_f32(inputs, output, 2 * n);
}
static int clip_c128(const void* const inputs[], void* output, int64_t n) {
  return clip_f64(inputs, output, 2 * n);
}

extern const leat_ternary_loops_t LEAT_ISA_NAME(leat_ternary_loops);
const leat_ternary_loops_t LEAT_ISA_NAME(leat_ternary_loops) = {.items = {
    [LEAT_TERNARY_SELECT] =
        {
            [LEAT_LOOP_TYPE_BOOL] = select_1,      [LEAT_LOOP_TYPE_UINT8] = select_1,
            [LEAT_LOOP_TYPE_INT8] = select_1,      [LEAT_LOOP_TYPE_UINT16] = select_2,
            [LEAT_LOOP_TYPE_INT16] = select_2,     [LEAT_LOOP_TYPE_HALF] = select_2,
            [LEAT_LOOP_TYPE_BFLOAT16] = select_2,  [LEAT_LOOP_TYPE_UINT32] = select_4,
            [LEAT_LOOP_TYPE_INT32] = select_4,     [LEAT_LOOP_TYPE_FLOAT] = select_4,
            [LEAT_LOOP_TYPE_UINT64] = select_8,    [LEAT_LOOP_TYPE_INT64] = select_8,
            [LEAT_LOOP_TYPE_DOUBLE] = select_8,    [LEAT_LOOP_TYPE_COMPLEX64] = select_8,
            REST
        },
    [LEAT_TERNARY_CLIP] = {LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, clip)
                               LEAT_LOOP_ISA_INTEGERS(LEAT_LOOP_ENTRY, clip)
                                   LEAT_LOOP_COMPLEXES(LEAT_LOOP_ENTRY, clip)},
}};
