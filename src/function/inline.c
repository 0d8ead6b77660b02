// Copies a graph in topological order and expands calls on the way; an edge that closes a loop is
// set at the end, when both of its nodes are there. The nodes of call "f" are named "_f/...", which
// no node of a client can be called, so inlining cannot clash. In a graph with control flow an
// expanded body waits for the inputs of its call, because a body node without inputs would
// otherwise run outside of the call's frame and branch. The master calls this before it optimizes a
// signature.
#include "function/function.h"

#include <string.h>

#include "function/expander.h"
#include "graph/verify.h"

typedef struct inliner_s {
  const leat_graph_t* old;
  leat_graph_t* graph;
  leat_arena_t scratch;
  leat_node_map_t map;
  bool flows;  // the graph has control flow
  int32_t* effects;
  int effect_count;
  int32_t* order;
} inliner_t;

// Whether any node calls a function. Most graphs have no such node and are not copied.
static bool calls(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->flags & LEAT_OP_CALLS) return true;
  }
  return false;
}

// Makes the tables of the copy, and sorts the nodes so that each one comes behind its inputs.
static leat_status_t prepare(inliner_t* n) {
  leat_arena_t* arena = leat_graph_arena(n->graph);
  size_t count = n->old->node_count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &n->map.nodes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &n->map.outputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &n->effects));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&n->scratch, count, &n->order));
  for (size_t i = 0; i < n->old->node_count; ++i) {
    n->map.nodes[i] = -1;
    n->flows |=
        (n->old->nodes[i].op->flags & (LEAT_OP_CONTROL_FLOW | LEAT_OP_STANDS_FOR_FLOW)) != 0;
  }
  return leat_graph_sort(n->old, n->order);
}

// The node for which a call waits that reads |value|. Where that is an output of a Switch, the
// Switch runs even when the output is dead, so that the call waits for an Identity of it.
static leat_status_t find_awaited(inliner_t* n, const leat_call_site_t* site, leat_output_t value,
                                  int32_t* out_node) {
  *out_node = value.node;
  const leat_node_t* node = &n->graph->nodes[value.node];
  if (!(node->op->flags & LEAT_OP_SWITCH) || node->op->has_ref_outputs) return leat_ok_status();
  leat_builder_t builder = {.graph = n->graph, .device = site->node->device};
  LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(n->graph), &builder.scope, "%.*s/",
                                        LEAT_SV_ARG(site->name)));
  *out_node = leat_build_unary(&builder, "Identity", value).node;
  return builder.status;
}

// What the call reads and waits for, in the new graph. With control flow it waits for its data
// inputs too, so that the body runs where and when they are there.
static leat_status_t find_site(inliner_t* n, int32_t index, leat_call_site_t* site) {
  LEAT_DCHECK(n->old->nodes[index].op->flags & LEAT_OP_CALLS);
  const leat_node_t* node = &n->old->nodes[index];
  size_t count = (size_t)(node->input_count + node->control_count);
  leat_output_t* inputs;
  int32_t* controls;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&n->scratch, count + 1, &inputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&n->scratch, count + 1, &controls));
  *site = (leat_call_site_t){
      .node = node, .inputs = inputs, .control_inputs = controls, .gate = -1};
  LEAT_RETURN_IF_ERROR(leat_arena_print(&n->scratch, &site->name, "_%.*s",
                                        LEAT_SV_ARG(node->name)));
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    leat_output_t source = leat_node_map_output(&n->map, node->inputs[i]);
    LEAT_DCHECK(i >= node->input_count || leat_output_exists(source));
    if (i < node->input_count) inputs[i] = source;
    bool waits = i >= node->input_count || n->flows;
    if (!waits || source.node < 0) continue;
    int32_t awaited = source.node;
    if (i < node->input_count) {
      LEAT_RETURN_IF_ERROR(find_awaited(n, site, source, &awaited));
    }
    controls[site->control_count++] = awaited;
  }
  return leat_ok_status();
}

// Puts the body of the called function in the place of node |index|, or copies the node where its
// op is run by a kernel that makes the call.
static leat_status_t expand(inliner_t* n, int32_t index) {
  const leat_node_t* node = &n->old->nodes[index];
  leat_expander_t expander = leat_expander_make(n->graph, n->old->node_count);
  leat_call_site_t site;
  LEAT_RETURN_IF_ERROR(find_site(n, index, &site));
  if (!leat_expander_takes(&expander, node)) {
    site.name = node->name;
    return leat_expander_keep(&expander, &site, &n->map.nodes[index]);
  }
  int32_t done;
  leat_output_t* outputs;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(leat_graph_arena(n->graph), (size_t)node->output_count + 1, &outputs));
  LEAT_RETURN_IF_ERROR(leat_expander_expand(&expander, &site, outputs, &done));
  n->map.outputs[index] = outputs;
  n->map.nodes[index] = done >= 0 || node->output_count == 0 ? done : outputs[0].node;
  LEAT_DCHECK(n->effect_count < (int)n->old->node_count);
  if (done >= 0) n->effects[n->effect_count++] = done;
  return leat_ok_status();
}

// Sets the inputs of Merge nodes that were not there yet when the nodes were copied.
static leat_status_t close_loops(inliner_t* n) {
  for (size_t i = 0; i < n->old->node_count; ++i) {
    const leat_node_t* node = &n->old->nodes[i];
    if (!(node->op->flags & LEAT_OP_MERGE)) continue;
    for (int k = 0; k < node->input_count; ++k) {
      LEAT_DCHECK(n->map.nodes[i] >= 0);
      leat_output_t source = leat_node_map_output(&n->map, node->inputs[k]);
      if (leat_output_equal(source, n->graph->nodes[n->map.nodes[i]].inputs[k])) continue;
      LEAT_RETURN_IF_ERROR(leat_graph_set_input(n->graph, n->map.nodes[i], k, source));
    }
  }
  return leat_ok_status();
}

static leat_status_t copy(inliner_t* n) {
  LEAT_RETURN_IF_ERROR(prepare(n));
  for (size_t i = 0; i < n->old->node_count; ++i) {
    int32_t index = n->order[i];
    const leat_node_t* node = &n->old->nodes[index];
    if (node->op->flags & LEAT_OP_CALLS) {
      LEAT_RETURN_IF_ERROR(expand(n, index));
    } else {
      LEAT_RETURN_IF_ERROR(
          leat_node_map_copy_node(n->graph, node, &n->map, &n->map.nodes[index]));
    }
  }
  return close_loops(n);
}

leat_status_t leat_function_inline(const leat_graph_t* graph, leat_inlined_t* out_inlined) {
  memset(out_inlined, 0, sizeof *out_inlined);
  if (!calls(graph)) return leat_ok_status();
  inliner_t n = {.old = graph};
  LEAT_RETURN_IF_ERROR(leat_graph_create_child(graph, &n.graph));
  leat_arena_initialize(graph->allocator, 0, &n.scratch);
  leat_status_t status = copy(&n);
  if (!status) status = LEAT_VERIFY_GRAPH(n.graph, "function inlining");
  leat_arena_deinitialize(&n.scratch);
  if (status) {
    leat_graph_free(n.graph);
    return status;
  }
  *out_inlined = (leat_inlined_t){n.graph, n.map, n.effects, n.effect_count};
  return leat_ok_status();
}
