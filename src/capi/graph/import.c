// TF_GraphImportGraphDef: adds the nodes of a serialized GraphDef to a graph. The import itself is
// in graph/import/import.h; here are the options, as the caller sets them one by one, and the
// results, with handles of operations.
//
// The options cannot return an error from their setters, so that the first one is kept and reported
// by the import. The results are allocated before the graph changes, and so are the handles of the
// operations that they will name: once the graph has grown, nothing may fail for want of memory,
// because the caller could not tell what was imported.
//
//     options ──translate──▶ leat_import_options_t ──leat_graph_import──▶ results, with handles
#include "graph/import/import.h"

#include "capi/handles.h"
#include "formats/wire/wire.h"

// ---- Options ------------------------------------------------------------------------------------

typedef struct mapping_s {
  leat_tensor_name_t from;  // the name in the GraphDef
  TF_Output to;  // the output or operation of the graph that takes its place
} mapping_t;

struct TF_ImportGraphDefOptions {
  leat_arena_t arena;
  leat_status_t status;  // the first error of a setter
  leat_string_view_t prefix;
  leat_string_view_t default_device;
  bool uniquify_names, uniquify_prefix;
  mapping_t* mappings;
  size_t mapping_count, mapping_capacity;
  TF_Operation** controls;
  size_t control_count, control_capacity;
  leat_tensor_name_t* outputs;
  size_t output_count, output_capacity;
  leat_string_view_t* operations;
  size_t operation_count, operation_capacity;
};

TF_ImportGraphDefOptions* TF_NewImportGraphDefOptions(void) {
  void* memory = NULL;
  leat_status_t status = leat_allocator_allocate(leat_allocator_system(),
                                                 sizeof(TF_ImportGraphDefOptions), &memory);
  if (status) {
    leat_status_free(status);
    return NULL;
  }
  TF_ImportGraphDefOptions* options = memory;
  leat_arena_initialize(leat_allocator_system(), 1024, &options->arena);
  return options;
}

void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions* opts) {
  if (!opts) return;
  leat_allocator_t* allocator = leat_allocator_system();
  leat_allocator_free(allocator, opts->mappings);
  leat_allocator_free(allocator, opts->controls);
  leat_allocator_free(allocator, opts->outputs);
  leat_allocator_free(allocator, opts->operations);
  leat_arena_deinitialize(&opts->arena);
  leat_status_free(opts->status);
  leat_allocator_free(allocator, opts);
}

// Keeps an error for the import to report. Returns whether there was none.
static bool note(TF_ImportGraphDefOptions* opts, leat_status_t status) {
  opts->status = leat_status_join(opts->status, status);
  return leat_status_is_ok(status);
}

// Copies |text| into the options, since the caller may free it after the call.
static bool keep_text(TF_ImportGraphDefOptions* opts, const char* text,
                      leat_string_view_t* out_text) {
  return note(opts, leat_arena_copy_string(&opts->arena, leat_string_view_from(text), out_text));
}

// Makes room for one more item in one of the arrays of the options.
#define MAKE_ROOM(opts, items, count, capacity) \
  note((opts),                                  \
       LEAT_GROW(leat_allocator_system(), (opts)->count + 1, &(opts)->items, &(opts)->capacity))

void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions* opts, const char* prefix) {
  keep_text(opts, prefix, &opts->prefix);
}

void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions* opts,
                                              const char* device) {
  keep_text(opts, device, &opts->default_device);
}

void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions* opts,
                                              unsigned char uniquify_names) {
  opts->uniquify_names = uniquify_names != 0;
}

void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions* opts,
                                               unsigned char uniquify_prefix) {
  opts->uniquify_prefix = uniquify_prefix != 0;
}

void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions* opts, const char* src_name,
                                             int src_index, TF_Output dst) {
  mapping_t mapping = {.from = {.index = src_index}, .to = dst};
  if (!keep_text(opts, src_name, &mapping.from.node)) return;
  if (!MAKE_ROOM(opts, mappings, mapping_count, mapping_capacity)) return;
  opts->mappings[opts->mapping_count++] = mapping;
}

void TF_ImportGraphDefOptionsRemapControlDependency(TF_ImportGraphDefOptions* opts,
                                                    const char* src_name, TF_Operation* dst) {
  TF_ImportGraphDefOptionsAddInputMapping(opts, src_name, LEAT_CONTROL_INDEX,
                                          (TF_Output){dst, LEAT_CONTROL_INDEX});
}

void TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions* opts,
                                                  TF_Operation* oper) {
  if (!MAKE_ROOM(opts, controls, control_count, control_capacity)) return;
  opts->controls[opts->control_count++] = oper;
}

void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions* opts,
                                             const char* oper_name, int index) {
  leat_tensor_name_t name = {.index = index};
  if (!keep_text(opts, oper_name, &name.node)) return;
  if (!MAKE_ROOM(opts, outputs, output_count, output_capacity)) return;
  opts->outputs[opts->output_count++] = name;
}

int TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions* opts) {
  return opts ? (int)opts->output_count : 0;
}

void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions* opts,
                                                const char* oper_name) {
  leat_string_view_t name;
  if (!keep_text(opts, oper_name, &name)) return;
  if (!MAKE_ROOM(opts, operations, operation_count, operation_capacity)) return;
  opts->operations[opts->operation_count++] = name;
}

int TF_ImportGraphDefOptionsNumReturnOperations(const TF_ImportGraphDefOptions* opts) {
  return opts ? (int)opts->operation_count : 0;
}

// ---- Results ------------------------------------------------------------------------------------

struct TF_ImportGraphDefResults {
  leat_arena_t arena;
  TF_Output* outputs;
  int output_count;
  TF_Operation** operations;
  int operation_count;
  const char** names;  // [mapping_count], of all mappings
  const char** unused_names;
  int* unused_indices;
  int unused_count;
};

void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults* results, int* num_outputs,
                                           TF_Output** outputs) {
  *num_outputs = results->output_count;
  *outputs = results->outputs;
}

void TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults* results, int* num_opers,
                                              TF_Operation*** opers) {
  *num_opers = results->operation_count;
  *opers = results->operations;
}

void TF_ImportGraphDefResultsMissingUnusedInputMappings(TF_ImportGraphDefResults* results,
                                                        int* num_missing_unused_input_mappings,
                                                        const char*** src_names,
                                                        int** src_indexes) {
  *num_missing_unused_input_mappings = results->unused_count;
  *src_names = results->unused_names;
  *src_indexes = results->unused_indices;
}

void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults* results) {
  if (!results) return;
  leat_arena_deinitialize(&results->arena);
  leat_allocator_free(leat_allocator_system(), results);
}

// Makes results with all the room that they can need.
static leat_status_t make_results(const TF_ImportGraphDefOptions* opts,
                                  TF_ImportGraphDefResults** out_results) {
  void* memory = NULL;
  *out_results = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(),
                                               sizeof(TF_ImportGraphDefResults), &memory));
  TF_ImportGraphDefResults* results = memory;
  *out_results = results;
  leat_arena_t* arena = &results->arena;
  leat_arena_initialize(leat_allocator_system(), 1024, arena);
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, opts->output_count, sizeof(TF_Output), &memory));
  results->outputs = memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, opts->operation_count, sizeof(TF_Operation*), &memory));
  results->operations = memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, opts->mapping_count, sizeof(char*), &memory));
  results->names = memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, opts->mapping_count, sizeof(char*), &memory));
  results->unused_names = memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, opts->mapping_count, sizeof(int), &memory));
  results->unused_indices = memory;
  // All names are copied: which mappings stay unused is not known yet, and there are few.
  for (size_t i = 0; i < opts->mapping_count; ++i) {
    leat_string_view_t name;
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, opts->mappings[i].from.node, &name));
    results->names[i] = name.data;
  }
  return leat_ok_status();
}

// ---- The import ---------------------------------------------------------------------------------

typedef struct import_s {
  leat_arena_t arena;
  leat_import_mapping_t* mappings;  // those of |options|
  leat_import_options_t options;
  leat_import_results_t results;
} import_t;

// INVALID_ARGUMENT where |operation| is not of |graph|; |what| names it in the message.
static leat_status_t check_operation(const TF_Graph* graph, const TF_Operation* operation,
                                     const char* what) {
  if (operation && operation->graph == graph) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Import failed: %s is %s, must be in the graph",
                          what, operation ? "of another graph" : "NULL");
}

