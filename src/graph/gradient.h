// The context in which the gradient function of an op (section 4.1) builds the gradient of one
// node: given dC/dy for each output y, it adds nodes that compute dC/dx for each input x, by the
// chain rule. The walk over the graph, the addition of gradients that meet and everything about
// loops are the work of src/gradient/, which also decides where the nodes stand.
//
//   static leat_status_t exp_gradient(leat_gradient_t* g) {           // d exp(x) = exp(x) dx
//     leat_output_t y = leat_gradient_output(g, 0);
//     leat_gradient_set_input(
//         g, 0, leat_build_binary(&g->builder, "Mul", leat_gradient_of_output(g, 0), y));
//     return g->builder.status;
//   }
//
// A gradient function only reads the node and calls the builder. It may leave out inputs to which
// no gradient flows, and it need not check errors on the way, since the builder keeps the first.
#ifndef LEAT_GRAPH_GRADIENT_H_
#define LEAT_GRAPH_GRADIENT_H_

#include "graph/builder.h"

// A gradient: a dense tensor; or, when |indices| exists, rows of one (TensorFlow's IndexedSlices),
// where row i of |dense| belongs to row indices[i] of a tensor of shape |dense_shape| and repeated
// indices add up; or none, when |dense| does not exist.
typedef struct leat_gradient_value_s {
  leat_output_t dense;        // the tensor, or the rows [count, ...]
  leat_output_t indices;      // [count]
  leat_output_t dense_shape;  // vector, the shape of the whole tensor
} leat_gradient_value_t;
// A gradient that is zero or not asked for; one that is a single tensor; whether one is rows
// (IndexedSlices: |indices| name rows of a variable, |dense| holds them).
#define LEAT_GRADIENT_NONE \
  ((leat_gradient_value_t){LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE})
static inline leat_gradient_value_t leat_gradient_dense(leat_output_t value) {
  return (leat_gradient_value_t){value, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
}
static inline bool leat_gradient_is_rows(leat_gradient_value_t value) {
  return leat_output_exists(value.indices);
}

// What a gradient function gets. It lives for one call.
typedef struct leat_gradient_s {
  leat_builder_t builder;
  int32_t node;                                   // the node of which this is the gradient
  const leat_gradient_value_t* output_gradients;  // [outputs] dC/dy; none: C does not depend on y
  leat_gradient_value_t* input_gradients;         // [inputs] dC/dx, to be filled; preset to none
  // The nodes shall be those of TensorFlow's C++ gradient functions where Python's have marks that
  // C++ does not set.
  bool as_cpp;
} leat_gradient_t;

// The node, its data input |index| and its output |index|, as forward values. The node's pointer is
// valid until the builder adds a node, so that it is asked for again instead of kept.
static inline const leat_node_t* leat_gradient_node(const leat_gradient_t* g) {
  return &g->builder.graph->nodes[g->node];
}
static inline leat_output_t leat_gradient_input(const leat_gradient_t* g, int index) {
  return leat_gradient_node(g)->inputs[index];
}
static inline leat_output_t leat_gradient_output(const leat_gradient_t* g, int index) {
  return (leat_output_t){g->node, index};
}
// Zeros of the type and shape of |x|; where |x| is the handle of a variable, of the variable. The
// value of |x| is not read where its shape is enough, so that a loop need not keep it.
leat_output_t leat_build_zeros_of(leat_builder_t* builder, leat_output_t x);
// dC/dy of output |index| as a dense tensor: rows are added up, and none becomes zeros.
leat_output_t leat_gradient_of_output(leat_gradient_t* g, int index);
// False when C does not depend on output |index|.
bool leat_gradient_has_output(const leat_gradient_t* g, int index);
// |value| as a dense tensor; rows are added up by an UnsortedSegmentSum. Errors stay in |builder|.
leat_output_t leat_gradient_value_to_dense(leat_builder_t* builder, leat_gradient_value_t value);
// dC/dy of output |index| as it came: dense, rows or none.
leat_gradient_value_t leat_gradient_value_of_output(leat_gradient_t* g, int index);
// Sets dC/dx of input |index|: as a dense tensor, or as rows. |value| may be LEAT_OUTPUT_NONE,
// which leaves the input without a gradient.
static inline void leat_gradient_set_input(leat_gradient_t* g, int index, leat_output_t value) {
  g->input_gradients[index] = (leat_gradient_value_t){value, LEAT_OUTPUT_NONE, LEAT_OUTPUT_NONE};
}
static inline void leat_gradient_set_input_rows(leat_gradient_t* g, int index, leat_output_t values,
                                                leat_output_t indices, leat_output_t dense_shape) {
  g->input_gradients[index] = (leat_gradient_value_t){values, indices, dense_shape};
}
// For a binary op that broadcasts: |gx| and |gy| have the shape of the output; they are summed over
// the axes along which x and y were repeated and become input gradients 0 and 1. One that does not
// exist is left alone. No node is added where the shapes tell that nothing was repeated; where they
// do not tell, a BroadcastGradientArgs finds the axes at run time.
void leat_gradient_set_broadcast_inputs(leat_gradient_t* g, leat_output_t gx, leat_output_t gy);

// The gradient function of an op that is not differentiable: no input has a gradient, which is not
// an error.
LEAT_MUST_USE leat_status_t leat_gradient_none(leat_gradient_t* g);

#endif  // LEAT_GRAPH_GRADIENT_H_
