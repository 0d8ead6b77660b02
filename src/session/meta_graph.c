// Reads MetaGraphDefs and SavedModels, and restores the state that they describe. Reading works on
// the wire format: the graph, which is most of the bytes, stays as it lies in the file for the
// importer, and only what surrounds it is decoded into a message. A file in text format is parsed
// and encoded first.
//
// Restoring is at most two ordinary steps, chosen by TensorFlow's rules; in each of them the
// tensors of the assets are fed the paths of the assets' files:
//
//   1. where saver_def and variables/variables.index exist: the restore operation, with the
//      checkpoint's prefix as the file name
//   2. the initializer: that of the signature __saved_model_init_op, else of the collection
//      saved_model_main_op, else of legacy_init_op
//
// TensorFlow checks a graph for certain mistakes before it tries to load it. Here they are looked
// for only when loading has failed (leat_meta_graph_explain), since a graph that can be restored
// has nothing to be refused for. That keeps the large graph from being decoded twice.
#include "session/meta_graph.h"

#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "formats/wire/wire.h"
#include "graph/import/import.h"

// ---- Reading ------------------------------------------------------------------------------------

enum { GRAPH_DEF_FIELD = 2, META_GRAPHS_FIELD = 2 };

typedef struct field_s {
  const uint8_t* begin;
  const uint8_t* next;
  const uint8_t* end;
  uint32_t number;
  leat_string_view_t value;  // content of a field with a length; "" for other fields
} field_t;

static field_t fields_of(leat_string_view_t bytes) {
  const uint8_t* data = (const uint8_t*)bytes.data;
  return (field_t){.next = data, .end = bytes.size ? data + bytes.size : data};
}

// Goes to the next field. Returns false at the end, and where the bytes are malformed; |f->next| is
// NULL then.
static bool field_advance(field_t* f) {
  uint32_t type;
  size_t size = 0;
  f->begin = f->next;
  if (f->next == f->end) return false;
  f->value = LEAT_SV("");
  const uint8_t* value = leat_wire_read_tag(f->begin, f->end, &f->number, &type);
  f->next = value ? leat_wire_skip(value, f->end, f->number, type) : NULL;
  if (f->next && type == LEAT_WIRE_LENGTH) {
    const char* data = (const char*)leat_wire_read_length(value, f->end, &size);
    f->value = leat_string_view_make(data, size);
  }
  return f->next != NULL;
}

// Turns an INVALID_ARGUMENT about the bytes into TensorFlow's DATA_LOSS about the file. |status| is
// taken.
static leat_status_t broken(const char* path, const char* form, leat_status_t status) {
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_t said = leat_make_status(LEAT_DATA_LOSS, "Can't parse %s as %s proto: %s", path,
                                        form, leat_status_message(status));
  leat_status_free(status);
  return said;
}

// Checks that |bytes| consist of whole fields, on which gather() relies.
static leat_status_t check_fields(leat_string_view_t bytes, const char* path) {
  field_t f = fields_of(bytes);
  while (field_advance(&f)) continue;
  if (f.next || !bytes.size) return leat_ok_status();
  return broken(path, "binary",
                leat_make_status(LEAT_INVALID_ARGUMENT, "a field at byte %zu ends early",
                                 (size_t)(f.begin - (const uint8_t*)bytes.data)));
}

// Sets |*out_all| to the graph's bytes, or to all other fields. Where the field occurs once, it is
// a view of |bytes|; where it is repeated, the occurrences are concatenated, which is protobuf's
// rule for a singular message that occurs several times.
static leat_status_t gather(leat_meta_graph_t* m, leat_string_view_t bytes, bool is_graph,
                            leat_string_view_t* out_all) {
  leat_string_builder_t builder;
  int count = 0;
  leat_string_builder_initialize(m->allocator, &builder);
  *out_all = LEAT_SV("");
  for (field_t f = fields_of(bytes); field_advance(&f);) {
    if ((f.number == GRAPH_DEF_FIELD) != is_graph) continue;
    leat_string_view_t part =
        is_graph ? f.value
                 : leat_string_view_make((const char*)f.begin, (size_t)(f.next - f.begin));
    if (count++ == 1) leat_string_builder_append(&builder, *out_all);
    if (count > 1) leat_string_builder_append(&builder, part);
    if (count == 1) *out_all = part;
  }
  leat_status_t status = leat_status_clone(builder.status);
  if (!status && count > 1) {
    status = leat_arena_copy_string(&m->arena, leat_string_builder_view(&builder), out_all);
  }
  leat_string_builder_deinitialize(&builder);
  return status;
}

