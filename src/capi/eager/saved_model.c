// SavedModels for eager execution (experimental/saved_model/public). A model is a session on the
// model's graph, loaded as TF_LoadSessionFromSavedModel does it, and its signatures in the order of
// their keys. A signature is called by a TFE_Op that runs a step of that session instead of a
// kernel, so that models with variables of every kind, tables and assets work alike:
//
//     TFE_Op ── inputs ──▶ feeds ── leat_session_run_prepared ──▶ fetches ──▶ TFE_TensorHandle, ...
//
// The model, with all that it gives out, is one object: the client and each op that calls a
// signature hold references to it.
#include "capi/eager/saved_model.h"

#include <stdlib.h>

#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "session/meta_graph.h"
#include "tensorflow/c/eager/c_api_unified_experimental.h"

struct TF_TensorSpec {
  TF_DataType dtype;
  TF_Shape shape;
};

struct TF_SignatureDefParam {
  leat_string_view_t name;  // ends in NUL
  TF_TensorSpec spec;
};

// |outputs| are the tensors of the graph, which belong to the items.
struct TF_SignatureDefParamList {
  size_t count;
  TF_SignatureDefParam* items;
  leat_output_t* outputs;
};

struct TF_SignatureDefFunctionMetadata {
  TF_SignatureDefParamList args, returns;
};

struct TF_SignatureDefFunction {
  leat_model_call_t call;
  TF_SignatureDefFunctionMetadata metadata;
};

// ---- Life ---------------------------------------------------------------------------------------

void TF_DeleteSavedModel(TF_SavedModel* model) {
  if (!model || !leat_reference_count_release(&model->references)) return;
  leat_model_objects_free(model->objects);
  TF_DeleteSession(model->session, NULL);
  TF_DeleteGraph(model->graph);
  leat_mutex_deinitialize(&model->mutex);
  leat_arena_deinitialize(&model->calls);
  leat_arena_deinitialize(&model->arena);
  leat_allocator_free(leat_allocator_system(), model);
}

void leat_eager_call_release(const leat_model_call_t* call) {
  if (call) TF_DeleteSavedModel(call->model);
}

// Fills a parameter and the tensor of the graph that it stands for.
static leat_status_t read_param(TF_SavedModel* model, leat_string_view_t name,
                                const leat_pb_tensor_info_t* info, TF_SignatureDefParam* param,
                                leat_output_t* out_output) {
  if (!info || info->name.size == 0) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Loading a SavedModel failed: '%.*s' of a signature is no dense tensor",
                            LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&model->arena, name, &param->name));
  param->spec.dtype = (TF_DataType)info->dtype;
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  if (info->tensor_shape) {
    LEAT_RETURN_IF_ERROR(leat_partial_shape_from_proto(info->tensor_shape, &model->arena, &shape));
  }
  param->spec.shape.num_dims = shape.rank;
  param->spec.shape.dim_sizes = (int64_t*)(uintptr_t)shape.dims;  // which nobody writes
  return leat_meta_graph_find(model->graph->shared, info->name, out_output);
}

// An entry of a signature's inputs or outputs.
typedef struct entry_s {
  leat_string_view_t key;
  const leat_pb_tensor_info_t* info;
} entry_t;

static int compare_entries(const void* a, const void* b) {
  return leat_string_view_compare(((const entry_t*)a)->key, ((const entry_t*)b)->key);
}

// Fills a list in the order of names; |entries| is sorted in place.
static leat_status_t read_list(TF_SavedModel* model, entry_t* entries, size_t count,
                               TF_SignatureDefParamList* list) {
  qsort(entries, count, sizeof *entries, compare_entries);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->arena, count + 1, &list->items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->arena, count + 1, &list->outputs));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(read_param(model, entries[i].key, entries[i].info, &list->items[i],
                                    &list->outputs[i]));
  }
  list->count = count;
  return leat_ok_status();
}

static leat_status_t read_signature(TF_SavedModel* model, leat_string_view_t key,
                                    const leat_pb_signature_def_t* def,
                                    TF_SignatureDefFunction* signature) {
  const size_t inputs = def->inputs.count, outputs = def->outputs.count;
  entry_t* entries = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->arena, inputs + outputs + 1, &entries));
  for (size_t i = 0; i < inputs; ++i) {
    entries[i] = (entry_t){def->inputs.items[i].key, def->inputs.items[i].value};
  }
  for (size_t i = 0; i < outputs; ++i) {
    entries[inputs + i] = (entry_t){def->outputs.items[i].key, def->outputs.items[i].value};
  }
  leat_model_call_t* call = &signature->call;
  *call = (leat_model_call_t){.model = model, .kind = "signature"};
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&model->arena, key, &call->name));
  LEAT_RETURN_IF_ERROR(read_list(model, entries, inputs, &signature->metadata.args));
  LEAT_RETURN_IF_ERROR(read_list(model, entries + inputs, outputs, &signature->metadata.returns));
  call->feeds = signature->metadata.args.outputs;
  call->arg_count = inputs;
  call->returns = signature->metadata.returns.outputs;
  call->return_count = outputs;
  return leat_ok_status();
}

