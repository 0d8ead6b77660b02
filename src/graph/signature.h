// What an op's declaration says about one node: which attributes it has, what inputs it must get,
// which types its outputs have. Adding a node resolves its signature; later questions read the
// node's attributes.
#ifndef LEAT_GRAPH_SIGNATURE_H_
#define LEAT_GRAPH_SIGNATURE_H_

#include "graph/graph.h"

// The result, in the graph's storage and perhaps shared with other nodes. It is not to be changed.
typedef struct leat_node_signature_s {
  const leat_attr_t* attrs;  // the op's attributes in its order, then others
  int attr_count;
  const uint8_t* output_types;
  int output_count;
} leat_node_signature_t;

// Completes the attributes of |spec| and checks number and types of its inputs. INVALID_ARGUMENT
// when the spec does not fit its op; the graph is not changed, except that |has_placeholders| may
// be set.
LEAT_MUST_USE leat_status_t leat_signature_resolve(leat_graph_t* graph,
                                                   const leat_node_spec_t* spec,
                                                   leat_node_signature_t* out_signature);

// Checks only number and types of the inputs of |spec|, for attributes |attrs| that are complete.
LEAT_MUST_USE leat_status_t leat_signature_check_inputs(leat_graph_t* graph,
                                                        const leat_node_spec_t* spec,
                                                        const leat_attr_t* attrs);

// How many tensors |argument| stands for in a node with the complete attributes |attrs|, which are
// in the op's order: 1, or the value of a number attribute or the length of a list of types.
int64_t leat_signature_argument_count(const leat_op_argument_t* argument, const leat_attr_t* attrs);
// The type of tensor |index| of |argument|, + 100 for a reference.
int leat_signature_argument_type(const leat_op_argument_t* argument, const leat_attr_t* attrs,
                                 int64_t index);

#endif  // LEAT_GRAPH_SIGNATURE_H_
