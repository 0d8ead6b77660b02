// Pruning, the partial execution of section 4.2 of the white paper: from the client's graph, and
// the feeds, fetches and targets of one Run call, leat_prune() makes a graph with only the nodes
// that this call needs.
//
//   x ─▶ Exp ─▶ y ─▶ Neg ─▶ z            _Arg 0 ─▶ Neg ─▶ z       feeds: y, fetches: z
//         └───▶ Log ─▶ w
//
// The walk starts at the fetches and targets and follows all edges backwards, but not past an
// output that is fed. Each fed output becomes an _Arg node, whose index is the feed's place in the
// call, and readers of the output read the _Arg. The needed nodes are copied in their old order;
// the client's graph is not changed, so that many calls may be pruned from it.
//
// Pruning also establishes what all passes rely on: the new graph has no cycle but those that a
// loop closes, no node that only makes sense in a function's body, and no attribute that is still a
// placeholder. The master calls it for each new combination of feeds, fetches and targets, before
// the passes and the placement, and the function runtime calls it for each body of a function.
#include <string.h>

#include "optimize/pass.h"

typedef struct prune_s {
  const leat_graph_t* graph;
  const leat_output_t* feeds;
  int feed_count;
  bool* needed;    // by node
  int32_t* stack;  // needed nodes whose inputs have not been looked at
  size_t depth;
  leat_node_map_t map;  // from nodes and fed outputs to the new graph; see note_feeds()
  leat_arena_t arena;
} prune_t;

// The place of |output| among the feeds; -1 where it is not fed. Only valid during the walk.
static int find_feed(const prune_t* p, leat_output_t output) {
  const leat_output_t* fed = p->map.outputs[output.node];
  if (!fed || output.index < 0) return -1;
  return fed[output.index].index;
}

// Marks the node as needed, so that the walk visits it.
static void need(prune_t* p, int32_t node) {
  if (p->needed[node]) return;
  p->needed[node] = true;
  p->stack[p->depth++] = node;
}

// Whether the node is a placeholder with a fed output. A control edge from it needs nothing, since
// the value is there when the step starts; running the placeholder would be an error.
static bool is_fed_placeholder(const prune_t* p, int32_t node) {
  return p->map.outputs[node] && (p->graph->nodes[node].op->flags & LEAT_OP_PLACEHOLDER);
}

// INVALID_ARGUMENT where the fed input must be a reference to a variable: the node would change the
// variable in place, and a fed value has none.
static leat_status_t check_fed(const leat_node_t* node, int input) {
  int expected = leat_node_input_type(node, input);
  if (!leat_dtype_is_ref(expected)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Input %d of node %.*s was passed a value that is fed, incompatible with "
                          "expected %s.",
                          input, LEAT_SV_ARG(node->name), leat_dtype_name(expected));
}

// Visits all nodes on the stack, and marks what they need.
static leat_status_t walk(prune_t* p) {
  while (p->depth) {
    const leat_node_t* node = &p->graph->nodes[p->stack[--p->depth]];
    for (int i = 0; i < node->input_count + node->control_count; ++i) {
      leat_output_t source = node->inputs[i];
      if (source.index >= 0 ? find_feed(p, source) >= 0 : is_fed_placeholder(p, source.node)) {
        if (source.index >= 0) LEAT_RETURN_IF_ERROR(check_fed(node, i));
        continue;
      }
      need(p, source.node);
    }
  }
  return leat_ok_status();
}

// Notes which outputs are fed: during the walk |map.outputs| of a fed node holds, for each output,
// the place among the feeds in |index| (-1: not fed). add_arguments() then overwrites that with the
// output of the _Arg.
static leat_status_t note_feeds(prune_t* p) {
  for (int i = 0; i < p->feed_count; ++i) {
    leat_output_t feed = p->feeds[i];
    const leat_node_t* node = &p->graph->nodes[feed.node];
    leat_output_t** list = &p->map.outputs[feed.node];
    if (!*list) {
      LEAT_RETURN_IF_ERROR(LEAT_NEW(&p->arena, (size_t)node->output_count, list));
      for (int k = 0; k < node->output_count; ++k) (*list)[k] = (leat_output_t){-1, -1};
    }
    (*list)[feed.index].index = i;
  }
  return leat_ok_status();
}

#define ARGUMENT_PREFIX "_arg_"  // then the name of what is fed, "_<output>_<feed>"

leat_string_view_t leat_argument_fed_name(const leat_node_t* argument) {
  const size_t prefix = sizeof ARGUMENT_PREFIX - 1;
  leat_string_view_t name = argument->name;
  if (!leat_string_view_starts_with(name, LEAT_SV(ARGUMENT_PREFIX))) return name;
  size_t end = name.size;
  for (int parts = 0; parts < 2 && end > prefix; --end) parts += name.data[end - 1] == '_';
  return end > prefix ? leat_string_view_make(name.data + prefix, end - prefix) : name;
}

// Adds an _Arg for each feed, and maps the fed output to it.
static leat_status_t add_arguments(prune_t* p, leat_graph_t* child) {
  const leat_op_t* op;
  if (p->feed_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(child->ops, LEAT_OP_NAME_ARGUMENT, &op));
  for (int i = 0; i < p->feed_count; ++i) {
    leat_output_t feed = p->feeds[i];
    const leat_node_t* fed = &p->graph->nodes[feed.node];
    leat_attr_t attrs[] = {
        LEAT_TYPE("T", leat_dtype_base(leat_graph_output_type(p->graph, feed))),
        LEAT_INT("index", i)};
    leat_string_view_t name;
    LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(child), &name,
                                          ARGUMENT_PREFIX "%.*s_%d_%d", LEAT_SV_ARG(fed->name),
                                          feed.index, i));
    leat_node_spec_t spec = {.name = name, .op = op, .attrs = attrs, .attr_count = 2,
                             .skip_shapes = true};
    int32_t node;
    LEAT_RETURN_IF_ERROR(leat_graph_add_node(child, &spec, &node));
    child->nodes[node].output_shapes[0] = fed->output_shapes[feed.index];
    p->map.outputs[feed.node][feed.index] = (leat_output_t){node, 0};
  }
  return leat_ok_status();
}

