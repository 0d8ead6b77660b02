// Edges are kept by node: a recording has them once for each graph and not for each kernel that
// ran. So which kernel brought a value is found by time: of the producer's kernels in the step the
// last one that ended before the reader began. In a loop that is the one of the same or the last
// iteration. Kernels say of which step they are, since two steps of one graph may overlap; in a
// recording that does not have that, the kernel may be one of the other step.
//
// A step's kernels are listed when its path is walked, those of a node together and by their ends,
// so that a producer is found by a short search. Messages and launches are few beside kernels, and
// one list has those of the whole recording.
#include "trace/delay_graph.h"

#include <stdlib.h>

#include "base/checked.h"

#define MAX_PRODUCERS 256  // of a node, through those without kernels
#define MAX_CHAIN 256      // marks back, in which one is looked for
#define BEING_FOUND UINT32_MAX  // the depth of a way

// ---- The whole ----------------------------------------------------------------------------------

// Nodes of one graph lie one behind the other; of two runs with one number, which a damaged file
// may have, each is taken for a graph.
static leat_status_t index_nodes(leat_delay_graph_t* graph, leat_string_map_t* nodes,
                                 leat_arena_t* arena) {
  const leat_timeline_t* timeline = graph->timeline;
  for (uint32_t i = 0; i < timeline->node_count; ++i) {
    const leat_timeline_node_t* node = &timeline->nodes[i];
    const bool goes_on = i > 0 && timeline->nodes[i - 1].graph == node->graph;
    leat_string_view_t key;
    graph->first_of[i] = goes_on ? graph->first_of[i - 1] : i;
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &key, "%llu\n%.*s",
                                          (unsigned long long)node->graph,
                                          LEAT_SV_ARG(node->name)));
    LEAT_RETURN_IF_ERROR(leat_string_map_set(nodes, key, i));
  }
  for (uint32_t i = 0; i < timeline->node_count; ++i) {
    const leat_timeline_node_t* node = &timeline->nodes[i];
    for (uint32_t k = 0; k < node->producer_count; ++k) {
      const uint64_t producer = (uint64_t)graph->first_of[i] + node->producers[k];
      if (producer < timeline->node_count) graph->is_read[producer] = 1;
    }
  }
  return leat_ok_status();
}

static leat_status_t index_names(leat_delay_graph_t* graph, leat_string_map_t* nodes,
                                 leat_arena_t* arena) {
  const leat_timeline_t* timeline = graph->timeline;
  for (uint32_t i = 0; i < timeline->name_count; ++i) {
    const leat_slice_name_t* name = &timeline->names[i];
    const bool is_kernel =
        name->kind == LEAT_SPAN_KERNEL || name->kind == LEAT_SPAN_ASYNC_KERNEL;
    leat_string_view_t key;
    uint64_t node;
    graph->node_of_name[i] = LEAT_NO_NODE;
    if (!name->graph || !is_kernel) continue;
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &key, "%llu\n%.*s",
                                          (unsigned long long)name->graph,
                                          LEAT_SV_ARG(name->node)));
    if (!leat_string_map_get(nodes, key, &node)) continue;
    graph->node_of_name[i] = (uint32_t)node;
    graph->runs[node] = 1;
  }
  return leat_ok_status();
}

static int compare_links(const void* a, const void* b) {
  const leat_span_link_t *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  if (x->slice->begin_ns != y->slice->begin_ns) {
    return x->slice->begin_ns < y->slice->begin_ns ? -1 : 1;
  }
  return 0;
}

leat_status_t leat_delay_graph_find_links(leat_delay_graph_t* graph, leat_arena_t* arena) {
  const leat_timeline_t* timeline = graph->timeline;
  for (int pass = 0; pass < 2; ++pass) {
    graph->link_count = 0;
    for (uint32_t r = 0; r < timeline->row_count; ++r) {
      for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
        const leat_lane_t* lane = &timeline->rows[r]->lanes[l];
        for (size_t i = 0; i < lane->count; ++i) {
          const uint32_t kind = timeline->names[lane->slices[i].name].kind;
          if (!leat_span_kind_is_link(kind)) continue;
          if (pass) {
            graph->links[graph->link_count] =
                (leat_span_link_t){lane->values[i], kind == LEAT_SPAN_RECEIVE ? 0 : lane->values[i],
                              kind, r, &lane->slices[i]};
          }
          ++graph->link_count;
        }
      }
    }
    if (!pass) LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, graph->link_count + 1, &graph->links));
  }
  if (graph->link_count) {
    qsort(graph->links, graph->link_count, sizeof *graph->links, compare_links);
  }
  return leat_ok_status();
}

