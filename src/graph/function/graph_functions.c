// A child graph reads its parent's function library until it changes it, and then changes a copy of
// its own: libraries are large, and most children (pruned, partitioned) never add a function.
#include "graph/function/graph_functions.h"

#include "graph/storage.h"

static leat_status_t copy_library(const leat_function_library_t* source,
                                  const leat_op_registry_t* ops,
                                  leat_function_library_t* target) {
  for (int i = 0; i < leat_function_library_count(source); ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_function_library_add(target, ops, leat_function_library_at(source, i)));
  }
  for (int i = 0; i < leat_function_library_gradient_count(source); ++i) {
    const leat_pb_gradient_def_t* gradient = leat_function_library_gradient_at(source, i);
    LEAT_RETURN_IF_ERROR(leat_function_library_add_gradient(target, gradient->function_name,
                                                            gradient->gradient_func));
  }
  return leat_ok_status();
}

leat_status_t leat_graph_own_functions(leat_graph_t* graph,
                                       leat_function_library_t** out_library) {
  *out_library = graph->storage->functions;
  if (*out_library) return leat_ok_status();
  leat_function_library_t* library = NULL;
  LEAT_RETURN_IF_ERROR(leat_function_library_create(graph->allocator, &library));
  leat_status_t status = copy_library(graph->functions, NULL, library);
  if (status) {
    leat_function_library_free(library);
    return status;
  }
  graph->storage->functions = graph->functions = *out_library = library;
  return leat_ok_status();
}

leat_status_t leat_graph_add_functions(leat_graph_t* graph,
                                       const leat_pb_function_def_library_t* source) {
  leat_function_library_t* library = NULL;
  LEAT_RETURN_IF_ERROR(leat_graph_own_functions(graph, &library));
  return leat_function_library_add_all(library, graph->ops, source);
}

leat_status_t leat_graph_copy_functions(leat_graph_t* graph, const leat_graph_t* source) {
  leat_function_library_t* library = NULL;
  if (leat_function_library_count(source->functions) == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_graph_own_functions(graph, &library));
  return copy_library(source->functions, graph->ops, library);
}

leat_graph_mark_t leat_graph_mark(const leat_graph_t* graph) {
  return (leat_graph_mark_t){graph->node_count, graph->producer_version,
                             leat_function_library_count(graph->functions),
                             leat_function_library_gradient_count(graph->functions)};
}

void leat_graph_return_to(leat_graph_t* graph, const leat_graph_mark_t* mark) {
  LEAT_DCHECK(mark->node_count <= graph->node_count);
  graph->node_count = mark->node_count;
  leat_node_index_truncate(&graph->names, graph->nodes, mark->node_count);
  graph->producer_version = mark->producer_version;
  leat_word_map_clear(&graph->storage->values);
  if (!graph->storage->functions) return;
  leat_function_library_truncate(graph->storage->functions, mark->function_count,
                                 mark->gradient_count);
}

leat_status_t leat_graph_find_op(const leat_graph_t* graph, leat_string_view_t name,
                                 const leat_op_t** out_op) {
  if (graph->functions && !leat_op_registry_has(graph->ops, name) &&
      leat_function_library_find(graph->functions, name)) {
    return leat_function_library_op(graph->functions, name, out_op);
  }
  return leat_op_registry_find(graph->ops, name, out_op);
}
