// TF_Graph: its life, the handles of its operations, and the shapes of its outputs. A TF_Graph owns
// a reference to a shared graph (session/session.h), which its sessions share, and it is reference
// counted itself: sessions keep it alive after TF_DeleteGraph.
//
// A TF_Operation is the graph and a node's number. Callers keep pointers to it, so that it may
// never move. The handles lie in chunks that double in size:
//
//     chunk:   0 [256]   1 [512]   2 [1024] ...       node n lies in chunk log2(n / 256 + 1)
//
// A chunk is filled with handles when the first of them is asked for, so that an operation that
// nobody looks at costs nothing and finding a handle is a little arithmetic. The readers of outputs
// are kept in a table that is made anew when nodes or edges have changed.
#include "capi/handles.h"

// ---- Life ---------------------------------------------------------------------------------------

TF_Graph* TF_NewGraph(void) {
  const leat_runtime_t* runtime = NULL;
  void* memory = NULL;
  leat_status_t status = leat_runtime_get(&runtime);
  if (!status) status = leat_allocator_allocate(leat_allocator_system(), sizeof(TF_Graph), &memory);
  TF_Graph* graph = memory;
  if (!status) status = leat_shared_graph_create(runtime, &graph->shared);
  if (status) {
    leat_status_free(status);
    leat_allocator_free(leat_allocator_system(), graph);
    return NULL;
  }
  leat_word_map_initialize(leat_allocator_system(), &graph->updated_inputs);
  graph->references = 1;
  return graph;
}

void leat_capi_graph_retain(TF_Graph* graph) { leat_reference_count_retain(&graph->references); }

void leat_capi_graph_release(TF_Graph* graph) {
  if (!graph || !leat_reference_count_release(&graph->references)) return;
  leat_session_free(graph->evaluator);
  leat_control_flow_free(graph->flow);
  if (graph->readers.begin) leat_readers_deinitialize(&graph->readers);
  leat_word_map_deinitialize(&graph->updated_inputs);
  for (int i = 0; i < LEAT_CAPI_CHUNKS; ++i) {
    leat_allocator_free(leat_allocator_system(), graph->chunks[i]);
  }
  leat_capi_names_free(graph->names);
  leat_shared_graph_release(graph->shared);
  leat_capi_graph_release(graph->parent);
  leat_allocator_free(leat_allocator_system(), graph);
}

void TF_DeleteGraph(TF_Graph* graph) { leat_capi_graph_release(graph); }

// ---- Handles of operations ----------------------------------------------------------------------

// Chunk c holds 256 * 2^c handles; the first is that of node 256 * (2^c - 1).
static int chunk_of(size_t node) {
  return 63 - __builtin_clzll((node >> LEAT_CAPI_CHUNK_SHIFT) + 1);
}
static size_t chunk_begin(int chunk) {
  return (((size_t)1 << chunk) - 1) << LEAT_CAPI_CHUNK_SHIFT;
}

static leat_status_t make_chunk(TF_Graph* graph, int chunk) {
  if (graph->chunks[chunk]) return leat_ok_status();
  size_t count = (size_t)1 << (chunk + LEAT_CAPI_CHUNK_SHIFT);
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      leat_allocator_system(), 16, count * sizeof(TF_Operation), &memory));
  TF_Operation* operations = memory;
  int32_t begin = (int32_t)chunk_begin(chunk);
  for (size_t i = 0; i < count; ++i) {
    operations[i] = (TF_Operation){graph, begin + (int32_t)i};
  }
  graph->chunks[chunk] = operations;
  return leat_ok_status();
}

leat_status_t leat_capi_graph_reserve(TF_Graph* graph, size_t first, size_t count) {
  if (count == 0) return leat_ok_status();
  if (first + count > INT32_MAX) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Adding to the graph failed: node count is %zu, must be < 2^31",
                            first + count);
  }
  for (int chunk = chunk_of(first); chunk <= chunk_of(first + count - 1); ++chunk) {
    LEAT_RETURN_IF_ERROR(make_chunk(graph, chunk));
  }
  return leat_ok_status();
}

TF_Operation* leat_capi_operation(TF_Graph* graph, int32_t node) {
  if (node < 0) return NULL;
  int chunk = chunk_of((size_t)node);
  if (LEAT_UNLIKELY(!graph->chunks[chunk])) {
    leat_status_t status = make_chunk(graph, chunk);
    if (status) {
      leat_status_free(status);
      return NULL;
    }
  }
  return &graph->chunks[chunk][(size_t)node - chunk_begin(chunk)];
}

