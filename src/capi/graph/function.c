// TF_Function: a FunctionDef message with its name, independent of any graph until
// TF_GraphCopyFunction copies it into one. It is made from a part of a graph (function/function.h),
// from a serialized message, or from a function in a graph's library. In every case the message is
// decoded into an arena of its own, so that it stays valid when the graph or the caller's bytes go.
// The calls below take the lock of the graph that they read or change, and nothing else.
#include "capi/graph/function.h"

#include "formats/generated/graph.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "function/function.h"
#include "graph/function/function_library.h"
#include "graph/function/graph_functions.h"
#include "tensorflow/c/c_api_experimental.h"

struct TF_Function {
  leat_arena_t arena;  // holds |def| and what it points to
  leat_pb_function_def_t def;
  leat_string_view_t name;  // ends in NUL
};

// Makes a TF_Function of a serialized FunctionDef. The bytes are copied, because the decoded
// message points into them.
static leat_status_t decode(leat_string_view_t bytes, TF_Function** out_function) {
  TF_Function* function;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &function));
  leat_arena_initialize(leat_allocator_system(), 4096, &function->arena);
  leat_string_view_t copy;
  leat_status_t status = leat_arena_copy_string(&function->arena, bytes, &copy);
  if (!status) {
    status = leat_message_decode(&leat_pb_function_def_descriptor, copy, &function->arena, NULL,
                                 &function->def);
  }
  if (!status) {
    leat_string_view_t name =
        function->def.signature ? function->def.signature->name : LEAT_SV("");
    status = leat_arena_copy_string(&function->arena, name, &function->name);
  }
  if (status) {
    TF_DeleteFunction(function);
    return status;
  }
  *out_function = function;
  return leat_ok_status();
}

const leat_pb_function_def_t* leat_capi_function_def(const TF_Function* function) {
  return &function->def;
}

// The message is somebody else's, so that it is encoded and decoded again.
leat_status_t leat_capi_function_wrap(const leat_pb_function_def_t* def,
                                      TF_Function** out_function) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(&leat_pb_function_def_descriptor, def, &bytes);
  if (!status) status = decode(leat_string_builder_view(&bytes), out_function);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

// ---- From a graph -------------------------------------------------------------------------------

// Why |output| cannot be one of |graph|, in TensorFlow's words and with its codes: an index that is
// too large is OUT_OF_RANGE and not INVALID_ARGUMENT as elsewhere.
static leat_status_t check_output(const TF_Graph* graph, TF_Output output) {
  if (!output.oper) return leat_make_status(LEAT_INVALID_ARGUMENT, "Node is null");
  if (output.oper->graph != graph) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Node with id %d is different from the passed in node. Does it belong "
                            "to a different graph?",
                            (int)output.oper->node);
  }
  const leat_node_t* node = leat_capi_node(output.oper);
  if (output.index >= 0 && output.index < node->output_count) return leat_ok_status();
  return leat_make_status(LEAT_OUT_OF_RANGE,
                          "Node '%.*s' (type: '%.*s', num of outputs: %d) does not have output %d",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                          node->output_count, output.index);
}

// |status| with the place of the failure behind its message, which is where TensorFlow writes it.
static leat_status_t add_place(leat_status_t status, const char* place, int index,
                               const char* direction, leat_string_view_t function) {
  if (!status) return status;
  leat_status_t result = leat_make_status(
      leat_status_code(status), "%s\n\tEncountered while processing %s %d %s function '%.*s'",
      leat_status_message(status), place, index, direction, LEAT_SV_ARG(function));
  leat_status_free(status);
  return result;
}

// Resolves the inputs or the outputs of the function.
static leat_status_t resolve(const TF_Graph* graph, const TF_Output* outputs, int count,
                             bool are_inputs, leat_string_view_t function, leat_arena_t* arena,
                             const leat_output_t** out_outputs) {
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)(count > 0 ? count : 0) + 1,
                                                 sizeof(leat_output_t), &memory));
  leat_output_t* resolved = memory;
  *out_outputs = resolved;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(add_place(check_output(graph, outputs[i]),
                                   are_inputs ? "input" : "output", i,
                                   are_inputs ? "into" : "from", function));
    resolved[i] = (leat_output_t){outputs[i].oper->node, outputs[i].index};
  }
  return leat_ok_status();
}

// Translates operations into numbers of nodes. INVALID_ARGUMENT where one is not of |graph|.
static leat_status_t list_nodes(const TF_Graph* graph, const TF_Operation* const* operations,
                                int count, leat_arena_t* arena, const int32_t** out_nodes) {
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)(count > 0 ? count : 0) + 1,
                                                 sizeof(int32_t), &memory));
  int32_t* nodes = memory;
  *out_nodes = nodes;
  for (int i = 0; i < count; ++i) {
    if (!operations[i] || operations[i]->graph != graph) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Creating a function failed: operation %d is not of the graph", i);
    }
    nodes[i] = operations[i]->node;
  }
  return leat_ok_status();
}