static leat_status_t read_meta_graph(leat_meta_graph_t* m, leat_string_view_t bytes,
                                     const char* path) {
  leat_string_view_t rest;
  LEAT_RETURN_IF_ERROR(check_fields(bytes, path));
  m->bytes = bytes;
  LEAT_RETURN_IF_ERROR(gather(m, bytes, true, &m->graph_def));
  LEAT_RETURN_IF_ERROR(gather(m, bytes, false, &rest));
  return broken(path, "binary",
                leat_message_decode(&leat_pb_meta_graph_def_descriptor, rest, &m->arena, NULL,
                                    &m->message));
}

// Reads the file into |m->file|, in binary form.
static leat_status_t read_file(leat_meta_graph_t* m, leat_file_system_t* fs, const char* path,
                               const leat_message_descriptor_t* type,
                               leat_string_view_t* out_bytes) {
  void* message;
  leat_string_builder_t builder;
  size_t size;
  LEAT_RETURN_IF_ERROR(leat_file_read_all(fs, path, m->allocator, &m->file, &size));
  *out_bytes = leat_string_view_make(m->file, size);
  if (!leat_string_view_ends_with(leat_string_view_from(path), LEAT_SV("txt"))) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&m->arena, type->size_bytes, &message));
  LEAT_RETURN_IF_ERROR(
      broken(path, "text", leat_text_parse(type, *out_bytes, &m->arena, message)));
  leat_string_builder_initialize(m->allocator, &builder);
  leat_status_t status = leat_message_encode(type, message, &builder);
  leat_allocator_free(m->allocator, m->file);
  m->file = NULL;
  if (!status) status = leat_string_builder_finish(&builder, &m->file, &size);
  leat_string_builder_deinitialize(&builder);
  *out_bytes = leat_string_view_make(m->file, size);
  return status;
}

static void initialize(leat_meta_graph_t* m, leat_allocator_t* allocator) {
  *m = (leat_meta_graph_t){.allocator = allocator};
  leat_arena_initialize(allocator, 0, &m->arena);
}

void leat_meta_graph_deinitialize(leat_meta_graph_t* m) {
  leat_arena_deinitialize(&m->arena);
  leat_allocator_free(m->allocator, m->file);
}

leat_status_t leat_meta_graph_read(leat_file_system_t* fs, const char* path,
                                   leat_allocator_t* allocator,
                                   leat_meta_graph_t* out_meta_graph) {
  leat_string_view_t bytes = {0};
  initialize(out_meta_graph, allocator);
  leat_status_t status =
      read_file(out_meta_graph, fs, path, &leat_pb_meta_graph_def_descriptor, &bytes);
  if (!status) status = read_meta_graph(out_meta_graph, bytes, path);
  if (status) leat_meta_graph_deinitialize(out_meta_graph);
  return status;
}

leat_status_t leat_meta_graph_parse(leat_string_view_t bytes, leat_allocator_t* allocator,
                                    leat_meta_graph_t* out_meta_graph) {
  initialize(out_meta_graph, allocator);
  leat_status_t status = read_meta_graph(out_meta_graph, bytes, "a MetaGraphDef");
  if (status) leat_meta_graph_deinitialize(out_meta_graph);
  return status;
}

// ---- Choosing a graph ---------------------------------------------------------------------------

static bool has_tag(const leat_pb_string_list_t* tags, const char* tag) {
  for (size_t i = 0; i < tags->count; ++i) {
    if (leat_string_view_equals(tags->items[i], tag)) return true;
  }
  return false;
}

// Compares the tags as sets: their order and repetitions do not matter.
static bool same_tags(const leat_meta_graph_t* m, const char* const* tags, int tag_count) {
  static const leat_pb_meta_graph_def_meta_info_def_t kNone = {0};
  const leat_pb_string_list_t* own =
      &(m->message.meta_info_def ? m->message.meta_info_def : &kNone)->tags;
  for (int i = 0; i < tag_count; ++i) {
    if (!has_tag(own, tags[i])) return false;
  }
  for (size_t i = 0; i < own->count; ++i) {
    bool found = false;
    for (int k = 0; k < tag_count; ++k) found |= leat_string_view_equals(own->items[i], tags[k]);
    if (!found) return false;
  }
  return true;
}

