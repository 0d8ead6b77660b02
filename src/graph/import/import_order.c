// Imports nodes of a GraphDef that do not stand in an order in which they could be added one by
// one. The importer adds nodes as it reads them for as long as each reads only earlier ones; from
// the first node on that reads a later one, it leaves the rest of the file to this code. All nodes
// of the rest are decoded, each
// input is looked up once, and nodes are added as their inputs become ready, lowest first, by
// Kahn's algorithm (graph/ready_queue.h). This is the order in which TensorFlow's importer creates
// them, so node numbers and error messages agree with it. An edge from a NextIteration into a Merge
// closes a loop: it orders nothing, the Merge is added with that input open, and the edge is set
// when all nodes are there.
//
//   sources [edge]  -> node of the file, or NOT_IN_FILE (mapped, imported before, closes a loop)
//   begin, readers  -> for each node of the file, the nodes that wait for it (compressed rows)
#include "formats/wire/decode.h"
#include "graph/import/importer.h"
#include "graph/ready_queue.h"

#define NOT_IN_FILE (-1)

typedef struct order_s {
  leat_importer_t* importer;
  leat_arena_t arena;  // everything below; dropped at the end
  leat_node_def_t* defs;
  const leat_op_t** ops;
  size_t count;
  leat_string_map_t names;  // name -> index in |defs|
  int32_t* sources;         // of every input of every node, in a row
  uint32_t* begin;          // [count + 2] see fill_readers
  int32_t* readers;
  leat_ready_queue_t queue;
} order_t;

// Decodes the nodes and finds their ops; a name may occur once.
static leat_status_t decode(order_t* o, leat_node_cursor_t* cursor) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(&o->arena, o->count, sizeof(leat_node_def_t), &memory));
  o->defs = memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(&o->arena, o->count, sizeof(leat_op_t*), &memory));
  o->ops = memory;
  LEAT_RETURN_IF_ERROR(leat_string_map_reserve(&o->names, o->count));
  for (size_t i = 0; i < o->count; ++i) {
    leat_string_view_t bytes;
    if (!leat_node_cursor_take(cursor, &bytes)) break;
    leat_pb_node_def_t* message = NULL;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&o->arena, 1, &message));
    LEAT_RETURN_IF_ERROR(
        leat_message_decode(&leat_pb_node_def_descriptor, bytes, &o->arena, NULL, message));
    LEAT_RETURN_IF_ERROR(leat_node_def_of_message(message, &o->arena, &o->defs[i]));
    LEAT_RETURN_IF_ERROR(leat_importer_op(o->importer, &o->defs[i], &o->ops[i]));
    bool inserted = false;
    LEAT_RETURN_IF_ERROR(
        leat_string_map_insert(&o->names, o->defs[i].name, i, NULL, &inserted));
    if (!inserted || leat_importer_find(o->importer, o->defs[i].name) >= 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Node '%.*s' is not unique",
                              LEAT_SV_ARG(o->defs[i].name));
    }
    if (!o->importer->renames) continue;
    LEAT_RETURN_IF_ERROR(leat_importer_learn_names(o->importer, o->defs[i].name));
  }
  return leat_ok_status();
}

// The node of the file for which |input| of node |reader| waits. INVALID_ARGUMENT when it is
// nowhere.
static leat_status_t find_source(const order_t* o, size_t reader, leat_string_view_t input,
                                 int32_t* out_source) {
  *out_source = NOT_IN_FILE;
  leat_tensor_name_t name;
  leat_status_t status = leat_tensor_name_parse(input, &name.node, &name.index);
  uint64_t source = 0;
  if (!status) {
    if (leat_importer_mapping(o->importer, name) >= 0) return status;
    if (leat_string_map_get(&o->names, name.node, &source)) {
      bool closes_loop = name.index >= 0 && (o->ops[reader]->flags & LEAT_OP_MERGE) &&
                         (o->ops[source]->flags & LEAT_OP_NEXT_ITERATION);
      if (!closes_loop) *out_source = (int32_t)source;
      return status;
    }
    if (leat_importer_find(o->importer, name.node) >= 0) return status;
  }
  leat_status_free(status);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Node '%.*s': Unknown input node '%.*s'",
                          LEAT_SV_ARG(o->defs[reader].name), LEAT_SV_ARG(input));
}

