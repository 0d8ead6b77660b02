// What GatherNd and ResourceGatherNd share: the shape and the gradient of taking elements or slices
// by the index tuples of input 1.
//
//   params [p_0, ..., p_n], indices [..., depth] -> [..., p_depth, ..., p_n]
#ifndef LEAT_OPS_INDEX_GATHER_ND_H_
#define LEAT_OPS_INDEX_GATHER_ND_H_

#include "graph/gradient.h"
#include "graph/inference/inference.h"

// Sets output 0 to the shape of what input 1 takes of |params|.
LEAT_MUST_USE leat_status_t leat_shape_gather_nd(leat_inference_t* c, leat_partial_shape_t params);
// Sets the gradient of input 0: a gradient of rows (IndexedSlices) where the indices are known to
// be [n, 1], else a ScatterNd with |attrs|. |shape| is the shape of the params as a vector of the
// indices' type.
LEAT_MUST_USE leat_status_t leat_gather_nd_gradient(leat_gradient_t* g, leat_output_t shape,
                                                    leat_attrs_t attrs);

#endif  // LEAT_OPS_INDEX_GATHER_ND_H_
