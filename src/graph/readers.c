// The readers of each node in compressed rows, by counting sort: one pass over the edges counts the
// readers of each node, a running sum turns counts into the begins of rows, and a second pass fills
// the rows.
#include "base/checked.h"
#include "graph/graph.h"

static int edge_count(const leat_node_t* node) { return node->input_count + node->control_count; }

static void fill(const leat_graph_t* graph, leat_readers_t* readers) {
  // begin[n + 1] is the cursor of node n while its row is filled, and ends as the begin of row
  // n + 1.
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    for (int k = 0; k < edge_count(node); ++k) {
      if (!leat_output_exists(node->inputs[k])) continue;
      LEAT_DCHECK((size_t)node->inputs[k].node < graph->node_count);
      uint32_t* cursor = &readers->begin[node->inputs[k].node + 1];
      readers->readers[(*cursor)++] = (leat_reader_t){(int32_t)i, k};
    }
  }
}

leat_status_t leat_readers_initialize(const leat_graph_t* graph, leat_readers_t* out_readers) {
  *out_readers = (leat_readers_t){.allocator = graph->allocator};
  void* memory = NULL;
  size_t node_count = graph->node_count;
  // Counts go two places behind the node's, because summing and then filling shift them by one
  // place each.
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(graph->allocator, node_count + 2,
                                                     sizeof(uint32_t), &memory));
  uint32_t* begin = out_readers->begin = memory;
  uint64_t total = 0;
  for (size_t i = 0; i < node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    for (int k = 0; k < edge_count(node); ++k) {
      if (!leat_output_exists(node->inputs[k])) continue;
      ++begin[node->inputs[k].node + 2];
      ++total;
    }
  }
  leat_status_t status = leat_ok_status();
  if (total > UINT32_MAX) {
    status = leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Listing readers failed: too many edges");
  }
  for (size_t i = 0; i < node_count; ++i) begin[i + 2] += begin[i + 1];
  if (!status) {
    status = leat_allocator_allocate_uninitialized(
        graph->allocator, 8, LEAT_MAX(total, UINT64_C(1)) * sizeof(leat_reader_t), &memory);
  }
  if (status) {
    leat_readers_deinitialize(out_readers);
    return status;
  }
  out_readers->readers = memory;
  fill(graph, out_readers);
  return leat_ok_status();
}

void leat_readers_deinitialize(leat_readers_t* readers) {
  if (!readers->allocator) return;
  leat_allocator_free(readers->allocator, readers->begin);
  leat_allocator_free(readers->allocator, readers->readers);
  *readers = (leat_readers_t){0};
}

leat_status_t leat_graph_find_sinks(const leat_graph_t* graph, leat_allocator_t* allocator,
                                    int32_t** out_nodes, int* out_count) {
  leat_readers_t readers;
  LEAT_RETURN_IF_ERROR(leat_readers_initialize(graph, &readers));
  leat_status_t status = LEAT_ALLOCATE(allocator, graph->node_count + 1, out_nodes);
  *out_count = 0;
  for (size_t i = 0; !status && i < graph->node_count; ++i) {
    if (readers.begin[i] == readers.begin[i + 1]) (*out_nodes)[(*out_count)++] = (int32_t)i;
  }
  leat_readers_deinitialize(&readers);
  return status;
}
