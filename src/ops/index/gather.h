// The dense gradient of what is taken along an axis, which GatherV2 and ResourceGather share.
#ifndef LEAT_OPS_INDEX_GATHER_H_
#define LEAT_OPS_INDEX_GATHER_H_

#include "graph/builder.h"

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

#endif  // LEAT_OPS_INDEX_GATHER_H_
