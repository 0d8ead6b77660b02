// The inner half of the layered drawing. An edge that spans several ranks is cut into segments by
// bends, one in each rank between, so that every segment joins neighbouring ranks; boxes and bends
// are the vertices here.
//
// Order: sweeps down and up sort each rank by the mean place of the neighbours in the rank before
// (the barycentre heuristic); the order with the fewest crossings is kept.
//
// Coordinates: sweeps move every vertex of a rank to the mean of its neighbours, as far as the
// order and the gaps let it. For one rank that is a regression with distances that must be kept,
// which pooling of adjacent violators solves exactly and in linear time. Bends pull harder than
// boxes, so that long edges are straight. Whatever the sweeps do, gaps hold after each of them:
// boxes never overlap.
//
// Bends are limited: where edges are so long that they would outnumber the boxes by far, the
// longest are drawn straight and take no part.
#include "board/graph_layers.h"

#include "base/checked.h"
#include "base/sort.h"

#define ORDER_SWEEPS 12
#define PLACE_SWEEPS 10
#define BEND_GAP 10

typedef struct vertex_s {
  double x;  // of the middle
  double key;  // what its rank is sorted by
  int32_t width;
  uint32_t rank, place;  // its index in the rank
  bool is_bend;
} vertex_t;

typedef struct segment_s {
  uint32_t upper, lower;  // vertices
} segment_t;

typedef struct work_s {
  board_layers_part_t* part;
  leat_arena_t* arena;
  vertex_t* vertices;  // the boxes first, in the order of the part's nodes
  size_t vertex_count;
  segment_t* segments;
  size_t segment_count;
  // For each vertex its neighbours in the rank above and in the one below.
  uint32_t *above_begin, *above, *below_begin, *below;
  uint32_t rank_count, first_rank;
  uint32_t *rank_begin, *order;  // the vertices of rank r: order[rank_begin[r] ..]
  uint32_t* best;
  uint32_t* first_bend;  // by edge of the part
  int32_t *tops, *heights;
} work_t;

static const board_layout_edge_t* edge_of(const work_t* work, size_t i) {
  return &work->part->layout->edges[work->part->edges[i]];
}

static uint32_t rank_of(const work_t* work, uint32_t node) {
  return work->part->layout->nodes[node].rank - work->first_rank;
}

static uint32_t span_of(const work_t* work, const board_layout_edge_t* edge) {
  uint32_t from = rank_of(work, edge->from), to = rank_of(work, edge->to);
  return from > to ? from - to : to - from;
}

// The index of |node| among the part's nodes, which are in ascending order.
static uint32_t vertex_of(const work_t* work, uint32_t node) {
  size_t low = 0, high = work->part->node_count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (work->part->nodes[middle] <= node) {
      low = middle;
    } else {
      high = middle;
    }
  }
  LEAT_DCHECK(work->part->nodes[low] == node);
  return (uint32_t)low;
}

static void find_ranks(work_t* work) {
  const board_layers_part_t* part = work->part;
  uint32_t first = UINT32_MAX, last = 0;
  for (size_t i = 0; i < part->node_count; ++i) {
    uint32_t rank = part->layout->nodes[part->nodes[i]].rank;
    first = LEAT_MIN(first, rank);
    last = LEAT_MAX(last, rank);
  }
  work->first_rank = first;
  work->rank_count = last - first + 1;
}

// The longest span that an edge with bends may have.
static leat_status_t find_longest(work_t* work, uint32_t* out_longest) {
  size_t budget = 2000 + 8 * work->part->node_count, bends = 0;
  uint32_t* counts;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->rank_count + 1, &counts));
  for (size_t i = 0; i < work->part->edge_count; ++i) ++counts[span_of(work, edge_of(work, i))];
  *out_longest = 1;
  for (uint32_t span = 2; span < work->rank_count; ++span) {
    bends += (size_t)counts[span] * (span - 1);
    if (bends > budget) break;
    *out_longest = span;
  }
  return leat_ok_status();
}

