// What a node that calls functions stands for (section 10): ordinary nodes. An op that CALLS has a
// `lower`, which adds them through this context, as a gradient function adds those of a gradient.
// What the nodes of a body become is the function room's (src/function/).
#ifndef LEAT_GRAPH_LOWERING_H_
#define LEAT_GRAPH_LOWERING_H_

#include "graph/gradient.h"

typedef struct leat_lowering_s leat_lowering_t;

// What a body gave.
typedef struct leat_call_s {
  leat_output_t* returns;
  int return_count;
  int32_t done;  // a node that has run when all effects of the body have; -1: it has none
} leat_call_t;

// Adds the nodes of |function|'s body, called with |arguments|. Nodes of it that read nothing wait
// for |gate| (-1: for nothing): what makes them live and belong to a frame. The result lies in the
// graph's arena. Errors are kept in the builder.
typedef leat_call_t (*leat_call_fn_t)(leat_lowering_t* lowering,
                                      const leat_function_name_t* function,
                                      leat_outputs_t arguments, int32_t gate);

struct leat_lowering_s {
  leat_builder_t builder;       // its control inputs are what the node waits for
  const leat_node_t* node;      // perhaps not in the builder's graph: |inputs| stand for its own
  const leat_output_t* inputs;  // node->input_count
  int32_t gate;                 // for nodes that read nothing; -1: they need none
  leat_output_t* outputs;       // to fill: node->output_count
  int32_t done;                 // to fill; preset to -1
  leat_call_fn_t call;
  // The gradient of |function|: |arguments| are its own, then one dC/dy for each of its returns.
  leat_call_fn_t gradient;
};

static inline const leat_function_name_t* leat_lowering_function(const leat_lowering_t* l,
                                                                 const char* attr) {
  return leat_node_attr(l->node, leat_string_view_from(attr))->function;
}
// Hands the call's returns out as the node's outputs. INVALID_ARGUMENT when their types differ.
LEAT_MUST_USE leat_status_t leat_lowering_finish(leat_lowering_t* lowering, leat_call_t call);
// A call of one function with all of the node's inputs: what `lower` of a node named by its
// function does.
LEAT_MUST_USE leat_status_t leat_lower_call(leat_lowering_t* lowering,
                                            const leat_function_name_t* function);

// The gradient of a call as a call: a SymbolicGradient. For those that are not expanded, since
// their function has a gradient function of its own, or calls itself.
LEAT_MUST_USE leat_status_t leat_gradient_of_call(leat_gradient_t* g);

#endif  // LEAT_GRAPH_LOWERING_H_
