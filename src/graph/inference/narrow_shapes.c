// Infers shapes again in a graph that is complete, where more has become known since its nodes were
// added. There are two reasons for that. When a graph is read, the Merge of a loop is met before
// the edge that closes the loop, so nothing is known of the loop's variables then; the gradient
// builder asks for their shapes. And the master knows the shapes of the values that a step feeds.
//
// Shapes in loops are a fixed point that is approached from the optimistic side. The first round
// takes it that every loop variable keeps the shape with which it enters, and infers all nodes in
// and behind loops from that. What the body then gives back to a Merge may contradict: the Merge
// gets the join of all its inputs, which knows only what they agree in, and the next round infers
// again.
//
//   round 0:  Merge := shape of the entering input
//   round n:  infer the body;  Merge := join(Merge, all inputs);  until no Merge changes
//
// Starting from "unknown" instead would find nothing, since a Merge with an unknown input is
// unknown. When no Merge changes, every assumption that is left has been confirmed by the round
// that used it, so the result is sound. Each change loses knowledge, so rounds are few; after
// MAX_ROUNDS all nodes get their former shapes back. Copies of nodes share shape arrays, so the
// nodes that may change get arrays of their own first.
#include "graph/inference/inference.h"
#include "graph/storage.h"

#define MAX_ROUNDS 12

typedef struct shaper_s {
  leat_graph_t* graph;
  leat_arena_t arena;
  const int32_t* order;
  size_t order_count;
  leat_partial_shape_t** before;  // node -> its shapes as they were; NULL: it is not inferred again
} shaper_t;

// What holds for a value that has shape |a| or shape |b|.
static leat_status_t join(leat_partial_shape_t a, leat_partial_shape_t b, leat_arena_t* arena,
                          leat_partial_shape_t* out_shape) {
  *out_shape = a;
  if (leat_partial_shape_equal(a, b)) return leat_ok_status();
  *out_shape = leat_partial_shape_unknown();
  if (a.rank < 0 || a.rank != b.rank) return leat_ok_status();
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < a.rank; ++i) {
    dims[i] = a.dims[i] == b.dims[i] ? a.dims[i] : LEAT_DIM_UNKNOWN;
  }
  return leat_partial_shape_create(a.rank, dims, arena, out_shape);
}

// Gives the nodes whose ops have a flag of |from|, and all nodes that depend on one of these, shape
// arrays of their own. |before| keeps the old ones.
static leat_status_t mark(shaper_t* s, uint32_t from) {
  for (size_t i = 0; i < s->order_count; ++i) {
    leat_node_t* node = &s->graph->nodes[s->order[i]];
    bool touched = node->op->flags & from;
    for (int k = 0; k < node->input_count; ++k) touched |= s->before[node->inputs[k].node] != NULL;
    if (!touched || node->output_count == 0) continue;
    size_t bytes = (size_t)node->output_count * sizeof(leat_partial_shape_t);
    void* memory;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate(&s->graph->storage->arena, bytes, &memory));
    s->before[s->order[i]] = node->output_shapes;
    node->output_shapes = memcpy(memory, node->output_shapes, bytes);
  }
  return leat_ok_status();
}

// |known| and |found| merged; |known| where they contradict each other.
static leat_status_t narrow(shaper_t* s, leat_partial_shape_t known, leat_partial_shape_t found,
                            leat_partial_shape_t* out_shape) {
  leat_status_t status =
      leat_partial_shape_merge(known, found, &s->graph->storage->arena, out_shape);
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_free(status);
  *out_shape = known;
  return leat_ok_status();
}

// The output shapes of one node from the current shapes of its inputs. An Enter keeps the shape of
// its input.
static leat_status_t infer(shaper_t* s, const leat_node_t* node, leat_partial_shape_t* shapes) {
  leat_graph_t* g = s->graph;
  if (node->op->flags & LEAT_OP_ENTER) {
    shapes[0] = leat_graph_output_shape(g, node->inputs[0]);
    return leat_ok_status();
  }
  // Where the function refuses its inputs the assumption was wrong, or the graph is.
  return leat_inference_try(g, node, shapes, NULL);
}

