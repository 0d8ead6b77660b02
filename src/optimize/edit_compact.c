// What is left of an edited graph: the copy that a stage ends with, and the check of debug builds
// that a pass left a whole graph and told the edit all that it changed.
//
// The copy keeps the order of the nodes, which executors follow where edges leave them a choice,
// and with it the peak of memory that the client's order gives. A node that the edit added comes
// right before the first node that reads it. The walk that finds the needed nodes has a stack of
// its own, because graphs are deeper than a thread's.
#include <stdlib.h>

#include "base/checked.h"
#include "graph/node_map.h"
#include "graph/verify.h"
#include "optimize/edit.h"

// Marks in |out_needed| what fetches and targets depend on. The edit's own marks are not enough:
// the nodes of a loop read each other, so that none of them is ever gone.
static void mark_needed(const leat_edit_t* edit, bool* out_needed) {
  const leat_rewrite_t* rewrite = edit->rewrite;
  size_t depth = 0;
  for (int i = 0; i < rewrite->fetch_count + rewrite->target_count; ++i) {
    const int32_t root = i < rewrite->fetch_count ? rewrite->fetches[i].node
                                                  : rewrite->targets[i - rewrite->fetch_count];
    if (out_needed[root]) continue;
    out_needed[root] = true;
    edit->stack[depth++] = root;
  }
  while (depth) {
    const leat_node_t* node = &edit->graph->nodes[edit->stack[--depth]];
    for (int k = 0; k < leat_node_edge_count(node); ++k) {
      const int32_t source = node->inputs[k].node;
      if (out_needed[source]) continue;
      out_needed[source] = true;
      edit->stack[depth++] = source;
    }
  }
}

// A node that the edit added, and the lowest node that was there before and needs it to come first.
typedef struct added_s {
  int32_t before, node;
  int64_t rank;
} added_t;

static int compare_ranks(const void* a, const void* b) {
  const added_t *x = a, *y = b;
  return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
                            : (x->node > y->node) - (x->node < y->node);
}

static int compare_places(const void* a, const void* b) {
  const added_t *x = a, *y = b;
  return x->before != y->before ? (x->before < y->before ? -1 : 1) : compare_ranks(a, b);
}

// The added nodes that are needed, each to stand before node |before|. |first| has room for a
// number for each node of the graph.
static size_t place_added(const leat_edit_t* edit, const bool* needed, int32_t* first,
                          added_t* out_added) {
  size_t count = 0;
  for (size_t i = edit->first_new; i < edit->graph->node_count; ++i) {
    if (needed[i]) out_added[count++] = (added_t){0, (int32_t)i, edit->nodes[i].rank};
  }
  qsort(out_added, count, sizeof *out_added, compare_ranks);
  for (size_t i = count; i-- > 0;) {  // readers first
    const int32_t node = out_added[i].node;
    int32_t before = INT32_MAX;  // nobody reads it: it is fetched, or a target
    LEAT_EDIT_FOR_EACH_USE(edit, node, use) {
      const int32_t reader = edit->uses[use].reader;
      if (!needed[reader]) continue;
      before = LEAT_MIN(before, (size_t)reader < edit->first_new ? reader : first[reader]);
    }
    first[node] = out_added[i].before = before;
  }
  qsort(out_added, count, sizeof *out_added, compare_places);
  return count;
}

// Lists the needed nodes in the order in which they are copied, with the place of each in
// |out_places|, -1 for others. Returns how many they are.
static size_t list_needed(const leat_edit_t* edit, const bool* needed, added_t* added,
                          int32_t* out_order, int32_t* out_places) {
  const size_t added_count = place_added(edit, needed, out_places, added);
  size_t listed = 0, next = 0;
  for (size_t i = 0; i < edit->first_new; ++i) {
    if (!needed[i]) continue;
    while (next < added_count && added[next].before <= (int32_t)i) {
      out_order[listed++] = added[next++].node;
    }
    out_order[listed++] = (int32_t)i;
  }
  while (next < added_count) out_order[listed++] = added[next++].node;
  for (size_t i = 0; i < edit->graph->node_count; ++i) out_places[i] = -1;
  for (size_t i = 0; i < listed; ++i) out_places[out_order[i]] = (int32_t)i;
  return listed;
}

