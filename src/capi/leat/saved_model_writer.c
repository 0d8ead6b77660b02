// Writes MetaGraphs and SavedModels (leat/train.h). A MetaGraphDef is everything but the graph as
// one encoded message, and behind it the graph's own bytes as another field: the wire format allows
// fields in any order, and the graph, which may be large, is encoded only once.
//
//     SavedModel:  version | MetaGraphDef header | message without graph | graph_def header | graph
//
// In a SavedModel's directory, saved_model.pb is written last and atomically: whoever finds it
// finds the variables and assets complete. Two assets of different paths but the same name are
// refused, because one would overwrite the other.
#include "base/file_system.h"
#include "capi/handles.h"
#include "formats/generated/meta_graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/wire.h"
#include "graph/import/export.h"
#include "leat/saved_model.h"

// ---- Saving and restoring -----------------------------------------------------------------------

// Runs the saver's graph with |prefix| as the file name, and either fetches |fetch| or runs
// |target|.
static leat_status_t run_saver(TF_Session* session, const leat_saver_operations_t* saver,
                               const char* prefix, const TF_Output* fetch,
                               const TF_Operation* target) {
  leat_tensor_t name, fetched = {0};
  leat_output_t feed, output = {-1, 0};
  leat_capi_lock(session->graph);
  leat_status_t status =
      leat_capi_output_resolve(session->graph, saver->file_name, "Saving", &feed);
  if (!status && fetch) {
    status = leat_capi_output_resolve(session->graph, *fetch, "Saving", &output);
  } else if (!status && (!target || target->graph != session->graph)) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT, "Restoring failed: the saver is of another "
                              "graph");
  }
  leat_capi_unlock(session->graph);
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar_string(leat_string_view_from(prefix), &name));
  leat_run_t run = {.feeds = &feed, .feed_values = &name, .feed_count = 1,
                    .fetches = &output, .fetch_values = &fetched, .fetch_count = fetch != NULL,
                    .targets = target ? &target->node : NULL, .target_count = target != NULL,
                    .timeout_ms = saver->timeout_ms};
  status = leat_session_run(session->session, &run);
  leat_tensor_release(&fetched);
  leat_tensor_release(&name);
  return status;
}

void leat_variables_save(TF_Session* session, const leat_saver_operations_t* saver,
                         const char* prefix, TF_Status* status) {
  leat_capi_status_set(status, run_saver(session, saver, prefix, &saver->saved, NULL));
}

void leat_variables_restore(TF_Session* session, const leat_saver_operations_t* saver,
                            const char* prefix, TF_Status* status) {
  leat_capi_status_set(status, run_saver(session, saver, prefix, NULL, saver->restore));
}

// ---- The message --------------------------------------------------------------------------------

enum { TENSOR_INFO_NAME = 1 };  // the field |name| of the oneof in TensorInfo

typedef struct writer_s {
  leat_arena_t arena;
  TF_Graph* graph;  // its lock is held
  const leat_model_t* model;
  leat_pb_meta_graph_def_t meta;
} writer_t;

// Prints the name of |output| as "node:index".
static leat_status_t print_output(writer_t* w, TF_Output output, const char* what,
                                  const leat_node_t** out_node, leat_string_view_t* out_name) {
  leat_output_t resolved;
  LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(w->graph, output, what, &resolved));
  *out_node = leat_graph_node(w->graph->shared->graph, resolved.node);
  return leat_arena_print(&w->arena, out_name, "%.*s:%d", LEAT_SV_ARG((*out_node)->name),
                          output.index);
}

static leat_status_t describe_tensor(writer_t* w, TF_Output output,
                                     leat_pb_tensor_info_t** out_info) {
  const leat_node_t* node;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 1, out_info));
  leat_pb_tensor_info_t* info = *out_info;
  info->encoding_case = TENSOR_INFO_NAME;
  LEAT_RETURN_IF_ERROR(print_output(w, output, "Writing a signature", &node, &info->name));
  info->dtype = leat_dtype_base(node->output_types[output.index]);
  return leat_partial_shape_to_proto(node->output_shapes[output.index], &w->arena,
                                     &info->tensor_shape);
}

