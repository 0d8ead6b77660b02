// The inspection leat inspect saved_model: prints each graph of a SavedModel with its tags, its
// signatures (the names, types and shapes of what they are fed and give), its assets and
// initializer, and counts the variables. Only saved_model.pb or saved_model.pbtxt and the index of
// the variables are read; nothing is loaded or run, so that a model with unknown ops can be
// inspected too. The message is read through views, which copy nothing. There are two printers over
// the same views: one for people, which leaves out the signatures that only a loader uses, and one
// that prints JSON with all signatures, for programs.
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "graph_file.h"
#include "inspect.h"
#include "json.h"
#include "leat/files.h"
#include "model.h"
#include "view.h"

#define MAX_PATH 4096

static void comma(bool* first) {
  if (!*first) fputs(", ", stdout);
  *first = false;
}

static void print_json_name(name_t name) { json_print_string(stdout, name.data, name.size); }

// The collection |key|, which is a list of nodes.
static leat_message_view_t collection(leat_message_view_t meta, const char* key) {
  return leat_message_child(view_entry(meta, "collection_def", key), "node_list", 0);
}

// The operation that is run after loading, or "". It is in a signature of the loader, or in older
// models in one of two collections.
static name_t initializer_of(leat_message_view_t meta) {
  static const char kKey[] = "__saved_model_init_op";
  leat_message_view_t signature = view_entry(meta, "signature_def", kKey);
  if (signature.data) return view_string(view_entry(signature, "outputs", kKey), "name", 0);
  leat_message_view_t nodes = collection(meta, "saved_model_main_op");
  if (!nodes.data) nodes = collection(meta, "legacy_init_op");
  return view_string(nodes, "value", 0);
}

// ---- Printing for people ------------------------------------------------------------------------

// Prints the inputs or outputs of a signature.
static void print_tensors(leat_message_view_t signature, const char* field, const char* title) {
  for (size_t i = 0; i < leat_message_count(signature, field); ++i) {
    leat_message_view_t entry = leat_message_child(signature, field, i);
    leat_message_view_t info = leat_message_child(entry, "value", 0);
    name_t key = view_string(entry, "key", 0), tensor = view_string(info, "name", 0);
    printf("    %-3s %-28.*s %s ", title, (int)key.size, key.data,
           element_type_name((TF_DataType)leat_message_integer(info, "dtype", 0)));
    view_print_shape(leat_message_child(info, "tensor_shape", 0));
    printf("  %.*s\n", (int)tensor.size, tensor.data);
  }
}

static void print_signatures(leat_message_view_t meta) {
  for (size_t i = 0; i < leat_message_count(meta, "signature_def"); ++i) {
    leat_message_view_t entry = leat_message_child(meta, "signature_def", i);
    leat_message_view_t signature = leat_message_child(entry, "value", 0);
    name_t key = view_string(entry, "key", 0), method = view_string(signature, "method_name", 0);
    // a signature of the loader, such as its init op
    if (key.size > 2 && !memcmp(key.data, "__", 2)) continue;
    printf("  signature %s%.*s%s %.*s\n", style_bold(stdout), (int)key.size, key.data,
           style_end(stdout), (int)method.size, method.data);
    print_tensors(signature, "inputs", "in");
    print_tensors(signature, "outputs", "out");
  }
}

static void print_assets(leat_message_view_t meta) {
  for (size_t i = 0; i < leat_message_count(meta, "asset_file_def"); ++i) {
    leat_message_view_t asset = leat_message_child(meta, "asset_file_def", i);
    name_t file = view_string(asset, "filename", 0);
    name_t tensor = view_string(leat_message_child(asset, "tensor_info", 0), "name", 0);
    printf("  asset assets/%.*s  %.*s\n", (int)file.size, file.data, (int)tensor.size,
           tensor.data);
  }
}

// Prints one graph of the model for people.
static void print_graph(leat_message_view_t meta) {
  leat_message_view_t info = leat_message_child(meta, "meta_info_def", 0);
  leat_message_view_t graph = leat_message_child(meta, "graph_def", 0);
  leat_message_view_t saver = leat_message_child(meta, "saver_def", 0);
  name_t version = view_string(info, "tensorflow_version", 0);
  name_t initializer = initializer_of(meta), restore = view_string(saver, "restore_op_name", 0);
  printf("%sgraph%s with tags", style_bold(stdout), style_end(stdout));
  for (size_t i = 0; i < leat_message_count(info, "tags"); ++i) {
    name_t tag = view_string(info, "tags", i);
    printf(" '%.*s'", (int)tag.size, tag.data);
  }
  printf(": %zu nodes, %zu functions, written by TensorFlow %.*s\n",
         leat_message_count(graph, "node"),
         leat_message_count(leat_message_child(graph, "library", 0), "function"),
         (int)version.size, version.data);
  print_signatures(meta);
  print_assets(meta);
  if (restore.size) printf("  restored by %.*s\n", (int)restore.size, restore.data);
  if (initializer.size) printf("  initialised by %.*s\n", (int)initializer.size, initializer.data);
}