// Copies what is needed into a child graph; |map| says what became of each node.
static leat_status_t copy_needed(const leat_edit_t* edit, leat_graph_t* child,
                                 leat_arena_t* arena, leat_node_map_t* map) {
  const leat_graph_t* graph = edit->graph;
  const size_t count = graph->node_count + 1;
  bool* needed;
  int32_t* order;
  added_t* added;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &needed));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &order));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &map->nodes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count - edit->first_new, &added));
  mark_needed(edit, needed);
  const size_t kept = list_needed(edit, needed, added, order, map->nodes);
  LEAT_RETURN_IF_ERROR(leat_graph_reserve(child, kept));
  for (size_t i = 0; i < kept; ++i) {
    int32_t copy;
    LEAT_RETURN_IF_ERROR(leat_node_map_copy_node(child, &graph->nodes[order[i]], map, &copy));
  }
  return leat_ok_status();
}

leat_status_t leat_edit_copy(const leat_edit_t* edit, leat_graph_t** out_graph) {
  leat_node_map_t map = {0};
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(edit->graph, out_graph));
  leat_status_t status = copy_needed(edit, *out_graph, edit->scratch, &map);
  if (status) leat_graph_free(*out_graph);
  return status;
}

leat_status_t leat_edit_compact(leat_edit_t* edit) {
  leat_rewrite_t* rewrite = edit->rewrite;
  leat_node_map_t map = {0};
  leat_graph_t* child;
  if (!edit->changed) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(edit->graph, &child));
  leat_status_t status = copy_needed(edit, child, edit->scratch, &map);
  if (status) {
    leat_graph_free(child);
    return status;
  }
  for (int i = 0; i < rewrite->fetch_count; ++i) {
    rewrite->fetches[i] = leat_node_map_output(&map, rewrite->fetches[i]);
  }
  for (int i = 0; i < rewrite->target_count; ++i) {
    rewrite->targets[i] = map.nodes[rewrite->targets[i]];
  }
  // The old graph lives as long as the edit, whose arrays belong to its allocator; the child keeps
  // its storage.
  rewrite->graph = child;
  leat_graph_free(edit->graph);
  edit->graph = child;
  edit->changed = false;
  return leat_ok_status();
}

#define VERIFY(rule, ...)                                                                       \
  do {                                                                                          \
    if (!(rule)) {                                                                              \
      return leat_make_status(LEAT_INTERNAL, "Verifying failed after %s: " __VA_ARGS__);        \
    }                                                                                           \
  } while (0)

static leat_status_t verify_fetches(const leat_edit_t* edit, const char* stage) {
  const leat_rewrite_t* rewrite = edit->rewrite;
  const leat_graph_t* graph = edit->graph;
  for (int i = 0; i < rewrite->fetch_count; ++i) {
    const leat_output_t fetch = rewrite->fetches[i];
    VERIFY(fetch.node >= 0 && (size_t)fetch.node < graph->node_count && fetch.index >= 0 &&
               fetch.index < graph->nodes[fetch.node].output_count,
           "fetch %d is output %d of node %d, must be in the graph of %zu nodes", stage, i,
           fetch.index, fetch.node, graph->node_count);
    VERIFY(edit->nodes[fetch.node].is_kept && !edit->nodes[fetch.node].is_gone,
           "fetch %d is node '%.*s', which must be kept", stage, i,
           LEAT_SV_ARG(graph->nodes[fetch.node].name));
  }
  for (int i = 0; i < rewrite->target_count; ++i) {
    const int32_t node = rewrite->targets[i];
    VERIFY(node >= 0 && (size_t)node < graph->node_count,
           "target %d is node %d, must be one of the graph's %zu", stage, i, node,
           graph->node_count);
    VERIFY(edit->nodes[node].is_kept && !edit->nodes[node].is_gone,
           "target %d is node '%.*s', which must be kept", stage, i,
           LEAT_SV_ARG(graph->nodes[node].name));
  }
  return leat_ok_status();
}

