// Definition of NearestNeighbors, which finds the centers that lie nearest to each point.
//
//   points [n, d], centers [m, d], k -> indices [n, min(k, m)], distances [n, min(k, m)]
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_nearest_ops[] = {
    {.name = "NearestNeighbors",
     .inputs = "points: float; centers: float; k: int64",
     .outputs = "nearest_center_indices: int64; nearest_center_distances: float",
     .shape = leat_shape_unknown,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1), LEAT_RULE_SCALAR(2),
                            LEAT_RULE_SAME_DIM(0, 1, 1, 1)),
     .doc = "The nearest centers of each point, and the squares of their distances."},
    LEAT_OP_ROWS_END,
};
