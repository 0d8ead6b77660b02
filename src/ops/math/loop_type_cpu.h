// The data types for which tables of loops have columns, numbered without gaps to keep the tables
// small. A quantized type uses the column of the integer that stores it.
#ifndef LEAT_OPS_MATH_LOOP_TYPE_CPU_H_
#define LEAT_OPS_MATH_LOOP_TYPE_CPU_H_

#include "tensor/dtype.h"

#define LEAT_LOOP_TYPES(X)                                                                \
  X(FLOAT) X(DOUBLE) X(INT8) X(INT16) X(INT32) X(INT64) X(UINT8) X(UINT16) X(UINT32)      \
  X(UINT64) X(COMPLEX64) X(COMPLEX128) X(HALF) X(BFLOAT16) X(BOOL) X(STRING) X(RESOURCE)  \
  X(VARIANT)

typedef enum leat_loop_type_e {
  LEAT_LOOP_TYPE_NONE,  // types without loops: every table is empty there
#define LEAT_LOOP_TYPE_ENUM_(NAME) LEAT_LOOP_TYPE_##NAME,
  LEAT_LOOP_TYPES(LEAT_LOOP_TYPE_ENUM_)
#undef LEAT_LOOP_TYPE_ENUM_
  LEAT_LOOP_TYPE_COUNT,
} leat_loop_type_t;

leat_loop_type_t leat_loop_type(int dtype);

#endif  // LEAT_OPS_MATH_LOOP_TYPE_CPU_H_
