// Instantiates a function as a graph. The number and types of its arguments follow from the
// signature and the call's attributes, as those of a node's inputs do. An _Arg node is made for
// each tensor, and the expander adds the body with these as arguments, expanding the calls in it.
// Known shapes of arguments are written to the _Arg nodes first, so that inference in the body uses
// them.
#include "function/body_graph.h"

#include "function/attr_binding.h"
#include "function/expander.h"
#include "graph/signature.h"

#define MOST_ARGUMENTS (1 << 16)  // tensors; a call's attributes decide how many

// Adds the _Arg node of argument |index|.
static leat_status_t add_argument(leat_graph_t* graph, const leat_op_t* op, int dtype, int index,
                                  leat_string_view_t scope, leat_string_view_t device,
                                  int32_t* out_node) {
  leat_attr_t attrs[] = {LEAT_TYPE("T", dtype), LEAT_INT("index", index)};
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(graph), &name, "%.*s_arg_%d",
                                        LEAT_SV_ARG(scope), index));
  leat_node_spec_t spec = {
      .name = name, .op = op, .device = device, .attrs = attrs, .attr_count = 2};
  return leat_graph_add_node(graph, &spec, out_node);
}

// The device of argument |index|; |device| is the call's.
static leat_string_view_t argument_device(const leat_function_name_t* function, int index,
                                          leat_string_view_t device) {
  const leat_attr_value_t* devices =
      leat_attr_find(function->attrs, function->attr_count, LEAT_ARGUMENT_DEVICES_ATTR);
  const bool has_own = devices && devices->kind == LEAT_ATTR_STRING && devices->is_list &&
                       (uint32_t)index < devices->count && devices->strings[index].size;
  return has_own ? devices->strings[index] : device;
}

// Adds an _Arg node for each tensor of each argument. The tensors are counted before any node is
// added, so that attributes which a file has made up cannot ask for billions of them.
static leat_status_t add_arguments(leat_body_graph_t* body, const leat_function_name_t* function,
                                   const leat_body_options_t* options,
                                   leat_output_t** out_arguments) {
  leat_graph_t* graph = body->graph;
  leat_arena_t* arena = leat_graph_arena(graph);
  const leat_op_t *op, *arg;
  LEAT_RETURN_IF_ERROR(leat_function_library_op(graph->functions, function->name, &op));
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, LEAT_OP_NAME_ARGUMENT, &arg));
  leat_attr_t* attrs;
  LEAT_RETURN_IF_ERROR(leat_function_order_attrs(op, function, arena, &attrs));
  int64_t total = 0;
  for (int i = 0; i < op->input_count; ++i) {
    int64_t count = leat_signature_argument_count(&op->inputs[i], attrs);
    if (count < 0 || count > MOST_ARGUMENTS - total) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Calling function '%.*s' failed: argument '%.*s' stands for %lld "
                              "tensors, must be for at most %d in all",
                              LEAT_SV_ARG(function->name), LEAT_SV_ARG(op->inputs[i].name),
                              (long long)count, MOST_ARGUMENTS);
    }
    total += count;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)total + 1, out_arguments));
  for (int i = 0; i < op->input_count; ++i) {
    int64_t count = leat_signature_argument_count(&op->inputs[i], attrs);
    for (int64_t k = 0; k < count; ++k) {
      int dtype = leat_signature_argument_type(&op->inputs[i], attrs, k);
      int32_t node;
      LEAT_RETURN_IF_ERROR(
          add_argument(graph, arg, dtype, body->argument_count, options->scope,
                       argument_device(function, body->argument_count, options->device), &node));
      (*out_arguments)[body->argument_count++] = (leat_output_t){node, 0};
    }
  }
  return leat_ok_status();
}

static leat_status_t find_targets(leat_body_graph_t* body, const leat_function_name_t* function,
                                  int32_t done) {
  leat_arena_t* arena = leat_graph_arena(body->graph);
  const leat_attr_value_t* part =
      leat_attr_find(function->attrs, function->attr_count, LEAT_COMPONENT_ATTR);
  const bool is_part = part && part->kind == LEAT_ATTR_BOOL && part->b;
  int32_t *targets, *sinks = NULL;
  LEAT_DCHECK(done < 0 || (size_t)done < body->graph->node_count);
  body->target_count = done >= 0;
  if (is_part) {
    LEAT_RETURN_IF_ERROR(leat_graph_find_sinks(body->graph, body->graph->allocator, &sinks,
                                               &body->target_count));
  }
  leat_status_t status = LEAT_NEW(arena, (size_t)body->target_count + 1, &targets);
  for (int i = 0; !status && i < body->target_count; ++i) targets[i] = sinks ? sinks[i] : done;
  leat_allocator_free(body->graph->allocator, sinks);
  body->targets = targets;
  return status;
}

// Adds the arguments and the body to the empty graph of |body|.
static leat_status_t fill(leat_body_graph_t* body, const leat_function_name_t* function,
                          const leat_body_options_t* options,
                          const leat_argument_shapes_t* shapes) {
  leat_output_t* arguments;
  LEAT_RETURN_IF_ERROR(add_arguments(body, function, options, &arguments));
  for (int i = 0; shapes && i < body->argument_count && i < shapes->count; ++i) {
    body->graph->nodes[arguments[i].node].output_shapes[0] = shapes->items[i];
  }
  leat_expander_t expander = leat_expander_make(body->graph, 0);
  expander.lacks_function = &body->lacks_function;
  expander.call_count = &body->call_count;
  leat_call_t call;
  LEAT_RETURN_IF_ERROR(leat_expander_add_body(&expander, function,
                                              (leat_outputs_t){arguments, body->argument_count},
                                              options, &call));
  body->returns = call.returns;
  body->return_count = call.return_count;
  return find_targets(body, function, call.done);
}

leat_status_t leat_body_graph_create(leat_op_registry_t* ops, leat_function_library_t* library,
                                     int32_t producer_version,
                                     const leat_function_name_t* function,
                                     const leat_body_options_t* options,
                                     leat_allocator_t* allocator,
                                     const leat_argument_shapes_t* shapes,
                                     leat_body_graph_t* out_body) {
  *out_body = (leat_body_graph_t){0};
  if (!leat_function_library_find(library, function->name)) {
    out_body->lacks_function = true;
    return leat_make_status(LEAT_NOT_FOUND, "Function '%.*s' is not defined.",
                            LEAT_SV_ARG(function->name));
  }
  LEAT_RETURN_IF_ERROR(leat_graph_create(ops, allocator, &out_body->graph));
  out_body->graph->functions = library;
  out_body->graph->producer_version = producer_version;
  leat_status_t status = fill(out_body, function, options, shapes);
  if (status) {
    leat_graph_free(out_body->graph);
    out_body->graph = NULL;
  }
  return status;
}