leat_status_t leat_delay_graph_index(const leat_timeline_t* timeline, leat_arena_t* arena,
                                     leat_delay_graph_t* out_graph) {
  leat_string_map_t nodes;
  *out_graph = (leat_delay_graph_t){.timeline = timeline};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, timeline->name_count + 1, &out_graph->node_of_name));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, timeline->node_count + 1, &out_graph->first_of));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, timeline->node_count + 1, &out_graph->runs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, timeline->node_count + 1, &out_graph->is_read));
  leat_string_map_initialize(leat_allocator_system(), &nodes);
  leat_status_t status = index_nodes(out_graph, &nodes, arena);
  if (!status) status = index_names(out_graph, &nodes, arena);
  leat_string_map_deinitialize(&nodes);
  return status;
}

// The first link that does not come before one with these.
static size_t find_link(const leat_delay_graph_t* graph, uint32_t kind, int64_t key,
                        int64_t time_ns) {
  const leat_slice_t at = {.begin_ns = time_ns};
  const leat_span_link_t wanted = {.kind = kind, .key = key, .slice = &at};
  size_t low = 0, high = graph->link_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (compare_links(&graph->links[middle], &wanted) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const leat_span_link_t* leat_delay_graph_link(const leat_delay_graph_t* graph, uint32_t kind,
                                              int64_t number, int64_t until_ns) {
  const size_t behind = find_link(graph, kind, number, until_ns + 1);
  if (behind == 0) return NULL;
  const leat_span_link_t* link = &graph->links[behind - 1];
  return link->kind == kind && link->key == number ? link : NULL;
}

// The mark of a Recv is made on the thread that ends it, just before its end; a few others may have
// ended meanwhile.
int64_t leat_delay_graph_message(const leat_delay_graph_t* graph, const leat_slice_t* slice) {
  const leat_slice_name_t* name = &graph->timeline->names[slice->name];
  size_t at = find_link(graph, LEAT_SPAN_RECEIVE, 0, slice->end_ns + 1);
  for (int i = 0; i < MAX_CHAIN && at-- > 0; ++i) {
    const leat_span_link_t* link = &graph->links[at];
    const leat_slice_name_t* other = &graph->timeline->names[link->slice->name];
    if (link->kind != LEAT_SPAN_RECEIVE || link->slice->begin_ns < slice->begin_ns) break;
    if (other->graph == name->graph && leat_string_view_equal(other->node, name->node)) {
      return link->number;
    }
  }
  return 0;
}

// ---- A step -------------------------------------------------------------------------------------

leat_status_t leat_instances_initialize(const leat_delay_graph_t* graph,
                                        leat_instances_t* out_instances) {
  *out_instances = (leat_instances_t){.graph = graph};
  return LEAT_ALLOCATE(leat_allocator_system(), graph->timeline->node_count + 1,
                       &out_instances->ranges);
}

void leat_instances_deinitialize(leat_instances_t* instances) {
  leat_allocator_free(leat_allocator_system(), instances->items);
  leat_allocator_free(leat_allocator_system(), instances->ways);
  leat_allocator_free(leat_allocator_system(), instances->listed);
  leat_allocator_free(leat_allocator_system(), instances->ranges);
}

static leat_status_t list_lane(leat_instances_t* instances, const leat_step_t* step, uint32_t row,
                               const leat_lane_t* lane) {
  for (size_t at = leat_lane_find(lane, step->begin_ns);
       at < lane->count && lane->slices[at].begin_ns < step->end_ns; ++at) {
    const leat_slice_t* slice = &lane->slices[at];
    const uint32_t node = leat_delay_graph_node(instances->graph, slice);
    if (node == LEAT_NO_NODE || slice->begin_ns < step->begin_ns) continue;
    if (lane->steps[at] && step->mark && lane->steps[at] != step->mark) continue;
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), instances->count + 1,
                                   &instances->listed, &instances->listed_capacity));
    instances->listed[instances->count++] =
        (leat_instance_t){.node = node, .row = row, .slice = slice, .end_ns = slice->end_ns};
    leat_instance_range_t* range = &instances->ranges[node];
    if (range->turn != instances->turn) *range = (leat_instance_range_t){instances->turn, 0, 0};
    ++range->count;
  }
  return leat_ok_status();
}

