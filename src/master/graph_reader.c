// A graph that was written for another process has one _Retval, which takes what the graph is for.
// The node itself is never run: the caller compiles what stands before it.
#include "master/graph_reader.h"

#include "function/function.h"
#include "graph/import/import.h"

// What the one return value of |graph| takes.
static leat_status_t find_returned(const leat_graph_t* graph, int dtype, leat_output_t* out_fetch) {
  int count = 0;
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (!(graph->nodes[i].op->flags & LEAT_OP_RETURN_VALUE)) continue;
    *out_fetch = graph->nodes[i].inputs[0];
    ++count;
  }
  if (count != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "the graph has %d nodes of the op _Retval, must have 1", count);
  }
  const leat_node_t* node = &graph->nodes[out_fetch->node];
  if (node->output_types[out_fetch->index] == dtype) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "the graph returns '%.*s' of type %s, must be %s",
                          LEAT_SV_ARG(node->name),
                          leat_dtype_name(node->output_types[out_fetch->index]),
                          leat_dtype_name(dtype));
}

leat_status_t leat_returning_graph_read(leat_op_registry_t* ops, leat_allocator_t* allocator,
                                        leat_string_view_t graph_def, int dtype,
                                        leat_string_view_t device, leat_graph_t** out_graph,
                                        leat_output_t* out_fetch) {
  const leat_import_options_t options = {.default_device = device,
                                         .ignore_colocation = true,
                                         .allow_internal_names = true};
  LEAT_RETURN_IF_ERROR(leat_graph_create(ops, allocator, out_graph));
  (*out_graph)->infer_call = leat_call_infer_shapes;
  LEAT_RETURN_IF_ERROR(leat_graph_import(*out_graph, graph_def, &options, NULL));
  return find_returned(*out_graph, dtype, out_fetch);
}
