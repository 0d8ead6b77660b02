// TF_DeprecatedSession, TensorFlow's first kind of session: it holds its graph itself, and steps
// name feeds, fetches and targets by strings. It is built from a TF_Graph and a TF_Session. Each
// call looks the names up, which takes the graph's lock once for each name, and then calls the
// function of the newer kind. What the names stand for lies in an arena that ends with the call.
#include "capi/handles.h"

struct TF_DeprecatedSession {
  TF_Graph* graph;
  TF_Session* session;
};

// After a failure the graph is deleted, and |status| says what failed.
TF_DeprecatedSession* TF_NewDeprecatedSession(const TF_SessionOptions* options,
                                              TF_Status* status) {
  void* memory = NULL;
  leat_status_t result =
      leat_allocator_allocate(leat_allocator_system(), sizeof(TF_DeprecatedSession), &memory);
  TF_DeprecatedSession* session = memory;
  if (!result && !(session->graph = TF_NewGraph())) {
    result = leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a graph ran out");
  }
  leat_capi_status_set(status, result);
  if (!result) session->session = TF_NewSession(session->graph, options, status);
  if (session && session->session) return session;
  if (session) TF_DeleteGraph(session->graph);
  leat_allocator_free(leat_allocator_system(), session);
  return NULL;
}

void TF_CloseDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status) {
  TF_CloseSession(session->session, status);
}

void TF_DeleteDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  if (!session) return;
  TF_DeleteSession(session->session, status);
  TF_DeleteGraph(session->graph);
  leat_allocator_free(leat_allocator_system(), session);
}

// The nodes are imported under their own names.
void TF_ExtendGraph(TF_DeprecatedSession* session, const void* proto, size_t proto_len,
                    TF_Status* status) {
  TF_Buffer graph_def = {proto, proto_len, NULL};
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(session->graph, &graph_def, options, status);
  TF_DeleteImportGraphDefOptions(options);
}

// ---- Names --------------------------------------------------------------------------------------

// NOT_FOUND where the graph has no node |name|.
static leat_status_t find_operation(TF_Graph* graph, leat_string_view_t name,
                                    TF_Operation** out_operation) {
  leat_graph_t* g = leat_capi_lock(graph);
  *out_operation = leat_capi_operation(graph, leat_graph_find_node(g, name));
  leat_capi_unlock(graph);
  if (*out_operation) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND, "Run failed: node '%.*s' is not in the graph",
                          LEAT_SV_ARG(name));
}

// Resolves names such as "x" and "x:1".
static leat_status_t find_outputs(TF_Graph* graph, leat_arena_t* arena, const char** names,
                                  int count, TF_Output** out_outputs) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)(count < 0 ? 0 : count),
                                                 sizeof(TF_Output), &memory));
  *out_outputs = memory;
  for (int i = 0; i < count; ++i) {
    leat_string_view_t node;
    TF_Output* output = &(*out_outputs)[i];
    LEAT_RETURN_IF_ERROR(
        leat_tensor_name_parse(leat_string_view_from(names[i]), &node, &output->index));
    LEAT_RETURN_IF_ERROR(find_operation(graph, node, &output->oper));
  }
  return leat_ok_status();
}

static leat_status_t find_targets(TF_Graph* graph, leat_arena_t* arena, const char** names,
                                  int count, TF_Operation*** out_operations) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)(count < 0 ? 0 : count),
                                                 sizeof(TF_Operation*), &memory));
  *out_operations = memory;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        find_operation(graph, leat_string_view_from(names[i]), &(*out_operations)[i]));
  }
  return leat_ok_status();
}

// The feeds, fetches and targets that a step's names stand for.
typedef struct named_s {
  leat_arena_t arena;
  TF_Output* feeds;
  TF_Output* fetches;
  TF_Operation** targets;
} named_t;

// A session gets its graph by TF_ExtendGraph.
static leat_status_t check_extended(TF_Graph* graph) {
  const bool is_empty = leat_capi_lock(graph)->node_count == 0;
  leat_capi_unlock(graph);
  if (!is_empty) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Session was not created with a graph before Run()!");
}

// Looks up all names of a step. Returns whether all were found; the caller deinitializes the arena
// in either case.
static bool find_named(const TF_DeprecatedSession* session, const char** input_names, int ninputs,
                       const char** output_names, int noutputs, const char** target_names,
                       int ntargets, named_t* out_named, TF_Status* status) {
  TF_Graph* graph = session->graph;
  leat_arena_t* arena = &out_named->arena;
  leat_arena_initialize(leat_allocator_system(), 4096, arena);
  leat_status_t result = check_extended(graph);
  if (!result) result = find_outputs(graph, arena, input_names, ninputs, &out_named->feeds);
  if (!result) result = find_outputs(graph, arena, output_names, noutputs, &out_named->fetches);
  if (!result) result = find_targets(graph, arena, target_names, ntargets, &out_named->targets);
  bool found = !result;
  leat_capi_status_set(status, result);
  return found;
}

void TF_Run(TF_DeprecatedSession* session, const TF_Buffer* run_options, const char** input_names,
            TF_Tensor** inputs, int ninputs, const char** output_names, TF_Tensor** outputs,
            int noutputs, const char** target_oper_names, int ntargets, TF_Buffer* run_metadata,
            TF_Status* status) {
  named_t named;
  for (int i = 0; i < noutputs; ++i) outputs[i] = NULL;
  if (find_named(session, input_names, ninputs, output_names, noutputs, target_oper_names, ntargets,
                 &named, status)) {
    TF_SessionRun(session->session, run_options, named.feeds, inputs, ninputs, named.fetches,
                  outputs, noutputs, (const TF_Operation* const*)named.targets, ntargets,
                  run_metadata, status);
  }
  leat_arena_deinitialize(&named.arena);
}

TF_DeviceList* TF_DeprecatedSessionListDevices(TF_DeprecatedSession* session,
                                               TF_Status* status) {
  return TF_SessionListDevices(session->session, status);
}

void TF_PRunSetup(TF_DeprecatedSession* session, const char** input_names, int ninputs,
                  const char** output_names, int noutputs, const char** target_oper_names,
                  int ntargets, const char** handle, TF_Status* status) {
  named_t named;
  *handle = NULL;
  if (find_named(session, input_names, ninputs, output_names, noutputs, target_oper_names, ntargets,
                 &named, status)) {
    TF_SessionPRunSetup(session->session, named.feeds, ninputs, named.fetches, noutputs,
                        (const TF_Operation* const*)named.targets, ntargets, handle, status);
  }
  leat_arena_deinitialize(&named.arena);
}

void TF_PRun(TF_DeprecatedSession* session, const char* handle, const char** input_names,
             TF_Tensor** inputs, int ninputs, const char** output_names, TF_Tensor** outputs,
             int noutputs, const char** target_oper_names, int ntargets, TF_Status* status) {
  named_t named;
  for (int i = 0; i < noutputs; ++i) outputs[i] = NULL;
  if (find_named(session, input_names, ninputs, output_names, noutputs, target_oper_names, ntargets,
                 &named, status)) {
    TF_SessionPRun(session->session, handle, named.feeds, inputs, ninputs, named.fetches, outputs,
                   noutputs, (const TF_Operation* const*)named.targets, ntargets, status);
  }
  leat_arena_deinitialize(&named.arena);
}
