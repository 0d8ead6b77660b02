// Expands one call by the `lower` function of its op, which asks this file for bodies and for
// gradients of functions. The result of a lowering is a set of outputs and, if the body has
// effects, a node that runs when they have happened.
//
// A call waits for control inputs, and its body must not run before them: a NoOp (the gate) waits
// for all of them, nodes of the body that read nothing wait for the gate, and arguments go through
// Identities that do.
//
// The gradient of a function (SymbolicGradient) is its body, and the backward walk from the body's
// returns to its arguments, in the same graph; the arguments get Identities first, so that the walk
// ends at them. If the library states a gradient function, that one is called instead.
//
// Recursion ends the expansion: a call of a function that is in the chain stays a call, and so does
// every call below a depth of MAX_DEPTH or in a graph that has grown beyond bounds, since a library
// of n functions can describe 2^n bodies.
#include "function/expander.h"

#include "function/call_gradient.h"
#include "graph/function/graph_functions.h"
#include "graph/signature.h"

#define MAX_DEPTH 100  // of calls within calls

// |lowering| is first, so that a lowering leads back to its expander.
typedef struct expansion_s {
  leat_lowering_t lowering;
  const leat_expander_t* expander;
} expansion_t;

// ---- What is expanded ---------------------------------------------------------------------------

// Whether the body of |function| is being added.
static bool is_under_way(const leat_expander_t* expander, leat_string_view_t function) {
  for (const leat_call_chain_t* c = expander->chain; c; c = c->caller) {
    if (leat_string_view_equal(c->function, function)) return true;
  }
  return false;
}

// Whether |node| calls a function whose body is being added, by its op or an attribute.
static bool recurs(const leat_expander_t* expander, const leat_node_t* node) {
  if (is_under_way(expander, node->op->name)) return true;
  for (int i = 0; i < node->attr_count; ++i) {
    const leat_attr_value_t* value = &node->attrs[i].value;
    if (value->kind != LEAT_ATTR_FUNCTION) continue;
    uint32_t count = value->is_list ? value->count : 1;
    const leat_function_name_t* functions = value->is_list ? value->functions : value->function;
    for (uint32_t k = 0; k < count; ++k) {
      if (is_under_way(expander, functions[k].name)) return true;
    }
  }
  return false;
}

bool leat_expander_takes(const leat_expander_t* expander, const leat_node_t* node) {
  if (!(node->op->flags & LEAT_OP_CALLS) || !node->op->row->lower) return false;
  if (node->op->flags & LEAT_OP_STANDS_FOR_FLOW) return true;
  if (expander->chain && (expander->chain->depth >= MAX_DEPTH ||
                          expander->graph->node_count > expander->most_nodes)) {
    return false;
  }
  if ((node->op->flags & LEAT_OP_BRANCHES) && !expander->lower_all &&
      !leat_node_attr_bool(node, "_lower_using_switch_merge", false)) {
    return false;
  }
  return !recurs(expander, node);
}

// ---- Calls --------------------------------------------------------------------------------------

// Completes the attributes of a branch's function. TensorFlow lowers a branch to a node whose op is
// the function, so attributes that the branch does not give follow from the types of the arguments.
static leat_status_t complete_branch(leat_graph_t* graph, leat_outputs_t arguments,
                                     leat_function_name_t* inout_function) {
  LEAT_DCHECK(inout_function->attrs || inout_function->attr_count == 0);
  leat_node_spec_t spec = {.inputs = arguments.items,
                           .input_count = arguments.count,
                           .attrs = inout_function->attrs,
                           .attr_count = inout_function->attr_count,
                           .infer_attrs = true,
                           .borrow_storage = true};
  leat_node_signature_t signature;
  if (!leat_function_library_find(graph->functions, inout_function->name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Op type not registered '%.*s'",
                            LEAT_SV_ARG(inout_function->name));
  }
  LEAT_RETURN_IF_ERROR(
      leat_function_library_op(graph->functions, inout_function->name, &spec.op));
  if (inout_function->attr_count >= spec.op->attr_count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_signature_resolve(graph, &spec, &signature));
  inout_function->attrs = signature.attrs;
  inout_function->attr_count = signature.attr_count;
  return leat_ok_status();
}

// UNIMPLEMENTED for a function that TensorFlow refuses to run through PartitionedCall.
static leat_status_t check_called(leat_graph_t* graph, leat_string_view_t function) {
  const leat_pb_function_def_t* def = leat_function_library_find(graph->functions, function);
  for (size_t i = 0; def && i < def->attr.count; ++i) {
    const leat_pb_function_def_attr_entry_t* attr = &def->attr.items[i];
    if (!leat_string_view_equals(attr->key, "experimental_ints_on_device")) continue;
    if (!attr->value || !attr->value->b) continue;
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Function '%.*s' has `experimental_ints_on_device` attribute set. This "
                            "attribute is not currently supported by multi-device functions.",
                            LEAT_SV_ARG(function));
  }
  return leat_ok_status();
}

