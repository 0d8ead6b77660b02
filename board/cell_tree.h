// Barnes and Hut's approximation of the forces by which points of t-SNE repel each other. They lie
// in a tree of cells, and a cell that is far from a point acts on it as if all its points lay at
// their centre.
#ifndef LEAT_BOARD_CELL_TREE_H_
#define LEAT_BOARD_CELL_TREE_H_

#include "base/arena.h"

typedef struct board_cell_tree_s board_cell_tree_t;

// Room for the tree of |rows| points of |dims| dimensions, 2 or 3, in |arena|.
LEAT_MUST_USE leat_status_t board_cell_tree_create(size_t rows, uint32_t dims, leat_arena_t* arena,
                                                   board_cell_tree_t** out_tree);
// For |points| (rows x dims) and q(i, j) = 1 / (1 + squared distance of i and j): |out_forces|
// (rows x dims) gets the sum over j of q(i, j)^2 (point i - point j), and what is returned is the
// sum of all q(i, j), i unlike j. A cell counts as one point where its width is less than |theta|
// of its distance; 0 is exact, and |theta| is at most 0.5, so that a cell never acts on a point
// within it.
double board_cell_tree_repel(board_cell_tree_t* tree, const float* points, float theta,
                             float* out_forces);

#endif  // LEAT_BOARD_CELL_TREE_H_
