// Draws the levels of a graph (board/graph_level.h) as an SVG. A level is an element <g> that is
// moved to its place: that of the box which holds it, whose level was placed before. Within a level
// lines come first and boxes after them, hence inner levels lie above the boxes that hold them.
// Each box has a <title>, which browsers show when the mouse rests there. Colors are classes, with
// another set where the reader prefers dark ones; board/page/graph_view.ts draws the same for the
// board's page.
#include "board/graph_svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_builder.h"
#include "board/graph_level.h"
#include "formats/wire/decode.h"

#define HEADING 30  // above an open level (board/graph_level.c)
#define MARGIN 8    // around the drawing, for what lies behind the boxes of series
#define LETTER_WIDTH 7
#define COLORS 6

typedef struct drawing_s {
  const board_graph_t* graph;
  const board_svg_options_t* options;
  const board_level_t* levels;
  size_t level_count;
  int32_t (*corners)[2];  // of each level, in the whole drawing
  leat_string_builder_t* out;
} drawing_t;

static const char kStyle[] =
    "<style>"
    ".leat-graph{font:12px system-ui,sans-serif;color:#222222}"
    ".leat-graph text{fill:currentColor;text-anchor:middle;dominant-baseline:central}"
    ".leat-graph .count{font-size:10px;opacity:.75}"
    ".leat-graph rect{fill:#fff;stroke:#8a8a8a}"
    ".leat-graph .scope>rect{fill:#ececec}"
    ".leat-graph .open>rect{fill-opacity:.35}"
    ".leat-graph .s0>rect{fill:#cfe3f7}.leat-graph .s1>rect{fill:#fbe0c4}"
    ".leat-graph .s2>rect{fill:#cdeede}.leat-graph .s3>rect{fill:#f3d3e6}"
    ".leat-graph .s4>rect{fill:#f3ecbf}.leat-graph .s5>rect{fill:#d9d6f5}"
    ".leat-graph .aside>rect{stroke-dasharray:5 3}"
    ".leat-graph .marked>rect{fill:#ffb3a7;stroke:#c22;stroke-width:2}"
    ".leat-graph path{fill:none;stroke:#9a9a9a}"
    ".leat-graph .control{stroke-dasharray:4 3}"
    ".leat-graph .tip{fill:#9a9a9a;stroke:none}"
    "@media (prefers-color-scheme:dark){"
    ".leat-graph{color:#e8e8e8}.leat-graph rect{fill:#1f2226;stroke:#7a7a7a}"
    ".leat-graph .scope>rect{fill:#33373c}"
    ".leat-graph .s0>rect{fill:#24476b}.leat-graph .s1>rect{fill:#6b4519}"
    ".leat-graph .s2>rect{fill:#1d5a45}.leat-graph .s3>rect{fill:#6b3454}"
    ".leat-graph .s4>rect{fill:#5c541c}.leat-graph .s5>rect{fill:#453d7c}"
    ".leat-graph .marked>rect{fill:#7a2018;stroke:#f66}}"
    "</style>";

// ---- Text ---------------------------------------------------------------------------------------
// Prints at most |letters| letters of a text, and an ellipsis for more. Texts of a message are
// UTF-8, whose continuation bytes are no letters. What XML cannot hold becomes "?".
static void print_text(leat_string_view_t text, size_t letters, leat_string_builder_t* out) {
  for (size_t i = 0; i < text.size; ++i) {
    unsigned char byte = (unsigned char)text.data[i];
    if ((byte & 0xc0) != 0x80 && !letters--) {
      leat_string_builder_append(out, LEAT_SV("…"));
      return;
    }
    if (byte < 0x20 || byte == 0x7f) {
      leat_string_builder_append_char(out, '?');
    } else if (strchr("<>&\"'", byte)) {
      leat_string_builder_print(out, "&#%d;", byte);
    } else {
      leat_string_builder_append_char(out, (char)byte);
    }
  }
}

// ---- What is open -------------------------------------------------------------------------------
static bool is_named(const char* const* names, size_t count, leat_string_view_t path) {
  for (size_t i = 0; i < count; ++i) {
    if (leat_string_view_equals(path, names[i])) return true;
  }
  return false;
}

static bool is_marked(const drawing_t* d, uint32_t item) {
  return d->graph->items[item].node &&
         is_named(d->options->marked, d->options->marked_count, d->graph->items[item].path);
}

