// The inner loops of max pools over the eight integer types. They are compiled once, for the
// baseline instruction set: pools of integers are rare.
#include <string.h>

#include "base/checked.h"
#include "ops/nn/pool_cpu.h"

#define TYPE int8_t
#define SUFFIX(name) name##_i8
#define MASK int8_t
#define LOWEST INT8_MIN
#include "ops/nn/max_pool_loops.inc"

#define TYPE int16_t
#define SUFFIX(name) name##_i16
#define MASK int16_t
#define LOWEST INT16_MIN
#include "ops/nn/max_pool_loops.inc"

#define TYPE int32_t
#define SUFFIX(name) name##_i32
#define MASK int32_t
#define LOWEST INT32_MIN
#include "ops/nn/max_pool_loops.inc"

#define TYPE int64_t
#define SUFFIX(name) name##_i64
#define MASK int64_t
#define LOWEST INT64_MIN
#include "ops/nn/max_pool_loops.inc"

#define TYPE uint8_t
#define SUFFIX(name) name##_u8
#define MASK int8_t
#define LOWEST 0
#include "ops/nn/max_pool_loops.inc"

#define TYPE uint16_t
#define SUFFIX(name) name##_u16
#define MASK int16_t
#define LOWEST 0
#include "ops/nn/max_pool_loops.inc"

#define TYPE uint32_t
#define SUFFIX(name) name##_u32
#define MASK int32_t
#define LOWEST 0
#include "ops/nn/max_pool_loops.inc"

#define TYPE uint64_t
#define SUFFIX(name) name##_u64
#define MASK int64_t
#define LOWEST 0
#include "ops/nn/max_pool_loops.inc"

const leat_max_pool_loops_t* leat_max_pool_plain_loops(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_INT8: return &loops_i8;
    case LEAT_DTYPE_INT16: return &loops_i16;
    case LEAT_DTYPE_INT32: return &loops_i32;
    case LEAT_DTYPE_INT64: return &loops_i64;
    case LEAT_DTYPE_UINT8: return &loops_u8;
    case LEAT_DTYPE_UINT16: return &loops_u16;
    case LEAT_DTYPE_UINT32: return &loops_u32;
    default: return &loops_u64;
  }
}
