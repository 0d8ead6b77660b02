// Element types: TensorFlow's numbers, names and sizes. LEAT_DTYPE_LIST is the only list of them,
// and the enum and the tables of names and sizes (dtype.c) are expanded from it. The numbers are
// those of TF_DataType and of the "type" attributes in graph files; they can never change.
//
// A dtype travels as an int32_t in most interfaces, because a number that comes from a file or a
// caller need not be one of the enum; leat_dtype_is_valid() says whether it is. Kernels and ops
// state the types that they accept as a leat_dtype_set_t, which is a bit for each type.
#ifndef LEAT_TENSOR_DTYPE_H_
#define LEAT_TENSOR_DTYPE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string_view.h"

typedef uint16_t leat_half_t;      // IEEE binary16 bits
typedef uint16_t leat_bfloat16_t;  // upper half of an IEEE binary32
typedef float _Complex leat_complex64_t;
typedef double _Complex leat_complex128_t;

// X(NAME, number, C type, size in bytes, TensorFlow's name). String, resource and variant elements
// are objects with a life (see buffer.h); the rest are plain bytes. 4-bit types take a byte each.
#define LEAT_DTYPE_LIST(X)                                  \
  X(FLOAT, 1, float, 4, "float")                            \
  X(DOUBLE, 2, double, 8, "double")                         \
  X(INT32, 3, int32_t, 4, "int32")                          \
  X(UINT8, 4, uint8_t, 1, "uint8")                          \
  X(INT16, 5, int16_t, 2, "int16")                          \
  X(INT8, 6, int8_t, 1, "int8")                             \
  X(STRING, 7, TF_TString, 24, "string")                    \
  X(COMPLEX64, 8, leat_complex64_t, 8, "complex64")         \
  X(INT64, 9, int64_t, 8, "int64")                          \
  X(BOOL, 10, bool, 1, "bool")                              \
  X(QINT8, 11, int8_t, 1, "qint8")                          \
  X(QUINT8, 12, uint8_t, 1, "quint8")                       \
  X(QINT32, 13, int32_t, 4, "qint32")                       \
  X(BFLOAT16, 14, leat_bfloat16_t, 2, "bfloat16")           \
  X(QINT16, 15, int16_t, 2, "qint16")                       \
  X(QUINT16, 16, uint16_t, 2, "quint16")                    \
  X(UINT16, 17, uint16_t, 2, "uint16")                      \
  X(COMPLEX128, 18, leat_complex128_t, 16, "complex128")    \
  X(HALF, 19, leat_half_t, 2, "half")                       \
  X(RESOURCE, 20, leat_resource_handle_t*, 8, "resource")   \
  X(VARIANT, 21, leat_variant_t, 16, "variant")             \
  X(UINT32, 22, uint32_t, 4, "uint32")                      \
  X(UINT64, 23, uint64_t, 8, "uint64")                      \
  X(FLOAT8_E5M2, 24, uint8_t, 1, "float8_e5m2")             \
  X(FLOAT8_E4M3FN, 25, uint8_t, 1, "float8_e4m3fn")         \
  X(FLOAT8_E4M3FNUZ, 26, uint8_t, 1, "float8_e4m3fnuz")     \
  X(FLOAT8_E4M3B11FNUZ, 27, uint8_t, 1, "float8_e4m3b11fnuz") \
  X(FLOAT8_E5M2FNUZ, 28, uint8_t, 1, "float8_e5m2fnuz")     \
  X(INT4, 29, int8_t, 1, "int4")                            \
  X(UINT4, 30, uint8_t, 1, "uint4")                         \
  X(INT2, 31, int8_t, 1, "int2")                            \
  X(UINT2, 32, uint8_t, 1, "uint2")

typedef enum leat_dtype_e {
  LEAT_DTYPE_INVALID = 0,
#define LEAT_DTYPE_ENUM_(NAME, number, type, size, text) LEAT_DTYPE_##NAME = number,
  LEAT_DTYPE_LIST(LEAT_DTYPE_ENUM_)
#undef LEAT_DTYPE_ENUM_
  LEAT_DTYPE_COUNT = 33,
} leat_dtype_t;

