// Gradients through calls of functions (section 4.1). The backward walk differentiates nodes and
// knows no functions, so a call on its way is expanded, and the walk sees the nodes for which the
// call stands. Whoever differentiates a graph that may have calls passes the options:
//
//   leat_call_gradient_t state;
//   leat_gradient_options_t options = leat_call_gradient_options(graph, NULL, NULL, &state);
//   leat_add_gradients(graph, &(leat_gradient_spec_t){..., .options = &options}, gradients);
#ifndef LEAT_FUNCTION_CALL_GRADIENT_H_
#define LEAT_FUNCTION_CALL_GRADIENT_H_

#include "function/expander.h"
#include "gradient/gradient.h"

// The state of one differentiation. Its fields are for call_gradient.c.
typedef struct leat_call_gradient_s {
  leat_expander_t expander;
  size_t own_count;  // nodes that were in the graph before any expansion
  size_t looked_at;  // nodes that were searched for control flow
  bool has_flow;     // one of those is control flow, so a call may be in a loop or a branch
  const leat_own_gradients_t* own;
} leat_call_gradient_t;

// Options for leat_add_gradients that expand the calls of |graph|. |chain| names the functions
// whose bodies are being added, or is NULL. |own| are gradient functions of the caller, or is NULL;
// a call that has one is not expanded. |state| is the caller's and must live as long as the options
// are used.
leat_gradient_options_t leat_call_gradient_options(leat_graph_t* graph,
                                                   const leat_call_chain_t* chain,
                                                   const leat_own_gradients_t* own,
                                                   leat_call_gradient_t* state);

#endif  // LEAT_FUNCTION_CALL_GRADIENT_H_
