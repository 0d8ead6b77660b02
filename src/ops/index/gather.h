// What the ops that take of a tensor share with those that take of a variable: GatherV2 and
// ResourceGather the dense gradient of what is taken along an axis, GatherNd and ResourceGatherNd
// the shape and the gradient of elements or slices taken by index tuples.
#ifndef LEAT_OPS_INDEX_GATHER_H_
#define LEAT_OPS_INDEX_GATHER_H_

#include "graph/builder.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"

// Builds the gradient of the params, of the shape that the vector |shape| states: zeros with the
// slices of |gradient|, that of the output, added along |axis| where |indices| took them.
//
//   params [batch..., outer..., n, inner...], indices [batch..., taken...], axis = batch + outer
//
// |axis| is a scalar of int32 and not negative; |batch_dims| is how many dimensions |indices| and
// the params share.
leat_output_t leat_gather_dense_gradient(leat_builder_t* b, leat_output_t gradient,
                                         leat_output_t shape, leat_output_t indices,
                                         leat_output_t axis, int32_t batch_dims);

// GatherNd, by the index tuples of input 1:
//
//   params [p_0, ..., p_n], indices [..., depth] -> [..., p_depth, ..., p_n]
//
// Sets output 0 to the shape of what input 1 takes of |params|.
LEAT_MUST_USE leat_status_t leat_shape_gather_nd(leat_inference_t* c, leat_partial_shape_t params);
// Sets the gradient of input 0: a gradient of rows (IndexedSlices) where the indices are known to
// be [n, 1], else a ScatterNd with |attrs|. |shape| is the shape of the params as a vector of the
// indices' type.
LEAT_MUST_USE leat_status_t leat_gather_nd_gradient(leat_gradient_t* g, leat_output_t shape,
                                                    leat_attrs_t attrs);

#endif  // LEAT_OPS_INDEX_GATHER_H_