// Numbers the needed nodes after the arguments, in their old order, and then copies them. Edges
// that close loops lead to later nodes, so all numbers must be known before the first copy.
static leat_status_t copy_needed(prune_t* p, leat_graph_t* child) {
  int32_t next = (int32_t)child->node_count;
  for (size_t i = 0; i < p->graph->node_count; ++i) {
    p->map.nodes[i] = p->needed[i] ? next++ : -1;
  }
  for (size_t i = 0; i < p->graph->node_count; ++i) {
    if (!p->needed[i]) continue;
    const leat_node_t* node = &p->graph->nodes[i];
    // An _Arg of the client's would receive the value of one of the feeds.
    if (p->feed_count && (node->op->flags & LEAT_OP_ARGUMENT)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Pruning failed for node '%.*s' (%.*s): it is outside a function, "
                              "must be inside one",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
    }
    if (p->graph->has_placeholders && leat_node_waits(node)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Pruning failed for node '%.*s' (%.*s): an attribute is a "
                              "placeholder, must have a value outside a function",
                              LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
    }
    int32_t copy;
    LEAT_RETURN_IF_ERROR(leat_node_map_copy_node(child, node, &p->map, &copy));
  }
  return leat_ok_status();
}

// Fills in |rewrite|, with the fetches and targets as they are called in |child|, and takes
// |child|.
static leat_status_t make_rewrite(const prune_t* p, leat_graph_t* child,
                                  const leat_output_t* fetches, int fetch_count,
                                  const int32_t* targets, int target_count,
                                  leat_rewrite_t* rewrite) {
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      allocator, (size_t)fetch_count + 1, sizeof *rewrite->fetches, (void**)&rewrite->fetches));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      allocator, (size_t)target_count + 1, sizeof *rewrite->targets, (void**)&rewrite->targets));
  for (int i = 0; i < fetch_count; ++i) {
    rewrite->fetches[i] = leat_node_map_output(&p->map, fetches[i]);
  }
  for (int i = 0; i < target_count; ++i) rewrite->targets[i] = p->map.nodes[targets[i]];
  rewrite->fetch_count = fetch_count;
  rewrite->target_count = target_count;
  rewrite->graph = child;
  return leat_ok_status();
}

// Whether every input of a node comes before the node, apart from the edges that close loops.
static bool is_in_order(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    for (int k = 0; k < node->input_count + node->control_count; ++k) {
      if (node->inputs[k].node < (int32_t)i) continue;
      if (!leat_edge_closes_loop(graph, node, node->inputs[k])) return false;
    }
  }
  return true;
}

// INVALID_ARGUMENT where |child| has a cycle that no loop closes; a client can make one by changing
// edges of its graph. Passes follow edges until they end, so they must never see such a cycle. Most
// graphs are in an order that shows at once that they have none, and need not be sorted.
static leat_status_t check_acyclic(prune_t* p, const leat_graph_t* child) {
  if (is_in_order(child)) return leat_ok_status();
  int32_t* order;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&p->arena, child->node_count + 1, &order));
  return leat_graph_sort(child, order);
}

static leat_status_t prepare(prune_t* p) {
  size_t count = p->graph->node_count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&p->arena, count, &p->needed));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&p->arena, count, &p->stack));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&p->arena, count, &p->map.nodes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&p->arena, count, &p->map.outputs));
  return note_feeds(p);
}

leat_status_t leat_prune(const leat_graph_t* graph, const leat_output_t* feeds, int feed_count,
                         const leat_output_t* fetches, int fetch_count, const int32_t* targets,
                         int target_count, leat_rewrite_t* out_rewrite) {
  memset(out_rewrite, 0, sizeof *out_rewrite);
  prune_t p = {.graph = graph, .feeds = feeds, .feed_count = feed_count};
  leat_arena_initialize(graph->allocator, 0, &p.arena);
  leat_graph_t* child = NULL;
  leat_status_t status;
  LEAT_GOTO_IF_ERROR(status, prepare(&p));
  for (int i = 0; i < fetch_count; ++i) {
    if (find_feed(&p, fetches[i]) < 0) need(&p, fetches[i].node);
  }
  for (int i = 0; i < target_count; ++i) need(&p, targets[i]);
  LEAT_GOTO_IF_ERROR(status, walk(&p));
  LEAT_GOTO_IF_ERROR(status, leat_graph_create_child(graph, &child));
  LEAT_GOTO_IF_ERROR(status, add_arguments(&p, child));
  LEAT_GOTO_IF_ERROR(status, copy_needed(&p, child));
  LEAT_GOTO_IF_ERROR(status, check_acyclic(&p, child));
  LEAT_GOTO_IF_ERROR(status, make_rewrite(&p, child, fetches, fetch_count, targets, target_count,
                                          out_rewrite));
  child = NULL;
cleanup:
  leat_graph_free(child);
  if (status) leat_rewrite_deinitialize(out_rewrite);
  leat_arena_deinitialize(&p.arena);
  return status;
}