// The items that shall be open, a list of the arena. The items around one that is named are too.
static leat_status_t find_open(const drawing_t* d, leat_arena_t* arena, uint32_t** out_open,
                               size_t* out_count) {
  const board_graph_t* graph = d->graph;
  bool* is_open;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, graph->item_count, &is_open));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, graph->item_count, out_open));
  for (uint32_t i = 1; i < graph->item_count; ++i) {
    bool is_scope = !graph->items[i].node;
    bool is_wanted = d->options->open_all ? is_scope : is_scope && graph->items[i].path.size &&
        is_named(d->options->open, d->options->open_count, graph->items[i].path);
    if (is_wanted) is_open[i] = true;
    if (!is_wanted && !is_marked(d, i)) continue;
    for (uint32_t p = graph->items[i].parent; p; p = graph->items[p].parent) is_open[p] = true;
  }
  *out_count = 0;
  for (uint32_t i = 1; i < graph->item_count; ++i) {
    if (is_open[i]) (*out_open)[(*out_count)++] = i;
  }
  return leat_ok_status();
}

// ---- Drawing ------------------------------------------------------------------------------------
// Between two points a line is upright at both ends.
static void print_link(const drawing_t* d, const board_level_link_t* link) {
  leat_string_builder_t* out = d->out;
  const int32_t* p = link->points;
  uint32_t last = 2 * link->point_count - 2;
  if (link->point_count < 2) return;
  double width = 0.8;
  for (uint32_t count = link->count; count > 1 && width < 4; count /= 2) width += 0.45;
  leat_string_builder_print(out, "<path%s stroke-width=\"%.2f\" d=\"M%d %d",
                            link->controls == link->count ? " class=\"control\"" : "", width, p[0],
                            p[1]);
  for (uint32_t i = 2; i <= last; i += 2) {
    int32_t middle = (p[i - 1] + p[i + 1]) / 2;
    leat_string_builder_print(out, "C%d %d %d %d %d %d", p[i - 2], middle, p[i], middle, p[i],
                              p[i + 1]);
  }
  int32_t x = p[last], y = p[last + 1], back = p[last - 1] > y ? 7 : -7;
  leat_string_builder_print(out, "\"/><path class=\"tip\" d=\"M%d %dL%d %dL%d %dZ\"/>", x, y,
                            x - 4, y + back, x + 4, y + back);
}

static void print_rect(const board_level_box_t* box, int32_t shift, int radius,
                       leat_string_builder_t* out) {
  leat_string_builder_print(
      out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\"/>", box->x + shift,
      box->y + shift, box->width, box->height, radius);
}

static void print_title(const drawing_t* d, const board_graph_item_t* item) {
  leat_string_builder_t* out = d->out;
  leat_string_builder_append(out, LEAT_SV("<title>"));
  print_text(item->path.size ? item->path : item->label, SIZE_MAX, out);
  if (item->node) {
    leat_string_builder_append(out, LEAT_SV("\n"));
    print_text(item->node->op, SIZE_MAX, out);
  } else {
    leat_string_builder_print(out, "\n%u nodes", item->node_count);
  }
  if (item->device != BOARD_GRAPH_MIXED && d->graph->devices[item->device].size) {
    leat_string_builder_append(out, LEAT_SV("\n"));
    print_text(d->graph->devices[item->device], SIZE_MAX, out);
  }
  leat_string_builder_append(out, LEAT_SV("</title>"));
}

static void print_box(const drawing_t* d, const board_level_box_t* box) {
  const board_graph_item_t* item = &d->graph->items[box->item];
  leat_string_builder_t* out = d->out;
  bool is_several = item->kind == BOARD_ITEM_SERIES || item->kind == BOARD_ITEM_LIST;
  leat_string_builder_append(out, item->node ? LEAT_SV("<g class=\"node") :
                                               LEAT_SV("<g class=\"scope"));
  if (!item->node && item->structure) {
    leat_string_builder_print(out, " s%u", (item->structure - 1) % COLORS);
  }
  if (box->is_open) leat_string_builder_append(out, LEAT_SV(" open"));
  if (box->is_aside) leat_string_builder_append(out, LEAT_SV(" aside"));
  if (is_marked(d, box->item)) leat_string_builder_append(out, LEAT_SV(" marked"));
  leat_string_builder_append(out, LEAT_SV("\">"));
  print_title(d, item);
  if (is_several && !box->is_open) {  // two edges behind it say that there are several
    print_rect(box, 6, 7, out);
    print_rect(box, 3, 7, out);
  }
  print_rect(box, 0, item->node ? box->height / 2 : 7, out);
  int32_t middle = box->x + box->width / 2;
  bool is_closed = !item->node && !box->is_open;
  leat_string_builder_print(out, "<text x=\"%d\" y=\"%d\">", middle,
                            box->y + (item->node ? box->height / 2 : 14));
  print_text(item->label, (size_t)(box->width / LETTER_WIDTH), out);
  leat_string_builder_append(out, LEAT_SV("</text>"));
  if (is_closed) {
    leat_string_builder_print(out, "<text class=\"count\" x=\"%d\" y=\"%d\">%u nodes</text>",
                              middle, box->y + 28, item->node_count);
  }
  leat_string_builder_append(out, LEAT_SV("</g>\n"));
}

