// Expands a call beside itself: the gradient reads the values of the expanded nodes, while whoever
// asks for the call's own outputs still has the call. The forward computation is therefore in the
// graph twice; the optimizer may merge nodes that are equal.
//
//   x ─▶ call ─▶ y                   as before
//   └──▶ body of the call ─▶ y'      the walk goes back from y' instead of y
//
// In a graph with control flow the copy waits for an Identity of the call's first input, so that it
// runs in the frame and under the conditions of the call. Three sorts of calls are not expanded and
// have a call as their gradient: recursive ones, those that an expansion left, and those whose
// function has a gradient of its own.
#include "function/call_gradient.h"

#include "graph/function/function_library.h"

// Whether the graph has control flow. Nodes are searched once, as the graph grows.
static bool has_flow(leat_call_gradient_t* state, const leat_graph_t* graph) {
  for (; !state->has_flow && state->looked_at < graph->node_count; ++state->looked_at) {
    state->has_flow = graph->nodes[state->looked_at].op->flags &
                      (LEAT_OP_CONTROL_FLOW | LEAT_OP_STANDS_FOR_FLOW);
  }
  return state->has_flow;
}

// Whether the gradient of the call is stated: by the caller, by the library, or by the attribute
// with which Python overrides gradients.
static bool has_own_gradient(const leat_call_gradient_t* state, const leat_graph_t* graph,
                             const leat_node_t* node) {
  if (state->own && state->own->has(state->own->data, leat_gradient_entry(node))) return true;
  const leat_attr_value_t* f = leat_node_attr(node, LEAT_SV("f"));
  bool named = f && f->kind == LEAT_ATTR_FUNCTION && !f->is_list;
  leat_string_view_t name = named ? f->function->name : node->op->name;
  if (leat_node_attr(node, LEAT_SV("_gradient_op_type"))) return true;
  return node->op->row->gradient &&
         leat_function_library_gradient_of(graph->functions, name).size > 0;
}

// The nodes for which the copy waits: those for which the call waits and, if there is control flow,
// an Identity of its first input.
static leat_status_t find_controls(leat_call_gradient_t* state, leat_graph_t* graph,
                                   leat_call_site_t* site) {
  const leat_node_t* node = site->node;
  int32_t* controls;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(leat_graph_arena(graph), (size_t)node->control_count + 1, &controls));
  site->control_inputs = controls;
  for (int i = 0; i < node->control_count; ++i) {
    controls[site->control_count++] = node->inputs[node->input_count + i].node;
  }
  if (node->input_count == 0 || !has_flow(state, graph)) return leat_ok_status();
  leat_builder_t builder = {.graph = graph, .scope = site->name};
  // The input itself would not do: if it is an output of a Switch, the Switch runs even when that
  // output is dead.
  controls[site->control_count++] = leat_build_unary(&builder, "Identity", node->inputs[0]).node;
  return builder.status;
}

static leat_status_t expand(void* data, leat_graph_t* graph, int32_t index,
                            leat_string_view_t scope, leat_output_t* out_outputs) {
  leat_call_gradient_t* state = data;
  const leat_node_t node = graph->nodes[index];  // a copy, since the array may move
  int32_t done;
  out_outputs[0] = LEAT_OUTPUT_NONE;
  if ((size_t)index >= state->own_count || has_own_gradient(state, graph, &node) ||
      !leat_expander_takes(&state->expander, &node)) {
    return leat_ok_status();
  }
  if (scope.size) --scope.size;  // without its '/'
  leat_call_site_t site = {.node = &node, .name = scope, .inputs = node.inputs, .gate = -1};
  LEAT_RETURN_IF_ERROR(find_controls(state, graph, &site));
  return leat_expander_expand(&state->expander, &site, out_outputs, &done);
}

leat_gradient_options_t leat_call_gradient_options(leat_graph_t* graph,
                                                   const leat_call_chain_t* chain,
                                                   const leat_own_gradients_t* own,
                                                   leat_call_gradient_t* state) {
  *state = (leat_call_gradient_t){.expander = leat_expander_make(graph, graph->node_count),
                                  .own_count = graph->node_count, .own = own};
  state->expander.chain = chain;
  state->expander.lower_all = true;
  return (leat_gradient_options_t){.expand = expand, .data = state, .own = own};
}
