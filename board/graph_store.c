// Keeps the graphs that were looked at last as trees, so that a click on one of their nodes does
// not read and build the whole graph again. A graph is the same one as long as its place in the
// event file is, so that a newer one of the tag is never mistaken for it. Each user counts, and so
// does the store itself; a graph that is pushed out lives until its last user releases it. The lock
// is held while a graph is built: two requests for the same graph wait for one reading of it.
#include "board/graph_store.h"

#include "base/sync.h"

// Two, so that two graphs can be compared in two windows.
#define KEPT 2

struct board_graph_store_s {
  leat_mutex_t lock;
  board_stored_graph_t* newest[KEPT];  // the one that was taken last comes first; each is one use
};

leat_status_t board_graph_store_create(board_graph_store_t** out_store) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out_store));
  leat_mutex_initialize(&(*out_store)->lock);
  return leat_ok_status();
}

static void drop(board_stored_graph_t* graph) {
  if (!graph || --graph->users) return;
  leat_arena_deinitialize(&graph->arena);
  leat_allocator_free(leat_allocator_system(), graph);
}

void board_graph_store_free(board_graph_store_t* store) {
  if (!store) return;
  for (int i = 0; i < KEPT; ++i) {
    LEAT_DCHECK(!store->newest[i] || store->newest[i]->users == 1);
    drop(store->newest[i]);
  }
  leat_mutex_deinitialize(&store->lock);
  leat_allocator_free(leat_allocator_system(), store);
}

// Sums up what a stage did with the nodes in each item.
static leat_status_t count_changes(board_stored_graph_t* stored) {
  const board_graph_content_t* content = stored->content;
  const board_graph_t* graph = &stored->graph;
  if (!content->stage) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&stored->arena, graph->item_count, &stored->changes));
  const leat_pb_node_def_t* nodes = content->graph.node.items;
  for (size_t i = graph->item_count; i-- > 1;) {
    const board_graph_item_t* item = &graph->items[i];
    // Nodes of functions are not of the stage.
    const size_t index = item->node >= nodes ? (size_t)(item->node - nodes) : SIZE_MAX;
    if (item->node && index < content->graph.node.count) {
      ++stored->changes[i][content->stage->changes[index]];
    }
    for (int c = 0; c < BOARD_CHANGES; ++c) {
      stored->changes[item->parent][c] += stored->changes[i][c];
    }
  }
  return leat_ok_status();
}

static leat_status_t read_graph(const board_graph_source_t* source, board_place_t place,
                                board_stored_graph_t** out_graph) {
  board_stored_graph_t* graph;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &graph));
  leat_arena_initialize(leat_allocator_system(), 0, &graph->arena);
  graph->run = source->run;
  graph->is_placed = source->is_placed;
  graph->stage = source->stage;
  graph->place = place;
  graph->users = 1;
  leat_status_t status = leat_arena_copy_string(&graph->arena, source->tag, &graph->tag);
  if (!status) status = LEAT_NEW(&graph->arena, 1, &graph->content);
  if (!status) status = board_graph_source_read(source, &graph->arena, graph->content);
  if (!status) status = board_graph_build(&graph->content->graph, &graph->arena, &graph->graph);
  if (!status) status = count_changes(graph);
  if (status) {
    drop(graph);
    return status;
  }
  *out_graph = graph;
  return leat_ok_status();
}

static bool is_same(const board_stored_graph_t* graph, const board_graph_source_t* source,
                    board_place_t place) {
  return graph && graph->run == source->run && leat_string_view_equal(graph->tag, source->tag) &&
         graph->is_placed == source->is_placed && graph->stage == source->stage &&
         graph->place.file == place.file && graph->place.offset == place.offset &&
         graph->place.size == place.size;
}

leat_status_t board_graph_store_take(board_graph_store_t* store,
                                     const board_graph_source_t* source,
                                     board_stored_graph_t** out_graph) {
  board_place_t place = source->snapshot.places[source->index];
  board_stored_graph_t* graph = NULL;
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&store->lock);
  int at = 0;
  while (at < KEPT && !is_same(store->newest[at], source, place)) ++at;
  if (at < KEPT) {
    graph = store->newest[at];
  } else {
    status = read_graph(source, place, &graph);
    at = KEPT - 1;
    if (!status) drop(store->newest[at]);
  }
  if (!status) {
    for (; at > 0; --at) store->newest[at] = store->newest[at - 1];
    store->newest[0] = graph;
    ++graph->users;
  }
  leat_mutex_unlock(&store->lock);
  *out_graph = graph;
  return status;
}

void board_graph_store_release(board_graph_store_t* store, board_stored_graph_t* graph) {
  leat_mutex_lock(&store->lock);
  drop(graph);
  leat_mutex_unlock(&store->lock);
}