static leat_status_t no_such_tags(const char* const* tags, int tag_count) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  for (int i = 0; i < tag_count; ++i) leat_string_builder_print(&text, " %s", tags[i]);
  leat_status_t status = leat_make_status(
      LEAT_NOT_FOUND,
      "Could not find meta graph def matching supplied tags: {%.*s }. To inspect available "
      "tag-sets in the SavedModel, please use `leat inspect saved_model`",
      LEAT_SV_ARG(leat_string_builder_view(&text)));
  leat_string_builder_deinitialize(&text);
  return status;
}

// Finds the MetaGraphDef with exactly these tags.
static leat_status_t choose(leat_meta_graph_t* m, leat_string_view_t bytes, const char* path,
                            const char* const* tags, int tag_count) {
  LEAT_RETURN_IF_ERROR(check_fields(bytes, path));
  for (field_t f = fields_of(bytes); field_advance(&f);) {
    if (f.number != META_GRAPHS_FIELD) continue;
    LEAT_RETURN_IF_ERROR(read_meta_graph(m, f.value, path));
    if (same_tags(m, tags, tag_count)) return leat_ok_status();
  }
  return no_such_tags(tags, tag_count);
}

static leat_status_t read_saved_model(leat_meta_graph_t* m, leat_file_system_t* fs,
                                      const char* directory, const char* const* tags,
                                      int tag_count) {
  static const char* const kNames[] = {"saved_model.pb", "saved_model.pbtxt"};
  leat_string_view_t path, bytes = {0};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNames); ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(&m->arena, &path, "%s/%s", directory, kNames[i]));
    if (!leat_file_exists(fs, path.data)) continue;
    LEAT_RETURN_IF_ERROR(
        read_file(m, fs, path.data, &leat_pb_saved_model_descriptor, &bytes));
    return choose(m, bytes, path.data, tags, tag_count);
  }
  return leat_make_status(LEAT_NOT_FOUND,
                          "Could not find SavedModel .pb or .pbtxt at supplied export directory "
                          "path: %s. Check that the directory exists and that you have the right "
                          "permissions for accessing it.",
                          directory);
}

leat_status_t leat_meta_graph_read_saved_model(leat_file_system_t* fs, const char* directory,
                                               const char* const* tags, int tag_count,
                                               leat_allocator_t* allocator,
                                               leat_meta_graph_t* out_meta_graph) {
  initialize(out_meta_graph, allocator);
  leat_status_t status = read_saved_model(out_meta_graph, fs, directory, tags, tag_count);
  if (status) leat_meta_graph_deinitialize(out_meta_graph);
  return status;
}

// ---- Importing ----------------------------------------------------------------------------------

static bool has_size(const leat_pb_tensor_shape_proto_t* shape) {
  if (shape && shape->unknown_rank) return false;
  for (size_t i = 0; shape && i < shape->dim.count; ++i) {
    if (shape->dim.items[i].size < 0) return false;
  }
  return true;
}

static leat_status_t check_node(const leat_pb_node_def_t* node) {
  for (size_t i = 0; i < node->attr.count; ++i) {
    const leat_pb_attr_value_t* value = node->attr.items[i].value;
    if (!leat_string_view_equals(node->attr.items[i].key, "value")) continue;
    if (!value || !value->tensor || has_size(value->tensor->tensor_shape)) return leat_ok_status();
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Saved model contains node \"%.*s\" (op \"%.*s\") which initializes "
                            "from a tensor with -1 elements",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op));
  }
  if (!leat_string_view_equals(node->op, "Const")) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Saved model contains node \"%.*s\" which is a constant tensor but no "
                          "value has been provided",
                          LEAT_SV_ARG(node->name));
}

static leat_status_t check_nodes(const leat_pb_node_def_list_t* nodes,
                                 const leat_pb_op_def_t* function) {
  for (size_t i = 0; i < nodes->count; ++i) {
    LEAT_RETURN_IF_ERROR(check_node(&nodes->items[i]));
    if (!function || !leat_string_view_equal(nodes->items[i].op, function->name)) continue;
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Function %.*s is self recursive and TensorFlow does not support this "
                            "scenario.",
                            LEAT_SV_ARG(function->name));
  }
  return leat_ok_status();
}

