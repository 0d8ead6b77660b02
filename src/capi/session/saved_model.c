// TF_LoadSessionFromSavedModel and leat_meta_graph_load: models from files. session/meta_graph.h
// reads and restores them; here they get graphs, sessions and handles. A SavedModel is loaded into
// a fresh graph, which becomes the caller's graph only when everything has succeeded, so that the
// caller's graph is still empty after a failure and can be used for another attempt. A MetaGraphDef
// is imported into the caller's graph itself, and restoring is left to the caller.
//
//     saved_model.pb ──▶ MetaGraphDef ──▶ fresh graph, session ──restore──▶ the TF_Graph's content
#include "capi/handles.h"
#include "capi/session/run_options.h"
#include "leat/saved_model.h"
#include "session/meta_graph.h"

// ---- Loading ------------------------------------------------------------------------------------

static leat_status_t copy_bytes(leat_string_view_t bytes, TF_Buffer* out_buffer) {
  leat_string_builder_t copy;
  leat_string_builder_initialize(leat_allocator_system(), &copy);
  leat_string_builder_append(&copy, bytes);
  return leat_capi_buffer_take(&copy, out_buffer);
}

typedef struct load_s {
  const char* directory;
  TF_Graph* graph;
  leat_shared_graph_t* fresh;  // becomes the graph's content when loading has succeeded
  int64_t timeout_ms;
  TF_Session* session;
} load_t;

// Makes the graph and session, imports the graph and restores the state. What was made is freed by
// the caller after a failure.
static leat_status_t load_session(load_t* l, const TF_SessionOptions* options,
                                  leat_meta_graph_t* m, TF_Buffer* meta_graph_def) {
  const leat_runtime_t* runtime = NULL;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_shared_graph_create(runtime, &l->fresh));
  LEAT_RETURN_IF_ERROR(leat_capi_session_create(l->graph, l->fresh, options, &l->session));
  LEAT_RETURN_IF_ERROR(leat_meta_graph_import(m, l->fresh));
  LEAT_RETURN_IF_ERROR(leat_meta_graph_restore(m, leat_file_system_default(), l->directory,
                                               l->fresh, l->session->session, l->timeout_ms));
  if (meta_graph_def) LEAT_RETURN_IF_ERROR(copy_bytes(m->bytes, meta_graph_def));
  return leat_ok_status();
}

// Gives |graph| the content |fresh|, in place of the empty one that it had, in which there can be
// no loops and conditionals.
static void adopt(TF_Graph* graph, leat_shared_graph_t* fresh) {
  leat_control_flow_free(graph->flow);
  graph->flow = NULL;
  leat_session_free(graph->evaluator);
  graph->evaluator = NULL;
  leat_shared_graph_release(graph->shared);
  graph->shared = fresh;
}

static leat_status_t check_load(const TF_SessionOptions* options, const char* directory,
                                TF_Graph* graph) {
  if (!options || !directory || !graph) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Loading a SavedModel failed: %s is NULL",
                            !options ? "options" : !graph ? "graph" : "export_dir");
  }
  size_t count = leat_capi_lock(graph)->node_count;
  leat_capi_unlock(graph);
  if (count == 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Graph is non-empty.");
}

static leat_status_t load_saved_model(load_t* l, const TF_SessionOptions* options,
                                      const char* const* tags, int tag_count,
                                      TF_Buffer* meta_graph_def) {
  leat_meta_graph_t m;
  LEAT_RETURN_IF_ERROR(check_load(options, l->directory, l->graph));
  if (meta_graph_def) LEAT_RETURN_IF_ERROR(leat_capi_buffer_check_empty(meta_graph_def));
  LEAT_RETURN_IF_ERROR(leat_meta_graph_read_saved_model(
      leat_file_system_default(), l->directory, tags, tag_count, leat_allocator_system(), &m));
  leat_status_t status =
      leat_meta_graph_explain(&m, load_session(l, options, &m, meta_graph_def));
  leat_meta_graph_deinitialize(&m);
  if (!status) {
    adopt(l->graph, l->fresh);
    return leat_ok_status();
  }
  TF_DeleteSession(l->session, NULL);
  l->session = NULL;
  leat_shared_graph_release(l->fresh);
  return status;
}

TF_Session* TF_LoadSessionFromSavedModel(const TF_SessionOptions* session_options,
                                         const TF_Buffer* run_options, const char* export_dir,
                                         const char* const* tags, int tags_len, TF_Graph* graph,
                                         TF_Buffer* meta_graph_def, TF_Status* status) {
  leat_capi_run_options_t options;
  leat_status_t result = leat_capi_run_options_begin(run_options, NULL, &options);
  load_t load = {.directory = export_dir, .graph = graph};
  if (!result) {
    load.timeout_ms = options.timeout_ms;
    result = load_saved_model(&load, session_options, tags, tags_len, meta_graph_def);
  }
  leat_capi_status_set(status, result);
  return load.session;
}

// ---- MetaGraphs ---------------------------------------------------------------------------------

// Finds a tensor by its name and gives its handle.
static leat_status_t find_output(leat_string_view_t name, TF_Graph* graph, TF_Output* out_output) {
  leat_output_t output;
  LEAT_RETURN_IF_ERROR(leat_meta_graph_find(graph->shared, name, &output));
  leat_capi_lock(graph);
  *out_output = leat_capi_output(graph, output);
  leat_capi_unlock(graph);
  return leat_ok_status();
}

static leat_status_t load_meta_graph(leat_meta_graph_t* m, TF_Graph* graph,
                                     TF_Buffer* meta_graph_def,
                                     leat_saver_operations_t* out_saver) {
  const leat_pb_saver_def_t* saver = m->message.saver_def;
  TF_Output restore = {NULL, 0};
  LEAT_RETURN_IF_ERROR(leat_meta_graph_import(m, graph->shared));
  if (meta_graph_def) LEAT_RETURN_IF_ERROR(copy_bytes(m->bytes, meta_graph_def));
  if (!saver) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_output(saver->filename_tensor_name, graph, &out_saver->file_name));
  LEAT_RETURN_IF_ERROR(find_output(saver->save_tensor_name, graph, &out_saver->saved));
  LEAT_RETURN_IF_ERROR(find_output(saver->restore_op_name, graph, &restore));
  out_saver->restore = restore.oper;
  return leat_ok_status();
}

leat_saver_operations_t leat_meta_graph_load(const char* path, TF_Graph* graph,
                                             TF_Buffer* meta_graph_def, TF_Status* status) {
  leat_meta_graph_t m;
  leat_saver_operations_t saver = {.restore = NULL};
  leat_status_t result =
      meta_graph_def ? leat_capi_buffer_check_empty(meta_graph_def) : leat_ok_status();
  if (!result) {
    result = leat_meta_graph_read(leat_file_system_default(), path, leat_allocator_system(), &m);
  }
  if (!result) {
    result = load_meta_graph(&m, graph, meta_graph_def, &saver);
    leat_meta_graph_deinitialize(&m);
  }
  if (result) saver = (leat_saver_operations_t){.restore = NULL};
  leat_capi_status_set(status, result);
  return saver;
}
