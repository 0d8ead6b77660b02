// What an optimizer of a plug-in may ask of the graph that it is given (grappler.h): types, shapes
// and constant values of tensors, and the definitions of ops. The item's GraphDef is imported into
// a graph, since adding a node to a graph infers its shapes, and the properties are read from
// there. What is fed may have any shape, unless the optimizer asks that feeds be taken to have the
// shapes of their Placeholders. Where it does not ask, the shapes of fed Placeholders are removed
// before the import. A shape that a node refuses is no error, since a step may never run that
// node; its outputs have unknown shapes.
#include "capi/plugin/graph_optimizer.h"
#include "capi/plugin/plugin.h"
#include "formats/generated/op_performance_data.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_proto.h"
#include "graph/function/graph_functions.h"
#include "graph/import/import.h"
#include "graph/op/op_def.h"

// ---- Properties ---------------------------------------------------------------------------------

struct TF_GraphProperties {
  const leat_graph_plugin_item_t* item;
  leat_graph_t* graph;  // NULL: nothing was inferred
  bool has_input_values, has_output_values;
};

TF_GraphProperties* TF_NewGraphProperties(const TF_GrapplerItem* item) {
  TF_GraphProperties* properties = leat_capi_allocate(sizeof *properties);
  if (properties) properties->item = item->item;
  return properties;
}

void TF_DeleteGraphProperties(TF_GraphProperties* graph_properties) {
  if (graph_properties) leat_graph_free(graph_properties->graph);
  leat_allocator_free(leat_allocator_system(), graph_properties);
}

// Takes the shapes away from what is fed.
static void forget_feeds(const leat_graph_plugin_item_t* item, leat_pb_graph_def_t* def) {
  for (size_t i = 0; i < def->node.count; ++i) {
    leat_pb_node_def_attr_entry_list_t* attrs = &def->node.items[i].attr;
    bool is_fed = false;
    for (int k = 0; k < item->feed_count; ++k) {
      is_fed = is_fed || leat_string_view_equal(item->kept[k], def->node.items[i].name);
    }
    for (size_t k = 0; is_fed && k < attrs->count; ++k) {
      if (!leat_string_view_equals(attrs->items[k].key, "shape")) continue;
      attrs->items[k] = attrs->items[--attrs->count];
    }
  }
}

static leat_status_t import(const leat_graph_plugin_item_t* item, bool assumes_feeds,
                            leat_arena_t* arena, leat_string_builder_t* bytes,
                            leat_graph_t* graph) {
  const leat_import_options_t options = {
      .ignore_colocation = true, .allow_internal_names = true, .tolerate_shapes = true};
  leat_pb_graph_def_t def = {0};
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_graph_def_descriptor, item->graph_def, arena,
                                           NULL, &def));
  if (!assumes_feeds) forget_feeds(item, &def);
  LEAT_RETURN_IF_ERROR(leat_message_encode(&leat_pb_graph_def_descriptor, &def, bytes));
  return leat_graph_import(graph, leat_string_builder_view(bytes), &options, NULL);
}

static leat_status_t infer(TF_GraphProperties* p, bool assumes_feeds) {
  const leat_runtime_t* runtime = NULL;
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_graph_t* graph = NULL;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_graph_create(runtime->ops, leat_allocator_system(), &graph));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = import(p->item, assumes_feeds, &arena, &bytes, graph);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  if (status) {
    leat_graph_free(graph);
    return status;
  }
  leat_graph_free(p->graph);
  p->graph = graph;
  return status;
}

void TF_InferStatically(TF_GraphProperties* graph_properties, TF_Bool assume_valid_feeds,
                        TF_Bool aggressive_shape_inference, TF_Bool include_input_tensor_values,
                        TF_Bool include_output_tensor_values, TF_Status* s) {
  graph_properties->has_input_values = include_input_tensor_values != 0;
  graph_properties->has_output_values = include_output_tensor_values != 0;
  leat_capi_status_set(s, infer(graph_properties, assume_valid_feeds != 0));
}

// The node |name|; NULL where there is none or nothing was inferred.
static const leat_node_t* find(const TF_GraphProperties* p, const char* name, int32_t* out_index) {
  *out_index = p->graph && name ? leat_graph_find_node(p->graph, leat_string_view_from(name)) : -1;
  return *out_index >= 0 ? leat_graph_node(p->graph, *out_index) : NULL;
}

static int count_of(const leat_node_t* node, bool is_input) {
  return !node ? 0 : is_input ? node->input_count : node->output_count;
}

static void get_size(const TF_GraphProperties* p, const char* name, bool is_input, int* num_values,
                     TF_Status* status) {
  int32_t index;
  *num_values = count_of(find(p, name, &index), is_input);
  leat_capi_status_set(status, leat_ok_status());
}

void TF_GetInputPropertiesListSize(TF_GraphProperties* graph_properties, const char* name,
                                   int* num_values, TF_Status* status) {
  get_size(graph_properties, name, true, num_values, status);
}

void TF_GetOutputPropertiesListSize(TF_GraphProperties* graph_properties, const char* name,
                                    int* num_values, TF_Status* status) {
  get_size(graph_properties, name, false, num_values, status);
}

