// Gives graphs, nodes, versions and op declarations as serialized messages. The bytes are encoded
// under the graph's lock into a builder that belongs to the call, and move into the caller's buffer
// after the lock was released; so other threads wait only while the graph is read. The caller's
// buffer must be empty and stays so after an error. The messages are TensorFlow's GraphDef,
// NodeDef, VersionDef, OpDef and OpList; how each is made from the graph is in
// graph/import/export.c and graph/op/op_def.c.
#include "graph/import/export.h"

#include "capi/handles.h"
#include "formats/wire/encode.h"
#include "graph/function/function_library.h"
#include "graph/op/op_def.h"

// Moves the bytes into |out_buffer|, unless |status|, which is taken, is an error. |bytes| is used
// up.
static leat_status_t finish(leat_status_t status, leat_string_builder_t* bytes,
                            TF_Buffer* out_buffer) {
  if (!status) return leat_capi_buffer_take(bytes, out_buffer);
  leat_string_builder_deinitialize(bytes);
  return status;
}

void TF_GraphToGraphDef(TF_Graph* graph, TF_Buffer* output_graph_def, TF_Status* status) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t result = leat_capi_buffer_check_empty(output_graph_def);
  leat_graph_t* g = leat_capi_lock(graph);
  if (!result) result = leat_graph_export(g, &bytes);
  leat_capi_unlock(graph);
  leat_capi_status_set(status, finish(result, &bytes, output_graph_def));
}

// Fills |def| with the node of |oper|. An input that TF_UpdateEdge replaced is written with its
// index even where that is 0. In a GraphDef it is not, in TensorFlow neither.
static leat_status_t describe_node(const TF_Operation* oper, leat_arena_t* arena,
                                   leat_pb_node_def_t* def) {
  const leat_graph_t* g = oper->graph->shared->graph;
  const leat_node_t* node = leat_graph_node(g, oper->node);
  LEAT_RETURN_IF_ERROR(leat_node_to_def(g, oper->node, arena, def));
  for (int i = 0; i < node->input_count; ++i) {
    uint64_t ignored;
    if (node->inputs[i].index != 0 ||
        !leat_word_map_get(&oper->graph->updated_inputs, leat_capi_input_key(oper->node, i),
                           &ignored)) {
      continue;
    }
    leat_string_view_t* text = &def->input.items[i];
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, text, "%.*s:0", LEAT_SV_ARG(*text)));
  }
  return leat_ok_status();
}

void TF_OperationToNodeDef(TF_Operation* oper, TF_Buffer* output_node_def, TF_Status* status) {
  leat_string_builder_t bytes;
  leat_arena_t arena;
  leat_pb_node_def_t def;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_capi_lock(oper->graph);
  leat_status_t result = describe_node(oper, &arena, &def);
  if (!result) result = leat_message_encode(&leat_pb_node_def_descriptor, &def, &bytes);
  leat_capi_unlock(oper->graph);
  leat_arena_deinitialize(&arena);
  leat_capi_status_set(status, finish(result, &bytes, output_node_def));
}

void TF_GraphVersions(TF_Graph* graph, TF_Buffer* output_version_def, TF_Status* status) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_graph_t* g = leat_capi_lock(graph);
  leat_pb_version_def_t versions = {
      .producer = g->producer_version,
      .min_consumer = g->min_consumer_version,
      .bad_consumers = {(int32_t*)(uintptr_t)g->bad_consumers, (size_t)g->bad_consumer_count},
  };
  leat_status_t result = leat_message_encode(&leat_pb_version_def_descriptor, &versions, &bytes);
  leat_capi_unlock(graph);
  leat_capi_status_set(status, finish(result, &bytes, output_version_def));
}

// ---- Op declarations ----------------------------------------------------------------------------

// Exports the declaration of an op. A function of the graph's library goes before an op of that
// name, since calls look there first.
static leat_status_t export_op(TF_Graph* graph, leat_string_view_t name,
                               leat_string_builder_t* bytes) {
  leat_graph_t* g = graph->shared->graph;
  const leat_op_t* op = NULL;
  const leat_pb_function_def_t* function =
      g->functions ? leat_function_library_find(g->functions, name) : NULL;
  if (function && function->signature) {
    return leat_message_encode(&leat_pb_op_def_descriptor, function->signature, bytes);
  }
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(g->ops, name, &op));
  return leat_op_to_op_def(op, leat_allocator_system(), bytes);
}

void TF_GraphGetOpDef(TF_Graph* graph, const char* op_name, TF_Buffer* output_op_def,
                      TF_Status* status) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_capi_lock(graph);
  leat_status_t result = export_op(graph, leat_string_view_from(op_name), &bytes);
  leat_capi_unlock(graph);
  leat_capi_status_set(status, finish(result, &bytes, output_op_def));
}

TF_Buffer* TF_GetAllOpList(void) {
  const leat_runtime_t* runtime = NULL;
  leat_string_builder_t bytes;
  TF_Buffer* buffer = TF_NewBuffer();
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_runtime_get(&runtime);
  if (!status) status = leat_op_registry_export(runtime->ops, leat_allocator_system(), &bytes);
  status = finish(status, &bytes, buffer);
  if (!status) return buffer;
  leat_status_free(status);
  TF_DeleteBuffer(buffer);
  return NULL;
}
