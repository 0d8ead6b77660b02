// A graph as an SVG, drawn as the board's page draws it, for programs that show it elsewhere: a
// notebook, a report.
#ifndef LEAT_BOARD_GRAPH_SVG_H_
#define LEAT_BOARD_GRAPH_SVG_H_

#include <stdbool.h>
#include <stddef.h>

typedef struct board_svg_options_s {
  const char* const* open;  // names of scopes that are drawn with what is in them
  size_t open_count;
  bool open_all;  // all scopes are, from the outer ones on, as far as BOARD_GRAPH_MAX_OPEN allows
  const char* const* marked;  // names of nodes that stand out; the scopes around them are open
  size_t marked_count;
} board_svg_options_t;

// Draws the |size| bytes of a GraphDef. Returns the text of an <svg> element, which the caller
// frees with free(); NULL, with a message of |message_bytes| at most, where the bytes are no
// GraphDef or memory is short. Names that the graph does not have are passed over.
char* board_graph_svg(const void* graph_def, size_t size, const board_svg_options_t* options,
                      char* out_message, size_t message_bytes);

#endif  // LEAT_BOARD_GRAPH_SVG_H_
