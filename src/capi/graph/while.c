// While loops built from two graphs, one that decides whether to go on and one that computes the
// next values (TF_NewWhile, TF_FinishWhile). When the loop is finished, both graphs are grafted
// into the parent graph (graph/function/graft.h) as one frame of section 4.4 of the white paper;
// for each loop variable:
//
//   input ─▶ Enter ─▶ Merge ─▶ Switch ─▶ Exit ─▶ output
//                       ▲  └▶ cond ─▶ LoopCond
//                       └──── NextIteration ◀── body
//
// Names and edges are TensorFlow's. In it, nodes of the body that read no other node of the body
// wait for the first Switch; such nodes run once more than the body does, which is harmless for
// values. Where the body has nodes without outputs, which are run for their effects and which
// TensorFlow leaves out, they wait for the first variable inside the body instead, because effects
// must not happen once too often. After a failure the parent graph is as it was before.
#include "capi/handles.h"
#include "graph/builder.h"
#include "graph/function/graft.h"
#include "graph/function/graph_functions.h"

// ---- The two graphs -----------------------------------------------------------------------------

static void free_subgraphs(const TF_WhileParams* params) {
  TF_DeleteGraph(params->cond_graph);
  TF_DeleteGraph(params->body_graph);
  leat_allocator_free(leat_allocator_system(), (void*)params->cond_inputs);
}

// Makes a graph with a placeholder for each loop variable. After a failure the caller deletes
// |*out_subgraph|.
static leat_status_t make_subgraph(TF_Graph* parent, const TF_Output* inputs, int count,
                                   const char* scope, TF_Graph** out_subgraph,
                                   TF_Output* out_inputs) {
  TF_Graph* subgraph = *out_subgraph = TF_NewGraph();
  if (!subgraph)
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a loop's graph ran out");
  leat_capi_graph_retain(parent);
  subgraph->parent = parent;
  subgraph->parent_inputs = inputs;
  leat_graph_t* graph = subgraph->shared->graph;
  LEAT_RETURN_IF_ERROR(leat_capi_graph_reserve(subgraph, 0, (size_t)count));
  for (int i = 0; i < count; ++i) {
    leat_attr_t dtype = LEAT_TYPE("dtype", 0);
    leat_node_spec_t spec = {.attrs = &dtype, .attr_count = 1};
    leat_output_t source, input = LEAT_OUTPUT_NONE;
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(parent, inputs[i], "Beginning a loop", &source));
    dtype.value.type = leat_dtype_base(leat_graph_output_type(parent->shared->graph, source));
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(leat_graph_arena(graph), &spec.name, "%s_input%d", scope, i));
    LEAT_RETURN_IF_ERROR(
        leat_op_registry_find(graph->ops, LEAT_SV("Placeholder"), &spec.op));
    input.index = 0;
    LEAT_RETURN_IF_ERROR(leat_graph_add_node(graph, &spec, &input.node));
    out_inputs[i] = leat_capi_output(subgraph, input);
  }
  return leat_ok_status();
}

static leat_status_t check_start(const TF_Graph* g, const TF_Output* inputs, int count) {
  if (count <= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "TF_NewWhile() must be passed at least one input");
  }
  if (g && inputs) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Beginning a loop failed: %s is NULL",
                          g ? "inputs" : "graph");
}

