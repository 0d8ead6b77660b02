// The inspection leat inspect graph --svg: the graph as a picture, on standard output.
#include <stdlib.h>
#include <string.h>

#include "graph_file.h"
#include "inspect.h"
#include "picture.h"

// The bytes of the GraphDef in the file: those of the file itself, or of the graph inside of it.
// The caller deletes the buffer.
static TF_Buffer* graph_bytes(const graph_file_t* file, TF_Status* status) {
  if (!strcmp(file->type, "GraphDef")) {
    return TF_NewBufferFromString(file->bytes->data, file->bytes->length);
  }
  TF_Buffer* text = leat_message_view_to_text(file->graph, status);
  TF_Buffer* bytes = text ? leat_message_from_text("GraphDef", text, status) : NULL;
  TF_DeleteBuffer(text);
  return bytes;
}

int inspect_svg(const inspection_t* inspection) {
  TF_Status* status = TF_NewStatus();
  graph_file_t file = {0};
  TF_Buffer* bytes = NULL;
  int code = EXIT_FAILED;
  if (graph_file_open(inspection->path, &file, status)) bytes = graph_bytes(&file, status);
  if (!bytes) {
    complain("%s", TF_Message(status));
  } else {
    picture_t picture = {.open = inspection->open, .open_count = (size_t)inspection->open_count};
    for (int i = 0; i < inspection->open_count; ++i) {
      picture.open_all |= !strcmp(inspection->open[i], "*");
    }
    char* svg = picture_draw(bytes, &picture);
    if (svg) {
      fputs(svg, stdout);
      code = EXIT_OK;
    }
    free(svg);
  }
  TF_DeleteBuffer(bytes);
  graph_file_close(&file);
  TF_DeleteStatus(status);
  return code;
}