// Looks for what TensorFlow refuses: see leat_meta_graph_explain.
static leat_status_t check_graph(leat_meta_graph_t* m) {
  leat_pb_graph_def_t graph;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_graph_def_descriptor, m->graph_def, &m->arena,
                                           NULL, &graph));
  LEAT_RETURN_IF_ERROR(check_nodes(&graph.node, NULL));
  for (size_t i = 0; graph.library && i < graph.library->function.count; ++i) {
    const leat_pb_function_def_t* function = &graph.library->function.items[i];
    LEAT_RETURN_IF_ERROR(check_nodes(&function->node_def, function->signature));
  }
  return leat_ok_status();
}

leat_status_t leat_meta_graph_import(leat_meta_graph_t* m, leat_shared_graph_t* graph) {
  leat_mutex_lock(&graph->mutex);
  leat_status_t status = leat_graph_import(graph->graph, m->graph_def, NULL, NULL);
  leat_mutex_unlock(&graph->mutex);
  return status;
}

// The graph is decoded only here, where loading has failed already.
leat_status_t leat_meta_graph_explain(leat_meta_graph_t* m, leat_status_t status) {
  if (!status) return status;
  leat_status_t refusal = check_graph(m);
  return refusal ? leat_status_join(refusal, status) : status;
}

// ---- Restoring ----------------------------------------------------------------------------------

typedef struct restore_s {
  leat_meta_graph_t* m;
  leat_shared_graph_t* graph;
  leat_session_t* session;
  int64_t timeout_ms;
  leat_output_t* feeds;         // the assets, and room for the saver's file name
  leat_tensor_t* feed_values;
  int feed_count;
} restore_t;

leat_status_t leat_meta_graph_find(leat_shared_graph_t* graph, leat_string_view_t name,
                                   leat_output_t* out_output) {
  leat_string_view_t node;
  LEAT_RETURN_IF_ERROR(leat_tensor_name_parse(name, &node, &out_output->index));
  leat_mutex_lock(&graph->mutex);
  out_output->node = leat_graph_find_node(graph->graph, node);
  leat_mutex_unlock(&graph->mutex);
  if (out_output->node >= 0) return leat_ok_status();
  return leat_make_status(LEAT_NOT_FOUND,
                          "Loading a model failed: its graph has no node '%.*s', which its "
                          "MetaGraphDef names",
                          LEAT_SV_ARG(node));
}

static leat_status_t add_feed(restore_t* r, leat_string_view_t tensor, leat_string_view_t path) {
  LEAT_RETURN_IF_ERROR(leat_meta_graph_find(r->graph, tensor, &r->feeds[r->feed_count]));
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar_string(path, &r->feed_values[r->feed_count]));
  ++r->feed_count;
  return leat_ok_status();
}

const leat_pb_collection_def_t* leat_meta_graph_collection(const leat_meta_graph_t* m,
                                                           const char* name) {
  for (size_t i = 0; i < m->message.collection_def.count; ++i) {
    if (leat_string_view_equals(m->message.collection_def.items[i].key, name)) {
      return m->message.collection_def.items[i].value;
    }
  }
  return NULL;
}

// Assets of the first version of SavedModels are messages in a collection, each wrapped in an Any.
static leat_status_t read_old_assets(leat_meta_graph_t* m) {
  const leat_pb_collection_def_t* collection = leat_meta_graph_collection(m, "saved_model_assets");
  if (m->message.asset_file_def.count || !collection || !collection->any_list) {
    return leat_ok_status();
  }
  void* asset;
  for (size_t i = 0; i < collection->any_list->value.count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_message_list_append(&m->arena, &m->message.asset_file_def,
                                                  sizeof(leat_pb_asset_file_def_t), &asset));
    LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_asset_file_def_descriptor,
                                             collection->any_list->value.items[i].value, &m->arena,
                                             NULL, asset));
  }
  return leat_ok_status();
}

