// Topological order by Kahn's algorithm: a node is ready when all of its inputs are done, and of
// the ready nodes the lowest index is taken, so that the order is deterministic and close to the
// one in which the client built the graph. An edge from a NextIteration into a Merge closes a loop
// (section 4.4) and orders nothing; any other cycle is an error. Most graphs are built or imported
// inputs first; they are recognised by one pass over the edges, and their order is 0, 1, 2, ...
// Time is linear in edges, plus a logarithm for nodes that stand before their inputs
// (graph/ready_queue.h).
#include "graph/graph.h"
#include "graph/ready_queue.h"

int leat_node_closing_input(const leat_graph_t* graph, const leat_node_t* node) {
  for (int k = 0; k < node->input_count; ++k) {
    if (leat_edge_closes_loop(graph, node, node->inputs[k])) return k;
  }
  return -1;
}

// Counts, for each node, the edges that it waits for.
static void count_pending(const leat_graph_t* graph, leat_ready_queue_t* queue) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      if (leat_output_exists(node->inputs[k]) &&
          !leat_edge_closes_loop(graph, node, node->inputs[k])) {
        ++queue->pending[i];
      }
    }
  }
}

// One edge from |done| to each of its readers is settled. Whether an edge closes a loop follows
// from the two nodes alone, so the output index does not matter here.
static void settle_readers(const leat_graph_t* graph, const leat_readers_t* readers, int32_t done,
                           leat_ready_queue_t* queue) {
  for (uint32_t r = readers->begin[done]; r < readers->begin[done + 1]; ++r) {
    int32_t reader = readers->readers[r].node;
    if (leat_edge_closes_loop(graph, &graph->nodes[reader], (leat_output_t){done, 0})) continue;
    leat_ready_queue_settle(queue, reader);
  }
}

// Names the first node that never became ready.
static leat_status_t cycle(const leat_graph_t* graph, const leat_ready_queue_t* queue,
                           size_t done) {
  // Some node is left, so the search ends.
  LEAT_DCHECK(done < graph->node_count);
  size_t node = 0;
  while (queue->pending[node] <= 0) ++node;
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Sorting the graph failed for node '%.*s' (%.*s): it is on or behind a "
                          "cycle of edges; %zu nodes cannot be ordered",
                          LEAT_SV_ARG(graph->nodes[node].name),
                          LEAT_SV_ARG(graph->nodes[node].op->name), graph->node_count - done);
}

static leat_status_t sort(const leat_graph_t* graph, const leat_readers_t* readers,
                          leat_ready_queue_t* queue, int32_t* out_order) {
  count_pending(graph, queue);
  size_t done = 0;
  for (int32_t node; (node = leat_ready_queue_take(queue)) >= 0;) {
    LEAT_DCHECK(done < graph->node_count);
    out_order[done++] = node;
    settle_readers(graph, readers, node, queue);
  }
  return done == graph->node_count ? leat_ok_status() : cycle(graph, queue, done);
}

// Whether every node stands behind its inputs, as in graphs that are built or imported in order.
static bool is_sorted(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      if (node->inputs[k].node >= (int32_t)i &&
          !leat_edge_closes_loop(graph, node, node->inputs[k])) {
        return false;
      }
    }
  }
  return true;
}

leat_status_t leat_graph_sort(const leat_graph_t* graph, int32_t* out_order) {
  if (is_sorted(graph)) {
    for (size_t i = 0; i < graph->node_count; ++i) out_order[i] = (int32_t)i;
    return leat_ok_status();
  }
  leat_readers_t readers;
  LEAT_RETURN_IF_ERROR(leat_readers_initialize(graph, &readers));
  leat_ready_queue_t queue;
  leat_status_t status =
      leat_ready_queue_initialize(graph->allocator, (int32_t)graph->node_count, &queue);
  if (!status) status = sort(graph, &readers, &queue, out_order);
  leat_ready_queue_deinitialize(&queue);
  leat_readers_deinitialize(&readers);
  return status;
}
