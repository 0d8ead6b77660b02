// The inner loops of max pools over float and double, compiled for each instruction set from
// max_pool_loops.inc.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "ops/nn/max_pool_cpu.h"

#define TYPE float
#define SUFFIX(name) name##_f32
#define MASK int32_t
#define LOWEST (-__FLT_MAX__)
#include "ops/nn/max_pool_loops.inc"

#define TYPE double
#define SUFFIX(name) name##_f64
#define MASK int64_t
#define LOWEST (-__DBL_MAX__)
#include "ops/nn/max_pool_loops.inc"

extern const leat_max_pool_floats_t LEAT_ISA_NAME(leat_max_pool_floats);
const leat_max_pool_floats_t LEAT_ISA_NAME(leat_max_pool_floats) = {&loops_f32, &loops_f64};