static int compare_ends(const void* a, const void* b) {
  const leat_instance_t *x = a, *y = b;
  if (x->end_ns != y->end_ns) return x->end_ns < y->end_ns ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

// Puts those that were listed into order. Most nodes have one kernel in a step.
static void sort_instances(leat_instances_t* instances) {
  leat_instance_t* items = instances->items;
  uint32_t next = 0, end;
  for (size_t i = 0; i < instances->count; ++i) {
    const leat_instance_t* item = &instances->listed[i];
    leat_instance_range_t* range = &instances->ranges[item->node];
    // The first of its node: places begin with 1.
    if (!range->first) {
      range->first = next + 1;
      next += range->count;
      range->count = 0;
    }
    items[range->first - 1 + range->count++] = *item;
  }
  for (uint32_t first = 0; first < instances->count; first = end) {
    const uint32_t count = instances->ranges[items[first].node].count;
    end = first + count;
    if (count > 1) qsort(&items[first], count, sizeof *items, compare_ends);
    for (uint32_t i = first; i < end; ++i) items[i].place = i + 1;
  }
}

leat_status_t leat_instances_find(leat_instances_t* instances, const leat_step_t* step) {
  leat_allocator_t* a = leat_allocator_system();
  const leat_timeline_t* timeline = instances->graph->timeline;
  instances->count = 0;
  ++instances->turn;  // there are fewer steps than numbers
  if (timeline->node_count == 0) return leat_ok_status();
  for (uint32_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      LEAT_RETURN_IF_ERROR(list_lane(instances, step, r, &timeline->rows[r]->lanes[l]));
    }
  }
  const size_t count = instances->count;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(a, count + 1, &instances->items, &instances->capacity));
  LEAT_RETURN_IF_ERROR(LEAT_GROW(a, count + 1, &instances->ways, &instances->way_capacity));
  memset(instances->ways, 0, (count + 1) * sizeof *instances->ways);
  sort_instances(instances);
  return leat_ok_status();
}

