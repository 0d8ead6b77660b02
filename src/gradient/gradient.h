// Symbolic gradients of a graph (section 4.1): the backward walk from ys to xs, each node's part by
// its op's gradient function, sums where several paths meet.
#ifndef LEAT_GRADIENT_GRADIENT_H_
#define LEAT_GRADIENT_GRADIENT_H_

#include "graph/gradient.h"

// What a caller may ask for besides; NULL or zeroed: nothing.
typedef struct leat_gradient_options_s {
  // Nodes through which nothing flows back.
  const leat_output_t* stop;
  int stop_count;
  // How a node that calls a function (LEAT_OP_CALLS) is differentiated: adds nodes under |scope|
  // that compute the same outputs from the same inputs and says which outputs these are. They may
  // contain calls again. An output 0 of none: the node stays, and is like any other, as all are
  // when |expand| is NULL.
  leat_status_t (*expand)(void* data, leat_graph_t* graph, int32_t node, leat_string_view_t scope,
                          leat_output_t* out_outputs);
  void* data;
} leat_gradient_options_t;

// Adds nodes under |prefix| (that no earlier call had) that compute the gradient of sum(ys) with
// respect to each of |xs|. Loops and conditionals are known by their nodes alone (Enter, Exit,
// Switch, Merge); loops between xs and ys get variables that keep what the gradient's loop reads.
// |grad_ys|: dC/dy for each y (an entry that does not exist, or NULL for all, means ones).
// |out_gradients| [x_count]: none where C does not depend on x. Errors: INVALID_ARGUMENT /
// UNIMPLEMENTED / NOT_FOUND ("No gradient defined for op: X"); nodes that were added stay, and
// nothing reads them.
LEAT_MUST_USE leat_status_t leat_add_gradients(leat_graph_t* graph, const leat_output_t* ys,
                                               int y_count, const leat_output_t* xs, int x_count,
                                               const leat_output_t* grad_ys,
                                               const leat_gradient_options_t* options,
                                               leat_string_view_t prefix,
                                               leat_gradient_value_t* out_gradients);

#endif  // LEAT_GRADIENT_GRADIENT_H_