static leat_status_t verify_edges(const leat_edit_t* edit, int32_t index, const char* stage,
                                  int64_t* inout_edges) {
  const leat_node_t* node = &edit->graph->nodes[index];
  const leat_edit_node_t* item = &edit->nodes[index];
  for (int k = 0; k < leat_node_edge_count(node); ++k) {
    const int32_t source = node->inputs[k].node;
    VERIFY(source >= 0 && (size_t)source < edit->node_count,
           "edge %d of node '%.*s' comes from node %d, must be one of the graph's %zu", stage, k,
           LEAT_SV_ARG(node->name), source, edit->node_count);
    const int32_t use = item->first_edge + k;
    VERIFY((size_t)use < edit->use_count && edit->uses[use].reader == index,
           "edge %d of node '%.*s' must have a number of its own", stage, k,
           LEAT_SV_ARG(node->name));
    VERIFY(edit->uses[use].previous != LEAT_EDIT_NOT_LINKED && !edit->nodes[source].is_gone,
           "edge %d of node '%.*s' must be among the uses of '%.*s'", stage, k,
           LEAT_SV_ARG(node->name), LEAT_SV_ARG(edit->graph->nodes[source].name));
    VERIFY(edit->nodes[source].rank < item->rank ||
               leat_edge_closes_loop(edit->graph, node, node->inputs[k]),
           "node '%.*s' reads '%.*s', which must have a lower rank", stage, LEAT_SV_ARG(node->name),
           LEAT_SV_ARG(edit->graph->nodes[source].name));
    ++*inout_edges;
  }
  return leat_ok_status();
}

// Every edge of a node that is there is among the uses of its source, and nothing else is.
static leat_status_t verify_uses(const leat_edit_t* edit, const char* stage) {
  int64_t edges = 0, uses = 0;
  VERIFY(edit->node_count == edit->graph->node_count,
         "the graph has %zu nodes, must have the %zu that were added through the edit", stage,
         edit->graph->node_count, edit->node_count);
  for (size_t i = 0; i < edit->node_count; ++i) {
    if (edit->nodes[i].is_gone) continue;
    LEAT_RETURN_IF_ERROR(verify_edges(edit, (int32_t)i, stage, &edges));
  }
  for (size_t i = 0; i < edit->node_count; ++i) {
    if (edit->nodes[i].is_gone) continue;
    LEAT_EDIT_FOR_EACH_USE(edit, i, u) {
      const leat_reader_t reader = leat_edit_reader(edit, u);
      const leat_node_t* reading = &edit->graph->nodes[reader.node];
      VERIFY(reader.position < leat_node_edge_count(reading) &&
                 reading->inputs[reader.position].node == (int32_t)i,
             "'%.*s' must read node '%.*s' at position %d, as the edit has it", stage,
             LEAT_SV_ARG(reading->name), LEAT_SV_ARG(edit->graph->nodes[i].name), reader.position);
      ++uses;
    }
  }
  VERIFY(edges == uses, "there are %lld edges, must be as many as uses, which are %lld", stage,
         (long long)edges, (long long)uses);
  return leat_ok_status();
}

leat_status_t leat_edit_verify(const leat_edit_t* edit, bool placed, const char* stage) {
  leat_arena_t arena;
  leat_node_map_t map = {0};
  leat_graph_t* child;
  LEAT_RETURN_IF_ERROR(verify_fetches(edit, stage));
  LEAT_RETURN_IF_ERROR(verify_uses(edit, stage));
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(edit->graph, &child));
  leat_arena_initialize(edit->graph->allocator, 0, &arena);
  leat_status_t status = copy_needed(edit, child, &arena, &map);
  if (!status) {
    status = placed ? leat_graph_verify_placed(child, INT32_MAX, stage)
                    : leat_graph_verify(child, stage);
  }
  leat_arena_deinitialize(&arena);
  leat_graph_free(child);
  return status;
}
