// One loop a type. Integers wrap.
#include "ops/queue/numbers_cpu.h"

#include "device/cpu/half.h"
#include "tensor/dtype.h"

typedef void (*add_fn_t)(const void* a, const void* b, void* sum, int64_t count);

#define ADD_PLAIN(NAME, type, arithmetic)                                              \
  static void add_##NAME(const void* a, const void* b, void* sum, int64_t count) {     \
    const type *x = a, *y = b;                                                         \
    type* s = sum;                                                                     \
    for (int64_t i = 0; i < count; ++i) s[i] = (type)((arithmetic)x[i] + (arithmetic)y[i]); \
  }
#define PLAIN_TYPES(X)                             \
  X(FLOAT, float, float)                           \
  X(DOUBLE, double, double)                        \
  X(INT8, int8_t, uint8_t)                         \
  X(INT16, int16_t, uint16_t)                      \
  X(INT32, int32_t, uint32_t)                      \
  X(INT64, int64_t, uint64_t)                      \
  X(UINT8, uint8_t, uint8_t)                       \
  X(UINT16, uint16_t, uint16_t)                    \
  X(UINT32, uint32_t, uint32_t)                    \
  X(UINT64, uint64_t, uint64_t)                    \
  X(COMPLEX64, leat_complex64_t, leat_complex64_t) \
  X(COMPLEX128, leat_complex128_t, leat_complex128_t)
PLAIN_TYPES(ADD_PLAIN)

#define ADD_NARROW(NAME, type, widen, narrow)                                       \
  static void add_##NAME(const void* a, const void* b, void* sum, int64_t count) {  \
    const type *x = a, *y = b;                                                      \
    type* s = sum;                                                                  \
    for (int64_t i = 0; i < count; ++i) s[i] = narrow(widen(x[i]) + widen(y[i]));   \
  }
ADD_NARROW(HALF, leat_half_t, leat_half_to_float, leat_half_from_float)
ADD_NARROW(BFLOAT16, leat_bfloat16_t, leat_bfloat16_to_float, leat_bfloat16_from_float)

static const add_fn_t kAdd[LEAT_DTYPE_COUNT] = {
#define ADD_ENTRY(NAME, type, arithmetic) [LEAT_DTYPE_##NAME] = add_##NAME,
    PLAIN_TYPES(ADD_ENTRY)
#undef ADD_ENTRY
    [LEAT_DTYPE_HALF] = add_HALF,
    [LEAT_DTYPE_BFLOAT16] = add_BFLOAT16,
};

bool leat_numbers_add(int dtype, const void* a, const void* b, void* sum, int64_t count) {
  add_fn_t add = dtype > 0 && dtype < LEAT_DTYPE_COUNT ? kAdd[dtype] : 0;
  if (add) add(a, b, sum, count);
  return add != 0;
}