TF_WhileParams TF_NewWhile(TF_Graph* g, TF_Output* inputs, int ninputs, TF_Status* status) {
  TF_Graph *cond = NULL, *body = NULL;
  void* memory = NULL;
  leat_status_t result = check_start(g, inputs, ninputs);
  if (!result) {
    result = leat_allocator_allocate_array(leat_allocator_system(), (size_t)ninputs,
                                           3 * sizeof(TF_Output), &memory);
  }
  // inputs of the condition, inputs of the body, outputs of the body: one block
  TF_Output* ends = memory;
  if (!result) {
    leat_capi_lock(g);
    result = make_subgraph(g, inputs, ninputs, "cond", &cond, ends);
    if (!result) result = make_subgraph(g, inputs, ninputs, "body", &body, ends + ninputs);
    leat_capi_unlock(g);
  }
  if (result) {
    TF_DeleteGraph(cond);
    TF_DeleteGraph(body);
    leat_allocator_free(leat_allocator_system(), memory);
    leat_capi_status_set(status, result);
    return (TF_WhileParams){0};
  }
  for (int i = 0; i < ninputs; ++i) ends[2 * ninputs + i] = (TF_Output){NULL, -1};
  leat_capi_status_set(status, leat_ok_status());
  return (TF_WhileParams){.ninputs = ninputs,
                          .cond_graph = cond,
                          .cond_inputs = ends,
                          .cond_output = {NULL, -1},
                          .body_graph = body,
                          .body_inputs = ends + ninputs,
                          .body_outputs = ends + 2 * ninputs};
}

void TF_AbortWhile(const TF_WhileParams* params) { free_subgraphs(params); }

// ---- The loop -----------------------------------------------------------------------------------

typedef struct loop_s {
  const TF_WhileParams* params;
  TF_Graph* parent;
  leat_builder_t b;
  leat_arena_t arena;
  int count;
  leat_output_t* merges;
  leat_output_t* exits;
  leat_output_t* bodies;  // the loop variables inside the body
  leat_output_t* nexts;
} loop_t;

// Translates an output of one of the two graphs into the parent. INVALID_ARGUMENT where it is not
// one of them.
static leat_status_t map_output(const loop_t* loop, const TF_Graph* subgraph,
                                const leat_graft_t* graft, const int32_t* nodes, TF_Output output,
                                leat_output_t* out_output) {
  if (output.oper->graph != subgraph) {
    leat_string_view_t name = LEAT_SV("");
    if (output.oper->graph == loop->parent) name = leat_capi_node(output.oper)->name;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Requested return tensor '%.*s:%d' not found in graph def",
                            LEAT_SV_ARG(name), output.index);
  }
  const leat_node_t* node = leat_capi_node(output.oper);
  if (output.index < 0 || output.index >= node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Invalid return output %d of node '%.*s', which has %d output(s)",
                            output.index, LEAT_SV_ARG(node->name), node->output_count);
  }
  *out_output =
      leat_graft_output(graft, nodes, (leat_output_t){output.oper->node, output.index});
  return leat_ok_status();
}

// Grafts one of the two graphs, whose placeholders become |values|, and finds its outputs in the
// parent. Nodes that wait for no grafted node wait for |control|.
static leat_status_t graft_subgraph(loop_t* loop, TF_Graph* subgraph, const TF_Output* inputs,
                                    const leat_output_t* values, int32_t control, const char* scope,
                                    const TF_Output* outputs, int output_count,
                                    leat_output_t* out_outputs) {
  const leat_graph_t* from = subgraph->shared->graph;
  void *memory, *nodes;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&loop->arena, (size_t)loop->count,
                                                 sizeof(leat_output_t), &memory));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(&loop->arena, from->node_count, sizeof(int32_t), &nodes));
  leat_output_t* placeholders = memory;
  for (int i = 0; i < loop->count; ++i) {
    placeholders[i] = (leat_output_t){inputs[i].oper->node, 0};
  }
  leat_graft_t graft = {.from = from,
                        .inputs = placeholders,
                        .replacements = values,
                        .input_count = loop->count,
                        .control = control};
  LEAT_RETURN_IF_ERROR(leat_arena_print(&loop->arena, &graft.prefix, "%s/%s/", loop->params->name,
                                        scope));
  leat_capi_lock(subgraph);
  leat_status_t status = leat_graft_add(loop->b.graph, &graft, nodes);
  for (int i = 0; !status && i < output_count; ++i) {
    status = map_output(loop, subgraph, &graft, nodes, outputs[i], &out_outputs[i]);
  }
  leat_capi_unlock(subgraph);
  return status;
}