// lowering.call: adds a body for the call that is being expanded.
static leat_call_t add_body(leat_lowering_t* l, const leat_function_name_t* function,
                            leat_outputs_t arguments, int32_t gate) {
  const expansion_t* expansion = (const expansion_t*)l;
  leat_call_t call = {NULL, 0, -1};
  leat_function_name_t named = *function;
  if (l->builder.status) return call;
  if (l->node->op->flags & LEAT_OP_BRANCHES) {
    l->builder.status = complete_branch(l->builder.graph, arguments, &named);
  } else if (leat_node_attr(l->node, LEAT_SV("f"))) {
    l->builder.status = check_called(l->builder.graph, named.name);
  }
  if (l->builder.status) return call;
  leat_body_options_t options = {l->builder.scope, l->builder.device, gate};
  l->builder.status =
      leat_expander_add_body(expansion->expander, &named, arguments, &options, &call);
  return call;
}

// Nodes that the backward walk added and that read nothing must wait for the gate, like those of
// the body.
static leat_status_t gate_sources(leat_graph_t* graph, size_t first, int32_t gate) {
  LEAT_DCHECK(gate < (int32_t)first);
  for (size_t i = first; gate >= 0 && i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    if (node->input_count || node->control_count) continue;
    LEAT_RETURN_IF_ERROR(leat_graph_add_control_input(graph, (int32_t)i, gate));
  }
  return leat_ok_status();
}

// Adds the gradients of |body| with respect to |xs|, given |grad_ys|; zeros where there is none.
static leat_status_t differentiate(leat_lowering_t* l, leat_call_t body, leat_outputs_t xs,
                                   const leat_output_t* grad_ys, leat_call_t* call) {
  leat_graph_t* graph = l->builder.graph;
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(graph), (size_t)xs.count + 1,
                                                 sizeof(leat_gradient_value_t), &memory));
  leat_gradient_value_t* gradients = memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(graph), (size_t)xs.count + 1,
                                                 sizeof(leat_output_t), &memory));
  call->returns = memory;
  call->return_count = xs.count;
  leat_string_view_t prefix;
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(graph), &prefix, "%.*sgradients",
                                        LEAT_SV_ARG(l->builder.scope)));
  leat_call_gradient_t state;
  leat_gradient_options_t options =
      leat_call_gradient_options(graph, ((expansion_t*)l)->expander->chain, NULL, &state);
  leat_gradient_spec_t spec = {.ys = body.returns, .y_count = body.return_count, .xs = xs.items,
                               .x_count = xs.count, .grad_ys = grad_ys, .options = &options,
                               .prefix = prefix};
  LEAT_RETURN_IF_ERROR(leat_add_gradients(graph, &spec, gradients));
  for (int i = 0; i < xs.count; ++i) {
    leat_output_t dense = leat_gradient_value_to_dense(&l->builder, gradients[i]);
    if (!leat_output_exists(gradients[i].dense)) {
      dense = leat_build_unary(&l->builder, "ZerosLike", xs.items[i]);
    }
    call->returns[i] = dense;
  }
  return l->builder.status;
}

// Gives each argument an Identity, so that the walk ends there and an argument that is passed twice
// has two gradients.
static leat_status_t part_arguments(leat_lowering_t* l, const leat_output_t* arguments, int count,
                                    leat_output_t** out_parted) {
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(l->builder.graph),
                                                 (size_t)count + 1, sizeof(leat_output_t),
                                                 &memory));
  *out_parted = memory;
  for (int i = 0; i < count; ++i) {
    (*out_parted)[i] = leat_build_unary(&l->builder, "Identity", arguments[i]);
  }
  return l->builder.status;
}

// Adds the gradient of |function|: the function that the library states as its gradient, or its
// body with the walk backwards.
static leat_status_t add_gradient_body(leat_lowering_t* l, const leat_function_name_t* function,
                                       leat_outputs_t arguments, int32_t gate, leat_call_t* call) {
  leat_graph_t* graph = l->builder.graph;
  leat_string_view_t gradient =
      leat_function_library_gradient_of(graph->functions, function->name);
  if (gradient.size) {
    leat_function_name_t named = *function;
    named.name = gradient;
    *call = add_body(l, &named, arguments, gate);
    return l->builder.status;
  }
  // The node has an output for each argument of the function; dC/dy for its returns stand behind.
  int own = l->node->output_count;
  size_t first = graph->node_count;
  leat_call_t body = {NULL, 0, -1};
  leat_output_t* xs = NULL;
  if (own <= arguments.count) {
    LEAT_RETURN_IF_ERROR(part_arguments(l, arguments.items, own, &xs));
    body = add_body(l, function, (leat_outputs_t){xs, own}, gate);
    LEAT_RETURN_IF_ERROR(l->builder.status);
  }
  if (own + body.return_count != arguments.count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Calling the gradient of function '%.*s' failed: %d arguments are "
                            "given, must be its own %d and one for each of %d that it returns",
                            LEAT_SV_ARG(function->name), arguments.count, own, body.return_count);
  }
  LEAT_RETURN_IF_ERROR(
      differentiate(l, body, (leat_outputs_t){xs, own}, arguments.items + own, call));
  call->done = body.done;
  return gate_sources(graph, first, gate);
}