// Reads the signatures of the MetaGraphDef; one without outputs, which marks how the model is
// initialized, is passed over.
static leat_status_t read_signatures(TF_SavedModel* model) {
  const leat_pb_meta_graph_def_t* def = &model->def;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&model->arena, def->signature_def.count + 1, &model->signatures));
  for (size_t i = 0; i < def->signature_def.count; ++i) {
    const leat_pb_meta_graph_def_signature_def_entry_t* entry = &def->signature_def.items[i];
    if (!entry->value || leat_string_view_equals(entry->key, "__saved_model_init_op")) continue;
    LEAT_RETURN_IF_ERROR(read_signature(model, entry->key, entry->value,
                                        &model->signatures[model->signature_count]));
    ++model->signature_count;
  }
  return leat_ok_status();
}

// Keeps of the MetaGraphDef |bytes| what the graph does not hold, in the model's arena.
static leat_status_t keep_description(TF_SavedModel* model, leat_string_view_t bytes) {
  leat_meta_graph_t m;
  leat_string_builder_t copy;
  leat_string_view_t kept;
  LEAT_RETURN_IF_ERROR(leat_meta_graph_parse(bytes, leat_allocator_system(), &m));
  m.message.meta_info_def = NULL;
  leat_string_builder_initialize(leat_allocator_system(), &copy);
  leat_status_t status =
      leat_message_encode(&leat_pb_meta_graph_def_descriptor, &m.message, &copy);
  if (!status) {
    status = leat_arena_copy_string(&model->arena, leat_string_builder_view(&copy), &kept);
  }
  if (!status) {
    status = leat_message_decode(&leat_pb_meta_graph_def_descriptor, kept, &model->arena, NULL,
                                 &model->def);
  }
  leat_string_builder_deinitialize(&copy);
  leat_meta_graph_deinitialize(&m);
  return status;
}

// Loads graph and session, with options like those of the context's session, and the signatures.
static leat_status_t load(TF_SavedModel* model, const char* directory, const char* const* tags,
                          int tag_count) {
  TF_Status status = {0};
  TF_SessionOptions options = {
      .options = *leat_session_options(model->context->session->session)};
  // The text of the context's target is gone, and the resources are not for models.
  options.options.resources = NULL;
  options.options.target = leat_session_options_default().target;
  TF_Buffer* meta_graph_def = TF_NewBuffer();
  model->graph = TF_NewGraph();
  model->session = TF_LoadSessionFromSavedModel(&options, NULL, directory, tags, tag_count,
                                                model->graph, meta_graph_def, &status);
  leat_status_t result = leat_capi_status_take(&status);
  if (!result) {
    result = leat_arena_copy_string(&model->arena, leat_string_view_from(directory),
                                    &model->directory);
  }
  if (!result) result = keep_description(model, leat_capi_buffer_bytes(meta_graph_def));
  if (!result) result = read_signatures(model);
  TF_DeleteBuffer(meta_graph_def);
  return result;
}

TF_SavedModel* TF_LoadSavedModelWithTags(const char* dirname, TFE_Context* ctx,
                                         const char* const* tags, int tags_len,
                                         TF_Status* status) {
  TF_SavedModel* model = leat_capi_allocate(sizeof *model);
  leat_status_t result = leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a model ran out");
  if (model) {
    leat_status_free(result);
    *model = (TF_SavedModel){.references = 1, .context = ctx};
    leat_arena_initialize(leat_allocator_system(), 4096, &model->arena);
    leat_arena_initialize(leat_allocator_system(), 4096, &model->calls);
    leat_mutex_initialize(&model->mutex);
    result = load(model, dirname, tags, tags_len);
  }
  if (result) {
    TF_DeleteSavedModel(model);
    model = NULL;
  }
  leat_capi_status_set(status, result);
  return model;
}

TF_SavedModel* TF_LoadSavedModel(const char* dirname, TFE_Context* ctx, TF_Status* status) {
  const char* kServe = "serve";
  return TF_LoadSavedModelWithTags(dirname, ctx, &kServe, 1, status);
}

// ---- Signatures ---------------------------------------------------------------------------------

TF_SignatureDefFunction* TF_GetSavedModelSignatureDefFunction(TF_SavedModel* model,
                                                              const char* signature_def_key,
                                                              TF_Status* status) {
  for (size_t i = 0; i < model->signature_count; ++i) {
    if (!leat_string_view_equals(model->signatures[i].call.name, signature_def_key)) continue;
    leat_capi_status_set(status, leat_ok_status());
    return &model->signatures[i];
  }
  leat_capi_status_set(status,
                       leat_make_status(LEAT_NOT_FOUND, "No signature was found with the key %s",
                                        signature_def_key));
  return NULL;
}

