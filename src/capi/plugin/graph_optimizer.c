// Graph optimizers of plug-ins (experimental/grappler/grappler.h): a library's TF_InitGraph fills
// structs with the functions of its optimizer, which becomes a pass of the list in
// optimize/graph_plugin.h; and the names that an optimizer may ask of the graph that it is given.
// The checks of the structs, their codes and their texts are TensorFlow's, except that TensorFlow
// ends the process where loading returns an error here.
#include "capi/plugin/graph_optimizer.h"

#include <string.h>

#include "capi/plugin/plugin.h"

// ---- Registration -------------------------------------------------------------------------------

typedef struct plugin_s {
  leat_graph_plugin_t plugin;
  TP_Optimizer optimizer;
  char device_type[];
} plugin_t;

static leat_status_t take_graph(TF_Buffer* graph, leat_status_t status,
                                leat_string_builder_t* out_graph_def) {
  if (!status) leat_string_builder_append(out_graph_def, leat_capi_buffer_bytes(graph));
  TF_DeleteBuffer(graph);
  return status ? status : leat_status_clone(out_graph_def->status);
}

static leat_status_t optimize(const leat_graph_plugin_t* plugin,
                              const leat_graph_plugin_item_t* item,
                              leat_string_builder_t* out_graph_def) {
  const TP_Optimizer* optimizer = &((const plugin_t*)plugin)->optimizer;
  const TF_GrapplerItem given = {item};
  const TF_Buffer graph = {item->graph_def.data, item->graph_def.size, NULL};
  TF_Status status = {0};
  TF_Buffer* optimized = TF_NewBuffer();
  if (!optimized) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a graph ran out");
  void* object = optimizer->create_func ? optimizer->create_func() : NULL;
  optimizer->optimize_func(object, &graph, &given, optimized, &status);
  if (optimizer->destroy_func) optimizer->destroy_func(object);
  return take_graph(optimized, leat_capi_status_take(&status), out_graph_def);
}

static leat_status_t check(bool is_set, const char* field, const char* type, const char* size) {
  if (is_set) return leat_ok_status();
  return size ? leat_make_status(LEAT_FAILED_PRECONDITION,
                                 "%s field in %s must be set to %s.", field, type, size)
              : leat_make_status(LEAT_FAILED_PRECONDITION, "'%s' field in %s must be set.", field,
                                 type);
}

static leat_status_t check_params(const TP_OptimizerRegistrationParams* params) {
  LEAT_RETURN_IF_ERROR(check(params->struct_size > 0, "struct_size",
                             "TP_OptimizerRegistrationParams",
                             "TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE"));
  LEAT_RETURN_IF_ERROR(check(params->device_type != NULL, "device_type",
                             "TP_OptimizerRegistrationParams", NULL));
  LEAT_RETURN_IF_ERROR(check(params->optimizer->struct_size > 0, "struct_size", "TP_Optimizer",
                             "TP_OPTIMIZER_STRUCT_SIZE"));
  LEAT_RETURN_IF_ERROR(check(params->optimizer->optimize_func != NULL, "optimize_func",
                             "TP_Optimizer", NULL));
  return check(params->optimizer_configs->struct_size > 0, "struct_size", "TP_OptimizerConfigs",
               "TP_OPTIMIZER_CONFIGS_STRUCT_SIZE");
}

// The passes that the plug-in turns off.
static uint32_t passes_off(const TP_OptimizerConfigs* configs) {
  const struct {
    TF_TriState state;
    uint32_t passes;
  } kSwitches[] = {
      {configs->constant_folding, leat_passes_of_option("constant_folding")},
      {configs->arithmetic_optimization, leat_passes_of_option("arithmetic_optimization")},
      {configs->dependency_optimization, leat_passes_of_option("dependency_optimization")},
      {configs->common_subgraph_elimination,
       leat_passes_of_option("common_subgraph_elimination")},
      {configs->remapping, leat_passes_of_option("remapping")},
      {configs->memory_optimization, LEAT_PASS_BIT_RECOMPUTE | LEAT_PASS_BIT_SWAP},
  };
  uint32_t passes = 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSwitches); ++i) {
    if (kSwitches[i].state == TF_TriState_Off) passes |= kSwitches[i].passes;
  }
  return passes;
}

