// A child reads its parent's library until it changes it.
#include "graph/graph_functions.h"

#include "graph/storage.h"

static leat_status_t copy_library(const leat_function_library_t* source,
                                  leat_function_library_t* target) {
  for (int i = 0; i < leat_function_library_count(source); ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_function_library_add(target, NULL, leat_function_library_at(source, i)));
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
  leat_status_t status = copy_library(graph->functions, library);
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

leat_status_t leat_graph_find_op(const leat_graph_t* graph, leat_string_view_t name,
                                 const leat_op_t** out_op) {
  if (graph->functions && !leat_op_registry_has(graph->ops, name) &&
      leat_function_library_find(graph->functions, name)) {
    return leat_function_library_op(graph->functions, name, out_op);
  }
  return leat_op_registry_find(graph->ops, name, out_op);
}
