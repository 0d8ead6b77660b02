// The outer half of the layered drawing (Sugiyama, Tagawa and Toda's scheme): which edges go back,
// which rank a node has, and how the parts of the graph, its connected components, lie beside each
// other.
//
// 1. A depth-first search marks as going back the edges that lead to a node on its current path;
//    without them the graph has no cycle.
// 2. A node's rank is the length of the longest path to it. A node that more edges leave than enter
//    (a constant, a variable) then moves down to where it is used, so that edges are short.
// 3. board/graph_layers.c places the nodes of each part.
// 4. Parts are packed into lines, the highest first, in about the shape of a screen.
#include "board/graph_layout.h"

#include <math.h>

#include "base/checked.h"
#include "base/sort.h"
#include "board/graph_layers.h"

typedef struct work_s {
  board_layout_t* layout;
  leat_arena_t* arena;
  // The edges that leave each node: |out[begin[n] .. begin[n + 1])|.
  uint32_t *out_begin, *out;
  uint32_t* order;  // the nodes in a topological order
} work_t;

static bool is_loop(const board_layout_edge_t* edge) { return edge->from == edge->to; }

static leat_status_t list_edges(work_t* work) {
  const board_layout_t* layout = work->layout;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, layout->node_count + 2, &work->out_begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, layout->edge_count, &work->out));
  uint32_t* begin = work->out_begin;
  for (size_t e = 0; e < layout->edge_count; ++e) {
    LEAT_DCHECK(layout->edges[e].from < layout->node_count);
    LEAT_DCHECK(layout->edges[e].to < layout->node_count);
    ++begin[layout->edges[e].from + 2];
  }
  for (size_t n = 0; n < layout->node_count; ++n) begin[n + 2] += begin[n + 1];
  for (size_t e = 0; e < layout->edge_count; ++e) {
    work->out[begin[layout->edges[e].from + 1]++] = (uint32_t)e;
  }
  return leat_ok_status();
}

// Goes in depth from |root|; |next| holds for each node which of its edges comes next, |state| 1
// for nodes on the way and 2 for those that are done.
static void search(work_t* work, uint32_t root, uint32_t* next, uint8_t* state, uint32_t* stack) {
  board_layout_t* layout = work->layout;
  size_t depth = 0;
  stack[depth++] = root;
  state[root] = 1;
  while (depth) {
    uint32_t node = stack[depth - 1];
    if (next[node] == work->out_begin[node + 1]) {
      state[node] = 2;
      --depth;
      continue;
    }
    board_layout_edge_t* edge = &layout->edges[work->out[next[node]++]];
    if (is_loop(edge)) continue;
    if (state[edge->to] == 1) {
      edge->is_back = true;
    } else if (!state[edge->to]) {
      state[edge->to] = 1;
      stack[depth++] = edge->to;
    }
  }
}

// Nodes that no edge enters come first, so that loops are entered where the graph enters them.
static leat_status_t mark_back_edges(work_t* work) {
  board_layout_t* layout = work->layout;
  size_t count = layout->node_count;
  uint32_t *next, *stack;
  uint8_t *state, *has_input;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &next));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &stack));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &state));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &has_input));
  for (size_t e = 0; e < layout->edge_count; ++e) {
    layout->edges[e].is_back = false;
    if (!is_loop(&layout->edges[e])) has_input[layout->edges[e].to] = 1;
  }
  for (size_t n = 0; n < count; ++n) next[n] = work->out_begin[n];
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t n = 0; n < count; ++n) {
      if (!state[n] && (pass || !has_input[n])) search(work, n, next, state, stack);
    }
  }
  return leat_ok_status();
}

// The ends of an edge as if it led downwards.
static uint32_t upper_of(const board_layout_edge_t* edge) {
  return edge->is_back ? edge->to : edge->from;
}
static uint32_t lower_of(const board_layout_edge_t* edge) {
  return edge->is_back ? edge->from : edge->to;
}