TF_SignatureDefFunctionMetadata* TF_SignatureDefFunctionGetMetadata(
    TF_SignatureDefFunction* func) {
  return &func->metadata;
}

const TF_SignatureDefParamList* TF_SignatureDefFunctionMetadataArgs(
    const TF_SignatureDefFunctionMetadata* list) {
  return &list->args;
}

const TF_SignatureDefParamList* TF_SignatureDefFunctionMetadataReturns(
    const TF_SignatureDefFunctionMetadata* list) {
  return &list->returns;
}

size_t TF_SignatureDefParamListSize(const TF_SignatureDefParamList* list) { return list->count; }

const TF_SignatureDefParam* TF_SignatureDefParamListGet(const TF_SignatureDefParamList* list,
                                                        int i) {
  return i >= 0 && (size_t)i < list->count ? &list->items[i] : NULL;
}

const char* TF_SignatureDefParamName(const TF_SignatureDefParam* param) {
  return param->name.data;
}

const TF_TensorSpec* TF_SignatureDefParamTensorSpec(const TF_SignatureDefParam* param) {
  return &param->spec;
}

TF_DataType TF_TensorSpecDataType(const TF_TensorSpec* spec) { return spec->dtype; }

const TF_Shape* TF_TensorSpecShape(const TF_TensorSpec* spec) { return &spec->shape; }

// ---- Calls --------------------------------------------------------------------------------------

static leat_status_t check_count(const leat_model_call_t* call, size_t count) {
  if (count == call->arg_count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Calling %s '%.*s' failed: there are %zu inputs, must be %zu",
                          call->kind, LEAT_SV_ARG(call->name), count, call->arg_count);
}

TFE_Op* leat_model_call_op(const leat_model_call_t* call, TFE_TensorHandle** inputs,
                           int num_inputs, TF_Status* status) {
  leat_status_t result = check_count(call, num_inputs < 0 ? 0 : (size_t)num_inputs);
  if (result) {
    leat_capi_status_set(status, result);
    return NULL;
  }
  TFE_Op* op = TFE_NewOp(call->model->context, "StatefulPartitionedCall", status);
  if (!op) return NULL;
  op->call = call;
  leat_reference_count_retain(&call->model->references);
  TFE_OpAddInputList(op, inputs, num_inputs, status);
  if (!status->status) return op;
  TFE_DeleteOp(op);
  return NULL;
}

TFE_Op* TF_SignatureDefFunctionMakeCallOp(TF_SignatureDefFunction* func,
                                          TFE_TensorHandle** inputs, int num_inputs,
                                          TF_Status* status) {
  return leat_model_call_op(&func->call, inputs, num_inputs, status);
}

// |tensors| has room for the feeds and then the fetches. The signature is prepared, since a
// signature may give an input back as it is, which a plain run refuses.
static leat_status_t run_step(const TFE_Op* op, leat_tensor_t* tensors) {
  const leat_model_call_t* call = op->call;
  leat_session_t* session = call->model->session->session;
  leat_signature_t* prepared = NULL;
  const size_t feeds = call->arg_count + call->capture_count;
  for (size_t i = 0; i < op->input_count; ++i) tensors[i] = op->inputs[i]->tensor;
  for (size_t i = 0; i < call->capture_count; ++i) {
    tensors[call->arg_count + i] = call->captures[i];
  }
  leat_run_t run = {.feeds = call->feeds,
                    .feed_values = tensors,
                    .feed_count = (int)feeds,
                    .fetches = call->returns,
                    .fetch_values = tensors + feeds,
                    .fetch_count = (int)call->return_count,
                    .targets = &call->target,
                    .target_count = call->return_count == 0,
                    .cancellation = op->cancellation ? op->cancellation->cancellation : NULL};
  LEAT_RETURN_IF_ERROR(leat_session_prepare(session, &run, &prepared));
  return leat_session_run_prepared(session, prepared, &run);
}

leat_status_t leat_eager_call_run(const TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals) {
  const size_t feeds = op->call->arg_count + op->call->capture_count;
  const size_t returns = op->call->return_count;
  leat_tensor_t* tensors = NULL;
  LEAT_RETURN_IF_ERROR(check_count(op->call, op->input_count));
  LEAT_RETURN_IF_ERROR(leat_eager_check_room((int)returns, num_retvals));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), feeds + returns + 1, &tensors));
  leat_status_t status = run_step(op, tensors);
  if (!status) status = leat_eager_wrap_outputs(tensors + feeds, (int)returns, retvals);
  if (!status) *num_retvals = (int)returns;
  leat_allocator_free(leat_allocator_system(), tensors);
  return status;
}
