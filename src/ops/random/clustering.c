// The ops that choose the first centers of k-means among the points: k-means++, and a step of the
// Markov chain of K-MC2 that stands in for it where there are very many points.
//
//   KmeansPlusPlusInitialization  points [n, d], num_to_sample, ... -> samples [num_to_sample, d]
//   KMC2ChainInitialization       distances [n], seed -> index []
//
// Their numbers are functions of the seed. The kernels are in clustering_cpu.c.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_clustering_ops[] = {
    {.name = "KmeansPlusPlusInitialization",
     .inputs = "points: float; num_to_sample: int64; seed: int64; num_retries_per_sample: int64",
     .outputs = "samples: float",
     .shape = leat_shape_unknown,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_SCALAR(1), LEAT_RULE_SCALAR(2),
                            LEAT_RULE_SCALAR(3)),
     .doc = "Rows of points that lie far from each other, as k-means++ chooses them."},
    {.name = "KMC2ChainInitialization",
     .inputs = "distances: float; seed: int64",
     .outputs = "index: int64",
     .shape = leat_shape_scalar_output,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0), LEAT_RULE_NOT_EMPTY(0), LEAT_RULE_SCALAR(1)),
     .doc = "The end of a Markov chain over points whose squared distances are given."},
    LEAT_OP_ROWS_END,
};
