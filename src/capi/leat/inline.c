// leat_graph_inline of leat/inspect.h: the part of a graph that some operations need, with function
// calls replaced by the functions' bodies, as a GraphDef that any runtime can read. The runtime
// inlines functions for itself when it compiles a step (function/inline.c), under names that only
// it may use ("_call/x"). Here these names lose their underscore, and each call leaves a node of
// its own name that passes on its results, so that readers of the call still find it. Where no node
// names a function any more, the function library is dropped.
#include "function/function.h"

#include "capi/handles.h"
#include "graph/builder.h"
#include "graph/import/export.h"
#include "leat/inspect.h"
#include "optimize/pass.h"

// Renames "_f/x" to "f/x", or to ".f/x" where a node of the client has that name.
static leat_status_t rename_node(const leat_graph_t* old, leat_graph_t* graph, leat_node_t* node) {
  if (node->name.size < 2 || node->name.data[0] != '_') return leat_ok_status();
  leat_string_view_t rest = leat_string_view_from_index(node->name, 1);
  if (leat_graph_find_node(old, rest) < 0) {
    node->name = rest;
    return leat_ok_status();
  }
  return leat_arena_print(leat_graph_arena(graph), &node->name, ".%.*s", LEAT_SV_ARG(rest));
}

// Adds an IdentityN over the results, or a NoOp where there are none, under the name of the call.
// It waits for the call's effects, which |done| stands for.
static leat_status_t add_stand_in(const leat_node_t* call, const leat_output_t* results,
                                  int32_t done, leat_graph_t* graph) {
  leat_builder_t builder = {.graph = graph, .device = call->device};
  builder.control_inputs = &done;
  builder.control_count = done >= 0;
  int32_t node = leat_build_node(&builder, call->output_count ? "IdentityN" : "NoOp",
                                 (leat_outputs_t){results, call->output_count}, LEAT_NO_ATTRS);
  if (node >= 0) graph->nodes[node].name = call->name;
  return builder.status;
}

static bool names_function(const leat_node_t* node) {
  if (node->op->flags & LEAT_OP_CALLS) return true;
  for (int i = 0; i < node->attr_count; ++i) {
    if (node->attrs[i].value.kind == LEAT_ATTR_FUNCTION) return true;
  }
  return false;
}

static leat_status_t export_inlined(const leat_graph_t* old, const leat_inlined_t* inlined,
                                    leat_string_builder_t* out) {
  leat_graph_t* graph = inlined->graph;
  size_t count = graph->node_count;
  for (size_t i = 0; i < old->node_count; ++i) {
    bool is_call = old->nodes[i].op->flags & LEAT_OP_CALLS;
    if (!is_call || !inlined->map.outputs[i]) continue;
    LEAT_RETURN_IF_ERROR(add_stand_in(&old->nodes[i], inlined->map.outputs[i],
                                      inlined->map.nodes[i], graph));
  }
  bool needs_library = false;
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(rename_node(old, graph, &graph->nodes[i]));
    needs_library |= names_function(&graph->nodes[i]);
  }
  if (!needs_library) graph->functions = NULL;  // the graph's storage owns it
  return leat_graph_export(graph, out);
}

// Cuts out the part of |graph| that the operations need. The caller holds the lock.
static leat_status_t cut_out(TF_Graph* graph, const TF_Operation* const* operations, int count,
                             leat_rewrite_t* out_subgraph) {
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      leat_allocator_system(), (size_t)count + 1, sizeof(int32_t), &memory));
  int32_t* targets = memory;
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    if (operations[i] && operations[i]->graph == graph) {
      targets[i] = operations[i]->node;
    } else {
      status = leat_make_status(LEAT_INVALID_ARGUMENT,
                                "Inlining failed: operation %d is not of the graph", i);
    }
  }
  if (!status) {
    status = leat_prune(graph->shared->graph, NULL, 0, NULL, 0, targets, count, out_subgraph);
  }
  leat_allocator_free(leat_allocator_system(), targets);
  return status;
}

static leat_status_t inline_subgraph(const leat_graph_t* subgraph, leat_string_builder_t* out) {
  leat_inlined_t inlined;
  LEAT_RETURN_IF_ERROR(leat_function_inline(subgraph, &inlined));
  if (!inlined.graph) return leat_graph_export(subgraph, out);
  leat_status_t status = export_inlined(subgraph, &inlined, out);
  leat_graph_free(inlined.graph);
  return status;
}

TF_Buffer* leat_graph_inline(TF_Graph* graph, const TF_Operation* const* operations, int count,
                             TF_Status* status) {
  leat_rewrite_t subgraph;
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_capi_lock(graph);
  leat_status_t result = cut_out(graph, operations, count, &subgraph);
  if (!result) {
    result = inline_subgraph(subgraph.graph, &bytes);
    leat_rewrite_deinitialize(&subgraph);
  }
  leat_capi_unlock(graph);
  return leat_capi_buffer_return(result, &bytes, status);
}
