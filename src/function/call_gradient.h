// Calls in the backward walk (section 4.1): the walk sees the nodes that a call stands for.
#ifndef LEAT_FUNCTION_CALL_GRADIENT_H_
#define LEAT_FUNCTION_CALL_GRADIENT_H_

#include "function/expander.h"
#include "gradient/gradient.h"

typedef struct leat_call_gradient_s {
  leat_expander_t expander;
  size_t own_count;  // nodes that no expansion added
  size_t looked_at;  // nodes, for
  bool has_flow;     // whether there is a loop or a conditional that calls may be part of
} leat_call_gradient_t;

// Options that expand the calls of |graph|; |chain|: of the bodies that are being added, or NULL.
// |state| is the caller's, and must live as long as they are used.
leat_gradient_options_t leat_call_gradient_options(leat_graph_t* graph,
                                                   const leat_call_chain_t* chain,
                                                   leat_call_gradient_t* state);

#endif  // LEAT_FUNCTION_CALL_GRADIENT_H_