// Translates the mappings of inputs. A mapping of LEAT_CONTROL_INDEX replaces control inputs.
static leat_status_t translate_mappings(import_t* import, const TF_Graph* graph,
                                        const TF_ImportGraphDefOptions* opts) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&import->arena, opts->mapping_count,
                                                 sizeof(leat_import_mapping_t), &memory));
  leat_import_mapping_t* mappings = memory;
  for (size_t i = 0; i < opts->mapping_count; ++i) {
    const mapping_t* mapping = &opts->mappings[i];
    LEAT_RETURN_IF_ERROR(check_operation(graph, mapping->to.oper, "a mapping's target"));
    mappings[i].from = mapping->from;
    mappings[i].to = (leat_output_t){mapping->to.oper->node, mapping->to.index};
    if (mapping->to.index == LEAT_CONTROL_INDEX) continue;
    LEAT_RETURN_IF_ERROR(
        leat_capi_output_resolve(graph, mapping->to, "Mapping an input", &mappings[i].to));
  }
  import->mappings = mappings;
  import->options.input_map = mappings;
  import->options.input_map_count = (int)opts->mapping_count;
  return leat_ok_status();
}

// Translates the operations that every imported node without inputs waits for.
static leat_status_t translate_controls(import_t* import, const TF_Graph* graph,
                                        const TF_ImportGraphDefOptions* opts) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&import->arena, opts->control_count,
                                                 sizeof(int32_t), &memory));
  int32_t* controls = memory;
  for (size_t i = 0; i < opts->control_count; ++i) {
    LEAT_RETURN_IF_ERROR(check_operation(graph, opts->controls[i], "a control dependency"));
    controls[i] = opts->controls[i]->node;
  }
  import->options.control_dependencies = controls;
  import->options.control_dependency_count = (int)opts->control_count;
  return leat_ok_status();
}

// Where a loop or conditional is under construction, what is imported is in it: it reads what
// stands there for the values that it is mapped to, and waits for the context's pivot. What is
// captured for it is named beside the prefix, as in TensorFlow. When the import then fails, that
// stays, and nothing reads it.
static leat_status_t join_context(import_t* import, const TF_Graph* graph) {
  leat_import_options_t* options = &import->options;
  leat_string_view_t scope = options->prefix;
  while (scope.size > 0 && scope.data[scope.size - 1] != '/') --scope.size;
  for (int i = 0; i < options->input_map_count; ++i) {
    leat_output_t* to = &import->mappings[i].to;
    if (to->index == LEAT_CONTROL_INDEX) continue;
    LEAT_RETURN_IF_ERROR(leat_control_flow_bring(graph->flow, *to, scope, to));
  }
  return leat_control_flow_wait(graph->flow, options->control_dependencies,
                                options->control_dependency_count, &import->arena,
                                &options->control_dependencies,
                                &options->control_dependency_count);
}

static leat_status_t translate_options(import_t* import, const TF_Graph* graph,
                                       const TF_ImportGraphDefOptions* opts) {
  import->options = (leat_import_options_t){
      .prefix = opts->prefix,
      .uniquify_names = opts->uniquify_names,
      .uniquify_prefix = opts->uniquify_prefix,
      .return_outputs = opts->outputs,
      .return_output_count = (int)opts->output_count,
      .return_nodes = opts->operations,
      .return_node_count = (int)opts->operation_count,
      .default_device = opts->default_device,
  };
  LEAT_RETURN_IF_ERROR(translate_mappings(import, graph, opts));
  LEAT_RETURN_IF_ERROR(translate_controls(import, graph, opts));
  return graph->flow ? join_context(import, graph) : leat_ok_status();
}

// Gives the results their handles, which exist already, so that it cannot fail.
static void fill_results(const import_t* import, TF_Graph* graph,
                         TF_ImportGraphDefResults* results) {
  results->output_count = import->options.return_output_count;
  for (int i = 0; i < results->output_count; ++i) {
    results->outputs[i] = leat_capi_output(graph, import->results.return_outputs[i]);
  }
  results->operation_count = import->options.return_node_count;
  for (int i = 0; i < results->operation_count; ++i) {
    results->operations[i] = leat_capi_operation(graph, import->results.return_nodes[i]);
  }
  results->unused_count = import->results.unused_mapping_count;
  for (int i = 0; i < results->unused_count; ++i) {
    int mapping = import->results.unused_mappings[i];
    results->unused_names[i] = results->names[mapping];
    results->unused_indices[i] = import->options.input_map[mapping].from.index;
  }
}

// Counts the nodes of a GraphDef, its fields with number 1. Malformed bytes are reported by the
// import.
static size_t count_nodes(leat_string_view_t bytes) {
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  size_t count = 0;
  while (next && next < end) {
    uint32_t number = 0, type = 0;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (next) next = leat_wire_skip(next, end, number, type);
    count += number == 1;
  }
  return count;
}

