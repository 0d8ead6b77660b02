// Calls as what they stand for (section 10): a graph grows by the nodes of function bodies. Used
// when a signature is compiled (inline.h), when a body is made to run alone (body_graph.h), and by
// gradients. A function that is being expanded already (recursion) stays a call.
#ifndef LEAT_FUNCTION_EXPANDER_H_
#define LEAT_FUNCTION_EXPANDER_H_

#include "graph/lowering.h"

// A function whose body is being added, and by whom.
typedef struct leat_call_chain_s {
  const struct leat_call_chain_s* caller;
  leat_string_view_t function;
  int depth;
} leat_call_chain_t;

typedef struct leat_expander_s {
  leat_graph_t* graph;             // grows; its library holds the functions
  const leat_call_chain_t* chain;  // NULL outside bodies
  bool lower_all;                  // what branches too, where the node does not ask for it
  size_t most_nodes;               // in a larger graph, calls in bodies stay calls
  int64_t* call_count;             // counts the bodies that are added; NULL: nobody asks
  bool* lacks_function;            // hears of a call of what is not defined; NULL: nobody asks
} leat_expander_t;
// For a graph that will have |node_count| nodes without those of bodies.
static inline leat_expander_t leat_expander_make(leat_graph_t* graph, size_t node_count) {
  return (leat_expander_t){.graph = graph, .most_nodes = node_count + (1 << 16)};
}

// A call in some graph, and what it reads in the expander's.
typedef struct leat_call_site_s {
  const leat_node_t* node;
  leat_string_view_t name;  // of the node in the expander's graph: scope of what is added
  const leat_output_t* inputs;
  const int32_t* control_inputs;
  int control_count;
  int32_t gate;  // see leat_call_fn_t
} leat_call_site_t;

// Is the node a call that can be expanded, and is to be?
bool leat_expander_takes(const leat_expander_t* expander, const leat_node_t* node);
// |out_outputs| [node->output_count]; |*out_done|: a node that has run when all that the call must
// do has, or -1.
LEAT_MUST_USE leat_status_t leat_expander_expand(const leat_expander_t* expander,
                                                 const leat_call_site_t* site,
                                                 leat_output_t* out_outputs, int32_t* out_done);
// A call that stays one (recursion): adds a node for it that has a kernel, whatever op names it.
LEAT_MUST_USE leat_status_t leat_expander_keep(const leat_expander_t* expander,
                                               const leat_call_site_t* site, int32_t* out_node);

typedef struct leat_body_options_s {
  leat_string_view_t scope;   // "call/": before the body's names
  leat_string_view_t device;  // of nodes that state none
  int32_t gate;
} leat_body_options_t;

// Adds the body of |function|. NOT_FOUND when the library has none of the name; INVALID_ARGUMENT
// when the arguments or attributes are not the function's, or its body is malformed.
LEAT_MUST_USE leat_status_t leat_expander_add_body(const leat_expander_t* expander,
                                                   const leat_function_name_t* function,
                                                   leat_outputs_t arguments,
                                                   const leat_body_options_t* options,
                                                   leat_call_t* out_call);

#endif  // LEAT_FUNCTION_EXPANDER_H_