static leat_status_t describe(const leat_graph_t* graph, leat_output_t output, bool has_values,
                              leat_arena_t* arena, leat_string_builder_t* bytes) {
  const leat_node_t* node = leat_graph_node(graph, output.node);
  leat_pb_tensor_proto_t value = {0};
  leat_pb_op_info_tensor_properties_t properties = {
      .dtype = leat_dtype_base(leat_graph_output_type(graph, output))};
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_proto(node->output_shapes[output.index], arena,
                                                   &properties.shape));
  const leat_attr_value_t* constant =
      leat_string_view_equal(node->op->name, LEAT_OP_NAME_CONSTANT)
          ? leat_node_attr(node, LEAT_SV("value"))
          : NULL;
  if (has_values && constant && constant->kind == LEAT_ATTR_TENSOR && !constant->is_list) {
    LEAT_RETURN_IF_ERROR(leat_tensor_to_proto(constant->tensor, arena, &value));
    properties.value = &value;
  }
  return leat_message_encode(&leat_pb_op_info_tensor_properties_descriptor, &properties, bytes);
}

static leat_status_t get_one(const leat_graph_t* graph, leat_output_t output, bool has_values,
                             TF_Buffer* out_buffer) {
  leat_arena_t arena;
  leat_string_builder_t bytes;
  if (!out_buffer || out_buffer->data) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Passing non-empty TF_Buffer is invalid.");
  }
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = describe(graph, output, has_values, &arena, &bytes);
  if (!status) status = leat_capi_buffer_take(&bytes, out_buffer);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t get_list(const TF_GraphProperties* p, const char* name, bool is_input,
                              TF_Buffer** buffers, int count) {
  int32_t index;
  const leat_node_t* node = find(p, name, &index);
  if (count > count_of(node, is_input)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Getting properties of node '%s' failed: num_values is %d, must be at "
                            "most %d",
                            name ? name : "", count, count_of(node, is_input));
  }
  for (int i = 0; i < count; ++i) {
    const leat_output_t output = is_input ? node->inputs[i] : (leat_output_t){index, i};
    const bool has_values = is_input ? p->has_input_values : p->has_output_values;
    LEAT_RETURN_IF_ERROR(get_one(p->graph, output, has_values, buffers[i]));
  }
  return leat_ok_status();
}

void TF_GetInputPropertiesList(TF_GraphProperties* graph_properties, const char* name,
                               TF_Buffer** properties, int num_values, TF_Status* status) {
  leat_capi_status_set(status, get_list(graph_properties, name, true, properties, num_values));
}

void TF_GetOutputPropertiesList(TF_GraphProperties* graph_properties, const char* name,
                                TF_Buffer** properties, int num_values, TF_Status* status) {
  leat_capi_status_set(status, get_list(graph_properties, name, false, properties, num_values));
}

// ---- Definitions of ops -------------------------------------------------------------------------

struct TF_FunctionLibraryDefinition {
  leat_graph_t* graph;  // has no nodes; its functions are those of the GraphDef
};

static leat_status_t read_library(const TF_Buffer* bytes, leat_graph_t** out_graph) {
  const leat_runtime_t* runtime = NULL;
  leat_arena_t arena;
  leat_pb_graph_def_t def = {0};
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_graph_create(runtime->ops, leat_allocator_system(), out_graph));
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_message_decode(&leat_pb_graph_def_descriptor,
                                             leat_capi_buffer_bytes(bytes), &arena, NULL, &def);
  if (!status && def.library) status = leat_graph_add_functions(*out_graph, def.library);
  leat_arena_deinitialize(&arena);
  return status;
}

TF_FunctionLibraryDefinition* TF_NewFunctionLibraryDefinition(const TF_Buffer* graph_buf,
                                                              TF_Status* status) {
  TF_FunctionLibraryDefinition* library = leat_capi_allocate(sizeof *library);
  leat_status_t result = library ? read_library(graph_buf, &library->graph)
                                 : leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                                                    "Memory for a library ran out");
  if (result) {
    TF_DeleteFunctionLibraryDefinition(library);
    library = NULL;
  }
  leat_capi_status_set(status, result);
  return library;
}

void TF_DeleteFunctionLibraryDefinition(TF_FunctionLibraryDefinition* fn_lib) {
  if (fn_lib) leat_graph_free(fn_lib->graph);
  leat_allocator_free(leat_allocator_system(), fn_lib);
}

static leat_status_t look_up(const leat_graph_t* graph, leat_string_view_t name,
                             leat_arena_t* arena, leat_string_builder_t* bytes) {
  const leat_op_t* op = NULL;
  leat_pb_op_def_t def = {0};
  const leat_pb_function_def_t* function =
      leat_op_registry_has(graph->ops, name) ? NULL
                                             : leat_function_library_find(graph->functions, name);
  if (function) {
    return leat_message_encode(&leat_pb_op_def_descriptor, function->signature, bytes);
  }
  LEAT_RETURN_IF_ERROR(leat_graph_find_op(graph, name, &op));
  LEAT_RETURN_IF_ERROR(leat_op_to_def(op, arena, &def));
  return leat_message_encode(&leat_pb_op_def_descriptor, &def, bytes);
}

void TF_LookUpOpDef(TF_FunctionLibraryDefinition* fn_lib, const char* name, TF_Buffer* buf,
                    TF_Status* s) {
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_capi_buffer_check_empty(buf);
  if (!status) {
    status = look_up(fn_lib->graph, leat_string_view_from(name ? name : ""), &arena, &bytes);
  }
  if (!status) status = leat_capi_buffer_take(&bytes, buf);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  leat_capi_status_set(s, status);
}
