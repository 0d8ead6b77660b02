// The gradient of one node (section 4.1), as its op's gradient function builds it: given dC/dy for
// the outputs, add nodes that compute dC/dx for the inputs. The walk over the graph, aggregation
// and zeros are the gradient room's (src/gradient/).
#ifndef LEAT_GRAPH_GRADIENT_H_
#define LEAT_GRAPH_GRADIENT_H_

#include "graph/builder.h"

// A gradient: a dense tensor, or rows of one (TensorFlow's IndexedSlices) when |indices| exists.
typedef struct leat_gradient_value_s {
  leat_output_t dense;  // or the rows' values
  leat_output_t indices;
  leat_output_t dense_shape;
} leat_gradient_value_t;

typedef struct leat_gradient_s {
  leat_builder_t builder;
  int32_t node;
  const leat_gradient_value_t* output_gradients;  // one an output; none where C does not depend
  leat_gradient_value_t* input_gradients;         // to fill; preset to none
} leat_gradient_t;

static inline const leat_node_t* leat_gradient_node(const leat_gradient_t* g) {
  return &g->builder.graph->nodes[g->node];
}
static inline leat_output_t leat_gradient_input(const leat_gradient_t* g, int index) {
  return leat_gradient_node(g)->inputs[index];
}
static inline leat_output_t leat_gradient_output(const leat_gradient_t* g, int index) {
  return (leat_output_t){g->node, index};
}
// Zeros of the type and shape of |x| (of the variable, when it is a handle). Its value is not read
// where its shape will do.
leat_output_t leat_build_zeros_of(leat_builder_t* builder, leat_output_t x);
// dC/dy of output |index|, dense (rows are made dense; zeros where C does not depend on it).
leat_output_t leat_gradient_of_output(leat_gradient_t* g, int index);
// false where C does not depend on that output.
bool leat_gradient_has_output(const leat_gradient_t* g, int index);
// |value| itself, or its rows added up by UnsortedSegmentSum. Errors are kept in |builder|.
leat_output_t leat_gradient_value_to_dense(leat_builder_t* builder, leat_gradient_value_t value);
// As it came, perhaps rows.
leat_gradient_value_t leat_gradient_value_of_output(leat_gradient_t* g, int index);
static inline void leat_gradient_set_input(leat_gradient_t* g, int index, leat_output_t value) {
  g->input_gradients[index] = (leat_gradient_value_t){value, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
}
static inline void leat_gradient_set_input_rows(leat_gradient_t* g, int index, leat_output_t values,
                                                leat_output_t indices, leat_output_t dense_shape) {
  g->input_gradients[index] = (leat_gradient_value_t){values, indices, dense_shape};
}
// For binary ops that broadcast: sums |gx| and |gy| down to the shapes of x and y and sets input
// gradients 0 and 1 (one that does not exist is left alone). Nothing is added where the static
// shapes say that nothing was broadcast; BroadcastGradientArgs decides at run time where they do
// not tell.
void leat_gradient_set_broadcast_inputs(leat_gradient_t* g, leat_output_t gx, leat_output_t gy);

// For rows whose op is not differentiable: no input has a gradient, and that is no error.
LEAT_MUST_USE leat_status_t leat_gradient_none(leat_gradient_t* g);

#endif  // LEAT_GRAPH_GRADIENT_H_
