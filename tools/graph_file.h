// Opens files that hold a graph: GraphDef, MetaGraphDef or SavedModel, binary or text.
#ifndef LEAT_TOOLS_GRAPH_FILE_H_
#define LEAT_TOOLS_GRAPH_FILE_H_

#include "leat/inspect.h"

// By its name: whether the file is text, and the name of the message that it holds.
int graph_file_is_text(const char* path);
const char* graph_file_type(const char* path);

// Returns the bytes of a GraphDef from a binary or a text file (.pbtxt, .pbtext, .prototxt, .txt).
// NULL with |status| set, which names the file.
TF_Buffer* graph_file_read(const char* path, TF_Status* status);

// An opened file of any of the types. |type| is the message that it holds: GraphDef, SavedModel
// (saved_model.pb, saved_model.pbtxt) or MetaGraphDef (.meta). |root| is a view of that message and
// |graph| of the first GraphDef in it.
typedef struct graph_file_s {
  TF_Buffer* bytes;
  const char* type;
  leat_message_t* message;
  leat_message_view_t root;
  leat_message_view_t graph;
} graph_file_t;
// Returns false with |status| set. On success the file is closed with graph_file_close.
int graph_file_open(const char* path, graph_file_t* out_file, TF_Status* status);
void graph_file_close(graph_file_t* file);

#endif  // LEAT_TOOLS_GRAPH_FILE_H_
