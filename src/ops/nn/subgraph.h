// Small subgraphs that gradients are built of. Each function adds nodes to the builder's graph and
// gives their output; errors stay in the builder's status, where the caller of the gradient looks.
#ifndef LEAT_OPS_NN_SUBGRAPH_H_
#define LEAT_OPS_NN_SUBGRAPH_H_

#include "graph/builder.h"

// Items [begin, end) of a vector. A negative end counts from the end of the vector, and 0 is the
// end itself.
leat_output_t leat_subgraph_slice(leat_builder_t* b, leat_output_t vector, int begin, int end);
// Item |index| of a vector as a scalar; a negative index counts from the end.
leat_output_t leat_subgraph_item(leat_builder_t* b, leat_output_t vector, int index);
// Concatenates two or three vectors; |z| may be LEAT_OUTPUT_NONE.
leat_output_t leat_subgraph_join(leat_builder_t* b, leat_output_t x, leat_output_t y,
                                 leat_output_t z);
// Inserts a dimension of size 1 at |axis|.
leat_output_t leat_subgraph_expand(leat_builder_t* b, leat_output_t x, int axis);
// Casts |x| to |dtype|; gives |x| when it has that type.
leat_output_t leat_subgraph_cast(leat_builder_t* b, leat_output_t x, int dtype);
// Transposes |x|: dimension i of the result is dimension order[i] of |x|.
leat_output_t leat_subgraph_transpose(leat_builder_t* b, leat_output_t x, const int32_t* order,
                                      int count);
// Sums over dimension |axis|, which is kept with size 1 if |keeps|, else dropped.
leat_output_t leat_subgraph_sum(leat_builder_t* b, leat_output_t x, int axis, bool keeps);

#endif  // LEAT_OPS_NN_SUBGRAPH_H_
