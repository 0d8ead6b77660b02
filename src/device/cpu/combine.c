// Functions that combine runs of elements in place (add, subtract, minimum, maximum, multiply,
// divide, assign), one function per type and operation, all made from the lists of types below.
// leat_combine_find looks them up in one table.
//
// Integers are computed as unsigned types, which wrap instead of overflowing. Sums and differences
// run over vectors of one cache line; the other operations are plain loops that the compiler
// vectorizes as it can. half and bfloat16 are computed as float and rounded after each operation.
// Strings allocate, so that they have a function of their own, with a status.
#include "device/cpu/combine.h"

#include "base/string_builder.h"
#include "device/cpu/half.h"

// X(NAME, the type that computes (unsigned for integers, which wrap), the type that compares).
#define ARITHMETIC_TYPES(X)             \
  X(FLOAT, float, float)                \
  X(DOUBLE, double, double)             \
  X(INT8, uint8_t, int8_t)              \
  X(INT16, uint16_t, int16_t)           \
  X(INT32, uint32_t, int32_t)           \
  X(INT64, uint64_t, int64_t)           \
  X(UINT8, uint8_t, uint8_t)            \
  X(UINT16, uint16_t, uint16_t)         \
  X(UINT32, uint32_t, uint32_t)         \
  X(UINT64, uint64_t, uint64_t)
#define COMPLEX_TYPES(X)                            \
  X(COMPLEX64, leat_complex64_t, leat_complex64_t)  \
  X(COMPLEX128, leat_complex128_t, leat_complex128_t)
#define HALF_TYPES(X)                                       \
  X(HALF, leat_half_to_float, leat_half_from_float)         \
  X(BFLOAT16, leat_bfloat16_to_float, leat_bfloat16_from_float)

#define DEFINE(operation, NAME, type, expression)                                    \
  static void operation##_##NAME(void* to, const void* from, int64_t count) {        \
    type* a_ = to;                                                                   \
    const type* b_ = from;                                                           \
    for (int64_t i = 0; i < count; ++i) {                                            \
      type a = a_[i], b = b_[i];                                                     \
      a_[i] = (type)(expression);                                                    \
    }                                                                                \
  }
// Defines the same by vectors of 64 bytes, and the rest one by one.
#define DEFINE_WIDE(operation, NAME, type, expression)                                         \
  typedef type operation##_##NAME##_line                                                       \
      __attribute__((vector_size(64), aligned(sizeof(type)), may_alias));                      \
  DEFINE(operation##_items, NAME, type, expression)                                            \
  static void operation##_##NAME(void* to, const void* from, int64_t count) {                  \
    operation##_##NAME##_line* a_ = to;                                                        \
    const operation##_##NAME##_line* b_ = from;                                                \
    for (; count >= (int64_t)(sizeof *a_ / sizeof(type)); count -= sizeof *a_ / sizeof(type)) { \
      operation##_##NAME##_line a = *a_, b = *b_++;                                            \
      *a_++ = (expression);                                                                    \
    }                                                                                          \
    operation##_items_##NAME(a_, b_, count);                                                   \
  }
#define DEFINE_SUMS(NAME, wrap, type) \
  DEFINE_WIDE(add, NAME, wrap, a + b) \
  DEFINE_WIDE(sub, NAME, wrap, a - b)
#define DEFINE_EXTREMA(NAME, wrap, type)   \
  DEFINE(min, NAME, type, b < a ? b : a)   \
  DEFINE(max, NAME, type, a < b ? b : a)
ARITHMETIC_TYPES(DEFINE_SUMS)
ARITHMETIC_TYPES(DEFINE_EXTREMA)
#define DEFINE_COMPLEX_SUMS(NAME, x, type) \
  DEFINE(add, NAME, type, a + b)           \
  DEFINE(sub, NAME, type, a - b)
COMPLEX_TYPES(DEFINE_COMPLEX_SUMS)

// X(NAME, the type that multiplies, at least as wide as int, the type of the element).
#define FACTOR_TYPES(X)                             \
  X(FLOAT, float, float)                            \
  X(DOUBLE, double, double)                         \
  X(UINT8, uint32_t, uint8_t)                       \
  X(UINT16, uint32_t, uint16_t)                     \
  X(UINT32, uint32_t, uint32_t)                     \
  X(UINT64, uint64_t, uint64_t)                     \
  COMPLEX_TYPES(X)
#define SIGNED_FACTOR_TYPES(X)    \
  X(INT8, uint32_t, int8_t)       \
  X(INT16, uint32_t, int16_t)     \
  X(INT32, uint32_t, int32_t)     \
  X(INT64, uint64_t, int64_t)
