// Levels are made from the inside out, because a box that is open is as large as what is in it: in
// descending order of their items' numbers, as what lies in an item has higher numbers. For each
// level the boxes are sized by their labels, the edges of the nodes inside are gathered into links
// between boxes, and graph_layout.c places both. A level costs one pass over the edges at the nodes
// inside it, and its drawing. Sizes are in pixels of the page's own font, so that the page draws
// what it gets without measuring.
#include "board/graph_level.h"

#include "base/checked.h"
#include "base/map.h"
#include "base/sort.h"
#include "board/graph_layout.h"

// Pixels at the size in which the page's text is 12 pixels high.
#define LETTER_WIDTH 7
#define MAX_LETTERS 26
#define NODE_HEIGHT 26
#define SCOPE_HEIGHT 38
#define FRAME 18      // around an open level
#define HEADING 30    // above it
#define MAX_SIZE (1 << 20)
// A box with links to so many others stands aside, or to a quarter of them where that is more.
#define ASIDE 12
#define ASIDE_MOST 30

typedef struct work_s {
  const board_graph_t* graph;
  leat_arena_t* arena;
  board_level_t* level;
  uint32_t* box_of;  // of the items in the level, from the item behind its own on
  leat_word_map_t links;
  size_t link_capacity;
  uint32_t* degrees;
  uint32_t* place;  // of each box in the layout
} work_t;

// Continuation bytes of UTF-8 are no letters.
static int32_t width_of(const board_graph_item_t* item) {
  int32_t letters = 0;
  for (size_t i = 0; i < item->label.size; ++i) {
    letters += ((unsigned char)item->label.data[i] & 0xc0) != 0x80;
  }
  letters = LEAT_MAX(LEAT_MIN(letters, MAX_LETTERS), 3);
  return letters * LETTER_WIDTH + (item->node ? 24 : 44);
}

static void size_box(const board_graph_item_t* item, const board_level_t* inner,
                     board_level_box_t* box) {
  box->width = width_of(item);
  box->height = item->node ? NODE_HEIGHT : SCOPE_HEIGHT;
  if (!inner) return;
  box->is_open = true;
  box->width = LEAT_MIN(LEAT_MAX(box->width, inner->width + 2 * FRAME), MAX_SIZE);
  box->height = LEAT_MIN(inner->height + HEADING + FRAME, MAX_SIZE);
}

static const board_level_t* find_level(const board_level_t* levels, size_t count, uint32_t item) {
  for (size_t i = 0; i < count; ++i) {
    if (levels[i].item == item) return &levels[i];
  }
  return NULL;
}

static leat_status_t make_boxes(work_t* work, const board_level_t* made, size_t made_count) {
  const board_graph_item_t* items = work->graph->items;
  board_level_t* level = work->level;
  uint32_t begin = level->item + 1, end = items[level->item].end;
  size_t count = 0;
  for (uint32_t child = begin; child < end; child = items[child].end) ++count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &level->boxes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, end - begin, &work->box_of));
  for (uint32_t child = begin; child < end; child = items[child].end) {
    uint32_t index = (uint32_t)level->box_count++;
    level->boxes[index].item = child;
    size_box(&items[child], find_level(made, made_count, child), &level->boxes[index]);
    for (uint32_t i = child; i < items[child].end; ++i) work->box_of[i - begin] = index;
  }
  return leat_ok_status();
}

static leat_status_t count_edge(work_t* work, uint32_t from, uint32_t to, uint32_t edge) {
  board_level_t* level = work->level;
  uint64_t key = (uint64_t)from << 32 | to, index;
  if (!leat_word_map_get(&work->links, key, &index)) {
    struct {
      board_level_link_t* items;
      size_t count;
    } list = {level->links, level->link_count};
    board_level_link_t* link;
    LEAT_RETURN_IF_ERROR(
        leat_message_list_append(work->arena, &list, sizeof *link, (void**)&link));
    *link = (board_level_link_t){.from = from, .to = to, .edge = edge};
    level->links = list.items;
    index = level->link_count++;
    LEAT_RETURN_IF_ERROR(leat_word_map_set(&work->links, key, index));
  }
  ++level->links[index].count;
  level->links[index].controls += work->graph->edges[edge].is_control;
  return leat_ok_status();
}

static leat_status_t make_links(work_t* work) {
  const board_graph_t* graph = work->graph;
  board_level_t* level = work->level;
  uint32_t begin = level->item + 1, end = graph->items[level->item].end;
  for (uint32_t item = begin; item < end; ++item) {
    uint32_t box = work->box_of[item - begin];
    for (uint32_t e = graph->in_begin[item]; e < graph->in_begin[item + 1]; ++e) {
      uint32_t from = graph->edges[e].from;
      if (from < begin || from >= end) {
        ++level->boxes[box].entering;
      } else if (work->box_of[from - begin] != box) {
        LEAT_RETURN_IF_ERROR(count_edge(work, work->box_of[from - begin], box, e));
      }
    }
    for (uint32_t o = graph->out_begin[item]; o < graph->out_begin[item + 1]; ++o) {
      uint32_t to = graph->edges[graph->out[o]].to;
      level->boxes[box].leaving += to < begin || to >= end;
    }
  }
  return leat_ok_status();
}

