// The nearest rows of each row of a matrix, by Euclidean distance, found by comparing all pairs.
#ifndef LEAT_BOARD_NEAREST_H_
#define LEAT_BOARD_NEAREST_H_

#include "board/embeddings.h"

// The |count| nearest rows of each of |rows| rows, the nearest first, equal ones by their index.
typedef struct board_nearest_s {
  size_t rows, count;
  uint32_t* indices;  // rows x count
  float* squares;     // of the distances: rows x count, finite
} board_nearest_t;

// Finds them into |arena|; |count| must be below the rows. A distance that is no finite number
// counts as the largest that a float holds.
LEAT_MUST_USE leat_status_t board_nearest_find(const board_matrix_t* matrix, size_t count,
                                               leat_arena_t* arena, board_nearest_t* out_nearest);

#endif  // LEAT_BOARD_NEAREST_H_