// The edges whose upper end each node is, as lists: |begin[n] .. begin[n + 1]| of |*out_edges|.
static leat_status_t list_downward(work_t* work, uint32_t** out_begin, uint32_t** out_edges) {
  const board_layout_t* layout = work->layout;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, layout->node_count + 2, out_begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, layout->edge_count, out_edges));
  uint32_t* begin = *out_begin;
  for (size_t e = 0; e < layout->edge_count; ++e) {
    if (!is_loop(&layout->edges[e])) ++begin[upper_of(&layout->edges[e]) + 2];
  }
  for (size_t n = 0; n < layout->node_count; ++n) begin[n + 2] += begin[n + 1];
  for (size_t e = 0; e < layout->edge_count; ++e) {
    if (is_loop(&layout->edges[e])) continue;
    (*out_edges)[begin[upper_of(&layout->edges[e]) + 1]++] = (uint32_t)e;
  }
  return leat_ok_status();
}

static leat_status_t rank_nodes(work_t* work) {
  board_layout_t* layout = work->layout;
  size_t count = layout->node_count, placed = 0;
  uint32_t *begin, *down, *above;
  LEAT_RETURN_IF_ERROR(list_downward(work, &begin, &down));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &above));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &work->order));
  for (size_t e = 0; e < layout->edge_count; ++e) {
    if (!is_loop(&layout->edges[e])) ++above[lower_of(&layout->edges[e])];
  }
  for (uint32_t n = 0; n < count; ++n) {
    layout->nodes[n].rank = 0;
    if (!above[n]) work->order[placed++] = n;
  }
  // Afterwards |above| counts the edges again, for the second loop.
  for (size_t i = 0; i < placed; ++i) {
    uint32_t node = work->order[i];
    for (uint32_t e = begin[node]; e < begin[node + 1]; ++e) {
      uint32_t lower = lower_of(&layout->edges[down[e]]);
      uint32_t rank = layout->nodes[node].rank + 1;
      if (layout->nodes[lower].rank < rank) layout->nodes[lower].rank = rank;
      if (!--above[lower]) work->order[placed++] = lower;
    }
  }
  LEAT_DCHECK(placed == count);
  for (size_t e = 0; e < layout->edge_count; ++e) {
    if (!is_loop(&layout->edges[e])) ++above[lower_of(&layout->edges[e])];
  }
  for (size_t i = placed; i-- > 0;) {
    uint32_t node = work->order[i], rank = UINT32_MAX;
    if (begin[node + 1] - begin[node] <= above[node]) continue;
    for (uint32_t e = begin[node]; e < begin[node + 1]; ++e) {
      rank = LEAT_MIN(rank, layout->nodes[lower_of(&layout->edges[down[e]])].rank - 1);
    }
    LEAT_DCHECK(rank >= layout->nodes[node].rank);
    layout->nodes[node].rank = rank;
  }
  return leat_ok_status();
}

// ---- Parts --------------------------------------------------------------------------------------
static uint32_t find_root(uint32_t* parents, uint32_t node) {
  while (parents[node] != node) {
    parents[node] = parents[parents[node]];
    node = parents[node];
  }
  return node;
}

// Gives each node the number of its part; parts are in the order of their first nodes.
static leat_status_t number_parts(work_t* work, uint32_t** out_part_of, size_t* out_count) {
  const board_layout_t* layout = work->layout;
  size_t count = layout->node_count;
  uint32_t *parents, *number;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &parents));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &number));
  for (uint32_t n = 0; n < count; ++n) parents[n] = n;
  for (size_t e = 0; e < layout->edge_count; ++e) {
    uint32_t a = find_root(parents, layout->edges[e].from);
    uint32_t b = find_root(parents, layout->edges[e].to);
    // The root is the first node, so that it is met before the others.
    parents[LEAT_MAX(a, b)] = LEAT_MIN(a, b);
  }
  *out_count = 0;
  for (uint32_t n = 0; n < count; ++n) {
    uint32_t root = find_root(parents, n);
    number[n] = root == n ? (uint32_t)(*out_count)++ : number[root];
  }
  *out_part_of = number;
  return leat_ok_status();
}

// Sorts the numbers 0 to |count| by the part that |part_of| gives them; |*out_begin| has the parts'
// beginnings.
static leat_status_t sort_by_part(leat_arena_t* arena, const uint32_t* part_of, size_t count,
                                  size_t parts, uint32_t** out_begin, uint32_t** out_sorted) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, parts + 2, out_begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, out_sorted));
  uint32_t* begin = *out_begin;
  for (size_t i = 0; i < count; ++i) {
    if (part_of[i] < parts) ++begin[part_of[i] + 2];
  }
  for (size_t p = 0; p < parts; ++p) begin[p + 2] += begin[p + 1];
  for (size_t i = 0; i < count; ++i) {
    if (part_of[i] < parts) (*out_sorted)[begin[part_of[i] + 1]++] = (uint32_t)i;
  }
  return leat_ok_status();
}

