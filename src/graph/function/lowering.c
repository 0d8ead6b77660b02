// The plainest lowering: a call becomes the body of its function. Where the node waits for others,
// every argument goes through an Identity that waits for them, so that no part of the body that
// reads an argument runs earlier; nodes that read none wait for the gate.
#include "graph/function/lowering.h"

leat_status_t leat_lowering_finish(leat_lowering_t* l, leat_call_t call) {
  LEAT_RETURN_IF_ERROR(l->builder.status);
  const leat_node_t* node = l->node;
  if (call.return_count != node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Calling a function failed for node '%.*s' (%.*s): it returns %d "
                            "values, must be %d",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            call.return_count, node->output_count);
  }
  for (int i = 0; i < call.return_count; ++i) {
    int dtype = leat_dtype_base(leat_graph_output_type(l->builder.graph, call.returns[i]));
    if (dtype != (int)leat_dtype_base(node->output_types[i])) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Calling a function failed for node '%.*s' (%.*s): return value %d "
                              "is of type %s, must be %s",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), i,
                              leat_dtype_name(dtype), leat_dtype_name(node->output_types[i]));
    }
    l->outputs[i] = call.returns[i];
  }
  l->done = call.done;
  return leat_ok_status();
}

leat_status_t leat_lower_call(leat_lowering_t* l, const leat_function_name_t* function) {
  leat_builder_t* b = &l->builder;
  int count = l->node->input_count;
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(b->graph), (size_t)count + 1,
                                                 sizeof(leat_output_t), &memory));
  leat_output_t* arguments = memory;
  for (int i = 0; i < count; ++i) {
    arguments[i] = l->inputs[i];
    if (b->control_count) arguments[i] = leat_build_unary(b, "Identity", l->inputs[i]);
  }
  return leat_lowering_finish(l, l->call(l, function, (leat_outputs_t){arguments, count}, l->gate));
}

leat_status_t leat_gradient_of_call(leat_gradient_t* g) {
  leat_arena_t* arena = leat_graph_arena(g->builder.graph);
  const leat_node_t* node = leat_gradient_node(g);
  const int own = node->input_count, outputs = node->output_count;
  leat_function_name_t function = {node->op->name, node->attrs, node->attr_count};
  const leat_attr_value_t* f = leat_node_attr(node, LEAT_SV("f"));
  if (f && f->kind == LEAT_ATTR_FUNCTION && !f->is_list) function = *f->function;
  leat_output_t* inputs;
  int32_t* types;
  size_t count = (size_t)own + (size_t)outputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &inputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &types));
  for (int i = 0; i < own; ++i) inputs[i] = node->inputs[i];
  for (int i = 0; i < outputs; ++i) inputs[own + i] = leat_gradient_of_output(g, i);
  for (size_t i = 0; i < count; ++i) types[i] = leat_build_type_of(&g->builder, inputs[i]);
  const leat_attr_t attrs[] = {
      {LEAT_SV("f"), {.kind = LEAT_ATTR_FUNCTION, .function = &function}},
      LEAT_LIST("Tin", TYPE, count, types, types),
      LEAT_LIST("Tout", TYPE, own, types, types)};
  int32_t gradient =
      leat_build_node(&g->builder, "SymbolicGradient", (leat_outputs_t){inputs, (int)count},
                      (leat_attrs_t){attrs, LEAT_ARRAY_SIZE(attrs)});
  for (int i = 0; i < own; ++i) {
    leat_gradient_set_input(g, i, leat_node_output(gradient, i));
  }
  return g->builder.status;
}