// Adds an Enter and then a Merge for each variable; the Merges get their second inputs last.
static leat_status_t enter(loop_t* loop) {
  leat_builder_t* b = &loop->b;
  for (int i = 0; i < loop->count; ++i) {
    leat_output_t start;
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(
        loop->parent, loop->params->cond_graph->parent_inputs[i], "Entering a loop", &start));
    loop->merges[i] =
        leat_build(b, "Enter", LEAT_INPUTS(start),
                   LEAT_ATTRS(LEAT_STRING("frame_name",
                                          leat_string_view_from(loop->params->name))));
  }
  for (int i = 0; i < loop->count; ++i) {
    loop->merges[i] = leat_build_binary(b, "Merge", loop->merges[i], LEAT_OUTPUT_NONE);
  }
  return b->status;
}

// Grafts the condition, which must be a boolean.
static leat_status_t decide(loop_t* loop, leat_output_t* out_goes_on) {
  const TF_WhileParams* p = loop->params;
  leat_output_t condition;
  LEAT_RETURN_IF_ERROR(graft_subgraph(loop, p->cond_graph, p->cond_inputs, loop->merges,
                                      loop->merges[0].node, "cond", &p->cond_output, 1,
                                      &condition));
  int dtype = leat_dtype_base(leat_graph_output_type(loop->b.graph, condition));
  if (dtype != LEAT_DTYPE_BOOL) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "BuildWhileLoop: 'cond' argument must return a boolean output, got %s",
                            leat_dtype_name(dtype));
  }
  *out_goes_on = leat_build_unary(&loop->b, "LoopCond", condition);
  return loop->b.status;
}

// Whether the graph has operations without outputs, which are run for their effects.
static bool has_effects(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].output_count == 0) return true;
  }
  return false;
}

// Builds the frame: Enters and Merges, the condition, Switches, the body, the edges back into the
// Merges, and Exits. |pivot| is the node that body nodes without inputs wait for.
static leat_status_t build_loop(loop_t* loop) {
  const TF_WhileParams* p = loop->params;
  leat_builder_t* b = &loop->b;
  leat_output_t goes_on = LEAT_OUTPUT_NONE;
  LEAT_RETURN_IF_ERROR(enter(loop));
  LEAT_RETURN_IF_ERROR(decide(loop, &goes_on));
  for (int i = 0; i < loop->count; ++i) {
    loop->exits[i] = leat_build_binary(b, "Switch", loop->merges[i], goes_on);
    loop->bodies[i] = (leat_output_t){loop->exits[i].node, 1};
  }
  LEAT_RETURN_IF_ERROR(b->status);
  int32_t pivot = loop->bodies[0].node;
  if (has_effects(p->body_graph->shared->graph)) {
    pivot = leat_build_unary(b, "Identity", loop->bodies[0]).node;
    LEAT_RETURN_IF_ERROR(b->status);
  }
  LEAT_RETURN_IF_ERROR(graft_subgraph(loop, p->body_graph, p->body_inputs, loop->bodies, pivot,
                                      "body", p->body_outputs, loop->count, loop->nexts));
  for (int i = 0; i < loop->count; ++i) {
    leat_output_t next = leat_build_unary(b, "NextIteration", loop->nexts[i]);
    LEAT_RETURN_IF_ERROR(b->status);
    LEAT_RETURN_IF_ERROR(leat_graph_set_input(b->graph, loop->merges[i].node, 1, next));
  }
  for (int i = 0; i < loop->count; ++i) {
    loop->exits[i] = leat_build_unary(b, "Exit", loop->exits[i]);
  }
  return b->status;
}