typedef struct request_s {
  const TF_Graph* graph;
  const TF_Operation* const* operations;
  const TF_Operation* const* control_outputs;
  const TF_Output* inputs;
  const TF_Output* outputs;
  leat_function_spec_t spec;
} request_t;

// Builds the FunctionDef under the graph's lock. A negative count of operations means all of the
// graph's.
static leat_status_t define(request_t* r, leat_arena_t* arena, TF_Function** out_function) {
  leat_function_spec_t* spec = &r->spec;
  LEAT_RETURN_IF_ERROR(resolve(r->graph, r->inputs, spec->input_count, true, spec->name, arena,
                               &spec->inputs));
  LEAT_RETURN_IF_ERROR(resolve(r->graph, r->outputs, spec->output_count, false, spec->name, arena,
                               &spec->outputs));
  LEAT_RETURN_IF_ERROR(list_nodes(r->graph, r->control_outputs, spec->control_output_count, arena,
                                  &spec->control_outputs));
  if (spec->node_count >= 0) {
    LEAT_RETURN_IF_ERROR(
        list_nodes(r->graph, r->operations, spec->node_count, arena, &spec->nodes));
  } else {
    spec->node_count = 0;
  }
  leat_pb_function_def_t def;
  LEAT_RETURN_IF_ERROR(leat_function_define(r->graph->shared->graph, spec, arena, &def));
  return leat_capi_function_wrap(&def, out_function);
}

TF_Function* TF_GraphToFunctionWithControlOutputs(
    const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name,
    int num_opers, const TF_Operation* const* opers, int ninputs, const TF_Output* inputs,
    int noutputs, const TF_Output* outputs, const char* const* output_names, int ncontrol_outputs,
    const TF_Operation* const* control_outputs, const char* const* control_output_names,
    const TF_FunctionOptions* opts, const char* description, TF_Status* status) {
  request_t request = {.graph = fn_body,
                       .operations = opers,
                       .control_outputs = control_outputs,
                       .inputs = inputs,
                       .outputs = outputs,
                       .spec = {.name = leat_string_view_from(fn_name),
                                .append_hash = append_hash_to_fn_name,
                                .node_count = num_opers,
                                .input_count = ninputs,
                                .output_count = noutputs,
                                .output_names = output_names,
                                .control_output_count = ncontrol_outputs,
                                .control_output_names = control_output_names,
                                .description = leat_string_view_from(description)}};
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  TF_Function* function = NULL;
  leat_capi_lock((TF_Graph*)fn_body);
  leat_status_t result = define(&request, &arena, &function);
  leat_capi_unlock((TF_Graph*)fn_body);
  leat_arena_deinitialize(&arena);
  leat_capi_status_set(status, result);
  return function;
}

TF_Function* TF_GraphToFunction(const TF_Graph* fn_body, const char* fn_name,
                                unsigned char append_hash_to_fn_name, int num_opers,
                                const TF_Operation* const* opers, int ninputs,
                                const TF_Output* inputs, int noutputs, const TF_Output* outputs,
                                const char* const* output_names, const TF_FunctionOptions* opts,
                                const char* description, TF_Status* status) {
  return TF_GraphToFunctionWithControlOutputs(
      fn_body, fn_name, append_hash_to_fn_name, num_opers, opers, ninputs, inputs, noutputs,
      outputs, output_names, 0, NULL, NULL, opts, description, status);
}

// ---- From and to messages -----------------------------------------------------------------------

// Every failure is reported with TensorFlow's text.
TF_Function* TF_FunctionImportFunctionDef(const void* proto, size_t proto_len,
                                          TF_Status* status) {
  TF_Function* function = NULL;
  leat_status_t result = decode(leat_string_view_make(proto, proto_len), &function);
  if (result) {
    leat_status_free(result);
    result = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Invalid FunctionDef given to TF_FunctionImportFunctionDef");
  }
  leat_capi_status_set(status, result);
  return function;
}

void TF_DeleteFunction(TF_Function* func) {
  if (!func) return;
  leat_arena_deinitialize(&func->arena);
  leat_allocator_free(leat_allocator_system(), func);
}

const char* TF_FunctionName(TF_Function* func) { return func->name.data; }

// Moves the encoded message into |out_buffer|, which must be empty.
static leat_status_t encode(const leat_message_descriptor_t* descriptor, const void* message,
                            TF_Buffer* out_buffer) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_capi_buffer_check_empty(out_buffer);
  if (!status) status = leat_message_encode(descriptor, message, &bytes);
  if (!status) status = leat_capi_buffer_take(&bytes, out_buffer);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

void TF_FunctionToFunctionDef(TF_Function* func, TF_Buffer* output_func_def, TF_Status* status) {
  leat_capi_status_set(status,
                       encode(&leat_pb_function_def_descriptor, &func->def, output_func_def));
}

static leat_pb_function_def_attr_entry_t* find_attr(TF_Function* func, leat_string_view_t name) {
  for (size_t i = 0; i < func->def.attr.count; ++i) {
    if (leat_string_view_equal(func->def.attr.items[i].key, name)) return &func->def.attr.items[i];
  }
  return NULL;
}