// Counts for each box the others that it is joined to; two that are joined both ways count once.
static leat_status_t set_aside(work_t* work) {
  board_level_t* level = work->level;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, level->box_count, &work->degrees));
  for (size_t i = 0; i < level->link_count; ++i) {
    const board_level_link_t* link = &level->links[i];
    uint64_t reverse = (uint64_t)link->to << 32 | link->from;
    if (link->from > link->to && leat_word_map_get(&work->links, reverse, NULL)) continue;
    ++work->degrees[link->from];
    ++work->degrees[link->to];
  }
  uint32_t most = LEAT_MIN(LEAT_MAX(ASIDE, (uint32_t)level->box_count / 4), ASIDE_MOST);
  for (size_t b = 0; b < level->box_count; ++b) level->boxes[b].is_aside = work->degrees[b] >= most;
  for (size_t i = 0; i < level->link_count; ++i) {
    board_level_link_t* link = &level->links[i];
    link->is_aside = level->boxes[link->from].is_aside || level->boxes[link->to].is_aside;
  }
  return leat_ok_status();
}

static leat_status_t place_boxes(work_t* work) {
  board_level_t* level = work->level;
  board_layout_t layout = {0};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, level->box_count, &layout.nodes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, level->link_count, &layout.edges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, level->box_count, &work->place));
  for (size_t b = 0; b < level->box_count; ++b) {
    if (level->boxes[b].is_aside) continue;
    work->place[b] = (uint32_t)layout.node_count;
    layout.nodes[layout.node_count++] = (board_layout_node_t){
        .width = level->boxes[b].width, .height = level->boxes[b].height};
  }
  for (size_t i = 0; i < level->link_count; ++i) {
    if (level->links[i].is_aside) continue;
    layout.edges[layout.edge_count++] = (board_layout_edge_t){
        .from = work->place[level->links[i].from], .to = work->place[level->links[i].to]};
  }
  LEAT_RETURN_IF_ERROR(board_layout_run(&layout, work->arena));
  level->width = layout.width;
  level->height = layout.height;
  int32_t x = layout.width ? layout.width + 2 * BOARD_LAYOUT_GAP : 0, y = 0;
  for (size_t b = 0; b < level->box_count; ++b) {
    board_level_box_t* box = &level->boxes[b];
    box->x = box->is_aside ? x : layout.nodes[work->place[b]].x;
    box->y = box->is_aside ? y : layout.nodes[work->place[b]].y;
    if (!box->is_aside) continue;
    y += box->height + BOARD_LAYOUT_GAP / 2;
    level->width = LEAT_MAX(level->width, x + box->width);
    level->height = LEAT_MAX(level->height, box->y + box->height);
  }
  for (size_t i = 0, next = 0; i < level->link_count; ++i) {
    if (level->links[i].is_aside) continue;
    level->links[i].points = layout.edges[next].points;
    level->links[i].point_count = layout.edges[next++].point_count;
  }
  return leat_ok_status();
}

static leat_status_t make_level(const board_graph_t* graph, uint32_t item,
                                const board_level_t* made, size_t made_count, leat_arena_t* arena,
                                board_level_t* out_level) {
  work_t work = {.graph = graph, .arena = arena, .level = out_level};
  *out_level = (board_level_t){.item = item};
  LEAT_RETURN_IF_ERROR(make_boxes(&work, made, made_count));
  leat_word_map_initialize(leat_allocator_system(), &work.links);
  leat_status_t status = make_links(&work);
  if (!status) status = set_aside(&work);
  leat_word_map_deinitialize(&work.links);
  LEAT_RETURN_IF_ERROR(status);
  return place_boxes(&work);
}

// ---- What is open -------------------------------------------------------------------------------
static bool is_lower(const void* context, const void* a, const void* b) {
  (void)context;
  return *(const uint32_t*)a < *(const uint32_t*)b;
}

static bool contains(const uint32_t* items, size_t count, uint32_t item) {
  for (size_t i = 0; i < count; ++i) {
    if (items[i] == item) return true;
  }
  return false;
}

leat_status_t board_levels_make(const board_graph_t* graph, const uint32_t* open,
                                size_t open_count, leat_arena_t* arena, board_level_t** out_levels,
                                size_t* out_count) {
  uint32_t *sorted, *kept;
  size_t count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, open_count, &sorted));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, BOARD_GRAPH_MAX_OPEN, &kept));
  for (size_t i = 0; i < open_count; ++i) sorted[i] = open[i];
  leat_sort(sorted, open_count, sizeof *sorted, is_lower, NULL);
  kept[count++] = 0;
  for (size_t i = 0; i < open_count && count < BOARD_GRAPH_MAX_OPEN; ++i) {
    if (sorted[i] >= graph->item_count || sorted[i] == kept[count - 1]) continue;
    const board_graph_item_t* item = &graph->items[sorted[i]];
    if (!item->node && contains(kept, count, item->parent)) kept[count++] = sorted[i];
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, out_levels));
  // The inner ones come first, and are put behind the outer ones.
  for (size_t i = count; i-- > 0;) {
    LEAT_RETURN_IF_ERROR(make_level(graph, kept[i], *out_levels + i + 1, count - i - 1, arena,
                                    &(*out_levels)[i]));
  }
  *out_count = count;
  return leat_ok_status();
}
