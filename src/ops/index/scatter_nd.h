// What the shape functions of ops that scatter by index tuples share: ScatterNd and TensorScatter*
// here, ScatterNd* on variables in ops/state.
#ifndef LEAT_OPS_INDEX_SCATTER_ND_H_
#define LEAT_OPS_INDEX_SCATTER_ND_H_

#include "graph/inference/inference.h"

// INVALID_ARGUMENT unless |updates| are slices of |whole|, one for each tuple of |indices|.
LEAT_MUST_USE leat_status_t leat_scatter_nd_check_shapes(leat_inference_t* c,
                                                         leat_partial_shape_t indices,
                                                         leat_partial_shape_t updates,
                                                         leat_partial_shape_t whole);

#endif  // LEAT_OPS_INDEX_SCATTER_ND_H_
