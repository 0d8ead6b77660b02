// McInnes, Healy and Melville 2018, section 3.1 and algorithms 2 and 3.
#include "board/fuzzy_set.h"

#include <math.h>

void board_fuzzy_memberships(const float* squares, size_t count, float* out_memberships) {
  double wanted = log2((double)count), low = 0, high = INFINITY, width = 1, nearest = 0;
  // Rows that are equal do not count as the nearest.
  for (size_t i = 0; i < count && nearest == 0; ++i) nearest = sqrt(squares[i]);
  for (int step = 0; step < 64; ++step) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      double beyond = sqrt(squares[i]) - nearest;
      out_memberships[i] = beyond > 0 ? (float)exp(-beyond / width) : 1;
      sum += out_memberships[i];
    }
    if (fabs(sum - wanted) < 1e-5) return;
    if (sum > wanted) {
      high = width;
      width = (low + high) / 2;
    } else {
      low = width;
      width = isinf(high) ? 2 * width : (low + high) / 2;
    }
  }
}

// What |row| says of |other|; 0 where that is none of its nearest.
static float membership_of(const board_nearest_t* nearest, const float* memberships, size_t row,
                           size_t other) {
  for (size_t i = row * nearest->count; i < (row + 1) * nearest->count; ++i) {
    if (nearest->indices[i] == other) return memberships[i];
  }
  return 0;
}

leat_status_t board_fuzzy_set_make(const board_nearest_t* nearest, leat_arena_t* arena,
                                   board_fuzzy_set_t* out_set) {
  size_t all = nearest->rows * nearest->count;
  float* memberships = NULL;
  *out_set = (board_fuzzy_set_t){0};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, all + 1, &memberships));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, all + 1, &out_set->edges));
  for (size_t row = 0; row < nearest->rows && nearest->count; ++row) {
    size_t at = row * nearest->count;
    board_fuzzy_memberships(nearest->squares + at, nearest->count, memberships + at);
  }
  for (size_t i = 0; i < all; ++i) {
    size_t row = i / nearest->count, other = nearest->indices[i];
    float own = memberships[i], back = membership_of(nearest, memberships, other, row);
    // A pair of which both speak was made when the lower row came.
    if (back > 0 && other < row) continue;
    float both = own + back - own * back;
    if (both <= 0) continue;
    out_set->edges[out_set->count++] = (board_fuzzy_edge_t){(uint32_t)row, (uint32_t)other, both};
  }
  return leat_ok_status();
}