// Sets or adds an attribute of the function. The value and the key are copied into its arena.
static leat_status_t set_attr(TF_Function* func, leat_string_view_t name,
                              leat_string_view_t bytes) {
  void* memory;
  leat_pb_attr_value_t* value;
  leat_string_view_t copy;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&func->arena, bytes, &copy));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&func->arena, 1, &value));
  leat_status_t status =
      leat_message_decode(&leat_pb_attr_value_descriptor, copy, &func->arena, NULL, value);
  if (status) {
    leat_status_free(status);
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Unparseable AttrValue proto passed to TF_FunctionSetAttrValueProto");
  }
  leat_pb_function_def_attr_entry_t* entry = find_attr(func, name);
  if (!entry) {
    size_t count = func->def.attr.count;
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate_array(&func->arena, count + 1, sizeof *entry, &memory));
    leat_pb_function_def_attr_entry_t* grown = memory;
    for (size_t i = 0; i < count; ++i) grown[i] = func->def.attr.items[i];
    func->def.attr.items = grown;
    entry = &grown[func->def.attr.count++];
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&func->arena, name, &entry->key));
  }
  entry->value = value;
  return leat_ok_status();
}

void TF_FunctionSetAttrValueProto(TF_Function* func, const char* attr_name, const void* proto,
                                  size_t proto_len, TF_Status* status) {
  leat_capi_status_set(status, set_attr(func, leat_string_view_from(attr_name),
                                        leat_string_view_make(proto, proto_len)));
}

void TF_FunctionGetAttrValueProto(TF_Function* func, const char* attr_name,
                                  TF_Buffer* output_attr_value, TF_Status* status) {
  const leat_pb_function_def_attr_entry_t* entry =
      find_attr(func, leat_string_view_from(attr_name));
  leat_status_t result =
      entry && entry->value
          ? encode(&leat_pb_attr_value_descriptor, entry->value, output_attr_value)
          : leat_make_status(LEAT_INVALID_ARGUMENT, "Function '%.*s' has no attr named '%s'.",
                             LEAT_SV_ARG(func->name), attr_name);
  leat_capi_status_set(status, result);
}

// ---- In the library of a graph ------------------------------------------------------------------

// Adds the function, and its gradient where |grad| is not NULL, to the graph's own library. The
// caller holds the graph's lock.
static leat_status_t copy_into(leat_graph_t* graph, const TF_Function* func,
                               const TF_Function* grad) {
  leat_function_library_t* library;
  LEAT_RETURN_IF_ERROR(leat_graph_own_functions(graph, &library));
  LEAT_RETURN_IF_ERROR(leat_function_library_add(library, graph->ops, &func->def));
  if (!grad) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_function_library_add(library, graph->ops, &grad->def));
  return leat_function_library_add_gradient(library, func->name, grad->name);
}

void TF_GraphCopyFunction(TF_Graph* g, const TF_Function* func, const TF_Function* grad,
                          TF_Status* status) {
  if (!func) {
    leat_capi_status_set(
        status, leat_make_status(LEAT_INVALID_ARGUMENT,
                                 "'func' argument to TF_GraphCopyFunction cannot be null"));
    return;
  }
  leat_graph_t* graph = leat_capi_lock(g);
  leat_status_t result = copy_into(graph, func, grad);
  leat_capi_unlock(g);
  leat_capi_status_set(status, result);
}

static leat_status_t remove_from(leat_graph_t* graph, const char* name) {
  leat_function_library_t* library;
  leat_string_view_t text = leat_string_view_from(name);
  if (!leat_function_library_find(graph->functions, text)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tried to remove non-existent function '%s'.", name);
  }
  LEAT_RETURN_IF_ERROR(leat_graph_own_functions(graph, &library));
  return leat_function_library_remove(library, text);
}

void TF_GraphRemoveFunction(TF_Graph* g, const char* func_name, TF_Status* status) {
  leat_graph_t* graph = leat_capi_lock(g);
  leat_status_t result = remove_from(graph, func_name);
  leat_capi_unlock(g);
  leat_capi_status_set(status, result);
}

int TF_GraphNumFunctions(TF_Graph* g) {
  const leat_graph_t* graph = leat_capi_lock(g);
  int count = leat_function_library_count(graph->functions);
  leat_capi_unlock(g);
  return count;
}

// After a failure none of the functions is left with the caller.
int TF_GraphGetFunctions(TF_Graph* g, TF_Function** funcs, int max_func, TF_Status* status) {
  const leat_graph_t* graph = leat_capi_lock(g);
  int count = leat_function_library_count(graph->functions);
  if (count > max_func) count = max_func < 0 ? 0 : max_func;
  leat_status_t result = leat_ok_status();
  int made = 0;
  while (made < count && !result) {
    result =
        leat_capi_function_wrap(leat_function_library_at(graph->functions, made), &funcs[made]);
    if (!result) ++made;
  }
  leat_capi_unlock(g);
  if (result) {
    while (made > 0) TF_DeleteFunction(funcs[--made]);
  }
  leat_capi_status_set(status, result);
  return made;
}
