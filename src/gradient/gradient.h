// Symbolic gradients of a graph (section 4.1), as TF_AddGradients offers them. From ys and xs the
// backward walk finds the nodes on paths between them and visits these in reverse: the gradient
// function of each node's op turns dC/dy of its outputs into dC/dx of its inputs, and contributions
// that meet at an output are added.
#ifndef LEAT_GRADIENT_GRADIENT_H_
#define LEAT_GRADIENT_GRADIENT_H_

#include "graph/gradient.h"

// Gradient functions that the caller has beside those of the ops. An operation's entry is the name
// of its op or, where it has one, its attribute "_gradient_op_type".
typedef struct leat_own_gradients_s {
  void* data;
  // Whether |build| is the gradient of |entry|, in place of the op's function.
  bool (*has)(void* data, leat_string_view_t entry);
  // As a leat_gradient_fn_t.
  leat_status_t (*build)(void* data, leat_gradient_t* gradient);
} leat_own_gradients_t;

// What a caller may ask for besides. A NULL pointer or a zeroed struct: nothing.
typedef struct leat_gradient_options_s {
  // Outputs whose nodes are treated as constants: nothing flows back through them.
  const leat_output_t* stop;
  int stop_count;
  bool colocate;  // the nodes that are built for a node are colocated with it
  // Nodes as TensorFlow's C++ gradients make them instead of Python's, where the two differ in more
  // than the way to the same values: "prefix/MatMul" and not "prefix/x_grad/MatMul", and matrix
  // products without the marks that they are gradients.
  bool as_cpp;
  const leat_own_gradients_t* own;  // NULL: none
  // Whether a gradient that comes to |node|, whose op is declared to have none
  // (leat_gradient_none), is an error, as through an op of which nobody knows one. NULL: it never
  // is, and ends there.
  bool (*refuses)(const leat_node_t* node);
  // Makes the error for |entry|, of which nobody knows a gradient. NULL: it is NOT_FOUND and names
  // the node.
  leat_status_t (*unknown)(leat_string_view_t entry);
  // How a node that calls a function (LEAT_OP_CALLS) is differentiated: adds nodes under |scope|
  // that compute the same outputs from the same inputs, and tells them in |out_outputs|. The nodes
  // may be calls again. If |out_outputs|[0] does not exist afterwards, the call is not expanded and
  // its op's gradient function is used. NULL: no call is expanded.
  leat_status_t (*expand)(void* data, leat_graph_t* graph, int32_t node, leat_string_view_t scope,
                          leat_output_t* out_outputs);
  void* data;
} leat_gradient_options_t;

// The entry under which the gradient function of |node| is looked up.
leat_string_view_t leat_gradient_entry(const leat_node_t* node);

// What is differentiated by what. Everything is borrowed for the call.
typedef struct leat_gradient_spec_s {
  const leat_output_t* ys;
  int y_count;
  const leat_output_t* xs;
  int x_count;
  const leat_output_t* grad_ys;  // [y_count] dC/dy; ones where an entry does not exist, or for NULL
  const leat_gradient_options_t* options;  // NULL: the defaults
  leat_string_view_t prefix;  // of the names of the nodes, without its last "/"
} leat_gradient_spec_t;

// Adds nodes that compute the gradient of sum(ys) with respect to each of the xs. Loops and
// conditionals are recognised by their nodes alone (Enter, Exit, Switch, Merge); loops between xs
// and ys get additional variables, which keep what their gradients read. |out_gradients| [x_count]
// become the gradients, none where C does not depend on x. INVALID_ARGUMENT for control flow that
// is not a loop or a conditional, NOT_FOUND "No gradient defined for op: X", UNIMPLEMENTED beyond
// limits. On failure the nodes that were added stay, and nothing reads them.
LEAT_MUST_USE leat_status_t leat_add_gradients(leat_graph_t* graph,
                                               const leat_gradient_spec_t* spec,
                                               leat_gradient_value_t* out_gradients);

#endif  // LEAT_GRADIENT_GRADIENT_H_
