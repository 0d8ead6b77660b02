// A call is expanded beside itself: the gradient reads values of the nodes that it stands for, who
// asks for the call's value has the call. In a graph with control flow the copy waits for the
// call's first input, so that it is where and when the call is. Calls that an expansion left
// (recursion), and those whose function has a gradient of its own, stay calls: their gradient is
// one, too.
#include "function/call_gradient.h"

#include "graph/function_library.h"

static bool has_flow(leat_call_gradient_t* state, const leat_graph_t* graph) {
  for (; !state->has_flow && state->looked_at < graph->node_count; ++state->looked_at) {
    state->has_flow = graph->nodes[state->looked_at].op->flags & LEAT_OP_CONTROL_FLOW;
  }
  return state->has_flow;
}

// Does the library say what the gradient of the function is, or the node that Python does?
static bool has_own_gradient(const leat_graph_t* graph, const leat_node_t* node) {
  const leat_attr_value_t* f = leat_node_attr(node, LEAT_SV("f"));
  bool named = f && f->kind == LEAT_ATTR_FUNCTION && !f->is_list;
  leat_string_view_t name = named ? f->function->name : node->op->name;
  if (leat_node_attr(node, LEAT_SV("_gradient_op_type"))) return true;
  return node->op->row->gradient &&
         leat_function_library_gradient_of(graph->functions, name).size > 0;
}

// What the copy waits for: a node that runs in the call's frame when the call does.
static leat_status_t find_controls(leat_call_gradient_t* state, leat_graph_t* graph,
                                   leat_call_site_t* site) {
  const leat_node_t* node = site->node;
  int32_t* controls;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(graph),
                                                 (size_t)node->control_count + 1,
                                                 sizeof *controls, (void**)&controls));
  site->control_inputs = controls;
  for (int i = 0; i < node->control_count; ++i) {
    controls[site->control_count++] = node->inputs[node->input_count + i].node;
  }
  if (node->input_count == 0 || !has_flow(state, graph)) return leat_ok_status();
  leat_builder_t builder = {.graph = graph, .scope = site->name};
  // (A Switch runs though the side that is read is dead.)
  controls[site->control_count++] = leat_build_unary(&builder, "Identity", node->inputs[0]).node;
  return builder.status;
}

static leat_status_t expand(void* data, leat_graph_t* graph, int32_t index,
                            leat_string_view_t scope, leat_output_t* out_outputs) {
  leat_call_gradient_t* state = data;
  const leat_node_t node = graph->nodes[index];  // the graph's may move
  int32_t done;
  out_outputs[0] = LEAT_OUTPUT_NONE;
  if ((size_t)index >= state->own_count || has_own_gradient(graph, &node) ||
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
                                                   leat_call_gradient_t* state) {
  *state = (leat_call_gradient_t){.expander = leat_expander_make(graph, graph->node_count),
                                  .own_count = graph->node_count};
  state->expander.chain = chain;
  state->expander.lower_all = true;
  return (leat_gradient_options_t){.expand = expand, .data = state};
}