// Describes the inputs or the outputs of a signature. The generated entries of both maps have the
// same layout, which the assertion checks.
static leat_status_t describe_tensors(writer_t* w, const leat_model_tensor_t* tensors, int count,
                                      leat_pb_signature_def_inputs_entry_list_t* list) {
  _Static_assert(sizeof(leat_pb_signature_def_inputs_entry_t) ==
                     sizeof(leat_pb_signature_def_outputs_entry_t), "entries of one layout");
  void* memory;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_message_list_append(&w->arena, list, sizeof list->items[0], &memory));
    leat_pb_signature_def_inputs_entry_t* entry = memory;
    entry->key = leat_string_view_from(tensors[i].name);
    LEAT_RETURN_IF_ERROR(describe_tensor(w, tensors[i].tensor, &entry->value));
  }
  return leat_ok_status();
}

static leat_status_t add_signature(writer_t* w, const char* name,
                                   leat_pb_signature_def_t** out_signature) {
  void* entry;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 1, out_signature));
  LEAT_RETURN_IF_ERROR(leat_message_list_append(
      &w->arena, &w->meta.signature_def, sizeof w->meta.signature_def.items[0], &entry));
  *(leat_pb_meta_graph_def_signature_def_entry_t*)entry =
      (leat_pb_meta_graph_def_signature_def_entry_t){leat_string_view_from(name), *out_signature};
  return leat_ok_status();
}

static leat_status_t describe_signatures(writer_t* w) {
  leat_pb_signature_def_t* signature;
  for (int i = 0; i < w->model->signature_count; ++i) {
    const leat_model_signature_t* s = &w->model->signatures[i];
    LEAT_RETURN_IF_ERROR(add_signature(w, s->name, &signature));
    signature->method_name =
        leat_string_view_from(s->method ? s->method : "tensorflow/serving/predict");
    LEAT_RETURN_IF_ERROR(describe_tensors(w, s->inputs, s->input_count, &signature->inputs));
    LEAT_RETURN_IF_ERROR(describe_tensors(
        w, s->outputs, s->output_count,
        (leat_pb_signature_def_inputs_entry_list_t*)&signature->outputs));
  }
  return leat_ok_status();
}

static leat_status_t name_operation(const writer_t* w, const TF_Operation* operation,
                                    leat_string_view_t* out_name) {
  if (!operation || operation->graph != w->graph) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Writing a model failed: an operation of its saver or its initializer "
                            "is not of the graph");
  }
  *out_name = leat_capi_node(operation)->name;
  return leat_ok_status();
}

// Describes the initializer: a signature with one output, both called __saved_model_init_op, which
// names an operation and has no type.
static leat_status_t describe_initializer(writer_t* w) {
  static const char kKey[] = "__saved_model_init_op";
  leat_pb_signature_def_t* signature;
  leat_pb_tensor_info_t* info;
  void* entry;
  if (!w->model->initializer) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(add_signature(w, kKey, &signature));
  LEAT_RETURN_IF_ERROR(leat_message_list_append(
      &w->arena, &signature->outputs, sizeof signature->outputs.items[0], &entry));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 1, &info));
  *(leat_pb_signature_def_outputs_entry_t*)entry =
      (leat_pb_signature_def_outputs_entry_t){LEAT_SV("__saved_model_init_op"), info};
  info->encoding_case = TENSOR_INFO_NAME;
  LEAT_RETURN_IF_ERROR(name_operation(w, w->model->initializer, &info->name));
  return leat_partial_shape_to_proto(leat_partial_shape_unknown(), &w->arena,
                                     &info->tensor_shape);
}

