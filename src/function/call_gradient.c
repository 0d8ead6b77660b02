// A call is expanded beside itself: the gradient reads values of the nodes that it stands for, who
// asks for the call's value has the call. In a graph with control flow what the body makes from
// nothing waits for the call's first input, so that it is where and when the call is.
#include "function/call_gradient.h"

#include "graph/function_library.h"

static bool has_flow(leat_call_gradient_t* state, const leat_graph_t* graph) {
  for (; !state->has_flow && state->looked_at < graph->node_count; ++state->looked_at) {
    state->has_flow = graph->nodes[state->looked_at].op->flags & LEAT_OP_CONTROL_FLOW;
  }
  return state->has_flow;
}

// Does the library say what the gradient of the function is?
static bool has_own_gradient(const leat_graph_t* graph, const leat_node_t* node) {
  const leat_attr_value_t* f = leat_node_attr(node, LEAT_SV("f"));
  bool named = f && f->kind == LEAT_ATTR_FUNCTION && !f->is_list;
  leat_string_view_t name = named ? f->function->name : node->op->name;
  return node->op->row->gradient &&
         leat_function_library_gradient_of(graph->functions, name).size > 0;
}

static leat_status_t expand(void* data, leat_graph_t* graph, int32_t index,
                            leat_string_view_t scope, leat_output_t* out_outputs) {
  leat_call_gradient_t* state = data;
  const leat_node_t node = graph->nodes[index];  // the graph's may move
  int32_t done;
  out_outputs[0] = LEAT_OUTPUT_NONE;
  if (!leat_expander_takes(&state->expander, &node) || has_own_gradient(graph, &node)) {
    return leat_ok_status();
  }
  if (scope.size) --scope.size;  // without its '/'
  leat_call_site_t site = {.node = &node, .name = scope, .inputs = node.inputs, .gate = -1};
  if (node.input_count > 0 && has_flow(state, graph)) {
    leat_builder_t builder = {.graph = graph, .scope = scope};
    site.gate = leat_build_unary(&builder, "Identity", node.inputs[0]).node;
    LEAT_RETURN_IF_ERROR(builder.status);
  }
  return leat_expander_expand(&state->expander, &site, out_outputs, &done);
}

leat_gradient_options_t leat_call_gradient_options(leat_graph_t* graph,
                                                   const leat_call_chain_t* chain,
                                                   leat_call_gradient_t* state) {
  *state = (leat_call_gradient_t){
      .expander = {.graph = graph, .chain = chain, .lower_all = true}};
  return (leat_gradient_options_t){.expand = expand, .data = state};
}
