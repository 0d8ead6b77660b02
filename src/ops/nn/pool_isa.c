// The inner loops of the pools over float and double, compiled for each instruction set from
// max_pool_loops.inc and avg_pool_loops.inc. The innermost loop is over channels, which are
// consecutive, so the compiler makes vector instructions of it. The mean of a window is over the
// positions that lie inside the input, so padding does not count. The gradient of an average pool
// clears the images of its range first, since windows may overlap and add up.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "ops/nn/pool_cpu.h"

// ---- Max pools ----------------------------------------------------------------------------------

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

// ---- Average pools ------------------------------------------------------------------------------

static int64_t span_size(leat_pool_span_t span) {
  return span.end > span.begin ? span.end - span.begin : 0;
}

// The number of input positions in a window of output row |row|.
static int64_t count_positions(const leat_pool_row_t* row, leat_pool_span_t columns) {
  return span_size(row->planes) * span_size(row->rows) * span_size(columns);
}

#define T float
#define FN(name) avg_##name##_f32
#include "ops/nn/avg_pool_loops.inc"

#define T double
#define FN(name) avg_##name##_f64
#include "ops/nn/avg_pool_loops.inc"

extern const leat_avg_pool_loops_t LEAT_ISA_NAME(leat_avg_pool_loops);
const leat_avg_pool_loops_t LEAT_ISA_NAME(leat_avg_pool_loops) = {
    .average_f32 = avg_average_f32,
    .average_f64 = avg_average_f64,
    .spread_f32 = avg_spread_f32,
    .spread_f64 = avg_spread_f64,
};
