// The graph that several sessions share, with the lock under which all of them read it while their
// clients add to it (session.h says what holds for it). The last to release it frees it.
#include "session/session.h"

#include "function/function.h"

leat_status_t leat_shared_graph_create(const leat_runtime_t* runtime,
                                       leat_shared_graph_t** out_graph) {
  leat_shared_graph_t* shared;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(runtime->allocator, 1, &shared));
  leat_status_t status = leat_graph_create(runtime->ops, runtime->allocator, &shared->graph);
  if (status) {
    leat_allocator_free(runtime->allocator, shared);
    return status;
  }
  shared->graph->infer_call = leat_call_infer_shapes;
  shared->references = 1;
  leat_mutex_initialize(&shared->mutex);
  *out_graph = shared;
  return leat_ok_status();
}

void leat_shared_graph_retain(leat_shared_graph_t* graph) {
  leat_reference_count_retain(&graph->references);
}

void leat_shared_graph_release(leat_shared_graph_t* graph) {
  if (!graph || !leat_reference_count_release(&graph->references)) return;
  leat_allocator_t* allocator = graph->graph->allocator;
  leat_graph_free(graph->graph);
  leat_mutex_deinitialize(&graph->mutex);
  leat_allocator_free(allocator, graph);
}
