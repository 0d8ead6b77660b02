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

#define DEFINE(suffix, type)                                                                      \
  static void average_##suffix(const leat_pool_t* p, const void* input, void* output,             \
                               int64_t begin, int64_t end) {                                      \
    leat_pool_pace_t pace = leat_pool_pace_of(p);                                                 \
    const int64_t n = p->channels;                                                                \
    for (int64_t index = begin; index < end; ++index) {                                           \
      const leat_pool_row_t row = leat_pool_row(p, index);                                        \
      type* y = (type*)output + index * p->out[2] * n;                                            \
      for (int64_t column = 0; column < p->out[2]; ++column, y += n) {                            \
        if (leat_pool_is_over(&pace)) return;                                                     \
        const leat_pool_span_t columns = leat_pool_span(p, 2, column);                            \
        const type count = (type)count_positions(&row, columns);                                  \
        for (int64_t i = 0; i < n; ++i) y[i] = 0;                                                 \
        LEAT_POOL_EACH(p, row, columns, at) {                                                     \
          const type* x = (const type*)input + at * n;                                            \
          _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] += x[i];                      \
        }                                                                                         \
        for (int64_t i = 0; i < n; ++i) y[i] /= count;                                            \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  static void spread_##suffix(const leat_pool_t* p, const void* gradient, void* result,           \
                              int64_t begin, int64_t end) {                                       \
    leat_pool_pace_t pace = leat_pool_pace_of(p);                                                 \
    const int64_t n = p->channels, positions = p->in[0] * p->in[1] * p->in[2];                    \
    const int64_t rows = p->out[0] * p->out[1];                                                   \
    memset((type*)result + begin * positions * n, 0,                                              \
           (size_t)((end - begin) * positions * n) * sizeof(type));                               \
    for (int64_t index = begin * rows; index < end * rows; ++index) {                             \
      const leat_pool_row_t row = leat_pool_row(p, index);                                        \
      const type* dy = (const type*)gradient + index * p->out[2] * n;                             \
      for (int64_t column = 0; column < p->out[2]; ++column, dy += n) {                           \
        if (leat_pool_is_over(&pace)) return;                                                     \
        const leat_pool_span_t columns = leat_pool_span(p, 2, column);                            \
        const type share = 1 / (type)count_positions(&row, columns);                              \
        LEAT_POOL_EACH(p, row, columns, at) {                                                     \
          type* dx = (type*)result + at * n;                                                      \
          _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) dx[i] += dy[i] * share;            \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }
DEFINE(f32, float)
DEFINE(f64, double)

extern const leat_avg_pool_loops_t LEAT_ISA_NAME(leat_avg_pool_loops);
const leat_avg_pool_loops_t LEAT_ISA_NAME(leat_avg_pool_loops) = {
    .average_f32 = average_f32,
    .average_f64 = average_f64,
    .spread_f32 = spread_f32,
    .spread_f64 = spread_f64,
};
