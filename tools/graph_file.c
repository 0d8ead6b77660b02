// Opens files that hold a graph. The name of a file says which message it holds and whether it is
// text.
#include "graph_file.h"

#include <stdio.h>
#include <string.h>

#include "file.h"

static int ends_with(const char* path, const char* ending) {
  size_t size = strlen(path), wanted = strlen(ending);
  return size >= wanted && !strcmp(path + size - wanted, ending);
}

int graph_file_is_text(const char* path) {
  return ends_with(path, ".pbtxt") || ends_with(path, ".pbtext") || ends_with(path, ".prototxt") ||
         ends_with(path, ".txt");
}

const char* graph_file_type(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  if (!strcmp(name, "saved_model.pb") || !strcmp(name, "saved_model.pbtxt")) return "SavedModel";
  if (ends_with(path, ".meta") || ends_with(path, ".meta.pbtxt")) return "MetaGraphDef";
  return "GraphDef";
}

// Puts the path in front of the message of |status|, unless it is there.
static void name_file(const char* path, TF_Status* status) {
  char message[2048];
  if (TF_GetCode(status) == TF_OK || strstr(TF_Message(status), path)) return;
  snprintf(message, sizeof message, "%s: %s", path, TF_Message(status));
  TF_SetStatus(status, TF_GetCode(status), message);
}

static TF_Buffer* read_message(const char* path, const char* type, TF_Status* status) {
  TF_Buffer* file = file_read(path, status);
  if (!file || !graph_file_is_text(path)) return file;
  TF_Buffer* bytes = leat_message_from_text(type, file, status);
  TF_DeleteBuffer(file);
  name_file(path, status);
  return bytes;
}

TF_Buffer* graph_file_read(const char* path, TF_Status* status) {
  return read_message(path, "GraphDef", status);
}

int graph_file_open(const char* path, graph_file_t* f, TF_Status* status) {
  memset(f, 0, sizeof *f);
  f->type = graph_file_type(path);
  f->bytes = read_message(path, f->type, status);
  if (!f->bytes) return 0;
  f->message = leat_message_open(f->type, f->bytes, status);
  name_file(path, status);
  if (!f->message) {
    graph_file_close(f);
    return 0;
  }
  f->root = f->graph = leat_message_view(f->message);
  if (!strcmp(f->type, "SavedModel")) f->graph = leat_message_child(f->graph, "meta_graphs", 0);
  if (strcmp(f->type, "GraphDef")) f->graph = leat_message_child(f->graph, "graph_def", 0);
  return 1;
}

void graph_file_close(graph_file_t* file) {
  leat_message_close(file->message);
  TF_DeleteBuffer(file->bytes);
  memset(file, 0, sizeof *file);
}