static leat_status_t place_parts(work_t* work, board_layers_part_t** out_parts,
                                 size_t* out_count) {
  board_layout_t* layout = work->layout;
  uint32_t *part_of, *part_of_edge, *node_begin, *nodes, *edge_begin, *edges;
  size_t count;
  LEAT_RETURN_IF_ERROR(number_parts(work, &part_of, &count));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, layout->edge_count, &part_of_edge));
  for (size_t e = 0; e < layout->edge_count; ++e) {
    const board_layout_edge_t* edge = &layout->edges[e];
    part_of_edge[e] = is_loop(edge) ? UINT32_MAX : part_of[edge->from];
  }
  LEAT_RETURN_IF_ERROR(
      sort_by_part(work->arena, part_of, layout->node_count, count, &node_begin, &nodes));
  LEAT_RETURN_IF_ERROR(
      sort_by_part(work->arena, part_of_edge, layout->edge_count, count, &edge_begin, &edges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, out_parts));
  for (size_t p = 0; p < count; ++p) {
    board_layers_part_t* part = &(*out_parts)[p];
    *part = (board_layers_part_t){.layout = layout, .nodes = nodes + node_begin[p],
                                  .node_count = node_begin[p + 1] - node_begin[p],
                                  .edges = edges + edge_begin[p],
                                  .edge_count = edge_begin[p + 1] - edge_begin[p]};
    LEAT_RETURN_IF_ERROR(board_layers_place(part, work->arena));
  }
  *out_count = count;
  return leat_ok_status();
}

static void move_part(const board_layers_part_t* part, int32_t x, int32_t y) {
  for (size_t i = 0; i < part->node_count; ++i) {
    part->layout->nodes[part->nodes[i]].x += x;
    part->layout->nodes[part->nodes[i]].y += y;
  }
  for (size_t i = 0; i < part->edge_count; ++i) {
    const board_layout_edge_t* edge = &part->layout->edges[part->edges[i]];
    for (uint32_t p = 0; p < edge->point_count; ++p) {
      edge->points[2 * p] += x;
      edge->points[2 * p + 1] += y;
    }
  }
}

static bool is_higher(const void* context, const void* a, const void* b) {
  const board_layers_part_t* parts = context;
  uint32_t i = *(const uint32_t*)a, j = *(const uint32_t*)b;
  return parts[i].height != parts[j].height ? parts[i].height > parts[j].height : i < j;
}

static leat_status_t pack(work_t* work, const board_layers_part_t* parts, size_t count) {
  uint32_t* order;
  double area = 0;
  int32_t widest = 0, x = 0, y = 0, line = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, count, &order));
  for (uint32_t p = 0; p < count; ++p) {
    order[p] = p;
    area += (double)(parts[p].width + BOARD_LAYOUT_GAP) * (parts[p].height + BOARD_LAYOUT_GAP);
    widest = LEAT_MAX(widest, parts[p].width);
  }
  leat_sort(order, count, sizeof *order, is_higher, parts);
  int32_t room = LEAT_MAX(widest, (int32_t)sqrt(area * 1.6));
  for (size_t i = 0; i < count; ++i) {
    const board_layers_part_t* part = &parts[order[i]];
    if (x && x + part->width > room) {
      x = 0;
      y += line + BOARD_LAYOUT_RANK_GAP / 2;
      line = 0;
    }
    move_part(part, x, y);
    work->layout->width = LEAT_MAX(work->layout->width, x + part->width);
    line = LEAT_MAX(line, part->height);
    work->layout->height = y + line;
    x += part->width + BOARD_LAYOUT_GAP;
  }
  return leat_ok_status();
}

leat_status_t board_layout_run(board_layout_t* layout, leat_arena_t* arena) {
  work_t work = {.layout = layout, .arena = arena};
  board_layers_part_t* parts;
  size_t count;
  layout->width = layout->height = 0;
  LEAT_RETURN_IF_ERROR(list_edges(&work));
  LEAT_RETURN_IF_ERROR(mark_back_edges(&work));
  LEAT_RETURN_IF_ERROR(rank_nodes(&work));
  LEAT_RETURN_IF_ERROR(place_parts(&work, &parts, &count));
  return pack(&work, parts, count);
}