static leat_status_t make_vertices(work_t* work) {
  const board_layers_part_t* part = work->part;
  uint32_t longest;
  size_t bends = 0, segments = 0;
  LEAT_RETURN_IF_ERROR(find_longest(work, &longest));
  for (size_t i = 0; i < part->edge_count; ++i) {
    uint32_t span = span_of(work, edge_of(work, i));
    LEAT_DCHECK(span);
    if (span > longest) continue;
    bends += span - 1;
    segments += span;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, part->node_count + bends, &work->vertices));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, segments, &work->segments));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, part->edge_count, &work->first_bend));
  for (size_t i = 0; i < part->node_count; ++i) {
    const board_layout_node_t* node = &part->layout->nodes[part->nodes[i]];
    work->vertices[i].width = node->width;
    work->vertices[i].rank = node->rank - work->first_rank;
  }
  work->vertex_count = part->node_count;
  for (size_t i = 0; i < part->edge_count; ++i) {
    const board_layout_edge_t* edge = edge_of(work, i);
    uint32_t span = span_of(work, edge);
    work->first_bend[i] = UINT32_MAX;
    if (span > longest) continue;
    uint32_t last = vertex_of(work, edge->is_back ? edge->to : edge->from);
    uint32_t end = vertex_of(work, edge->is_back ? edge->from : edge->to);
    if (span > 1) work->first_bend[i] = (uint32_t)work->vertex_count;
    for (uint32_t step = 1; step < span; ++step) {
      uint32_t bend = (uint32_t)work->vertex_count++;
      work->vertices[bend] = (vertex_t){.is_bend = true, .rank = work->vertices[last].rank + 1};
      work->segments[work->segment_count++] = (segment_t){last, bend};
      last = bend;
    }
    work->segments[work->segment_count++] = (segment_t){last, end};
  }
  return leat_ok_status();
}

// Lists for each vertex the other ends of its segments; |down| for those where it is the upper one.
static leat_status_t list_neighbours(work_t* work, bool down, uint32_t** out_begin,
                                     uint32_t** out_list) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->vertex_count + 2, out_begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->segment_count, out_list));
  uint32_t* begin = *out_begin;
  for (size_t s = 0; s < work->segment_count; ++s) {
    ++begin[(down ? work->segments[s].upper : work->segments[s].lower) + 2];
  }
  for (size_t v = 0; v < work->vertex_count; ++v) begin[v + 2] += begin[v + 1];
  for (size_t s = 0; s < work->segment_count; ++s) {
    segment_t segment = work->segments[s];
    uint32_t key = down ? segment.upper : segment.lower;
    (*out_list)[begin[key + 1]++] = down ? segment.lower : segment.upper;
  }
  return leat_ok_status();
}

static leat_status_t list_ranks(work_t* work) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->rank_count + 2, &work->rank_begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->vertex_count, &work->order));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->vertex_count, &work->best));
  for (size_t v = 0; v < work->vertex_count; ++v) ++work->rank_begin[work->vertices[v].rank + 2];
  for (uint32_t r = 0; r < work->rank_count; ++r) {
    work->rank_begin[r + 2] += work->rank_begin[r + 1];
  }
  for (uint32_t v = 0; v < work->vertex_count; ++v) {
    work->order[work->rank_begin[work->vertices[v].rank + 1]++] = v;
  }
  return leat_ok_status();
}

// ---- Order --------------------------------------------------------------------------------------
static void note_places(work_t* work) {
  for (uint32_t r = 0; r < work->rank_count; ++r) {
    for (uint32_t i = work->rank_begin[r]; i < work->rank_begin[r + 1]; ++i) {
      work->vertices[work->order[i]].place = i - work->rank_begin[r];
    }
  }
}

