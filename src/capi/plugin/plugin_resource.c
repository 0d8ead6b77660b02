// What next_pluggable_device/c_api.h gives to kernels of plug-ins: resources whose content only the
// plug-in knows, variables that are locked together, and what surrounds the kernel. A resource of a
// plug-in is a pointer in the resource manager of the kernel's device, with the function that ends
// it, so that it lives and dies as the resources of the library do. A variable is a cell
// (kernel/resource.h), which the info holds a reference to, and perhaps the lock of.
//
// No session takes part in a coordination service, which is a process's own besides the cluster's
// (capi/eager/coordination.c answers for eager contexts): its agent is NULL.
#include "capi/plugin/plugin.h"
#include "formats/wire/encode.h"
#include "graph/function/function_library.h"
#include "kernel/resource.h"
#include "master/function_runtime.h"
#include "tensorflow/c/experimental/next_pluggable_device/c_api.h"

TF_Device* TF_GetDevice(TF_OpKernelContext* ctx) {
  return (TF_Device*)ctx->context->kernel->device;
}

// ---- Resources ----------------------------------------------------------------------------------

typedef struct plugin_resource_s {
  leat_resource_t resource;
  void* content;
  void (*end)(void* content);
} plugin_resource_t;

static void destroy(leat_resource_t* resource) {
  plugin_resource_t* r = (plugin_resource_t*)resource;
  if (r->end) r->end(r->content);
  leat_allocator_free(leat_allocator_system(), r);
}

static const leat_resource_kind_t kind = {.name = "PluginResource", .destroy = destroy};

static leat_status_t make(void* content, void (*end)(void*), leat_resource_t** out_resource) {
  plugin_resource_t* resource = leat_capi_allocate(sizeof *resource);
  if (!resource) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a resource ran out");
  *resource = (plugin_resource_t){{&kind, 1}, content, end};
  *out_resource = &resource->resource;
  return leat_ok_status();
}

static leat_string_view_t text_of(const char* text) {
  return leat_string_view_from(text ? text : "");
}

void TF_CreatePluginResource(TF_OpKernelContext* ctx, const char* container_name,
                             const char* plugin_resource_name, void* plugin_resource,
                             void (*delete_func)(void*), TF_Status* status) {
  leat_resource_t* resource = NULL;
  leat_status_t result = make(plugin_resource, NULL, &resource);
  if (!result) {
    result = leat_resource_manager_add(ctx->context->services->resources, text_of(container_name),
                                       text_of(plugin_resource_name), resource);
    if (!result) ((plugin_resource_t*)resource)->end = delete_func;
    leat_resource_release(resource);
  }
  leat_capi_status_set(status, result);
}

typedef struct creation_s {
  void* (*create)(void* data);
  void* data;
  void (*end)(void* content);
} creation_t;

static leat_status_t create(void* data, leat_resource_t** out_resource) {
  const creation_t* c = data;
  LEAT_RETURN_IF_ERROR(make(NULL, c->end, out_resource));
  ((plugin_resource_t*)*out_resource)->content = c->create(c->data);
  return leat_ok_status();
}

void TF_LookupOrCreatePluginResource(TF_OpKernelContext* ctx, const char* container_name,
                                     const char* plugin_resource_name,
                                     void** result_plugin_resource, void* (*create_func)(void*),
                                     void* create_func_args, void (*delete_func)(void*),
                                     TF_Status* status) {
  creation_t creation = {create_func, create_func_args, delete_func};
  leat_resource_t* resource = NULL;
  leat_status_t result = leat_resource_manager_find_or_make(
      ctx->context->services->resources, text_of(container_name), text_of(plugin_resource_name),
      &kind, create, &creation, &resource);
  *result_plugin_resource = result ? NULL : ((plugin_resource_t*)resource)->content;
  leat_resource_release(resource);
  leat_capi_status_set(status, result);
}

// ---- Variables ----------------------------------------------------------------------------------

struct TF_VariableInfo {
  leat_cell_t* cell;  // retained
  bool is_locked;     // by this info
};

TF_VariableInfo* TF_CreateVariableInfoFromContext(TF_OpKernelContext* ctx, int index,
                                                  TF_Status* status) {
  leat_cell_t* cell = NULL;
  TF_VariableInfo* info = NULL;
  leat_status_t result = leat_plugin_find_variable(ctx, index, &cell);
  if (!result) {
    info = leat_capi_allocate(sizeof *info);
    if (!info) result = leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for an info ran out");
  }
  if (info) info->cell = cell;
  else leat_cell_release(cell);
  leat_capi_status_set(status, result);
  return info;
}

static leat_status_t check_info(const TF_VariableInfo* info) {
  if (info) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "TF_VariableInfo is NULL.");
}

static leat_status_t check_infos(TF_VariableInfo* const* infos, int count) {
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(check_info(infos[i]));
    if (infos[i]->is_locked) {
      return leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Locking variables failed: variable %d is locked already", i);
    }
  }
  return leat_ok_status();
}

// Of those that are not locked the one with the lowest address behind |last|, which is the first of
// the infos that name it.
static TF_VariableInfo* next_to_lock(TF_VariableInfo* const* infos, int count,
                                     const leat_cell_t* last) {
  TF_VariableInfo* next = NULL;
  for (int i = 0; i < count; ++i) {
    const uintptr_t address = (uintptr_t)infos[i]->cell;
    if (address > (uintptr_t)last && (!next || address < (uintptr_t)next->cell)) next = infos[i];
  }
  return next;
}

void TF_LockVariableInfos(TF_VariableInfo** vars, int num_vars, TF_Status* status) {
  leat_status_t result = check_infos(vars, num_vars);
  TF_VariableInfo* next = result ? NULL : next_to_lock(vars, num_vars, NULL);
  while (next) {
    leat_mutex_lock(&next->cell->mutex);
    next->is_locked = true;
    next = next_to_lock(vars, num_vars, next->cell);
  }
  leat_capi_status_set(status, result);
}

