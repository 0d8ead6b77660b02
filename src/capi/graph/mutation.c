// Functions of the C API that change operations which are already in a graph: edges, control
// inputs, attributes, devices. Sessions have compiled the steps that they ran, and a change does
// not reach those; it counts for steps that are compiled later. A change of edges increments
// TF_Graph.edits, which makes the table of readers stale. Changes are checked as if the node were
// added now: a node whose attributes contradict its inputs would make a kernel read beyond the ends
// of its inputs, so that such a change is undone and refused.
#include "capi/graph/attr_message.h"
#include "capi/handles.h"
#include "graph/storage.h"

static leat_status_t check_operation(const TF_Graph* graph, const TF_Operation* operation) {
  if (operation && operation->graph == graph) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Changing an operation failed: it is %s, must be in the graph",
                          operation ? "of another graph" : "NULL");
}

// The shapes of the old and the new source must be compatible, because the shapes that were
// inferred behind the input rely on them.
static leat_status_t update_edge(TF_Graph* graph, TF_Output new_src, TF_Input dst) {
  leat_graph_t* g = graph->shared->graph;
  LEAT_RETURN_IF_ERROR(check_operation(graph, new_src.oper));
  LEAT_RETURN_IF_ERROR(check_operation(graph, dst.oper));
  const leat_node_t* from = leat_capi_node(new_src.oper);
  const leat_node_t* to = leat_capi_node(dst.oper);
  bool exists = new_src.index >= 0 && new_src.index < from->output_count && dst.index >= 0 &&
                dst.index < to->input_count;
  leat_output_t source = {new_src.oper->node, new_src.index};
  if (exists && leat_output_exists(to->inputs[dst.index])) {
    leat_partial_shape_t merged;
    leat_status_t status = leat_partial_shape_merge(
        leat_graph_output_shape(g, source), leat_graph_output_shape(g, to->inputs[dst.index]),
        leat_graph_arena(g), &merged);
    LEAT_RETURN_IF_ERROR(
        leat_status_annotate(status, "Cannot update edge, incompatible shapes"));
  }
  ++graph->edits;
  LEAT_RETURN_IF_ERROR(leat_graph_set_input(g, dst.oper->node, dst.index, source));
  return leat_word_map_set(&graph->updated_inputs, leat_capi_input_key(dst.oper->node, dst.index),
                           1);
}

void TF_UpdateEdge(TF_Graph* graph, TF_Output new_src, TF_Input dst, TF_Status* status) {
  leat_capi_lock(graph);
  leat_capi_status_set(status, update_edge(graph, new_src, dst));
  leat_capi_unlock(graph);
}

void TF_AddOperationControlInput(TF_Graph* graph, TF_Operation* op, TF_Operation* input) {
  leat_graph_t* g = leat_capi_lock(graph);
  leat_status_t status = leat_status_join(check_operation(graph, op),
                                          check_operation(graph, input));
  if (!status) {
    ++graph->edits;
    status = leat_graph_add_control_input(g, op->node, input->node);
  }
  leat_capi_unlock(graph);
  leat_status_free(status);
}

void TF_RemoveAllControlInputs(TF_Graph* graph, TF_Operation* op) {
  leat_graph_t* g = leat_capi_lock(graph);
  leat_status_t status = check_operation(graph, op);
  if (!status) {
    ++graph->edits;
    g->nodes[op->node].control_count = 0;
  }
  leat_capi_unlock(graph);
  leat_status_free(status);
}

static leat_status_t set_attr(TF_Graph* graph, TF_Operation* op, const char* attr_name,
                              leat_string_view_t bytes) {
  leat_attr_t attr = {.name = leat_string_view_from(attr_name)};
  leat_graph_storage_t* storage = NULL;
  LEAT_RETURN_IF_ERROR(check_operation(graph, op));
  LEAT_RETURN_IF_ERROR(leat_graph_storage_create(leat_allocator_system(), NULL, &storage));
  leat_status_t status = leat_capi_attr_decode(bytes, storage, &attr.value);
  leat_graph_t* g = graph->shared->graph;
  const leat_node_t before = g->nodes[op->node];
  if (!status) status = leat_graph_set_attr(g, op->node, &attr);
  if (!status) {
    // Kernels are chosen by the attributes and read the inputs as these say, so that the node goes
    // back to what it was where attributes and inputs contradict each other.
    status = leat_graph_check_attrs(g, op->node);
    if (status) g->nodes[op->node] = before;
  }
  leat_graph_storage_release(storage);
  return status;
}

void TF_SetAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name,
                TF_Buffer* attr_value_proto, TF_Status* status) {
  leat_capi_lock(graph);
  leat_capi_status_set(
      status, set_attr(graph, op, attr_name, leat_capi_buffer_bytes(attr_value_proto)));
  leat_capi_unlock(graph);
}

// Removes an attribute. Those that the op declares must have a value as long as the node exists, so
// that removing one is refused.
static leat_status_t clear_attr(TF_Graph* graph, TF_Operation* op, leat_string_view_t name) {
  LEAT_RETURN_IF_ERROR(check_operation(graph, op));
  leat_node_t* node = &graph->shared->graph->nodes[op->node];
  if (leat_op_find_attr(node->op, name) >= 0) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Clearing an attribute failed for node '%.*s' (%.*s): '%.*s' is "
                            "declared by the op, must be one that is not",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            LEAT_SV_ARG(name));
  }
  if (!leat_node_attr(node, name)) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(graph->shared->graph),
                                                 (size_t)node->attr_count, sizeof(leat_attr_t),
                                                 &memory));
  leat_attr_t* attrs = memory;
  int count = 0;
  for (int i = 0; i < node->attr_count; ++i) {
    if (!leat_string_view_equal(node->attrs[i].name, name)) attrs[count++] = node->attrs[i];
  }
  node->attrs = attrs;
  node->attr_count = count;
  return leat_ok_status();
}

void TF_ClearAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name, TF_Status* status) {
  leat_capi_lock(graph);
  leat_capi_status_set(status, clear_attr(graph, op, leat_string_view_from(attr_name)));
  leat_capi_unlock(graph);
}

// Does nothing: nothing here depends on full types, and nodes do not keep them.
void TF_SetFullType(TF_Graph* graph, TF_Operation* op, const TF_Buffer* full_type_proto) {}

void TF_SetRequestedDevice(TF_Graph* graph, TF_Operation* op, const char* device) {
  leat_graph_t* g = leat_capi_lock(graph);
  leat_string_view_t copy;
  leat_status_t status = check_operation(graph, op);
  if (!status) {
    status = leat_arena_copy_string(leat_graph_arena(g), leat_string_view_from(device), &copy);
  }
  if (!status) g->nodes[op->node].device = copy;
  leat_capi_unlock(graph);
  leat_status_free(status);
}