// Imports; the caller holds the lock. |results| may be NULL. The handles that the results need are
// made before the import.
static leat_status_t import_locked(TF_Graph* graph, leat_string_view_t bytes,
                                   const TF_ImportGraphDefOptions* opts,
                                   TF_ImportGraphDefResults* results) {
  import_t import = {.options = {.uniquify_names = false}};
  leat_graph_t* g = graph->shared->graph;
  LEAT_RETURN_IF_ERROR(leat_status_clone(opts->status));
  LEAT_RETURN_IF_ERROR(leat_capi_check_no_gradient(graph, "Importing a graph"));
  leat_arena_initialize(leat_allocator_system(), 1024, &import.arena);
  leat_status_t status = translate_options(&import, graph, opts);
  if (!status && results && (opts->output_count > 0 || opts->operation_count > 0)) {
    status = leat_capi_graph_reserve(graph, g->node_count, count_nodes(bytes));
  }
  if (!status) status = leat_graph_import(g, bytes, &import.options, &import.results);
  if (!status) {
    if (results) fill_results(&import, graph, results);
    leat_import_results_deinitialize(&import.results);
  }
  leat_arena_deinitialize(&import.arena);
  return status;
}

static leat_status_t import_graph_def(TF_Graph* graph, const TF_Buffer* graph_def,
                                      const TF_ImportGraphDefOptions* opts,
                                      TF_ImportGraphDefResults* results) {
  leat_capi_lock(graph);
  leat_status_t status =
      import_locked(graph, leat_capi_buffer_bytes(graph_def), opts, results);
  leat_capi_unlock(graph);
  return status;
}

static leat_status_t check_arguments(const TF_Buffer* graph_def,
                                     const TF_ImportGraphDefOptions* options) {
  if (graph_def && options) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Import failed: %s is NULL",
                          graph_def ? "options" : "graph_def");
}

TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResults(
    TF_Graph* graph, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions* options,
    TF_Status* status) {
  TF_ImportGraphDefResults* results = NULL;
  leat_status_t result = check_arguments(graph_def, options);
  if (!result) result = make_results(options, &results);
  if (!result) result = import_graph_def(graph, graph_def, options, results);
  if (result) {
    TF_DeleteImportGraphDefResults(results);
    results = NULL;
  }
  leat_capi_status_set(status, result);
  return results;
}

// Takes a GraphDef object of C++ in TensorFlow, which C cannot read.
TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResultsNoSerialization(
    TF_Graph* graph, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions* options,
    TF_Status* status) {
  leat_capi_status_set(
      status, leat_make_status(LEAT_UNIMPLEMENTED,
                               "Import failed: GraphDef is a C++ object, must be serialised "
                               "(TF_GraphImportGraphDefWithResults)"));
  return NULL;
}

// Imports, and copies the returned outputs to an array of the caller's.
static leat_status_t import_with_outputs(TF_Graph* graph, const TF_Buffer* graph_def,
                                         const TF_ImportGraphDefOptions* options,
                                         TF_Output* outputs, int count) {
  TF_ImportGraphDefResults* results = NULL;
  LEAT_RETURN_IF_ERROR(check_arguments(graph_def, options));
  if (count != (int)options->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Expected 'num_return_outputs' to be %zu, got %d",
                            options->output_count, count);
  }
  if (count > 0 && !outputs) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "'return_outputs' must be preallocated to length %d", count);
  }
  leat_status_t status = make_results(options, &results);
  if (!status) status = import_graph_def(graph, graph_def, options, results);
  for (int i = 0; !status && i < count; ++i) outputs[i] = results->outputs[i];
  TF_DeleteImportGraphDefResults(results);
  return status;
}

void TF_GraphImportGraphDefWithReturnOutputs(TF_Graph* graph, const TF_Buffer* graph_def,
                                             const TF_ImportGraphDefOptions* options,
                                             TF_Output* return_outputs, int num_return_outputs,
                                             TF_Status* status) {
  leat_capi_status_set(status, import_with_outputs(graph, graph_def, options, return_outputs,
                                                   num_return_outputs));
}

void TF_GraphImportGraphDef(TF_Graph* graph, const TF_Buffer* graph_def,
                            const TF_ImportGraphDefOptions* options, TF_Status* status) {
  leat_status_t result = check_arguments(graph_def, options);
  if (!result) result = import_graph_def(graph, graph_def, options, NULL);
  leat_capi_status_set(status, result);
}
