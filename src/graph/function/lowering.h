// Lowering: replacing a node that calls functions (section 10) by ordinary nodes. An op that CALLS
// has a function row->lower, which adds those nodes through this context, as a gradient function
// adds the nodes of a gradient. A call becomes its function's body; If becomes Switch and Merge
// around two bodies; While becomes a frame around condition and body. How a body is copied, and
// what its nodes are named, is the work of src/function/, which provides |call|.
#ifndef LEAT_GRAPH_FUNCTION_LOWERING_H_
#define LEAT_GRAPH_FUNCTION_LOWERING_H_

#include "graph/gradient.h"

typedef struct leat_lowering_s leat_lowering_t;

// What a body gave when it was added.
typedef struct leat_call_s {
  leat_output_t* returns;
  int return_count;
  int32_t done;  // a node that runs when all effects of the body have happened; -1: none
} leat_call_t;

// Adds the body of |function| with |arguments| as its arguments. Nodes of the body that read
// nothing wait for |gate|, which decides whether they run and in which frame; -1: they need no
// gate. The result lies in the graph's arena. Errors are kept in the builder, and the result is
// then empty.
typedef leat_call_t (*leat_call_fn_t)(leat_lowering_t* lowering,
                                      const leat_function_name_t* function,
                                      leat_outputs_t arguments, int32_t gate);

struct leat_lowering_s {
  leat_builder_t builder;       // its control inputs are the nodes for which |node| waits
  const leat_node_t* node;      // the node to replace, perhaps of another graph than the builder's
  const leat_output_t* inputs;  // [node->input_count] its inputs in the builder's graph
  int32_t gate;                 // a control input for nodes that read nothing; -1: they need none
  leat_output_t* outputs;       // [node->output_count] to be filled
  int32_t done;                 // to be filled, see leat_call_t; preset to -1
  leat_call_fn_t call;          // adds a function's body
  // Adds the gradient of |function|; |arguments| are the function's and then one dC/dy for each
  // value that it returns.
  leat_call_fn_t gradient;
};

// The function that attribute |attr| names, which the op must declare.
static inline const leat_function_name_t* leat_lowering_function(const leat_lowering_t* l,
                                                                 const char* attr) {
  return leat_node_attr(l->node, leat_string_view_from(attr))->function;
}
// Makes the returns of |call| the outputs of the node. INVALID_ARGUMENT when their number or types
// differ from the node's.
LEAT_MUST_USE leat_status_t leat_lowering_finish(leat_lowering_t* lowering, leat_call_t call);
// Lowers a node to one call of |function| with all of the node's inputs, as PartitionedCall and
// nodes that are named by their function are lowered.
LEAT_MUST_USE leat_status_t leat_lower_call(leat_lowering_t* lowering,
                                            const leat_function_name_t* function);

// The gradient function of a call: adds a SymbolicGradient, which is a call of the function's
// gradient. It serves calls that are not expanded before gradients are built, because their
// function has a gradient function of its own or calls itself.
LEAT_MUST_USE leat_status_t leat_gradient_of_call(leat_gradient_t* g);

#endif  // LEAT_GRAPH_FUNCTION_LOWERING_H_