// The kernel of |node| that ended last, not after |time_ns|.
static leat_instance_t last_of(const leat_instances_t* instances, uint32_t node, int64_t time_ns) {
  const leat_instance_range_t* range = &instances->ranges[node];
  if (range->turn != instances->turn) return (leat_instance_t){0};
  const leat_instance_t* items = &instances->items[range->first - 1];
  size_t low = 0, high = range->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (items[middle].end_ns <= time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low ? items[low - 1] : (leat_instance_t){0};
}

typedef struct search_s {
  const leat_instances_t* instances;
  uint32_t nodes[MAX_PRODUCERS];
  size_t count;
} search_t;

static void add_producers(search_t* search, uint32_t node) {
  const leat_delay_graph_t* graph = search->instances->graph;
  const leat_timeline_node_t* n = &graph->timeline->nodes[node];
  for (uint32_t k = 0; k < n->producer_count; ++k) {
    const uint64_t producer = (uint64_t)graph->first_of[node] + n->producers[k];
    bool is_known = producer >= graph->timeline->node_count;
    for (size_t i = 0; i < search->count && !is_known; ++i) is_known = search->nodes[i] == producer;
    if (!is_known && search->count < MAX_PRODUCERS) {
      search->nodes[search->count++] = (uint32_t)producer;
    }
  }
}

bool leat_instances_producers(const leat_instances_t* instances, uint32_t node, int64_t time_ns,
                              leat_instance_t* out_last, leat_instance_t* out_second,
                              bool* out_has_any) {
  search_t search;  // most of its room stays unused, and is left as it is
  search.instances = instances;
  search.count = 0;
  *out_last = *out_second = (leat_instance_t){0};
  *out_has_any = false;
  add_producers(&search, node);
  for (size_t i = 0; i < search.count; ++i) {
    if (!instances->graph->runs[search.nodes[i]]) {
      add_producers(&search, search.nodes[i]);
      continue;
    }
    *out_has_any = true;
    const leat_instance_t found = last_of(instances, search.nodes[i], time_ns);
    if (!found.slice) continue;
    if (!out_last->slice || found.slice->end_ns > out_last->slice->end_ns) {
      *out_second = *out_last;
      *out_last = found;
    } else if (!out_second->slice || found.slice->end_ns > out_second->slice->end_ns) {
      *out_second = found;
    }
  }
  return out_last->slice != NULL;
}

leat_instance_t leat_instances_last_end(const leat_instances_t* instances,
                                        const leat_instance_t* of) {
  const leat_delay_graph_t* graph = instances->graph;
  leat_instance_t last = {0};
  for (size_t i = 0; i < instances->count; ++i) {
    const leat_instance_t* item = &instances->items[i];
    if (item->node == of->node || graph->is_read[item->node] ||
        graph->first_of[item->node] != graph->first_of[of->node] ||
        item->slice->end_ns > of->slice->end_ns) {
      continue;
    }
    if (!last.slice || item->slice->end_ns > last.slice->end_ns) last = *item;
  }
  return last;
}

// ---- Ways back ----------------------------------------------------------------------------------
// The last that each kernel waited for make a tree. Each kernel has a second way back, a jump over
// as many as the two jumps behind its producer where these are equally long, so that from any of a
// million kernels some forty steps lead to any other on its way, and to where two ways meet.

// The place of |of|, or if the step has none like it, of the last that it waited for.
static uint32_t place_of(const leat_instances_t* instances, const leat_instance_t* of) {
  leat_instance_t last, second;
  bool has_any;
  if (of->place) return of->place;
  last = last_of(instances, of->node, of->end_ns);
  if (last.slice == of->slice) return last.place;
  leat_instances_producers(instances, of->node, of->slice->begin_ns, &last, &second, &has_any);
  return last.place;
}

// Links the way of |place| to that of its producer, which is found.
static void link_way(leat_instance_way_t* ways, uint32_t place, uint32_t producer) {
  const leat_instance_way_t* before = &ways[producer];
  const leat_instance_way_t* jump = &ways[before->jump];
  const bool are_alike = before->depth - jump->depth == jump->depth - ways[jump->jump].depth;
  ways[place] = (leat_instance_way_t){.producer = producer,
                                      .jump = are_alike ? jump->jump : producer,
                                      .depth = before->depth + 1};
}

// Finds the way of |place|: back to what is known, and forth again. While a way is being found, its
// jump is the kernel from which the search came. Kernels without a length that wait for each other,
// which a damaged file may have, end it.
static void find_way(const leat_instances_t* instances, uint32_t place) {
  leat_instance_way_t* ways = instances->ways;
  uint32_t from = 0;
  while (place && !ways[place].depth) {
    const leat_instance_t* item = &instances->items[place - 1];
    leat_instance_t last, second;
    bool has_any;
    leat_instances_producers(instances, item->node, item->slice->begin_ns, &last, &second,
                             &has_any);
    ways[place] = (leat_instance_way_t){last.place, from, BEING_FOUND};
    from = place;
    place = last.place;
  }
  if (ways[place].depth == BEING_FOUND) place = 0;
  while (from) {
    const uint32_t back = ways[from].jump;
    link_way(ways, from, place);
    place = from;
    from = back;
  }
}

int64_t leat_instances_parting(const leat_instances_t* instances, const leat_instance_t* first,
                               const leat_instance_t* second) {
  const leat_instance_way_t* ways = instances->ways;
  uint32_t a = place_of(instances, first), b = place_of(instances, second);
  find_way(instances, a);
  find_way(instances, b);
  while (ways[a].depth != ways[b].depth) {
    uint32_t* later = ways[a].depth > ways[b].depth ? &a : &b;
    const uint32_t depth = ways[later == &a ? b : a].depth;
    const leat_instance_way_t* way = &ways[*later];
    *later = ways[way->jump].depth >= depth ? way->jump : way->producer;
  }
  while (a != b) {
    const bool jumps = ways[a].jump != ways[b].jump;
    a = jumps ? ways[a].jump : ways[a].producer;
    b = jumps ? ways[b].jump : ways[b].producer;
  }
  return a ? instances->items[a - 1].end_ns : 0;
}
