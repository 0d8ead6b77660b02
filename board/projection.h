// Projections: points of few dimensions that stand for those of many. Each has the same result at
// each call.
#ifndef LEAT_BOARD_PROJECTION_H_
#define LEAT_BOARD_PROJECTION_H_

#include "board/embeddings.h"

#define BOARD_PRINCIPAL_COUNT 3
#define BOARD_NEIGHBOUR_ROWS 5000  // of which t-SNE and UMAP make one projection, at most

// The columns of |matrix| with their mean taken off, projected on the BOARD_PRINCIPAL_COUNT
// directions in which they vary most: |rows| x 3, row by row. |out_shares| gets the share of the
// whole variance that each direction has. The signs of the directions are such that the largest
// part of each is positive. Numbers that are not finite count as 0.
LEAT_MUST_USE leat_status_t board_project_principal(const board_matrix_t* matrix,
                                                    leat_arena_t* arena, float** out_points,
                                                    double out_shares[BOARD_PRINCIPAL_COUNT]);
// Places rows that are near each other in |matrix| near each other in |dims| dimensions, 2 or 3, by
// t-SNE: |rows| x |dims|. |perplexity| is about how many neighbours count. INVALID_ARGUMENT for no
// rows, or more than BOARD_NEIGHBOUR_ROWS.
LEAT_MUST_USE leat_status_t board_project_neighbours(const board_matrix_t* matrix, uint32_t dims,
                                                     double perplexity, leat_arena_t* arena,
                                                     float** out_points);
// The same by UMAP, for which the |neighbours| nearest rows count.
LEAT_MUST_USE leat_status_t board_project_umap(const board_matrix_t* matrix, uint32_t dims,
                                               size_t neighbours, leat_arena_t* arena,
                                               float** out_points);
// What both refuse.
LEAT_MUST_USE leat_status_t board_projection_check(const board_matrix_t* matrix, uint32_t dims);
// Makes |count| rows of |basis| orthogonal and of length 1; those that depend on others become 0.
void board_orthogonalize(double* basis, size_t count, size_t columns);

#endif  // LEAT_BOARD_PROJECTION_H_