// Finds the box that holds level |at|, among the levels before it, and the level's corner by it.
static void place_level(const drawing_t* d, size_t at) {
  const board_level_t* level = &d->levels[at];
  d->corners[at][0] = d->corners[at][1] = 0;
  for (size_t i = 0; i < at; ++i) {
    if (d->levels[i].item != d->graph->items[level->item].parent) continue;
    for (size_t b = 0; b < d->levels[i].box_count; ++b) {
      const board_level_box_t* box = &d->levels[i].boxes[b];
      if (box->item != level->item) continue;
      d->corners[at][0] = d->corners[i][0] + box->x + (box->width - level->width) / 2;
      d->corners[at][1] = d->corners[i][1] + box->y + HEADING;
      return;
    }
  }
}

static void print_drawing(const drawing_t* d) {
  leat_string_builder_t* out = d->out;
  int32_t width = d->levels[0].width + 2 * MARGIN, height = d->levels[0].height + 2 * MARGIN;
  leat_string_builder_print(
      out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"leat-graph\" role=\"img\" "
      "aria-label=\"a graph of %u nodes\" width=\"%d\" height=\"%d\" viewBox=\"%d %d %d %d\">",
      d->graph->items[0].node_count, width, height, -MARGIN, -MARGIN, width, height);
  leat_string_builder_append(out, leat_string_view_make(kStyle, sizeof kStyle - 1));
  for (size_t i = 0; i < d->level_count; ++i) {
    const board_level_t* level = &d->levels[i];
    place_level(d, i);
    leat_string_builder_print(out, "\n<g transform=\"translate(%d %d)\">\n", d->corners[i][0],
                              d->corners[i][1]);
    for (size_t l = 0; l < level->link_count; ++l) print_link(d, &level->links[l]);
    for (size_t b = 0; b < level->box_count; ++b) print_box(d, &level->boxes[b]);
    leat_string_builder_append(out, LEAT_SV("</g>"));
  }
  leat_string_builder_append(out, LEAT_SV("\n</svg>\n"));
}

static leat_status_t draw(leat_string_view_t bytes, leat_arena_t* arena, drawing_t* d) {
  leat_decode_limits_t limits = {0};
  leat_pb_graph_def_t message;
  board_graph_t graph;
  board_level_t* levels;
  uint32_t* open;
  size_t open_count;
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_graph_def_descriptor, bytes, arena, &limits, &message));
  LEAT_RETURN_IF_ERROR(board_graph_build(&message, arena, &graph));
  d->graph = &graph;
  LEAT_RETURN_IF_ERROR(find_open(d, arena, &open, &open_count));
  LEAT_RETURN_IF_ERROR(
      board_levels_make(&graph, open, open_count, arena, &levels, &d->level_count));
  d->levels = levels;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, d->level_count, &d->corners));
  print_drawing(d);
  return leat_ok_status();
}

char* board_graph_svg(const void* graph_def, size_t size, const board_svg_options_t* options,
                      char* out_message, size_t message_bytes) {
  leat_arena_t arena;
  leat_string_builder_t out;
  char *text = NULL, *copy = NULL;
  size_t text_size;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &out);
  drawing_t drawing = {.options = options, .out = &out};
  leat_status_t status = draw(leat_string_view_make(graph_def, size), &arena, &drawing);
  if (!status) status = leat_string_builder_finish(&out, &text, &text_size);
  if (text && !(copy = strdup(text))) snprintf(out_message, message_bytes, "no memory");
  if (status) {
    snprintf(out_message, message_bytes, "%s", leat_status_message(status));
    leat_status_free(status);
  }
  leat_allocator_free(leat_allocator_system(), text);
  leat_string_builder_deinitialize(&out);
  leat_arena_deinitialize(&arena);
  return copy;
}
