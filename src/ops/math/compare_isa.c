// The loops of comparisons, compiled per instruction set. greater(x, y) is less(y, x), which halves
// the code. Quantized types compare as the integers that store them.
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/loops_cpu.h"

#define COMPARE(suffix, DTYPE, type, wide, name, op) \
  LEAT_LOOP_BINARY(name##_##suffix, type, uint8_t, x op y)
#define COMPARE_REAL(name, op)               \
  LEAT_LOOP_FLOATS(COMPARE, name, op)        \
  LEAT_LOOP_ISA_INTEGERS(COMPARE, name, op)
COMPARE_REAL(equal, ==)
COMPARE_REAL(not_equal, !=)
COMPARE_REAL(less, <)
COMPARE_REAL(less_equal, <=)

#define SWAPPED(suffix, DTYPE, type, wide, name, other)                               \
  static int name##_##suffix(const void* const inputs[], void* output, int64_t n) {   \
    return other##_##suffix((const void*[]){inputs[1], inputs[0]}, output, n);        \
  }
#define SWAPPED_REAL(name, other)               \
  LEAT_LOOP_FLOATS(SWAPPED, name, other)        \
  LEAT_LOOP_ISA_INTEGERS(SWAPPED, name, other)
SWAPPED_REAL(greater, less)
SWAPPED_REAL(greater_equal, less_equal)

LEAT_LOOP_BINARY(and_bool, uint8_t, uint8_t, (x != 0) & (y != 0))
LEAT_LOOP_BINARY(or_bool, uint8_t, uint8_t, (x | y) != 0)

// Types that exist in the baseline only: complex numbers, bools and strings.
#if defined(__AVX2__)
#define OTHERS(name)
#else
LEAT_LOOP_COMPLEXES(COMPARE, equal, ==)
LEAT_LOOP_COMPLEXES(COMPARE, not_equal, !=)

static bool strings_equal(const TF_TString* x, const TF_TString* y) {
  size_t size = TF_TString_GetSize(x);
  return size == TF_TString_GetSize(y) &&
         memcmp(TF_TString_GetDataPointer(x), TF_TString_GetDataPointer(y), size) == 0;
}
LEAT_LOOP_STRINGS(equal_strings, uint8_t, *z = strings_equal(x, y))
LEAT_LOOP_STRINGS(not_equal_strings, uint8_t, *z = !strings_equal(x, y))

#define OTHERS(name)                                                            \
  LEAT_LOOP_COMPLEXES(LEAT_LOOP_ENTRY, name)                                    \
  [LEAT_LOOP_TYPE_BOOL] = name##_u8, [LEAT_LOOP_TYPE_STRING] = name##_strings,
#endif

#define REAL(name) \
  LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name) LEAT_LOOP_ISA_INTEGERS(LEAT_LOOP_ENTRY, name)
extern const leat_compare_loops_t LEAT_ISA_NAME(leat_compare_loops);
const leat_compare_loops_t LEAT_ISA_NAME(leat_compare_loops) = {.items = {
    [LEAT_COMPARE_EQUAL] = {REAL(equal) OTHERS(equal)},
    [LEAT_COMPARE_NOT_EQUAL] = {REAL(not_equal) OTHERS(not_equal)},
    [LEAT_COMPARE_LESS] = {REAL(less)},
    [LEAT_COMPARE_LESS_EQUAL] = {REAL(less_equal)},
    [LEAT_COMPARE_GREATER] = {REAL(greater)},
    [LEAT_COMPARE_GREATER_EQUAL] = {REAL(greater_equal)},
    [LEAT_COMPARE_AND] = {[LEAT_LOOP_TYPE_BOOL] = and_bool},
    [LEAT_COMPARE_OR] = {[LEAT_LOOP_TYPE_BOOL] = or_bool},
}};