#define DEFINE_PRODUCT(NAME, wide, type) DEFINE(mul, NAME, type, (wide)a * (wide)b)
#define DEFINE_QUOTIENT(NAME, wide, type) DEFINE(div, NAME, type, a / b)
// The least integer has no quotient by -1: the result wraps.
#define DEFINE_SIGNED_QUOTIENT(NAME, wide, type) \
  DEFINE(div, NAME, type, b == -1 ? (type)(0 - (wide)a) : a / b)
FACTOR_TYPES(DEFINE_PRODUCT)
FACTOR_TYPES(DEFINE_QUOTIENT)
SIGNED_FACTOR_TYPES(DEFINE_PRODUCT)
SIGNED_FACTOR_TYPES(DEFINE_SIGNED_QUOTIENT)

#define DEFINE_HALF(NAME, widen, narrow)                               \
  DEFINE(add, NAME, uint16_t, narrow(widen(a) + widen(b)))             \
  DEFINE(sub, NAME, uint16_t, narrow(widen(a) - widen(b)))             \
  DEFINE(mul, NAME, uint16_t, narrow(widen(a) * widen(b)))             \
  DEFINE(div, NAME, uint16_t, narrow(widen(a) / widen(b)))             \
  DEFINE(min, NAME, uint16_t, widen(b) < widen(a) ? b : a)             \
  DEFINE(max, NAME, uint16_t, widen(a) < widen(b) ? b : a)
HALF_TYPES(DEFINE_HALF)

DEFINE(add, BOOL, bool, a || b)

#define DEFINE_ASSIGN(width)                                                    \
  static void assign_##width(void* to, const void* from, int64_t count) {       \
    memcpy(to, from, (size_t)count * width);                                    \
  }
DEFINE_ASSIGN(1)
DEFINE_ASSIGN(2)
DEFINE_ASSIGN(4)
DEFINE_ASSIGN(8)
DEFINE_ASSIGN(16)

// Assigning copies bytes, so that one function serves all types of a size; NULL for objects.
static leat_combine_fn_t find_assign(int dtype) {
  if (leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) return NULL;
  switch (leat_dtype_size(dtype)) {
    case 1: return assign_1;
    case 2: return assign_2;
    case 4: return assign_4;
    case 8: return assign_8;
    default: return assign_16;
  }
}

#define SUM_ENTRY(NAME, x, y) \
  [LEAT_DTYPE_##NAME] = {add_##NAME, sub_##NAME, 0, 0, mul_##NAME, div_##NAME},
#define ALL_ENTRY(NAME, x, y) \
  [LEAT_DTYPE_##NAME] = {add_##NAME, sub_##NAME, min_##NAME, max_##NAME, mul_##NAME, div_##NAME},

leat_combine_fn_t leat_combine_find(leat_combine_t how, int dtype) {
  static const leat_combine_fn_t functions[LEAT_DTYPE_COUNT][6] = {
      ARITHMETIC_TYPES(ALL_ENTRY) HALF_TYPES(ALL_ENTRY) COMPLEX_TYPES(SUM_ENTRY)
      [LEAT_DTYPE_BOOL] = {add_BOOL, 0, 0, 0, 0, 0},
  };
  if (how == LEAT_COMBINE_ASSIGN) return find_assign(dtype);
  return functions[dtype][how - LEAT_COMBINE_ADD];
}

// The sum is made in place, so that |a| is copied to the sum's place first.
bool leat_numbers_add(int dtype, const void* a, const void* b, void* sum, int64_t count) {
  if (dtype == LEAT_DTYPE_BOOL || dtype <= 0 || dtype >= LEAT_DTYPE_COUNT) return false;
  leat_combine_fn_t add = leat_combine_find(LEAT_COMBINE_ADD, dtype);
  if (add && count) {
    if (sum != a) memcpy(sum, a, (size_t)count * leat_dtype_size(dtype));
    add(sum, b, count);
  }
  return add != NULL;
}

leat_status_t leat_combine_strings(void* to, const void* from, int64_t count) {
  TF_TString* targets = to;
  const TF_TString* sources = from;
  for (int64_t i = 0; i < count; ++i) {
    leat_string_builder_t text;
    leat_string_builder_initialize(leat_allocator_system(), &text);
    leat_string_view_t a = {TF_TString_GetDataPointer(&targets[i]),
                            TF_TString_GetSize(&targets[i])};
    leat_string_view_t b = {TF_TString_GetDataPointer(&sources[i]),
                            TF_TString_GetSize(&sources[i])};
    leat_string_builder_append(&text, a);
    leat_string_builder_append(&text, b);
    leat_status_t status = leat_status_clone(text.status);
    if (!status) {
      status = leat_object_set_string(&targets[i], leat_string_builder_view(&text));
    }
    leat_string_builder_deinitialize(&text);
    if (status) return status;
  }
  return leat_ok_status();
}