// Called with the graph's lock held.
leat_status_t leat_capi_output_resolve(const TF_Graph* graph, TF_Output output, const char* what,
                                       leat_output_t* out_output) {
  const leat_graph_t* g = graph->shared->graph;
  if (!output.oper || output.oper->graph != graph) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s failed: operation is %s, must be in the "
                            "graph", what, output.oper ? "of another graph" : "NULL");
  }
  const leat_node_t* node = leat_graph_node(g, output.oper->node);
  if (output.index < 0 || output.index >= node->output_count) {
    return leat_make_status(
        LEAT_INVALID_ARGUMENT,
        "%s failed for node '%.*s' (%.*s): output index is %d, must be in [0, %d)", what,
        LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), output.index, node->output_count);
  }
  *out_output = (leat_output_t){output.oper->node, output.index};
  return leat_ok_status();
}

// The table is up to date when it was made for as many nodes and as many edits of edges as the
// graph has now.
leat_status_t leat_capi_graph_readers(TF_Graph* graph, const leat_readers_t** out_readers) {
  const leat_graph_t* g = graph->shared->graph;
  bool valid = graph->readers.begin && graph->readers_nodes == g->node_count &&
               graph->readers_edits == graph->edits;
  if (!valid) {
    if (graph->readers.begin) leat_readers_deinitialize(&graph->readers);
    graph->readers = (leat_readers_t){0};
    leat_status_t status = leat_readers_initialize(g, &graph->readers);
    if (status) {
      graph->readers = (leat_readers_t){0};
      return status;
    }
    graph->readers_nodes = g->node_count;
    graph->readers_edits = graph->edits;
  }
  *out_readers = &graph->readers;
  return leat_ok_status();
}

TF_Operation* TF_GraphOperationByName(TF_Graph* graph, const char* oper_name) {
  leat_graph_t* g = leat_capi_lock(graph);
  int32_t node = leat_graph_find_node(g, leat_string_view_from(oper_name));
  TF_Operation* operation = leat_capi_operation(graph, node);
  leat_capi_unlock(graph);
  return operation;
}

TF_Operation* TF_GraphNextOperation(TF_Graph* graph, size_t* pos) {
  leat_graph_t* g = leat_capi_lock(graph);
  TF_Operation* operation = NULL;
  if (*pos < g->node_count) operation = leat_capi_operation(graph, (int32_t)(*pos)++);
  leat_capi_unlock(graph);
  return operation;
}

// ---- Shapes -------------------------------------------------------------------------------------

// Refines the shape of an output by |dims|; a rank below 0 states nothing.
static leat_status_t set_shape(TF_Graph* graph, TF_Output output, const int64_t* dims, int rank) {
  leat_output_t target;
  LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, output, "Setting a shape", &target));
  if (rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Setting a shape failed: rank is %d, must be <= %d", rank,
                            LEAT_SHAPE_MAX_RANK);
  }
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < -1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Setting a shape failed: dimension %d is %lld, must be >= -1", i,
                              (long long)dims[i]);
    }
  }
  leat_partial_shape_t shape = {rank < 0 ? -1 : rank, rank > 0 ? dims : NULL};
  return leat_graph_refine_shape(graph->shared->graph, target, shape);
}

void TF_GraphSetTensorShape(TF_Graph* graph, TF_Output output, const int64_t* dims,
                            const int num_dims, TF_Status* status) {
  leat_capi_lock(graph);
  leat_capi_status_set(status, set_shape(graph, output, dims, num_dims));
  leat_capi_unlock(graph);
}

int TF_GraphGetTensorNumDims(TF_Graph* graph, TF_Output output, TF_Status* status) {
  leat_output_t source;
  int rank = -1;
  leat_graph_t* g = leat_capi_lock(graph);
  leat_status_t result = leat_capi_output_resolve(graph, output, "Reading a shape", &source);
  if (!result) rank = leat_graph_output_shape(g, source).rank;
  leat_capi_unlock(graph);
  leat_capi_status_set(status, result);
  return rank;
}

static leat_status_t get_shape(TF_Graph* graph, TF_Output output, int64_t* dims, int num_dims) {
  leat_output_t source;
  LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, output, "Reading a shape", &source));
  leat_partial_shape_t shape = leat_graph_output_shape(graph->shared->graph, source);
  if (shape.rank != num_dims) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Expected rank is %d but actual rank is %d",
                            num_dims, shape.rank);
  }
  for (int i = 0; i < num_dims; ++i) dims[i] = shape.dims[i];
  return leat_ok_status();
}

void TF_GraphGetTensorShape(TF_Graph* graph, TF_Output output, int64_t* dims, int num_dims,
                            TF_Status* status) {
  leat_capi_lock(graph);
  leat_capi_status_set(status, get_shape(graph, output, dims, num_dims));
  leat_capi_unlock(graph);
}

// Does nothing: every op of this library has a shape function, if only one that says that its
// shapes are unknown, so that there is no op to refuse.
void TF_SetRequireShapeInferenceFns(TF_Graph* graph, bool require) {}
