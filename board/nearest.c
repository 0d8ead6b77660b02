// Each row keeps its nearest rows so far as a sorted list, into which a pair that is nearer than
// the last is inserted. Most pairs are not, so the time is that of the distances.
#include "board/nearest.h"

#include <float.h>
#include <math.h>

#define LANES 8  // sums that are independent, so that a processor adds several at once

static float square_between(const float* a, const float* b, size_t columns) {
  float lanes[LANES] = {0}, sum = 0;
  size_t c = 0;
  for (; c + LANES <= columns; c += LANES) {
    for (size_t lane = 0; lane < LANES; ++lane) {
      float away = a[c + lane] - b[c + lane];
      lanes[lane] += away * away;
    }
  }
  for (; c < columns; ++c) lanes[0] += (a[c] - b[c]) * (a[c] - b[c]);
  for (size_t lane = 0; lane < LANES; ++lane) sum += lanes[lane];
  return isfinite(sum) ? sum : FLT_MAX;
}

// Rows come in the order of their indices, so an equal distance stands behind those before it.
static void insert(board_nearest_t* nearest, size_t row, uint32_t other, float square) {
  uint32_t* indices = nearest->indices + row * nearest->count;
  float* squares = nearest->squares + row * nearest->count;
  size_t at = nearest->count - 1;
  if (square >= squares[at]) return;
  for (; at > 0 && squares[at - 1] > square; --at) {
    squares[at] = squares[at - 1];
    indices[at] = indices[at - 1];
  }
  squares[at] = square;
  indices[at] = other;
}

leat_status_t board_nearest_find(const board_matrix_t* matrix, size_t count, leat_arena_t* arena,
                                 board_nearest_t* out_nearest) {
  size_t rows = matrix->rows, columns = matrix->columns;
  LEAT_DCHECK(count < rows || !rows);
  *out_nearest = (board_nearest_t){.rows = rows, .count = count};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows * count + 1, &out_nearest->indices));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows * count + 1, &out_nearest->squares));
  for (size_t i = 0; i < rows * count; ++i) out_nearest->squares[i] = INFINITY;
  for (size_t a = 0; a < rows && count; ++a) {
    for (size_t b = 0; b < a; ++b) {
      float square =
          square_between(matrix->values + a * columns, matrix->values + b * columns, columns);
      insert(out_nearest, a, (uint32_t)b, square);
      insert(out_nearest, b, (uint32_t)a, square);
    }
  }
  return leat_ok_status();
}