static leat_status_t add_assets(restore_t* r, const char* directory) {
  leat_meta_graph_t* m = r->m;
  leat_string_view_t path;
  LEAT_RETURN_IF_ERROR(read_old_assets(m));
  size_t count = m->message.asset_file_def.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&m->arena, count + 1, &r->feeds));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&m->arena, count + 1, &r->feed_values));
  for (size_t i = 0; i < count; ++i) {
    const leat_pb_asset_file_def_t* asset = &m->message.asset_file_def.items[i];
    LEAT_RETURN_IF_ERROR(leat_arena_print(&m->arena, &path, "%s/assets/%.*s", directory,
                                          LEAT_SV_ARG(asset->filename)));
    LEAT_RETURN_IF_ERROR(
        add_feed(r, asset->tensor_info ? asset->tensor_info->name : LEAT_SV(""), path));
  }
  return leat_ok_status();
}

static leat_status_t run_target(const restore_t* r, leat_string_view_t name) {
  leat_output_t target;
  LEAT_RETURN_IF_ERROR(leat_meta_graph_find(r->graph, name, &target));
  leat_run_t run = {.feeds = r->feeds,
                    .feed_values = r->feed_values,
                    .feed_count = r->feed_count,
                    .targets = &target.node,
                    .target_count = 1,
                    .timeout_ms = r->timeout_ms};
  return leat_session_run(r->session, &run);
}

// The saver's file name is fed to the restore operation only, and removed from the feeds
// afterwards.
static leat_status_t restore_variables(restore_t* r, leat_file_system_t* fs,
                                       const char* directory) {
  const leat_pb_saver_def_t* saver = r->m->message.saver_def;
  leat_string_view_t prefix, index;
  if (!saver) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&r->m->arena, &prefix, "%s/variables/variables", directory));
  LEAT_RETURN_IF_ERROR(leat_arena_print(&r->m->arena, &index, "%s.index", prefix.data));
  if (!leat_file_exists(fs, index.data)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(add_feed(r, saver->filename_tensor_name, prefix));
  leat_status_t status = run_target(r, saver->restore_op_name);
  leat_tensor_release(&r->feed_values[--r->feed_count]);
  return status;
}

// Sets |*out_name| to the initializer's name, or to "" where there is none.
static leat_status_t find_initializer(const leat_meta_graph_t* m, leat_string_view_t* out_name) {
  static const char kKey[] = "__saved_model_init_op";
  *out_name = LEAT_SV("");
  for (size_t i = 0; i < m->message.signature_def.count; ++i) {
    const leat_pb_signature_def_t* signature = m->message.signature_def.items[i].value;
    if (!leat_string_view_equals(m->message.signature_def.items[i].key, kKey)) continue;
    for (size_t k = 0; signature && k < signature->outputs.count; ++k) {
      const leat_pb_signature_def_outputs_entry_t* output = &signature->outputs.items[k];
      if (!leat_string_view_equals(output->key, kKey)) continue;
      if (output->value) *out_name = output->value->name;
      return leat_ok_status();
    }
    return leat_make_status(LEAT_FAILED_PRECONDITION, "Could not find output %s", kKey);
  }
  const leat_pb_collection_def_t* collection = leat_meta_graph_collection(m, "saved_model_main_op");
  if (!collection) collection = leat_meta_graph_collection(m, "legacy_init_op");
  if (!collection) return leat_ok_status();
  if (!collection->node_list || collection->node_list->value.count != 1) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Expected exactly one main op in the MetaGraphDef");
  }
  *out_name = collection->node_list->value.items[0];
  return leat_ok_status();
}

leat_status_t leat_meta_graph_restore(leat_meta_graph_t* meta_graph, leat_file_system_t* fs,
                                      const char* directory, leat_shared_graph_t* graph,
                                      leat_session_t* session, int64_t timeout_ms) {
  restore_t r = {.m = meta_graph, .graph = graph, .session = session, .timeout_ms = timeout_ms};
  leat_string_view_t initializer;
  leat_status_t status = leat_session_check_placement(session);
  if (!status) status = add_assets(&r, directory);
  if (!status) status = restore_variables(&r, fs, directory);
  if (!status) status = find_initializer(meta_graph, &initializer);
  if (!status && initializer.size) status = run_target(&r, initializer);
  for (int i = 0; i < r.feed_count; ++i) leat_tensor_release(&r.feed_values[i]);
  return status;
}