// Counts the pairs of segments that cross. |tree| is a Fenwick tree over the places of the rank
// above, which counts the segments met so far by their upper ends.
static uint64_t count_crossings(const work_t* work, uint32_t* tree) {
  uint64_t crossings = 0;
  for (uint32_t r = 1; r < work->rank_count; ++r) {
    uint32_t width = work->rank_begin[r] - work->rank_begin[r - 1], seen = 0;
    for (uint32_t i = 0; i <= width; ++i) tree[i] = 0;
    for (uint32_t i = work->rank_begin[r]; i < work->rank_begin[r + 1]; ++i) {
      uint32_t v = work->order[i];
      for (uint32_t a = work->above_begin[v]; a < work->above_begin[v + 1]; ++a) {
        uint32_t to_left = 0;
        for (uint32_t p = work->vertices[work->above[a]].place + 1; p; p &= p - 1) {
          to_left += tree[p];
        }
        crossings += seen - to_left;
      }
      for (uint32_t a = work->above_begin[v]; a < work->above_begin[v + 1]; ++a) {
        uint32_t p = work->vertices[work->above[a]].place + 1;
        for (; p <= width; p += p & (0 - p)) ++tree[p];
        ++seen;
      }
    }
  }
  return crossings;
}

static bool has_lower_key(const void* context, const void* a, const void* b) {
  const vertex_t* vertices = context;
  const vertex_t *x = &vertices[*(const uint32_t*)a], *y = &vertices[*(const uint32_t*)b];
  return x->key != y->key ? x->key < y->key : x->place < y->place;
}

// Sorts rank |r| by the places of the neighbours above (|down|) or below. A vertex without one
// keeps its share of the rank.
static void sort_rank(work_t* work, uint32_t r, bool down) {
  const uint32_t* begins = down ? work->above_begin : work->below_begin;
  const uint32_t* lists = down ? work->above : work->below;
  uint32_t begin = work->rank_begin[r], count = work->rank_begin[r + 1] - begin;
  uint32_t other = down ? r - 1 : r + 1;
  double share = (double)(work->rank_begin[other + 1] - work->rank_begin[other]) / count;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t v = work->order[begin + i];
    double sum = 0;
    for (uint32_t n = begins[v]; n < begins[v + 1]; ++n) sum += work->vertices[lists[n]].place;
    uint32_t degree = begins[v + 1] - begins[v];
    work->vertices[v].key = degree ? sum / degree : i * share;
  }
  leat_sort(work->order + begin, count, sizeof *work->order, has_lower_key, work->vertices);
  for (uint32_t i = 0; i < count; ++i) work->vertices[work->order[begin + i]].place = i;
}

static leat_status_t order_ranks(work_t* work) {
  uint32_t* tree;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->vertex_count + 2, &tree));
  note_places(work);
  uint64_t fewest = count_crossings(work, tree);
  memcpy(work->best, work->order, work->vertex_count * sizeof *work->order);
  for (int sweep = 0; sweep < ORDER_SWEEPS && fewest; ++sweep) {
    for (uint32_t r = 1; r < work->rank_count; ++r) {
      sort_rank(work, sweep % 2 ? work->rank_count - 1 - r : r, sweep % 2 == 0);
    }
    uint64_t crossings = count_crossings(work, tree);
    if (crossings >= fewest) continue;
    fewest = crossings;
    memcpy(work->best, work->order, work->vertex_count * sizeof *work->order);
  }
  memcpy(work->order, work->best, work->vertex_count * sizeof *work->order);
  note_places(work);
  return leat_ok_status();
}

// ---- Coordinates --------------------------------------------------------------------------------
static double distance(const vertex_t* left, const vertex_t* right) {
  double gap = left->is_bend || right->is_bend ? BEND_GAP : BOARD_LAYOUT_GAP;
  return (left->width + right->width) / 2.0 + gap;
}

// Vertices that are pushed together, less their distances from the first of the rank.
typedef struct block_s {
  double mean, weight;
  uint32_t begin;
} block_t;