leat_status_t leat_capi_graph_optimizer_register(leat_init_graph_fn_t initialize) {
  TP_OptimizerConfigs configs = {.struct_size = TP_OPTIMIZER_CONFIGS_STRUCT_SIZE};
  TP_Optimizer optimizer = {.struct_size = TP_OPTIMIZER_STRUCT_SIZE};
  TP_OptimizerRegistrationParams params = {
      .struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE,
      .major_version = GO_MAJOR,
      .minor_version = GO_MINOR,
      .patch_version = GO_PATCH,
      .optimizer_configs = &configs,
      .optimizer = &optimizer};
  TF_Status status = {0};
  initialize(&params, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  LEAT_RETURN_IF_ERROR(check_params(&params));
  const size_t size = strlen(params.device_type);
  plugin_t* plugin = leat_capi_allocate(sizeof *plugin + size + 1);
  if (!plugin) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a plug-in ran out");
  memcpy(plugin->device_type, params.device_type, size);
  plugin->optimizer = optimizer;
  plugin->plugin.device_type = leat_string_view_make(plugin->device_type, size);
  plugin->plugin.passes_off = passes_off(&configs);
  plugin->plugin.optimize = optimize;
  leat_status_t result = leat_graph_plugin_register(&plugin->plugin);
  if (result) leat_allocator_free(leat_allocator_system(), plugin);
  return result;
}

// ---- Names --------------------------------------------------------------------------------------

static void measure(const leat_string_view_t* names, int count, int* num_values,
                    size_t* storage_size, TF_Status* status) {
  *num_values = count;
  *storage_size = 0;
  for (int i = 0; i < count; ++i) *storage_size += names[i].size;
  leat_capi_status_set(status, leat_ok_status());
}

// The names are copied one behind the other.
static void list(const leat_string_view_t* names, int count, char** values, size_t* lengths,
                 int num_values, char* storage, size_t left, TF_Status* status) {
  leat_status_t result = leat_ok_status();
  for (int i = 0; i < num_values && i < count && !result; ++i) {
    values[i] = storage;
    lengths[i] = names[i].size;
    if (names[i].size > left) {
      result = leat_make_status(LEAT_INVALID_ARGUMENT,
                                "Not enough storage to hold the requested list of nodes");
    } else if (names[i].size > 0) {
      memcpy(storage, names[i].data, names[i].size);
      storage += names[i].size;
      left -= names[i].size;
    }
  }
  leat_capi_status_set(status, result);
}

void TF_GetNodesToPreserveListSize(const TF_GrapplerItem* item, int* num_values,
                                   size_t* storage_size, TF_Status* status) {
  measure(item->item->kept, item->item->kept_count, num_values, storage_size, status);
}

void TF_GetNodesToPreserveList(const TF_GrapplerItem* item, char** values, size_t* lengths,
                               int num_values, void* storage, size_t storage_size,
                               TF_Status* status) {
  list(item->item->kept, item->item->kept_count, values, lengths, num_values, storage,
       storage_size, status);
}

void TF_GetFetchNodesListSize(const TF_GrapplerItem* item, int* num_values, size_t* storage_size,
                              TF_Status* status) {
  measure(item->item->fetches, item->item->fetch_count, num_values, storage_size, status);
}

void TF_GetFetchNodesList(const TF_GrapplerItem* item, char** values, size_t* lengths,
                          int num_values, void* storage, size_t storage_size, TF_Status* status) {
  list(item->item->fetches, item->item->fetch_count, values, lengths, num_values, storage,
       storage_size, status);
}
