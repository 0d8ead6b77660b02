// A graph in a database of summaries: a row for each edge, one for each node, and one for the
// graph. A node is known by its place in the GraphDef. What has a column of its own is taken out of
// the messages that are kept beside the columns: name, op, device and inputs out of a node's, and
// the nodes out of the graph's. The edges come first, since a graph with a bad one is refused as a
// whole.
#include "base/allocator.h"
#include "base/map.h"
#include "formats/database/summary_store.h"
#include "formats/wire/encode.h"

typedef struct graph_s {
  const leat_pb_graph_def_t* graph;
  int64_t run_id, id;
  double now;
  leat_string_map_t places;     // of the nodes, by their names
  leat_string_builder_t bytes;  // of the message that is written
} graph_t;

// An input "name", "name:output" or "^name".
typedef struct edge_s {
  uint64_t node;
  int64_t output;
  bool is_control;
} edge_t;

static leat_status_t read_edge(const graph_t* g, leat_string_view_t input, edge_t* out_edge) {
  const size_t colon = leat_string_view_find_last(input, ':');
  leat_string_view_t name = input;
  *out_edge = (edge_t){0};
  if (colon < input.size) {
    name.size = colon;
    if (!leat_string_view_to_int64(leat_string_view_from_index(input, colon + 1),
                                   &out_edge->output)) {
      return leat_make_status(LEAT_DATA_LOSS, "Bad NodeDef.input: %.*s", LEAT_SV_ARG(input));
    }
  }
  out_edge->is_control = leat_string_view_starts_with(name, LEAT_SV("^"));
  if (out_edge->is_control) name = leat_string_view_from_index(name, 1);
  if (leat_string_map_get(&g->places, name, &out_edge->node)) return leat_ok_status();
  return leat_make_status(LEAT_DATA_LOSS, "Could not find node: %.*s", LEAT_SV_ARG(name));
}

static leat_status_t add_inputs(leat_summary_store_t* store, const graph_t* g, size_t place) {
  const leat_pb_node_def_t* node = &g->graph->node.items[place];
  for (size_t i = 0; i < node->input.count; ++i) {
    edge_t edge;
    LEAT_RETURN_IF_ERROR(read_edge(g, node->input.items[i], &edge));
    LEAT_RETURN_IF_ERROR(leat_summary_store_run(
        store, LEAT_SUMMARY_ADD_INPUT,
        LEAT_SUMMARY_VALUES(LEAT_SQLITE_OF_INTEGER(g->id), LEAT_SQLITE_OF_INTEGER((int64_t)place),
                            LEAT_SQLITE_OF_INTEGER((int64_t)i),
                            LEAT_SQLITE_OF_INTEGER((int64_t)edge.node),
                            LEAT_SQLITE_OF_INTEGER(edge.output),
                            LEAT_SQLITE_OF_INTEGER(edge.is_control))));
  }
  return leat_ok_status();
}

static leat_status_t add_node(leat_summary_store_t* store, graph_t* g, size_t place) {
  leat_pb_node_def_t rest = g->graph->node.items[place];
  const leat_string_view_t name = rest.name, op = rest.op, device = rest.device;
  rest.name = rest.op = rest.device = (leat_string_view_t){0};
  rest.input.count = 0;
  g->bytes.size = 0;
  LEAT_RETURN_IF_ERROR(leat_message_encode(&leat_pb_node_def_descriptor, &rest, &g->bytes));
  return leat_summary_store_run(
      store, LEAT_SUMMARY_ADD_NODE,
      LEAT_SUMMARY_VALUES(LEAT_SQLITE_OF_INTEGER(g->id), LEAT_SQLITE_OF_INTEGER((int64_t)place),
                          LEAT_SQLITE_OF_TEXT(name), LEAT_SQLITE_OF_TEXT(op),
                          LEAT_SQLITE_OF_TEXT(device),
                          LEAT_SQLITE_OF_BLOB(leat_string_builder_view(&g->bytes))));
}

static leat_status_t add_rest(leat_summary_store_t* store, graph_t* g) {
  leat_pb_graph_def_t rest = *g->graph;
  rest.node.count = 0;
  g->bytes.size = 0;
  LEAT_RETURN_IF_ERROR(leat_message_encode(&leat_pb_graph_def_descriptor, &rest, &g->bytes));
  return leat_summary_store_run(
      store, LEAT_SUMMARY_ADD_GRAPH,
      LEAT_SUMMARY_VALUES(leat_summary_store_id(g->run_id), LEAT_SQLITE_OF_INTEGER(g->id),
                          LEAT_SQLITE_OF_REAL(g->now),
                          LEAT_SQLITE_OF_BLOB(leat_string_builder_view(&g->bytes))));
}

static leat_status_t add_graph(leat_summary_store_t* store, void* data) {
  graph_t* g = data;
  const size_t count = g->graph->node.count;
  LEAT_RETURN_IF_ERROR(leat_summary_store_new_id(store, &g->id));
  for (size_t i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(add_inputs(store, g, i));
  for (size_t i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(add_node(store, g, i));
  return add_rest(store, g);
}

// Of nodes with the same name the first is known by it.
static leat_status_t find_places(graph_t* g) {
  const leat_pb_node_def_list_t* nodes = &g->graph->node;
  LEAT_RETURN_IF_ERROR(leat_string_map_reserve(&g->places, nodes->count));
  for (size_t i = 0; i < nodes->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(&g->places, nodes->items[i].name, i, NULL, NULL));
  }
  return leat_ok_status();
}

leat_status_t leat_summary_store_add_graph(leat_summary_store_t* store, int64_t run_id, double now,
                                           const leat_pb_graph_def_t* graph) {
  graph_t g = {.graph = graph, .run_id = run_id, .now = now};
  leat_string_map_initialize(leat_allocator_system(), &g.places);
  leat_string_builder_initialize(leat_allocator_system(), &g.bytes);
  leat_status_t status = find_places(&g);
  if (!status) status = leat_summary_store_transact(store, add_graph, &g);
  leat_string_builder_deinitialize(&g.bytes);
  leat_string_map_deinitialize(&g.places);
  return status;
}
