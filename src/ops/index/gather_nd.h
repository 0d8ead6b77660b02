// GatherNd of tensors and of variables: elements or slices by the index tuples of input 1.
#ifndef LEAT_OPS_INDEX_GATHER_ND_H_
#define LEAT_OPS_INDEX_GATHER_ND_H_

#include "graph/gradient.h"
#include "graph/inference.h"

// The shape of what is taken of |params|.
LEAT_MUST_USE leat_status_t leat_shape_gather_nd(leat_inference_t* c, leat_partial_shape_t params);
// Slices where each tuple is one row's number, else a ScatterNd with |attrs|. |shape| is the
// params', as a vector of the indices' type.
LEAT_MUST_USE leat_status_t leat_gather_nd_gradient(leat_gradient_t* g, leat_output_t shape,
                                                    leat_attrs_t attrs);

#endif  // LEAT_OPS_INDEX_GATHER_ND_H_