// Looks up the source of each edge, and counts for each node of the file what it waits for and what
// waits for it.
static leat_status_t find_sources(order_t* o) {
  size_t total = 0;
  for (size_t i = 0; i < o->count; ++i) total += o->defs[i].input_count;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&o->arena, total, sizeof(int32_t), &memory));
  o->sources = memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&o->arena, total, sizeof(int32_t), &memory));
  o->readers = memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(&o->arena, o->count + 2, sizeof(uint32_t), &memory));
  o->begin = memory;
  LEAT_RETURN_IF_ERROR(
      leat_ready_queue_initialize(o->importer->allocator, (int32_t)o->count, &o->queue));
  size_t edge = 0;
  for (size_t i = 0; i < o->count; ++i) {
    for (size_t k = 0; k < o->defs[i].input_count; ++k, ++edge) {
      LEAT_RETURN_IF_ERROR(find_source(o, i, o->defs[i].inputs[k], &o->sources[edge]));
      if (o->sources[edge] == NOT_IN_FILE) continue;
      ++o->begin[o->sources[edge] + 2];
      ++o->queue.pending[i];
    }
  }
  return leat_ok_status();
}

// Turns the counts in begin[n + 2] into compressed rows: begin[n + 1] is the cursor of node n while
// its row is filled, and ends as the begin of row n + 1.
static void fill_readers(order_t* o) {
  for (size_t i = 0; i < o->count; ++i) o->begin[i + 2] += o->begin[i + 1];
  size_t edge = 0;
  for (size_t i = 0; i < o->count; ++i) {
    for (size_t k = 0; k < o->defs[i].input_count; ++k, ++edge) {
      if (o->sources[edge] == NOT_IN_FILE) continue;
      o->readers[o->begin[o->sources[edge] + 1]++] = (int32_t)i;
    }
  }
}

static leat_status_t cycle(const order_t* o, size_t done) {
  size_t i = 0;
  while (o->queue.pending[i] <= 0) ++i;
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%zu nodes in a cycle or behind one; the first is node '%.*s' (%.*s)",
                          o->count - done, LEAT_SV_ARG(o->defs[i].name),
                          LEAT_SV_ARG(o->defs[i].op));
}

static leat_status_t add_all(order_t* o) {
  size_t done = 0;
  for (int32_t i; (i = leat_ready_queue_take(&o->queue)) >= 0; ++done) {
    bool deferred = false;
    LEAT_RETURN_IF_ERROR(leat_importer_add(o->importer, &o->defs[i], false, &deferred));
    for (uint32_t r = o->begin[i]; r < o->begin[i + 1]; ++r) {
      leat_ready_queue_settle(&o->queue, o->readers[r]);
    }
  }
  return done == o->count ? leat_ok_status() : cycle(o, done);
}

// Sets the inputs of Merges that were left open. Their sources exist: find_source has seen them.
static leat_status_t close_loops(leat_importer_t* importer) {
  leat_graph_t* graph = importer->graph;
  for (size_t i = 0; i < importer->back_edge_count; ++i) {
    const leat_back_edge_t* edge = &importer->back_edges[i];
    int32_t source = leat_importer_find(importer, edge->source.node);
    if (edge->source.index >= graph->nodes[source].output_count) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Output %d of node %.*s does not exist. Node only has %d outputs.",
                              edge->source.index, LEAT_SV_ARG(edge->source.node),
                              graph->nodes[source].output_count);
    }
    LEAT_RETURN_IF_ERROR(leat_graph_set_input(graph, edge->node, edge->position,
                                              (leat_output_t){source, edge->source.index}));
  }
  return leat_ok_status();
}

leat_status_t leat_importer_add_ordered(leat_importer_t* importer, leat_node_cursor_t* cursor,
                                        size_t count) {
  order_t o = {.importer = importer, .count = count};
  leat_arena_initialize(importer->allocator, 0, &o.arena);
  leat_string_map_initialize(importer->allocator, &o.names);
  leat_status_t status = decode(&o, cursor);
  if (!status) status = find_sources(&o);
  if (!status) fill_readers(&o);
  if (!status) status = add_all(&o);
  if (!status) status = close_loops(importer);
  leat_ready_queue_deinitialize(&o.queue);
  leat_string_map_deinitialize(&o.names);
  leat_arena_deinitialize(&o.arena);
  return status;
}