// Takes memory for the nodes of each variable, and refuses a name that is taken.
static leat_status_t prepare(loop_t* loop) {
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&loop->arena, (size_t)loop->count,
                                                 4 * sizeof(leat_output_t), &memory));
  loop->merges = memory;
  loop->exits = loop->merges + loop->count;
  loop->bodies = loop->exits + loop->count;
  loop->nexts = loop->bodies + loop->count;
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&loop->arena, &loop->b.scope, "%s/", loop->params->name));
  // The name of the first Enter tells whether the loop's name is taken: the graph builder would
  // silently choose another.
  leat_string_view_t first;
  LEAT_RETURN_IF_ERROR(leat_arena_print(&loop->arena, &first, "%sEnter", loop->b.scope.data));
  if (leat_graph_find_node(loop->b.graph, first) < 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Finishing a loop failed: Duplicate node name in graph: '%.*s'",
                          LEAT_SV_ARG(first));
}

// Builds the loop, or takes back all that it has added.
static leat_status_t finish(loop_t* loop, TF_Output* outputs) {
  leat_graph_t* graph = loop->b.graph;
  leat_graph_mark_t before = leat_graph_mark(graph);
  leat_status_t status = prepare(loop);
  if (!status) status = build_loop(loop);
  if (!status) {
    status = leat_capi_graph_reserve(loop->parent, before.node_count,
                                     graph->node_count - before.node_count);
  }
  for (int i = 0; !status && i < loop->count; ++i) {
    outputs[i] = leat_capi_output(loop->parent, loop->exits[i]);
  }
  if (status) leat_graph_return_to(graph, &before);
  return status;
}

static leat_status_t check_set(const TF_WhileParams* params) {
  if (!params->cond_output.oper) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "TF_WhileParams `cond_output` field isn't set");
  }
  for (int i = 0; i < params->ninputs; ++i) {
    if (params->body_outputs[i].oper) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "TF_WhileParams `body_outputs[%d]` field isn't set", i);
  }
  if (params->name) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "TF_WhileParams `name` field is null");
}

static bool is_begun(const TF_WhileParams* p) {
  return p->cond_graph && p->body_graph && p->cond_graph->parent &&
         p->cond_graph->parent == p->body_graph->parent &&
         p->cond_graph->parent_inputs == p->body_graph->parent_inputs && p->ninputs > 0 &&
         p->cond_inputs && p->body_inputs && p->body_outputs;
}

void TF_FinishWhile(const TF_WhileParams* params, TF_Status* status, TF_Output* outputs) {
  if (!is_begun(params)) {  // such parameters are not ours to free
    leat_capi_status_set(
        status, leat_make_status(LEAT_INVALID_ARGUMENT,
                                 "TF_WhileParams must be created by successful TF_NewWhile() "
                                 "call"));
    return;
  }
  leat_status_t result = check_set(params);
  if (!result) {
    loop_t loop = {
        .params = params, .parent = params->cond_graph->parent, .count = params->ninputs};
    leat_arena_initialize(leat_allocator_system(), 4096, &loop.arena);
    loop.b.graph = leat_capi_lock(loop.parent);
    result = finish(&loop, outputs);
    leat_capi_unlock(loop.parent);
    leat_arena_deinitialize(&loop.arena);
  }
  free_subgraphs(params);
  leat_capi_status_set(status, result);
}

// ---- Adding inputs to While operations ----------------------------------------------------------

static leat_status_t add_input(TF_Graph* graph, TF_Output new_src, const TF_Operation* dst) {
  leat_output_t source;
  LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, new_src, "Adding an input", &source));
  const leat_node_t* node = dst && dst->graph == graph ? leat_capi_node(dst) : NULL;
  if (!node || !(leat_string_view_equals(node->op->name, "While") ||
                 leat_string_view_equals(node->op->name, "StatelessWhile"))) {
    return leat_make_status(LEAT_INTERNAL,
                            "dst argument to AddWhileEdgeHack should be a While op of the graph");
  }
  ++graph->edits;
  return leat_graph_add_input(graph->shared->graph, dst->node, source);
}

void TF_AddWhileInputHack(TF_Graph* graph, TF_Output new_src, TF_Operation* dst,
                          TF_Status* status) {
  leat_capi_lock(graph);
  leat_capi_status_set(status, add_input(graph, new_src, dst));
  leat_capi_unlock(graph);
}