// One node in one round. A Merge that closes a loop gets its shape from the first round's
// assumption and from |relax|; any other node is inferred and narrows what was known of it before.
static leat_status_t shape_node(shaper_t* s, int32_t index, bool is_first) {
  LEAT_DCHECK(s->before[index]);
  leat_node_t* node = &s->graph->nodes[index];
  int closing = leat_node_closing_input(s->graph, node);
  if (closing >= 0) {
    if (!is_first || node->input_count != 2) return leat_ok_status();
    node->output_shapes[0] = leat_graph_output_shape(s->graph, node->inputs[1 - closing]);
    return leat_ok_status();
  }
  leat_partial_shape_t* shapes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->arena, (size_t)node->output_count, &shapes));
  LEAT_RETURN_IF_ERROR(infer(s, node, shapes));
  for (int k = 0; k < node->output_count; ++k) {
    LEAT_RETURN_IF_ERROR(
        narrow(s, s->before[index][k], shapes[k], &node->output_shapes[k]));
  }
  return leat_ok_status();
}

// Gives each loop's Merge the join of its shape and of all its inputs; a client may have given it
// more than two. |*out_changed| tells whether some assumption was wrong.
static leat_status_t relax(shaper_t* s, bool* out_changed) {
  *out_changed = false;
  for (size_t i = 0; i < s->order_count; ++i) {
    leat_node_t* node = &s->graph->nodes[s->order[i]];
    if (leat_node_closing_input(s->graph, node) < 0 || !s->before[s->order[i]]) continue;
    leat_partial_shape_t joined = node->output_shapes[0];
    for (int k = 0; k < node->input_count; ++k) {
      LEAT_RETURN_IF_ERROR(join(joined, leat_graph_output_shape(s->graph, node->inputs[k]),
                                &s->graph->storage->arena, &joined));
    }
    if (leat_partial_shape_equal(joined, node->output_shapes[0])) continue;
    node->output_shapes[0] = joined;
    *out_changed = true;
  }
  return leat_ok_status();
}

static leat_status_t iterate(shaper_t* s) {
  bool changed = true;
  for (int round = 0; changed && round < MAX_ROUNDS; ++round) {
    leat_word_map_clear(&s->graph->storage->values);
    for (size_t i = 0; i < s->order_count; ++i) {
      if (!s->before[s->order[i]]) continue;
      LEAT_RETURN_IF_ERROR(shape_node(s, s->order[i], round == 0));
    }
    LEAT_RETURN_IF_ERROR(relax(s, &changed));
  }
  if (!changed) return leat_ok_status();
  return leat_make_status(LEAT_OUT_OF_RANGE, "the shapes do not settle");
}

// What was known of a Merge before the first round still holds.
static leat_status_t keep_known(shaper_t* s) {
  for (size_t i = 0; i < s->order_count; ++i) {
    leat_node_t* node = &s->graph->nodes[s->order[i]];
    const leat_partial_shape_t* before = s->before[s->order[i]];
    if (!before || leat_node_closing_input(s->graph, node) < 0) continue;
    LEAT_RETURN_IF_ERROR(narrow(s, before[0], node->output_shapes[0], &node->output_shapes[0]));
  }
  return leat_ok_status();
}

leat_status_t leat_graph_narrow_shapes(leat_graph_t* graph, const int32_t* order,
                                       size_t order_count, uint32_t from) {
  shaper_t s = {.graph = graph, .order = order, .order_count = order_count};
  leat_arena_initialize(graph->allocator, 0, &s.arena);
  leat_status_t status = LEAT_NEW(&s.arena, graph->node_count + 1, &s.before);
  if (!status) status = mark(&s, from);
  if (!status) status = iterate(&s);
  if (!status) status = keep_known(&s);
  for (size_t i = 0; status && s.before && i < order_count; ++i) {
    if (s.before[order[i]]) graph->nodes[order[i]].output_shapes = s.before[order[i]];
  }
  leat_word_map_clear(&graph->storage->values);
  leat_arena_deinitialize(&s.arena);
  if (leat_status_code(status) != LEAT_OUT_OF_RANGE) return status;
  leat_status_free(status);
  return leat_ok_status();
}
