// Makes the function's body as a graph of its own, with the shapes of the call's inputs on its
// arguments, copies the shapes of the returns and drops the graph.
#include "function/function.h"

#include <string.h>

#include "function/body_graph.h"

static leat_status_t copy_shape(leat_arena_t* arena, leat_partial_shape_t shape,
                                leat_partial_shape_t* out_shape) {
  *out_shape = shape;
  if (shape.rank <= 0) return leat_ok_status();
  void* dims;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, (size_t)shape.rank, sizeof *shape.dims, &dims));
  out_shape->dims = memcpy(dims, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
  return leat_ok_status();
}

// Infers the shapes of what |function| returns when |node| calls it.
static leat_status_t infer(leat_graph_t* graph, const leat_node_t* node,
                           const leat_function_name_t* function,
                           leat_partial_shape_t* out_shapes) {
  static const leat_body_options_t kNoOptions = {.gate = -1};
  leat_body_graph_t body;
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      graph->allocator, (size_t)node->input_count + 1, sizeof(leat_partial_shape_t), &memory));
  leat_partial_shape_t* shapes = memory;
  for (int i = 0; i < node->input_count; ++i) {
    shapes[i] = leat_graph_output_shape(graph, node->inputs[i]);
  }
  leat_argument_shapes_t known = {shapes, node->input_count};
  leat_status_t status =
      leat_body_graph_create(graph->ops, graph->functions, graph->producer_version, function,
                             &kNoOptions, graph->allocator, &known, &body);
  leat_allocator_free(graph->allocator, shapes);
  if (status && body.lacks_function) {  // it may be defined later, or never be called
    leat_status_free(status);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(status);
  for (int i = 0; !status && i < body.return_count && i < node->output_count; ++i) {
    status = copy_shape(leat_graph_arena(graph),
                        leat_graph_output_shape(body.graph, body.returns[i]), &out_shapes[i]);
    if (status) out_shapes[i] = leat_partial_shape_unknown();
  }
  leat_graph_free(body.graph);
  return status;
}

leat_status_t leat_call_infer_shapes(leat_graph_t* graph, const leat_node_t* node,
                                     leat_partial_shape_t* out_shapes) {
  leat_function_name_t function = {node->op->name, node->attrs, node->attr_count};
  if (!graph->functions || leat_node_attr_bool(node, "_disable_call_shape_inference", false)) {
    return leat_ok_status();
  }
  if (leat_op_registry_has(graph->ops, node->op->name)) {
    const leat_attr_value_t* f = leat_node_attr(node, LEAT_SV("f"));
    bool calls = leat_string_view_equal(node->op->name, LEAT_OP_NAME_CALL) ||
                 leat_string_view_equal(node->op->name, LEAT_OP_NAME_STATEFUL_CALL);
    if (!calls || !f || f->kind != LEAT_ATTR_FUNCTION || f->is_list) return leat_ok_status();
    function = *f->function;
  }
  return infer(graph, node, &function, out_shapes);
}