// A reference to a mutable value of a type ("float_ref") has its number + 100. Only the outputs of
// the old reference variables have such types; a tensor's elements never do.
#define LEAT_DTYPE_REF_OFFSET 100
static inline bool leat_dtype_is_ref(int dtype) { return dtype > LEAT_DTYPE_REF_OFFSET; }
// The type itself, of a reference to it or of itself.
static inline leat_dtype_t leat_dtype_base(int dtype) {
  return (leat_dtype_t)(dtype > LEAT_DTYPE_REF_OFFSET ? dtype - LEAT_DTYPE_REF_OFFSET : dtype);
}
// The reference to |dtype|, which may be one already.
static inline leat_dtype_t leat_dtype_make_ref(int dtype) {
  return (leat_dtype_t)(leat_dtype_base(dtype) + LEAT_DTYPE_REF_OFFSET);
}

// Whether |dtype| is a known type, or a reference to one. 0 (LEAT_DTYPE_INVALID) is not.
bool leat_dtype_is_valid(int dtype);
// Bytes of an element in memory, for a reference those of its type; 0 for unknown numbers.
size_t leat_dtype_size(int dtype);
// "float", "float_ref"; "unknown" for unknown numbers. The text is static.
const char* leat_dtype_name(int dtype);
// Reads a name in any of the forms "float", "float_ref", "DT_FLOAT" and NumPy's "float32". The
// result is LEAT_DTYPE_INVALID when |name| is none of them.
leat_dtype_t leat_dtype_from_name(leat_string_view_t name);

// Sets of types, one bit a type: LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE). References are in
// no set, so the base of a type is what code asks for.
typedef uint64_t leat_dtype_set_t;
#define LEAT_DTYPE_BIT(NAME) (UINT64_C(1) << LEAT_DTYPE_##NAME)
static inline bool leat_dtype_in(int dtype, leat_dtype_set_t set) {
  return dtype > 0 && dtype < 64 && (set >> dtype & 1);
}
// The sets that rows of ops and kernels use. The 8-bit floats and the 4-bit and 2-bit integers are
// in none of them, since few ops compute with them.
#define LEAT_DTYPES_FLOATING                                                       \
  (LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE) | LEAT_DTYPE_BIT(HALF) |         \
   LEAT_DTYPE_BIT(BFLOAT16))
#define LEAT_DTYPES_COMPLEX (LEAT_DTYPE_BIT(COMPLEX64) | LEAT_DTYPE_BIT(COMPLEX128))
#define LEAT_DTYPES_SIGNED                                                         \
  (LEAT_DTYPE_BIT(INT8) | LEAT_DTYPE_BIT(INT16) | LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(INT64))
#define LEAT_DTYPES_UNSIGNED                                                       \
  (LEAT_DTYPE_BIT(UINT8) | LEAT_DTYPE_BIT(UINT16) | LEAT_DTYPE_BIT(UINT32) |       \
   LEAT_DTYPE_BIT(UINT64))
#define LEAT_DTYPES_INTEGER (LEAT_DTYPES_SIGNED | LEAT_DTYPES_UNSIGNED)
#define LEAT_DTYPES_REAL (LEAT_DTYPES_FLOATING | LEAT_DTYPES_INTEGER)
#define LEAT_DTYPES_NUMBER (LEAT_DTYPES_REAL | LEAT_DTYPES_COMPLEX)
#define LEAT_DTYPES_QUANTIZED                                                      \
  (LEAT_DTYPE_BIT(QINT8) | LEAT_DTYPE_BIT(QUINT8) | LEAT_DTYPE_BIT(QINT16) |       \
   LEAT_DTYPE_BIT(QUINT16) | LEAT_DTYPE_BIT(QINT32))
// Types whose elements are objects: created zeroed, destroyed by the buffer.
#define LEAT_DTYPES_OBJECT \
  (LEAT_DTYPE_BIT(STRING) | LEAT_DTYPE_BIT(RESOURCE) | LEAT_DTYPE_BIT(VARIANT))

#endif  // LEAT_TENSOR_DTYPE_H_