// lowering.gradient: adds a gradient for the call that is being expanded.
static leat_call_t add_gradient(leat_lowering_t* l, const leat_function_name_t* function,
                                leat_outputs_t arguments, int32_t gate) {
  leat_call_t call = {NULL, 0, -1};
  if (!l->builder.status) {
    l->builder.status = add_gradient_body(l, function, arguments, gate, &call);
  }
  return call;
}

// ---- Sites --------------------------------------------------------------------------------------

// A NoOp that waits for all nodes for which the call waits. Without any, the gate of the
// surrounding body serves.
static leat_status_t make_gate(const leat_expander_t* expander, const leat_call_site_t* site,
                               leat_string_view_t scope, int32_t* out_gate) {
  *out_gate = site->gate;
  if (site->control_count == 0) return leat_ok_status();
  leat_builder_t builder = {.graph = expander->graph,
                            .scope = scope,
                            .device = site->node->device,
                            .control_inputs = site->control_inputs,
                            .control_count = site->control_count};
  *out_gate = leat_build_node(&builder, "NoOp", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  return builder.status;
}

leat_status_t leat_expander_expand(const leat_expander_t* expander, const leat_call_site_t* site,
                                   leat_output_t* out_outputs, int32_t* out_done) {
  leat_graph_t* graph = expander->graph;
  leat_string_view_t scope;
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(leat_graph_arena(graph), &scope, "%.*s/", LEAT_SV_ARG(site->name)));
  int32_t gate;
  LEAT_RETURN_IF_ERROR(make_gate(expander, site, scope, &gate));
  expansion_t expansion = {
      .expander = expander,
      .lowering = {.builder = {.graph = graph,
                               .scope = scope,
                               .device = site->node->device,
                               .control_inputs = &gate,
                               .control_count = site->control_count > 0},
                   .node = site->node,
                   .inputs = site->inputs,
                   .gate = gate,
                   .outputs = out_outputs,
                   .done = -1,
                   .call = add_body,
                   .gradient = add_gradient}};
  LEAT_DCHECK(site->node->op->row->lower);
  leat_status_t status = site->node->op->row->lower(&expansion.lowering);
  if (status != expansion.lowering.builder.status) {
    status = leat_status_join(status, expansion.lowering.builder.status);
  }
  *out_done = expansion.lowering.done;
  if (!status && *out_done < 0 && site->node->output_count == 0) *out_done = gate;
  return leat_status_annotate(status, "Expanding node '%.*s' (%.*s) failed",
                              LEAT_SV_ARG(site->node->name), LEAT_SV_ARG(site->node->op->name));
}

// ---- Calls that stay ----------------------------------------------------------------------------

// The types of the outputs, or of |inputs|, as a list attribute.
static leat_status_t types_of(leat_graph_t* graph, const leat_node_t* node, bool of_outputs,
                              const leat_output_t* inputs, leat_attr_value_t* out_types) {
  int count = of_outputs ? node->output_count : node->input_count;
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(graph), (size_t)count + 1,
                                                 sizeof(int32_t), &memory));
  int32_t* types = memory;
  LEAT_DCHECK(count >= 0);
  for (int i = 0; i < count; ++i) {
    types[i] = leat_dtype_base(of_outputs ? node->output_types[i]
                                          : leat_graph_output_type(graph, inputs[i]));
  }
  *out_types = (leat_attr_value_t){
      .kind = LEAT_ATTR_TYPE, .is_list = true, .count = (uint32_t)count, .types = types};
  return leat_ok_status();
}

leat_status_t leat_expander_keep(const leat_expander_t* expander, const leat_call_site_t* site,
                                 int32_t* out_node) {
  const leat_node_t* node = site->node;
  leat_node_spec_t spec = {.name = site->name,
                           .op = node->op,
                           .device = node->device,
                           .inputs = site->inputs,
                           .input_count = node->input_count,
                           .control_inputs = site->control_inputs,
                           .control_count = site->control_count,
                           .attrs = node->attrs,
                           .attr_count = node->attr_count};
  if (leat_op_registry_has(expander->graph->ops, node->op->name)) {
    return leat_graph_add_node(expander->graph, &spec, out_node);
  }
  leat_function_name_t function = {node->op->name, node->attrs, node->attr_count};
  bool is_stateful = node->op->flags & LEAT_OP_STATEFUL;
  leat_attr_t attrs[3] = {
      {LEAT_SV("f"), {.kind = LEAT_ATTR_FUNCTION, .function = &function}},
      {.name = LEAT_SV("Tin")},
      {.name = LEAT_SV("Tout")}};
  LEAT_RETURN_IF_ERROR(types_of(expander->graph, node, false, site->inputs, &attrs[1].value));
  LEAT_RETURN_IF_ERROR(types_of(expander->graph, node, true, site->inputs, &attrs[2].value));
  spec.attrs = attrs;
  spec.attr_count = 3;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(
      expander->graph->ops,
      is_stateful ? LEAT_OP_NAME_STATEFUL_CALL : LEAT_OP_NAME_CALL, &spec.op));
  return leat_graph_add_node(expander->graph, &spec, out_node);
}