void TF_AllocateTempForVariableInfo(TF_OpKernelContext* ctx, TF_VariableInfo* var_info,
                                    TF_Status* status) {
  leat_tensor_t fresh;
  leat_status_t result = check_info(var_info);
  if (!result && var_info->cell->tensor.dtype == 0) {
    result = leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Allocating memory for a variable failed: it has no value, whose "
                              "type and shape the memory could have");
  }
  if (!result) {
    const leat_tensor_t* value = &var_info->cell->tensor;
    result = leat_tensor_allocate(ctx->context->services->memory, value->dtype, &value->shape,
                                  &fresh);
  }
  if (!result) leat_cell_set(var_info->cell, fresh);
  leat_capi_status_set(status, result);
}

TF_Tensor* TF_GetTensorFromVariableInfo(TF_VariableInfo* var_info, TF_Status* status) {
  TF_Tensor* tensor = NULL;
  leat_status_t result = check_info(var_info);
  if (!result && var_info->cell->tensor.dtype == 0) {
    result = leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Attempting to use uninitialized value of a variable");
  }
  if (!result) {
    leat_tensor_t value = leat_tensor_share(&var_info->cell->tensor);
    result = leat_capi_tensor_wrap(&value, &tensor);
  }
  leat_capi_status_set(status, result);
  return tensor;
}

void TF_DeleteVariableInfo(TF_VariableInfo* var_info) {
  if (!var_info) return;
  if (var_info->is_locked) leat_mutex_unlock(&var_info->cell->mutex);
  leat_cell_release(var_info->cell);
  leat_allocator_free(leat_allocator_system(), var_info);
}

// ---- What surrounds the kernel ------------------------------------------------------------------

static leat_status_t encode_functions(const leat_function_runtime_t* functions,
                                      leat_string_builder_t* bytes) {
  const leat_function_library_t* library =
      functions ? leat_master_functions_library(functions) : NULL;
  const size_t count = (size_t)leat_function_library_count(library);
  const size_t gradients = (size_t)leat_function_library_gradient_count(library);
  leat_pb_function_def_library_t def = {.function = {.count = count},
                                        .gradient = {.count = gradients}};
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = LEAT_NEW(&arena, count + 1, &def.function.items);
  if (!status) status = LEAT_NEW(&arena, gradients + 1, &def.gradient.items);
  for (size_t i = 0; i < count && !status; ++i) {
    def.function.items[i] = *leat_function_library_at(library, (int)i);
  }
  for (size_t i = 0; i < gradients && !status; ++i) {
    def.gradient.items[i] = *leat_function_library_gradient_at(library, (int)i);
  }
  if (!status) {
    status = leat_message_encode(&leat_pb_function_def_library_descriptor, &def, bytes);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

void TF_GetSerializedFunctionDefLibrary(TF_OpKernelContext* ctx,
                                        TF_Buffer* serialized_function_def_library,
                                        TF_Status* status) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t result = leat_capi_buffer_check_empty(serialized_function_def_library);
  if (!result) result = encode_functions(ctx->context->services->functions, &bytes);
  if (!result) result = leat_capi_buffer_take(&bytes, serialized_function_def_library);
  leat_string_builder_deinitialize(&bytes);
  leat_capi_status_set(status, result);
}

void TF_GetSerializedConfigProto(TF_OpKernelContext* ctx, TF_Buffer* serialized_config_proto,
                                 TF_Status* status) {
  const leat_function_runtime_t* functions = ctx->context->services->functions;
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t result = leat_capi_buffer_check_empty(serialized_config_proto);
  if (functions) leat_string_builder_append(&bytes, leat_master_functions_config(functions));
  if (!result) result = leat_capi_buffer_take(&bytes, serialized_config_proto);
  leat_string_builder_deinitialize(&bytes);
  leat_capi_status_set(status, result);
}

// ---- Coordination service -----------------------------------------------------------------------

TF_CoordinationServiceAgent* TF_GetCoordinationServiceAgent(TF_OpKernelContext* ctx) {
  return NULL;
}

bool TF_CoordinationServiceIsInitialized(TF_CoordinationServiceAgent* agent) { return false; }

static TF_Buffer* refuse(TF_Status* status) {
  leat_capi_status_set(status, leat_make_status(LEAT_FAILED_PRECONDITION,
                                                "Coordination service is not enabled: the kernel's "
                                                "session takes part in none"));
  return NULL;
}

void TF_CoordinationServiceInsertKeyValue(const char* key, int64_t key_size, const char* value,
                                          int64_t value_size, TF_CoordinationServiceAgent* agent,
                                          TF_Status* status) {
  refuse(status);
}

TF_Buffer* TF_CoordinationServiceGetKeyValue(const char* key, int64_t key_size,
                                             TF_CoordinationServiceAgent* agent,
                                             TF_Status* status) {
  return refuse(status);
}

TF_Buffer* TF_CoordinationServiceGetKeyValueWithTimeout(const char* key, int64_t key_size,
                                                        int64_t timeout_seconds,
                                                        TF_CoordinationServiceAgent* agent,
                                                        TF_Status* status) {
  return refuse(status);
}

TF_Buffer* TF_CoordinationServiceTryGetKeyValue(const char* key, int64_t key_size,
                                                TF_CoordinationServiceAgent* agent,
                                                TF_Status* status) {
  return refuse(status);
}

void TF_CoordinationServiceDeleteKeyValue(const char* key, int64_t key_size,
                                          TF_CoordinationServiceAgent* agent, TF_Status* status) {
  refuse(status);
}