// Describes the saver in a SaverDef; a model without one has no variables to save.
static leat_status_t describe_saver(writer_t* w) {
  const leat_saver_operations_t* from = &w->model->saver;
  const leat_node_t* node;
  leat_pb_saver_def_t* saver;
  if (!from->restore) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 1, &saver));
  w->meta.saver_def = saver;
  saver->max_to_keep = 5;
  saver->version = LEAT_PB_SAVER_DEF_CHECKPOINT_FORMAT_VERSION_V2;
  LEAT_RETURN_IF_ERROR(
      print_output(w, from->file_name, "Writing a saver", &node, &saver->filename_tensor_name));
  LEAT_RETURN_IF_ERROR(
      print_output(w, from->saved, "Writing a saver", &node, &saver->save_tensor_name));
  return name_operation(w, from->restore, &saver->restore_op_name);
}

static leat_string_view_t asset_name(const leat_model_asset_t* asset) {
  const char* slash = strrchr(asset->path, '/');
  return leat_string_view_from(slash ? slash + 1 : asset->path);
}

// Lists the assets with the tensors that are fed their paths. Several tensors may be fed the path
// of one file.
static leat_status_t describe_assets(writer_t* w) {
  void* memory;
  for (int i = 0; i < w->model->asset_count; ++i) {
    leat_string_view_t name = asset_name(&w->model->assets[i]);
    for (int k = 0; k < i; ++k) {
      if (!leat_string_view_equal(asset_name(&w->model->assets[k]), name) ||
          !strcmp(w->model->assets[k].path, w->model->assets[i].path)) {
        continue;
      }
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Writing a model failed: two assets are called '%.*s', must have "
                              "names of their own",
                              LEAT_SV_ARG(name));
    }
    LEAT_RETURN_IF_ERROR(leat_message_list_append(&w->arena, &w->meta.asset_file_def,
                                                  sizeof(leat_pb_asset_file_def_t), &memory));
    leat_pb_asset_file_def_t* asset = memory;
    asset->filename = name;
    LEAT_RETURN_IF_ERROR(
        describe_tensor(w, w->model->assets[i].tensor, &asset->tensor_info));
  }
  return leat_ok_status();
}

// Fills everything in the MetaGraphDef but the graph. A model without tags gets "serve".
static leat_status_t describe_model(writer_t* w) {
  leat_pb_meta_graph_def_meta_info_def_t* info;
  leat_string_view_t* tags;
  int count = w->model->tag_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, 1, &info));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&w->arena, (size_t)count + 1, &tags));
  tags[0] = LEAT_SV("serve");
  for (int i = 0; i < count; ++i) tags[i] = leat_string_view_from(w->model->tags[i]);
  info->tags = (leat_pb_string_list_t){tags, count ? (size_t)count : 1};
  info->tensorflow_version = leat_string_view_from(TF_Version());
  w->meta.meta_info_def = info;
  LEAT_RETURN_IF_ERROR(describe_signatures(w));
  LEAT_RETURN_IF_ERROR(describe_initializer(w));
  LEAT_RETURN_IF_ERROR(describe_saver(w));
  return describe_assets(w);
}

// ---- Bytes --------------------------------------------------------------------------------------

// Appends the header of a field with a length; |field| must be less than 16.
static void append_header(leat_string_builder_t* out, uint32_t field, size_t size) {
  uint8_t header[1 + LEAT_WIRE_MAX_VARINT_BYTES] = {(uint8_t)(field << 3 | LEAT_WIRE_LENGTH)};
  const uint8_t* end = leat_wire_write_varint(header + 1, size);
  leat_string_builder_append(
      out, leat_string_view_make((const char*)header, (size_t)(end - header)));
}

