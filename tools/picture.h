// Pictures of graphs, which board/ draws.
#ifndef LEAT_TOOLS_PICTURE_H_
#define LEAT_TOOLS_PICTURE_H_

#include <stdbool.h>
#include <stddef.h>

#include "leat/inspect.h"

typedef struct picture_s {
  const char* const* open;  // names of scopes that are drawn with what is in them
  size_t open_count;
  bool open_all;
  const char* const* marked;  // names of nodes that stand out
  size_t marked_count;
} picture_t;

// The text of an <svg> element that shows a GraphDef; free() frees it. NULL when it has complained:
// the bytes are no GraphDef, or the tool was built without the board.
char* picture_draw(const TF_Buffer* graph_def, const picture_t* picture);

#endif  // LEAT_TOOLS_PICTURE_H_
