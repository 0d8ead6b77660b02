// Projections: points of few dimensions that stand for those of many.
#ifndef LEAT_BOARD_PROJECTION_H_
#define LEAT_BOARD_PROJECTION_H_

#include "board/embeddings.h"

#define BOARD_PRINCIPAL_COUNT 3
#define BOARD_TSNE_ROWS 1000  // of which t-SNE makes one projection, at most

// The columns of |matrix| with their mean taken off, projected on the BOARD_PRINCIPAL_COUNT
// directions in which they vary most: |rows| x 3, row by row. |out_shares| gets the share of the
// whole variance that each direction has. The directions are the same at each call, and their signs
// such that the largest part of each is positive. Numbers that are not finite count as 0.
LEAT_MUST_USE leat_status_t board_project_principal(const board_matrix_t* matrix,
                                                    leat_arena_t* arena, float** out_points,
                                                    double out_shares[BOARD_PRINCIPAL_COUNT]);
// Places rows that are near each other in |matrix| near each other in |dims| dimensions, 2 or 3
// (t-SNE): |rows| x |dims|. |perplexity| is about how many neighbours count. It begins with the
// principal directions, so that it has the same result at each call. INVALID_ARGUMENT for more than
// BOARD_TSNE_ROWS rows.
LEAT_MUST_USE leat_status_t board_project_neighbours(const board_matrix_t* matrix, uint32_t dims,
                                                     double perplexity, leat_arena_t* arena,
                                                     float** out_points);

#endif  // LEAT_BOARD_PROJECTION_H_
