// Pieces of graph that gradients are made of.
#ifndef LEAT_OPS_NN_SUBGRAPH_H_
#define LEAT_OPS_NN_SUBGRAPH_H_

#include "graph/builder.h"

// Items [begin, end) of a vector; an end of 0 is its own end, a negative one counts from there.
leat_output_t leat_subgraph_slice(leat_builder_t* b, leat_output_t vector, int begin, int end);
// Item |index| (from the end when negative) as a scalar.
leat_output_t leat_subgraph_item(leat_builder_t* b, leat_output_t vector, int index);
// Two or three (|z| exists) vectors one behind the other.
leat_output_t leat_subgraph_join(leat_builder_t* b, leat_output_t x, leat_output_t y,
                                 leat_output_t z);
// A new dimension of size 1.
leat_output_t leat_subgraph_expand(leat_builder_t* b, leat_output_t x, int axis);
leat_output_t leat_subgraph_cast(leat_builder_t* b, leat_output_t x, int dtype);
// Reordered dimensions.
leat_output_t leat_subgraph_transpose(leat_builder_t* b, leat_output_t x, const int32_t* order,
                                      int count);
// Sum over one dimension, kept with size 1 or dropped.
leat_output_t leat_subgraph_sum(leat_builder_t* b, leat_output_t x, int axis, bool keeps);

#endif  // LEAT_OPS_NN_SUBGRAPH_H_
