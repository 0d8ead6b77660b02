// The plainest lowering: a call is its body. Where the node waits for others, so does every
// argument: no part of the body runs before.
#include "graph/lowering.h"

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
