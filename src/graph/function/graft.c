// A graft copies the nodes of one graph into another one: TF_FinishWhile copies the condition and
// the body of a loop, which the client built as graphs of their own, into the graph around the
// loop. The caller says which outputs of the other graph replace the inputs of the copied one; all
// other edges lead between copies.
//
// Nodes are added in topological order, so that the inputs of a copy exist before it. The exception
// is an edge that closes a loop: its Merge is added with that input open, and the edge is set at
// the end, when both of its nodes are there. The copies are added as any new node is, so shapes and
// types are checked against what replaces the inputs. Names get the prefix, and so do the names in
// "_class" attributes: a node that is colocated with a node of |from| must be colocated with the
// copy of that node.
#include "graph/function/graft.h"

#include "graph/function/graph_functions.h"

typedef struct grafter_s {
  leat_graph_t* graph;
  const leat_graft_t* graft;
  int32_t* nodes;      // node of |from| -> its copy, -1 while there is none
  leat_arena_t arena;  // what describes nodes until they are added
} grafter_t;

// The index of the input of the graft that |node| gives, or -1.
static int find_input(const leat_graft_t* graft, int32_t node) {
  for (int i = 0; i < graft->input_count; ++i) {
    if (graft->inputs[i].node == node) return i;
  }
  return -1;
}

leat_output_t leat_graft_output(const leat_graft_t* graft, const int32_t* nodes,
                                leat_output_t output) {
  int input = find_input(graft, output.node);
  if (input < 0) return (leat_output_t){nodes[output.node], output.index};
  leat_output_t replacement = graft->replacements[input];
  return output.index < 0 ? (leat_output_t){replacement.node, output.index} : replacement;
}

// The attributes of |node|, with the prefix put before the names in "_class".
static leat_status_t copy_attrs(grafter_t* g, const leat_node_t* node,
                                const leat_attr_t** out_attrs) {
  static const char kLocation[] = "loc:@";
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&g->arena, (size_t)node->attr_count + 1,
                                                 sizeof(leat_attr_t), &memory));
  leat_attr_t* attrs = memory;
  *out_attrs = attrs;
  for (int i = 0; i < node->attr_count; ++i) {
    leat_attr_value_t* value = &attrs[i].value;
    attrs[i] = node->attrs[i];
    if (!leat_string_view_equals(attrs[i].name, "_class")) continue;
    if (!value->is_list || value->kind != LEAT_ATTR_STRING) continue;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&g->arena, value->count + 1,
                                                   sizeof(leat_string_view_t), &memory));
    leat_string_view_t* names = memory;
    for (uint32_t k = 0; k < value->count; ++k) {
      names[k] = value->strings[k];
      if (!leat_string_view_starts_with(names[k], LEAT_SV("loc:@"))) continue;
      leat_string_view_t name = leat_string_view_from_index(names[k], sizeof kLocation - 1);
      LEAT_RETURN_IF_ERROR(leat_arena_print(&g->arena, &names[k], "%s%.*s%.*s", kLocation,
                                            LEAT_SV_ARG(g->graft->prefix), LEAT_SV_ARG(name)));
    }
    value->strings = names;
  }
  return leat_ok_status();
}

// Writes the data inputs of the copy to |inputs| and its control inputs to |controls|, and returns
// the number of the latter. |controls| has room for one more than |node| has, because a node that
// follows no copy gets the graft's |control|.
static int copy_edges(const grafter_t* g, const leat_node_t* node, leat_output_t* inputs,
                      int32_t* controls) {
  int control_count = 0;
  bool follows = false;
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    leat_output_t source = leat_graft_output(g->graft, g->nodes, node->inputs[i]);
    follows |= g->nodes[node->inputs[i].node] >= 0;
    if (i < node->input_count) {
      inputs[i] = source.node < 0 ? LEAT_OUTPUT_NONE : source;
    } else {
      controls[control_count++] = source.node;
    }
  }
  LEAT_DCHECK(control_count <= node->control_count);
  if (!follows && g->graft->control >= 0) controls[control_count++] = g->graft->control;
  return control_count;
}

// Copies one node. Its op is looked up again by name, since the target graph may not know it.
static leat_status_t add_node(grafter_t* g, int32_t index) {
  const leat_node_t* node = &g->graft->from->nodes[index];
  leat_node_spec_t spec = {.device = node->device,
                           .input_count = node->input_count,
                           .attr_count = node->attr_count};
  size_t edges = (size_t)(node->input_count + node->control_count) + 1;
  void *inputs, *controls;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(&g->arena, edges, sizeof(leat_output_t), &inputs));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&g->arena, edges, sizeof(int32_t), &controls));
  LEAT_RETURN_IF_ERROR(copy_attrs(g, node, &spec.attrs));
  LEAT_RETURN_IF_ERROR(leat_graph_find_op(g->graph, node->op->name, &spec.op));
  LEAT_RETURN_IF_ERROR(leat_arena_print(&g->arena, &spec.name, "%.*s%.*s",
                                        LEAT_SV_ARG(g->graft->prefix), LEAT_SV_ARG(node->name)));
  spec.inputs = inputs;
  spec.control_inputs = controls;
  spec.control_count = copy_edges(g, node, inputs, controls);
  return leat_graph_add_node(g->graph, &spec, &g->nodes[index]);
}

// Sets the inputs that were open when their nodes were added.
static leat_status_t close_loops(grafter_t* g) {
  const leat_graph_t* from = g->graft->from;
  for (size_t i = 0; i < from->node_count; ++i) {
    const leat_node_t* node = &from->nodes[i];
    for (int k = 0; g->nodes[i] >= 0 && k < node->input_count; ++k) {
      if (leat_output_exists(g->graph->nodes[g->nodes[i]].inputs[k])) continue;
      leat_output_t source = leat_graft_output(g->graft, g->nodes, node->inputs[k]);
      LEAT_RETURN_IF_ERROR(leat_graph_set_input(g->graph, g->nodes[i], k, source));
    }
  }
  return leat_ok_status();
}

static leat_status_t add(grafter_t* g) {
  size_t count = g->graft->from->node_count;
  void* order;
  LEAT_RETURN_IF_ERROR(leat_graph_copy_functions(g->graph, g->graft->from));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(&g->arena, count + 1, sizeof(int32_t), &order));
  LEAT_RETURN_IF_ERROR(leat_graph_sort(g->graft->from, order));
  for (size_t i = 0; i < count; ++i) g->nodes[i] = -1;
  for (size_t i = 0; i < count; ++i) {
    int32_t index = ((const int32_t*)order)[i];
    if (find_input(g->graft, index) < 0) LEAT_RETURN_IF_ERROR(add_node(g, index));
  }
  return close_loops(g);
}

leat_status_t leat_graft_add(leat_graph_t* graph, const leat_graft_t* graft, int32_t* out_nodes) {
  grafter_t g = {.graph = graph, .graft = graft, .nodes = out_nodes};
  leat_arena_initialize(graph->allocator, 4096, &g.arena);
  leat_status_t status = add(&g);
  leat_arena_deinitialize(&g.arena);
  return status;
}
