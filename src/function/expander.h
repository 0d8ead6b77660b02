// Expands calls of functions into nodes (section 10). The expander adds the nodes of a function's
// body to a graph, in the place of a call, and the bodies of the calls in it likewise. It is used
// when a signature is compiled (function/inline.c), when a body is made to run by itself
// (function/body_graph.h), and for gradients (function/call_gradient.h). Calls that are not
// expanded stay in the graph and run through the function runtime: recursive ones, and branches
// (If, While) that do not ask for it. An expander is a plain struct, used by one thread.
#ifndef LEAT_FUNCTION_EXPANDER_H_
#define LEAT_FUNCTION_EXPANDER_H_

#include "graph/function/lowering.h"

// The functions whose bodies are being added, from the innermost to the outermost: a call of one of
// them is recursive. Items stand on the stacks of the calls that add the bodies. |depth| counts
// them.
typedef struct leat_call_chain_s {
  const struct leat_call_chain_s* caller;
  leat_string_view_t function;
  int depth;
} leat_call_chain_t;

typedef struct leat_expander_s {
  leat_graph_t* graph;             // receives the nodes; its library holds the functions
  const leat_call_chain_t* chain;  // NULL outside of bodies
  bool lower_all;                  // expand branches too, though the node does not ask for it
  size_t most_nodes;               // in a graph with more, calls in bodies are not expanded
  int64_t* call_count;             // incremented for each body that is added; may be NULL
  bool* lacks_function;            // set when a function is not defined; may be NULL
} leat_expander_t;
// An expander for a graph that has |node_count| nodes without those of bodies. The graph may grow
// by 2^16 nodes before calls within bodies are left as they are: a library of n functions can
// describe 2^n bodies.
static inline leat_expander_t leat_expander_make(leat_graph_t* graph, size_t node_count) {
  return (leat_expander_t){.graph = graph, .most_nodes = node_count + (1 << 16)};
}

// A call, perhaps of another graph, and what it reads in the expander's graph. Everything is
// borrowed. What is added waits for the |control_count| nodes.
typedef struct leat_call_site_s {
  const leat_node_t* node;
  leat_string_view_t name;  // the scope of the added nodes
  const leat_output_t* inputs;
  const int32_t* control_inputs;
  int control_count;
  int32_t gate;  // see leat_call_fn_t
} leat_call_site_t;

// Whether |node| is a call that shall be expanded: its op can be lowered, it is no recursion and
// not too deep, and if it is a branch (If, While) it asks for it or |lower_all| does.
bool leat_expander_takes(const leat_expander_t* expander, const leat_node_t* node);
// Adds the nodes that the call stands for. |out_outputs| [node->output_count] are its outputs;
// |*out_done| becomes a node that runs when all effects of the call have happened, or -1 when it
// has none. On failure the nodes that were added stay.
LEAT_MUST_USE leat_status_t leat_expander_expand(const leat_expander_t* expander,
                                                 const leat_call_site_t* site,
                                                 leat_output_t* out_outputs, int32_t* out_done);
// Adds a node for a call that is not expanded: the same op, or a PartitionedCall where the op is a
// function, which has no kernel.
LEAT_MUST_USE leat_status_t leat_expander_keep(const leat_expander_t* expander,
                                               const leat_call_site_t* site, int32_t* out_node);

// How a body is added. A zeroed |gate| would be node 0: without a gate it is -1.
typedef struct leat_body_options_s {
  leat_string_view_t scope;  // put before the names of the body: "call/"
  leat_string_view_t device;  // of nodes that ask for none
  int32_t gate;               // see leat_call_fn_t
} leat_body_options_t;

// Adds the body of |function| with |arguments|, one output for each tensor that the signature's
// arguments stand for. The arrays of |out_call| lie in the graph's arena. NOT_FOUND when the
// library does not have the function; INVALID_ARGUMENT when arguments or attributes do not fit its
// signature, or its body is malformed.
LEAT_MUST_USE leat_status_t leat_expander_add_body(const leat_expander_t* expander,
                                                   const leat_function_name_t* function,
                                                   leat_outputs_t arguments,
                                                   const leat_body_options_t* options,
                                                   leat_call_t* out_call);

#endif  // LEAT_FUNCTION_EXPANDER_H_
