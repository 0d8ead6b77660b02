// The inner loops of average pools, compiled for each instruction set. The mean of a window is over
// the positions that lie inside the input, so padding does not count. The innermost loop is over
// channels, which are consecutive, so the compiler makes vector instructions of it. The gradient
// clears the images of its range first, since windows may overlap and add up.
#include "ops/nn/avg_pool_cpu.h"

#include <string.h>

static int64_t span_size(leat_pool_span_t span) {
  return span.end > span.begin ? span.end - span.begin : 0;
}

// The number of input positions in a window of output row |row|.
static int64_t count_positions(const leat_pool_row_t* row, leat_pool_span_t columns) {
  return span_size(row->planes) * span_size(row->rows) * span_size(columns);
}

#define T float
#define FN(name) name##_f32
#include "ops/nn/avg_pool_loops.inc"

#define T double
#define FN(name) name##_f64
#include "ops/nn/avg_pool_loops.inc"

extern const leat_avg_pool_loops_t LEAT_ISA_NAME(leat_avg_pool_loops);
const leat_avg_pool_loops_t LEAT_ISA_NAME(leat_avg_pool_loops) = {
    .average_f32 = average_f32,
    .average_f64 = average_f64,
    .spread_f32 = spread_f32,
    .spread_f64 = spread_f64,
};