// Where |v| wants to be, and how much.
static void wish_of(const work_t* work, uint32_t v, bool look_up, bool look_down, double* out_x,
                    double* out_weight) {
  double sum = 0, weight = 0;
  for (int side = 0; side < 2; ++side) {
    if (side ? !look_down : !look_up) continue;
    const uint32_t* begins = side ? work->below_begin : work->above_begin;
    const uint32_t* lists = side ? work->below : work->above;
    for (uint32_t n = begins[v]; n < begins[v + 1]; ++n) {
      const vertex_t* other = &work->vertices[lists[n]];
      double w = other->is_bend && work->vertices[v].is_bend ? 8
                 : other->is_bend || work->vertices[v].is_bend ? 2 : 1;
      sum += w * other->x;
      weight += w;
    }
  }
  *out_x = weight > 0 ? sum / weight : work->vertices[v].x;
  *out_weight = weight > 0 ? weight : 0.01;
}

static void place_rank(work_t* work, uint32_t r, bool look_up, bool look_down, block_t* blocks) {
  uint32_t begin = work->rank_begin[r], count = work->rank_begin[r + 1] - begin;
  size_t block_count = 0;
  double offset = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t v = work->order[begin + i];
    double x, weight;
    if (i) offset += distance(&work->vertices[work->order[begin + i - 1]], &work->vertices[v]);
    wish_of(work, v, look_up, look_down, &x, &weight);
    work->vertices[v].key = offset;
    blocks[block_count++] = (block_t){x - offset, weight, i};
    while (block_count > 1 && blocks[block_count - 2].mean > blocks[block_count - 1].mean) {
      block_t *left = &blocks[block_count - 2], *right = &blocks[block_count - 1];
      double both = left->weight + right->weight;
      left->mean = (left->mean * left->weight + right->mean * right->weight) / both;
      left->weight = both;
      --block_count;
    }
  }
  for (size_t b = 0; b < block_count; ++b) {
    uint32_t end = b + 1 < block_count ? blocks[b + 1].begin : count;
    for (uint32_t i = blocks[b].begin; i < end; ++i) {
      vertex_t* vertex = &work->vertices[work->order[begin + i]];
      vertex->x = blocks[b].mean + vertex->key;
    }
  }
}

static leat_status_t place_vertices(work_t* work) {
  block_t* blocks;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->vertex_count, &blocks));
  for (uint32_t r = 0; r < work->rank_count; ++r) {
    double x = 0;
    for (uint32_t i = work->rank_begin[r]; i < work->rank_begin[r + 1]; ++i) {
      vertex_t* vertex = &work->vertices[work->order[i]];
      if (i > work->rank_begin[r]) x += distance(&work->vertices[work->order[i - 1]], vertex);
      vertex->x = x;
    }
  }
  for (int sweep = 0; sweep < PLACE_SWEEPS; ++sweep) {
    bool both = sweep >= PLACE_SWEEPS - 4, down = sweep % 2 == 0;
    for (uint32_t i = 0; i < work->rank_count; ++i) {
      uint32_t r = down ? i : work->rank_count - 1 - i;
      place_rank(work, r, both || down, both || !down, blocks);
    }
  }
  return leat_ok_status();
}

// ---- The answer ---------------------------------------------------------------------------------
// To the nearest whole number; all coordinates are at least 0 but for what rounding takes off.
static int32_t to_whole(double x) { return (int32_t)(x + 0.5); }

