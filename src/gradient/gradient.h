// Symbolic gradients of a graph (section 4.1): the backward walk from ys to xs, each node's part by
// its op's gradient function, sums where several paths meet.
#ifndef LEAT_GRADIENT_GRADIENT_H_
#define LEAT_GRADIENT_GRADIENT_H_

#include "graph/gradient.h"

// Adds nodes under |prefix| that compute the gradient of sum(ys) with respect to each of |xs|.
// |grad_ys|: dC/dy for each y (an entry that does not exist, or NULL for all, means ones).
// |stop|: nodes through which nothing flows back (may be NULL). |out_gradients| [x_count]: none
// where C does not depend on x. Errors: INVALID_ARGUMENT / UNIMPLEMENTED / NOT_FOUND ("No gradient
// defined for op: X").
LEAT_MUST_USE leat_status_t leat_add_gradients(leat_graph_t* graph, const leat_output_t* ys,
                                               int y_count, const leat_output_t* xs, int x_count,
                                               const leat_output_t* grad_ys,
                                               const leat_output_t* stop, int stop_count,
                                               leat_string_view_t prefix,
                                               leat_gradient_value_t* out_gradients);

#endif  // LEAT_GRADIENT_GRADIENT_H_
