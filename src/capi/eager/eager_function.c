// The functions of an eager context: adding, removing and reading them. An op may be named after
// one (TFE_NewOp), and attributes of ops may name them (PartitionedCall, While, datasets). They lie
// in the library of the context's graph, where the context's session looks them up when a kernel
// calls one (kernel/function_runtime.h).
//
// As in TensorFlow a function that is added again, with the same definition, is counted, and only
// the last removal takes it away. Kernels that the context keeps may have found it already, so they
// are let go then, and the session compiles a function anew that is added later under the name.
#include "capi/eager/eager_cluster.h"
#include "capi/graph/function.h"
#include "formats/wire/decode.h"
#include "graph/function/graph_functions.h"
#include "master/function_runtime.h"

void leat_eager_use_functions(TFE_Context* context) {
  leat_master_functions_set_library(
      leat_session_master_options(context->session->session)->functions, context->functions,
      context->graph->shared->graph->producer_version);
}

// |*out_is_new| when the context had none of the name. The caller holds its mutex.
static leat_status_t add(TFE_Context* context, const leat_pb_function_def_t* function,
                         bool* out_is_new) {
  LEAT_RETURN_IF_ERROR(leat_function_library_add(context->functions,
                                                 context->graph->shared->graph->ops, function));
  // The library's copy of the name lives as long as the context.
  const leat_pb_function_def_t* held =
      leat_function_library_find(context->functions, function->signature->name);
  uint64_t* uses = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_string_map_insert(&context->function_uses, held->signature->name, 0, &uses, NULL));
  *out_is_new = (*uses)++ == 0;
  return leat_ok_status();
}

static leat_status_t add_everywhere(TFE_Context* context, const leat_pb_function_def_t* function) {
  bool is_new = false;
  leat_mutex_lock(&context->mutex);
  leat_status_t status = add(context, function, &is_new);
  leat_mutex_unlock(&context->mutex);
  leat_eager_cluster_t* cluster = !status && is_new ? leat_capi_cluster_of(context) : NULL;
  if (cluster) status = leat_eager_cluster_add_function(cluster, function);
  leat_eager_cluster_release(cluster);
  return status;
}

void TFE_ContextAddFunction(TFE_Context* ctx, TF_Function* function, TF_Status* status) {
  leat_capi_status_set(status, add_everywhere(ctx, leat_capi_function_def(function)));
}

void TFE_ContextAddFunctionDef(TFE_Context* ctx, const char* serialized_function_def, size_t size,
                               TF_Status* status) {
  TF_Function* function =
      TF_FunctionImportFunctionDef(serialized_function_def, size, status);
  if (!function) return;
  TFE_ContextAddFunction(ctx, function, status);
  TF_DeleteFunction(function);
}

// Counts down; |*out_is_last| when the function is gone. The caller holds the context's mutex.
static leat_status_t remove_use(TFE_Context* context, leat_string_view_t name, bool* out_is_last) {
  uint64_t uses = 0;
  if (!leat_string_map_get(&context->function_uses, name, &uses) || uses == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Removing function '%.*s' failed: the context has none of the name",
                            LEAT_SV_ARG(name));
  }
  *out_is_last = uses == 1;
  if (uses == 1) LEAT_RETURN_IF_ERROR(leat_function_library_remove(context->functions, name));
  return leat_string_map_set(&context->function_uses, name, uses - 1);
}

void TFE_ContextRemoveFunction(TFE_Context* ctx, const char* name, TF_Status* status) {
  leat_string_view_t text = leat_string_view_from(name);
  bool is_last = false;
  leat_mutex_lock(&ctx->mutex);
  leat_status_t result = remove_use(ctx, text, &is_last);
  leat_mutex_unlock(&ctx->mutex);
  if (is_last) {
    leat_master_functions_forget(leat_session_master_options(ctx->session->session)->functions,
                                 text);
    leat_eager_kernels_clear_shared(&ctx->kernels);
    leat_eager_cluster_t* cluster = leat_capi_cluster_of(ctx);
    if (cluster) result = leat_eager_cluster_remove_function(cluster, text);
    leat_eager_cluster_release(cluster);
  }
  leat_capi_status_set(status, result);
}

unsigned char TFE_ContextHasFunction(TFE_Context* ctx, const char* name) {
  return leat_function_library_find(ctx->functions, leat_string_view_from(name)) != NULL;
}

TF_Function* TFE_ContextGetFunction(TFE_Context* ctx, const char* name, TF_Status* status) {
  TF_Function* function = NULL;
  const leat_pb_function_def_t* def =
      leat_function_library_find(ctx->functions, leat_string_view_from(name));
  leat_status_t result =
      def ? leat_capi_function_wrap(def, &function)
          : leat_make_status(LEAT_NOT_FOUND, "Unable to find FunctionDef with name: %s", name);
  leat_capi_status_set(status, result);
  return function;
}

// The stack traces of the function's nodes, as a GraphDebugInfo. A function keeps none, as one of
// TensorFlow's that came through its C API does, so that the message is empty.
void TFE_ContextGetGraphDebugInfo(TFE_Context* ctx, const char* function_name, TF_Buffer* buf,
                                  TF_Status* status) {
  leat_string_builder_t none;
  leat_string_builder_initialize(leat_allocator_system(), &none);
  leat_status_t result = leat_capi_buffer_check_empty(buf);
  if (!result && !TFE_ContextHasFunction(ctx, function_name)) {
    result = leat_make_status(LEAT_NOT_FOUND, "Unable to find function with name: %s",
                              function_name);
  }
  if (!result) result = leat_capi_buffer_take(&none, buf);
  leat_capi_status_set(status, result);
}

void TFE_ContextGetFunctionDef(TFE_Context* ctx, const char* function_name, TF_Buffer* buf,
                               TF_Status* status) {
  TF_Function* function = TFE_ContextGetFunction(ctx, function_name, status);
  if (function) TF_FunctionToFunctionDef(function, buf, status);
  TF_DeleteFunction(function);
}
