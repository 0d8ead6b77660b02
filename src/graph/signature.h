// What an op's declaration says about one node: its attributes complete, its outputs' types.
#ifndef LEAT_GRAPH_SIGNATURE_H_
#define LEAT_GRAPH_SIGNATURE_H_

#include "graph/graph.h"

typedef struct leat_node_signature_s {
  const leat_attr_t* attrs;  // the op's, in its order, then others
  int attr_count;
  const uint8_t* output_types;
  int output_count;
} leat_node_signature_t;

// Completes and checks |spec| against its op: attributes, arity and types of the inputs. Lies in
// the graph's arena.
LEAT_MUST_USE leat_status_t leat_signature_resolve(leat_graph_t* graph,
                                                   const leat_node_spec_t* spec,
                                                   leat_node_signature_t* out_signature);

// Arity and types of the inputs only, under |attrs| (the op's, complete).
LEAT_MUST_USE leat_status_t leat_signature_check_inputs(leat_graph_t* graph,
                                                        const leat_node_spec_t* spec,
                                                        const leat_attr_t* attrs);

// Tensors that |argument| stands for, under |attrs| (the op's, complete).
int64_t leat_signature_argument_count(const leat_op_argument_t* argument, const leat_attr_t* attrs);
// Type of the |index|-th of them, + 100 for a reference.
int leat_signature_argument_type(const leat_op_argument_t* argument, const leat_attr_t* attrs,
                                 int64_t index);

#endif  // LEAT_GRAPH_SIGNATURE_H_