// Appends the MetaGraphDef; with |is_saved_model| as a field of a SavedModel.
static leat_status_t encode_model(TF_Graph* graph, const leat_model_t* model, bool is_saved_model,
                                  leat_string_builder_t* out) {
  writer_t w = {.graph = graph, .model = model};
  leat_string_builder_t graph_def, rest;
  leat_string_builder_initialize(leat_allocator_system(), &graph_def);
  leat_string_builder_initialize(leat_allocator_system(), &rest);
  leat_arena_initialize(leat_allocator_system(), 4096, &w.arena);
  leat_graph_t* g = leat_capi_lock(graph);
  leat_status_t status = leat_graph_export(g, &graph_def);
  if (!status) status = describe_model(&w);
  if (!status) status = leat_message_encode(&leat_pb_meta_graph_def_descriptor, &w.meta, &rest);
  leat_capi_unlock(graph);
  leat_arena_deinitialize(&w.arena);
  if (!status) {
    append_header(&rest, 2, graph_def.size);
    if (is_saved_model) {
      leat_string_builder_append(out, LEAT_SV("\x08\x01"));  // saved_model_schema_version
      append_header(out, 2, rest.size + graph_def.size);
    }
    leat_string_builder_append(out, leat_string_builder_view(&rest));
    leat_string_builder_append(out, leat_string_builder_view(&graph_def));
    status = leat_status_clone(rest.status ? rest.status : out->status);
  }
  leat_string_builder_deinitialize(&rest);
  leat_string_builder_deinitialize(&graph_def);
  return status;
}

static leat_status_t write_model(const char* path, TF_Graph* graph, const leat_model_t* model,
                                 bool is_saved_model) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = encode_model(graph, model, is_saved_model, &bytes);
  if (!status) {
    status = leat_file_write_atomically(leat_file_system_default(), path, bytes.data, bytes.size);
  }
  leat_string_builder_deinitialize(&bytes);
  return status;
}

void leat_meta_graph_write(const char* path, TF_Graph* graph, const leat_model_t* model,
                           TF_Status* status) {
  leat_capi_status_set(status, write_model(path, graph, model, false));
}

// ---- The directory ------------------------------------------------------------------------------

static leat_status_t copy_asset(const leat_model_asset_t* asset, const char* path) {
  char* data;
  size_t size;
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(
      leat_file_read_all(leat_file_system_default(), asset->path, allocator, &data, &size));
  leat_status_t status = leat_file_write_atomically(leat_file_system_default(), path, data, size);
  leat_allocator_free(allocator, data);
  return status;
}

static leat_status_t copy_assets(const leat_model_t* model, const char* directory,
                                 leat_arena_t* arena) {
  leat_string_view_t path;
  if (model->asset_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &path, "%s/assets", directory));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(leat_file_system_default(), path.data));
  for (int i = 0; i < model->asset_count; ++i) {
    leat_string_view_t name = asset_name(&model->assets[i]);
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(arena, &path, "%s/assets/%.*s", directory, LEAT_SV_ARG(name)));
    LEAT_RETURN_IF_ERROR(copy_asset(&model->assets[i], path.data));
  }
  return leat_ok_status();
}

// Writes variables, assets, and then saved_model.pb. ALREADY_EXISTS where the directory has a
// model.
static leat_status_t write_saved_model(const char* directory, TF_Graph* graph,
                                       TF_Session* session, const leat_model_t* model,
                                       leat_arena_t* arena) {
  leat_string_view_t file, prefix;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &file, "%s/saved_model.pb", directory));
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &prefix, "%s/variables/variables", directory));
  if (leat_file_exists(leat_file_system_default(), file.data)) {
    return leat_make_status(LEAT_ALREADY_EXISTS,
                            "Writing a SavedModel failed: %s is there, must be a new directory",
                            file.data);
  }
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(leat_file_system_default(), directory));
  if (model->saver.restore) {
    if (!session) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Writing a SavedModel failed: session is NULL, must hold the values "
                              "of the variables");
    }
    LEAT_RETURN_IF_ERROR(
        run_saver(session, &model->saver, prefix.data, &model->saver.saved, NULL));
  }
  LEAT_RETURN_IF_ERROR(copy_assets(model, directory, arena));
  return write_model(file.data, graph, model, true);
}

void leat_saved_model_write(const char* directory, TF_Graph* graph, TF_Session* session,
                            const leat_model_t* model, TF_Status* status) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_capi_status_set(status, write_saved_model(directory, graph, session, model, &arena));
  leat_arena_deinitialize(&arena);
}