// ---- Printing for programs ----------------------------------------------------------------------

// Prints the inputs or outputs of a signature as an object; an unknown shape is null.
static void print_json_tensors(leat_message_view_t signature, const char* field) {
  bool first = true;
  printf("\"%s\": {", field);
  for (size_t i = 0; i < leat_message_count(signature, field); ++i) {
    leat_message_view_t entry = leat_message_child(signature, field, i);
    leat_message_view_t info = leat_message_child(entry, "value", 0);
    leat_message_view_t shape = leat_message_child(info, "tensor_shape", 0);
    comma(&first);
    print_json_name(view_string(entry, "key", 0));
    fputs(": {\"tensor\": ", stdout);
    print_json_name(view_string(info, "name", 0));
    printf(", \"dtype\": \"%s\", \"shape\": ",
           element_type_name((TF_DataType)leat_message_integer(info, "dtype", 0)));
    if (!shape.data || leat_message_integer(shape, "unknown_rank", 0)) {
      fputs("null}", stdout);
      continue;
    }
    for (size_t k = 0; k < leat_message_count(shape, "dim"); ++k) {
      printf("%s%lld", k ? ", " : "[", (long long)leat_message_integer(
          leat_message_child(shape, "dim", k), "size", 0));
    }
    fputs(leat_message_count(shape, "dim") ? "]}" : "[]}", stdout);
  }
  putchar('}');
}

// Prints one graph of the model as an object, with all its signatures.
static void print_json_graph(leat_message_view_t meta) {
  leat_message_view_t info = leat_message_child(meta, "meta_info_def", 0);
  bool first = true;
  fputs("{\"tags\": [", stdout);
  for (size_t i = 0; i < leat_message_count(info, "tags"); ++i) {
    comma(&first);
    print_json_name(view_string(info, "tags", i));
  }
  printf("], \"nodes\": %zu, \"initializer\": ",
         leat_message_count(leat_message_child(meta, "graph_def", 0), "node"));
  print_json_name(initializer_of(meta));
  fputs(", \"assets\": [", stdout);
  first = true;
  for (size_t i = 0; i < leat_message_count(meta, "asset_file_def"); ++i) {
    comma(&first);
    print_json_name(view_string(leat_message_child(meta, "asset_file_def", i), "filename", 0));
  }
  fputs("], \"signatures\": {", stdout);
  first = true;
  for (size_t i = 0; i < leat_message_count(meta, "signature_def"); ++i) {
    leat_message_view_t entry = leat_message_child(meta, "signature_def", i);
    leat_message_view_t signature = leat_message_child(entry, "value", 0);
    comma(&first);
    print_json_name(view_string(entry, "key", 0));
    fputs(": {\"method\": ", stdout);
    print_json_name(view_string(signature, "method_name", 0));
    fputs(", ", stdout);
    print_json_tensors(signature, "inputs");
    fputs(", ", stdout);
    print_json_tensors(signature, "outputs");
    putchar('}');
  }
  fputs("}}", stdout);
}

// ---- The inspection -----------------------------------------------------------------------------

// Prints how many tensors the variables' checkpoint has. A model may have none.
static void print_variables(const char* directory) {
  char prefix[MAX_PATH];
  TF_Status* status = TF_NewStatus();
  snprintf(prefix, sizeof prefix, "%s/variables/variables", directory);
  leat_checkpoint_t* checkpoint = leat_checkpoint_open(prefix, status);
  if (checkpoint) {
    printf("%zu tensors in %s\n", leat_checkpoint_count(checkpoint), prefix);
  } else if (TF_GetCode(status) == TF_NOT_FOUND) {
    puts("no variables");
  } else {
    printf("variables: %s\n", TF_Message(status));
  }
  leat_checkpoint_close(checkpoint);
  TF_DeleteStatus(status);
}

static int show(const inspection_t* inspection, const char* path, const graph_file_t* file) {
  size_t count = leat_message_count(file->root, "meta_graphs");
  if (inspection->json) putchar('[');
  for (size_t i = 0; i < count; ++i) {
    leat_message_view_t meta = leat_message_child(file->root, "meta_graphs", i);
    if (!inspection->json) {
      print_graph(meta);
    } else {
      if (i) fputs(",\n ", stdout);
      print_json_graph(meta);
    }
  }
  if (inspection->json) puts("]");
  if (!inspection->json) print_variables(path);
  return EXIT_OK;
}

int inspect_saved_model(const inspection_t* inspection) {
  TF_Status* status = TF_NewStatus();
  graph_file_t file;
  char path[MAX_PATH];
  snprintf(path, sizeof path, "%s/saved_model.pb", inspection->path);
  bool opened = graph_file_open(path, &file, status);
  if (!opened && TF_GetCode(status) == TF_NOT_FOUND) {
    snprintf(path, sizeof path, "%s/saved_model.pbtxt", inspection->path);
    opened = graph_file_open(path, &file, status);
  }
  int code = opened ? show(inspection, inspection->path, &file)
                    : complain("%s", TF_Message(status));
  if (opened) graph_file_close(&file);
  TF_DeleteStatus(status);
  return code;
}
