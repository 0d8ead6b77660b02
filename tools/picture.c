// Draws a graph through the board's code, where the tool has it.
#include "picture.h"

#include "command.h"

#ifdef LEAT_HAVE_BOARD
#include "board/graph_svg.h"

char* picture_draw(const TF_Buffer* graph_def, const picture_t* picture) {
  char message[512];
  board_svg_options_t options = {.open = picture->open, .open_count = picture->open_count,
                                 .open_all = picture->open_all, .marked = picture->marked,
                                 .marked_count = picture->marked_count};
  char* svg = board_graph_svg(graph_def->data, graph_def->length, &options, message,
                              sizeof message);
  if (!svg) complain("drawing the graph failed: %s", message);
  return svg;
}
#else
char* picture_draw(const TF_Buffer* graph_def, const picture_t* picture) {
  (void)graph_def, (void)picture;
  complain("this tool was built without libmicrohttpd, and cannot draw");
  return NULL;
}
#endif
