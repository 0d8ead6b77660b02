// A graph, drawn by the board: the bytes are lines, each a node whose first words are its name and
// op and whose others are its inputs. All items that the limit allows are opened, and no two boxes
// of a level may overlap, whatever the names and edges. The same graph is drawn as an SVG too.
#include <stdlib.h>

#include "base/string_builder.h"
#include "board/graph_level.h"
#include "board/graph_svg.h"
#include "formats/wire/encode.h"

#define MAX_NODES 512

static leat_status_t parse(leat_string_view_t text, leat_arena_t* arena,
                           leat_pb_graph_def_t* out_graph) {
  leat_string_view_t line;
  while (leat_string_view_take_line(&text, &line) && out_graph->node.count < MAX_NODES) {
    leat_pb_node_def_t* node;
    LEAT_RETURN_IF_ERROR(
        leat_message_list_append(arena, &out_graph->node, sizeof *node, (void**)&node));
    for (int word = 0; line.size; ++word) {
      size_t size = leat_string_view_find(line, ' ');
      if (size > line.size) size = line.size;
      leat_string_view_t taken = leat_string_view_make(line.data, size), *input;
      line = leat_string_view_from_index(line, size + 1);
      if (word == 0) {
        node->name = taken;
      } else if (word == 1) {
        node->op = taken;
      } else {
        LEAT_RETURN_IF_ERROR(
            leat_message_list_append(arena, &node->input, sizeof *input, (void**)&input));
        *input = taken;
      }
    }
  }
  return leat_ok_status();
}

static void expect_apart(const board_level_t* level) {
  for (size_t a = 0; a < level->box_count; ++a) {
    const board_level_box_t* x = &level->boxes[a];
    for (size_t b = 0; b < a; ++b) {
      const board_level_box_t* y = &level->boxes[b];
      if (x->x < y->x + y->width && y->x < x->x + x->width && x->y < y->y + y->height &&
          y->y < x->y + x->height) {
        abort();
      }
    }
  }
}

static leat_status_t draw_svg(const leat_pb_graph_def_t* message) {
  char complaint[100];
  leat_string_builder_t bytes;
  board_svg_options_t options = {.open_all = true};
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(&leat_pb_graph_def_descriptor, message, &bytes);
  if (!status && bytes.size) {
    free(board_graph_svg(bytes.data, bytes.size, &options, complaint, sizeof complaint));
  }
  leat_string_builder_deinitialize(&bytes);
  return status;
}

static leat_status_t draw(leat_string_view_t text, leat_arena_t* arena) {
  leat_pb_graph_def_t message = {0};
  board_graph_t graph;
  board_level_t* levels;
  uint32_t* open;
  size_t count;
  LEAT_RETURN_IF_ERROR(parse(text, arena, &message));
  LEAT_RETURN_IF_ERROR(board_graph_build(&message, arena, &graph));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, graph.item_count, &open));
  for (uint32_t i = 0; i < graph.item_count; ++i) open[i] = i;
  LEAT_RETURN_IF_ERROR(board_levels_make(&graph, open, graph.item_count, arena, &levels, &count));
  for (size_t i = 0; i < count; ++i) expect_apart(&levels[i]);
  return draw_svg(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_free(draw(leat_string_view_make((const char*)data, size), &arena));
  leat_arena_deinitialize(&arena);
  return 0;
}
