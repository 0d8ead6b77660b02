// The fuzzy simplicial set that UMAP makes of the nearest rows of each row: edges between rows with
// a membership from 0 to 1, which says how surely the two are neighbours.
#ifndef LEAT_BOARD_FUZZY_SET_H_
#define LEAT_BOARD_FUZZY_SET_H_

#include "board/nearest.h"

typedef struct board_fuzzy_edge_s {
  uint32_t a, b;
  float membership;
} board_fuzzy_edge_t;

typedef struct board_fuzzy_set_s {
  board_fuzzy_edge_t* edges;  // each pair once
  size_t count;
} board_fuzzy_set_t;

// The memberships of the |count| nearest of one row, of distances |squares| squared: 1 for the
// nearest, and less the farther, so that their sum is the logarithm of |count| to the base 2 where
// distances allow it.
void board_fuzzy_memberships(const float* squares, size_t count, float* out_memberships);
// The set of all rows in |arena|: a pair of which a says p and b says q has p + q - p q.
LEAT_MUST_USE leat_status_t board_fuzzy_set_make(const board_nearest_t* nearest,
                                                 leat_arena_t* arena, board_fuzzy_set_t* out_set);

#endif  // LEAT_BOARD_FUZZY_SET_H_
