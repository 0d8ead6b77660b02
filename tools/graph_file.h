// Files that hold a graph.
#ifndef LEAT_TOOLS_GRAPH_FILE_H_
#define LEAT_TOOLS_GRAPH_FILE_H_

#include "leat/inspect.h"

// Is the file of this name text? The message that it holds, by its name.
int graph_file_is_text(const char* path);
const char* graph_file_type(const char* path);

// A GraphDef's bytes from a .pb or a text file (.pbtxt, .pbtext, .prototxt, .txt). NULL with
// |status| set, which names the file.
TF_Buffer* graph_file_read(const char* path, TF_Status* status);

// The same with a look inside. |type| is the message that the file is: a GraphDef, a SavedModel
// (saved_model.pb, .pbtxt) or a MetaGraphDef (.meta), of which |graph| is the first graph.
typedef struct graph_file_s {
  TF_Buffer* bytes;
  const char* type;
  leat_message_t* message;
  leat_message_view_t root;
  leat_message_view_t graph;
} graph_file_t;
// false with |status| set.
int graph_file_open(const char* path, graph_file_t* out_file, TF_Status* status);
void graph_file_close(graph_file_t* file);

#endif  // LEAT_TOOLS_GRAPH_FILE_H_