static leat_status_t set_nodes(work_t* work) {
  board_layers_part_t* part = work->part;
  double left = 0, right = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->rank_count, &work->tops));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, work->rank_count, &work->heights));
  for (size_t v = 0; v < work->vertex_count; ++v) {
    const vertex_t* vertex = &work->vertices[v];
    left = v ? LEAT_MIN(left, vertex->x - vertex->width / 2.0) : vertex->x - vertex->width / 2.0;
    right = v ? LEAT_MAX(right, vertex->x + vertex->width / 2.0) : vertex->x + vertex->width / 2.0;
  }
  for (size_t i = 0; i < part->node_count; ++i) {
    int32_t* height = &work->heights[work->vertices[i].rank];
    *height = LEAT_MAX(*height, part->layout->nodes[part->nodes[i]].height);
  }
  int32_t y = 0;
  for (uint32_t r = 0; r < work->rank_count; ++r) {
    work->tops[r] = y;
    y += work->heights[r] + BOARD_LAYOUT_RANK_GAP;
  }
  part->height = y - BOARD_LAYOUT_RANK_GAP;
  part->width = to_whole(right - left) + 1;
  for (size_t v = 0; v < work->vertex_count; ++v) work->vertices[v].x -= left;
  for (size_t i = 0; i < part->node_count; ++i) {
    board_layout_node_t* node = &part->layout->nodes[part->nodes[i]];
    uint32_t r = work->vertices[i].rank;
    node->x = to_whole(work->vertices[i].x - node->width / 2.0);
    node->y = work->tops[r] + (work->heights[r] - node->height) / 2;
  }
  return leat_ok_status();
}

// The points from the upper end's lower side to the lower end's upper side; each bend is two
// points, above and below its rank, so that lines stay clear of the boxes there.
static leat_status_t set_points(work_t* work, size_t index) {
  board_layout_edge_t* edge = &work->part->layout->edges[work->part->edges[index]];
  const board_layout_node_t* nodes = work->part->layout->nodes;
  const board_layout_node_t* upper = &nodes[edge->is_back ? edge->to : edge->from];
  const board_layout_node_t* lower = &nodes[edge->is_back ? edge->from : edge->to];
  uint32_t first = work->first_bend[index];
  uint32_t bends = first == UINT32_MAX ? 0 : span_of(work, edge) - 1, count = 2 * bends + 2;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(work->arena, (size_t)count * 2, &edge->points));
  int32_t* next = edge->points;
  *next++ = upper->x + upper->width / 2;
  *next++ = upper->y + upper->height;
  for (uint32_t b = 0; b < bends; ++b) {
    const vertex_t* bend = &work->vertices[first + b];
    for (int side = 0; side < 2; ++side) {
      *next++ = to_whole(bend->x);
      *next++ = work->tops[bend->rank] + (side ? work->heights[bend->rank] : 0);
    }
  }
  *next++ = lower->x + lower->width / 2;
  *next = lower->y;
  edge->point_count = count;
  for (uint32_t i = 0; edge->is_back && i < count / 2; ++i) {
    for (int axis = 0; axis < 2; ++axis) {
      int32_t* a = &edge->points[2 * i + (uint32_t)axis];
      int32_t* b = &edge->points[2 * (count - 1 - i) + (uint32_t)axis];
      int32_t kept = *a;
      *a = *b;
      *b = kept;
    }
  }
  return leat_ok_status();
}

leat_status_t board_layers_place(board_layers_part_t* part, leat_arena_t* arena) {
  work_t work = {.part = part, .arena = arena};
  LEAT_DCHECK(part->node_count);
  find_ranks(&work);
  LEAT_RETURN_IF_ERROR(make_vertices(&work));
  LEAT_RETURN_IF_ERROR(list_neighbours(&work, true, &work.below_begin, &work.below));
  LEAT_RETURN_IF_ERROR(list_neighbours(&work, false, &work.above_begin, &work.above));
  LEAT_RETURN_IF_ERROR(list_ranks(&work));
  LEAT_RETURN_IF_ERROR(order_ranks(&work));
  LEAT_RETURN_IF_ERROR(place_vertices(&work));
  LEAT_RETURN_IF_ERROR(set_nodes(&work));
  for (size_t i = 0; i < part->edge_count; ++i) LEAT_RETURN_IF_ERROR(set_points(&work, i));
  return leat_ok_status();
}
