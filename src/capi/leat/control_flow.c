// Conditionals and loops (leat/control_flow.h): the C API's door to graph/control_flow/. A context
// of the API is one of the contexts there under another name. What it belongs to, the record of the
// graph's contexts, points back to the TF_Graph, so that a context alone leads to the lock. The
// record is made with the first loop or conditional; TF_FinishOperation asks for it with each node.
//
// Each function resolves its arguments, changes the graph under its lock and gives handles back. A
// change that fails is undone in graph/control_flow/. The one thing that can fail after it is a
// handle for which there is no memory: the construct is then further than the caller was told, and
// leat_flow_abandon is what is left.
#include "leat/control_flow.h"

#include "capi/handles.h"

static leat_control_context_t* context_of(leat_flow_context_t* context) {
  return (leat_control_context_t*)context;
}

static leat_flow_context_t* handle_of(leat_control_context_t* context) {
  return (leat_flow_context_t*)context;
}

static TF_Graph* graph_of(leat_flow_context_t* context) {
  return context ? context_of(context)->flow->owner : NULL;
}

static leat_status_t missing(const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Building control flow failed: %s is NULL", what);
}

// Begins a call: takes the graph's lock and makes an arena for the call. false where there is no
// graph; |status| says so then.
static bool enter(TF_Graph* graph, const char* what, TF_Status* status, leat_arena_t* out_arena) {
  if (!graph) {
    leat_capi_status_set(status, missing(what));
    return false;
  }
  leat_arena_initialize(leat_allocator_system(), 1024, out_arena);
  leat_capi_lock(graph);
  return true;
}

static void leave(TF_Graph* graph, leat_arena_t* arena, leat_status_t result, TF_Status* status) {
  leat_capi_unlock(graph);
  leat_arena_deinitialize(arena);
  leat_capi_status_set(status, result);
}

// The record of the graph's contexts, made when it is first needed.
static leat_status_t get_flow(TF_Graph* graph, leat_control_flow_t** out_flow) {
  if (!graph->flow) {
    LEAT_RETURN_IF_ERROR(leat_control_flow_create(graph->shared->graph, &graph->flow));
    graph->flow->owner = graph;
  }
  *out_flow = graph->flow;
  return leat_ok_status();
}

// |outputs| as outputs of the graph, in |arena|. An index of LEAT_CONTROL_INDEX stands for an
// operation where |may_be_operations|.
static leat_status_t resolve(TF_Graph* graph, const TF_Output* outputs, int count,
                             bool may_be_operations, const char* what, leat_arena_t* arena,
                             leat_output_t** out_outputs) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)(count > 0 ? count : 0) + 1, out_outputs));
  if (count > 0 && !outputs) return missing("an array of tensors");
  for (int i = 0; i < count; ++i) {
    const TF_Operation* operation = outputs[i].oper;
    if (may_be_operations && outputs[i].index == LEAT_CONTROL_INDEX && operation &&
        operation->graph == graph) {
      (*out_outputs)[i] = (leat_output_t){operation->node, LEAT_CONTROL_INDEX};
      continue;
    }
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, outputs[i], what, &(*out_outputs)[i]));
  }
  return leat_ok_status();
}

static leat_status_t give(TF_Graph* graph, const leat_output_t* outputs, int count,
                          TF_Output* out_outputs) {
  for (int i = 0; i < count; ++i) {
    out_outputs[i] = leat_capi_output(graph, outputs[i]);
    if (!out_outputs[i].oper) {
      return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for operation handles ran out");
    }
  }
  return leat_ok_status();
}

// ---- Options ------------------------------------------------------------------------------------

static leat_status_t take_controls(TF_Graph* graph, const leat_flow_options_t* options,
                                   leat_arena_t* arena, leat_control_options_t* inout_options) {
  int32_t* after = NULL;
  int count = options->control_input_count;
  if (count < 0 || (count > 0 && !options->control_inputs)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Building control flow failed: control input count is %d, must be the "
                            "length of control_inputs",
                            count);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count + 1, &after));
  for (int i = 0; i < count; ++i) {
    const TF_Operation* control = options->control_inputs[i];
    if (!control || control->graph != graph) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Building control flow failed: control input %d is %s, must be in "
                              "the graph",
                              i, control ? "of another graph" : "NULL");
    }
    after[i] = control->node;
  }
  inout_options->after = after;
  inout_options->after_count = count;
  return leat_ok_status();
}

// The shape invariants of |count| variables.
static leat_status_t take_shapes(const leat_flow_options_t* options, int count,
                                 leat_arena_t* arena, leat_control_options_t* inout_options) {
  leat_partial_shape_t* shapes = NULL;
  const int64_t* dims = options->dims;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &shapes));
  for (int i = 0; i < count; ++i) {
    int rank = options->ranks[i];
    if (rank > LEAT_SHAPE_MAX_RANK || (rank > 0 && !dims)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Beginning a loop failed: rank of shape invariant %d is %d%s, must "
                              "be <= %d",
                              i, rank, dims ? "" : " without sizes", LEAT_SHAPE_MAX_RANK);
    }
    for (int d = 0; d < rank; ++d) {
      if (dims[d] >= -1) continue;
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Beginning a loop failed: size %d of shape invariant %d is %lld, "
                              "must be >= -1",
                              d, i, (long long)dims[d]);
    }
    shapes[i] = (leat_partial_shape_t){rank < 0 ? -1 : rank, rank > 0 ? dims : NULL};
    if (rank > 0) dims += rank;
  }
  inout_options->shapes = shapes;
  return leat_ok_status();
}

// The options for a loop of |count| variables, or for a conditional, where |count| is 0.
static leat_status_t take_options(TF_Graph* graph, const char* name,
                                  const leat_flow_options_t* options, int count,
                                  leat_arena_t* arena, leat_control_options_t* out_options) {
  static const leat_flow_options_t kDefaults = {0};
  if (!name || !name[0]) return missing("name");
  if (!options) options = &kDefaults;
  *out_options = (leat_control_options_t){
      .name = leat_string_view_from(name),
      .device = leat_string_view_from(options->device ? options->device : ""),
      .parallel_iterations = options->parallel_iterations ? options->parallel_iterations : 10,
      .maximum = LEAT_OUTPUT_NONE};
  LEAT_RETURN_IF_ERROR(take_controls(graph, options, arena, out_options));
  if (count <= 0) return leat_ok_status();
  if (options->parallel_iterations < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Beginning a loop failed: parallel_iterations is %d, must be >= 0",
                            options->parallel_iterations);
  }
  if (options->maximum_iterations.oper) {
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(graph, options->maximum_iterations,
                                                  "Beginning a loop", &out_options->maximum));
  }
  return options->ranks ? take_shapes(options, count, arena, out_options) : leat_ok_status();
}

// ---- Loops --------------------------------------------------------------------------------------

static leat_status_t while_begin(TF_Graph* graph, const char* name, const TF_Output* inputs,
                                 int count, const leat_flow_options_t* options,
                                 leat_arena_t* arena, TF_Output* out_variables,
                                 leat_control_context_t** out_context) {
  leat_control_flow_t* flow = NULL;
  leat_control_options_t taken;
  leat_output_t *starts = NULL, *variables = NULL;
  LEAT_RETURN_IF_ERROR(leat_capi_check_no_gradient(graph, "Beginning a loop"));
  LEAT_RETURN_IF_ERROR(get_flow(graph, &flow));
  LEAT_RETURN_IF_ERROR(take_options(graph, name, options, count, arena, &taken));
  LEAT_RETURN_IF_ERROR(
      resolve(graph, inputs, count, false, "Beginning a loop", arena, &starts));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)(count > 0 ? count : 0) + 1, &variables));
  LEAT_RETURN_IF_ERROR(
      leat_control_while_begin(flow, &taken, starts, count, variables, out_context));
  return give(graph, variables, count, out_variables);
}

leat_flow_context_t* leat_while_begin(TF_Graph* graph, const char* name, const TF_Output* inputs,
                                      int count, const leat_flow_options_t* options,
                                      TF_Output* out_variables, TF_Status* status) {
  leat_control_context_t* context = NULL;
  leat_arena_t arena;
  if (!enter(graph, "graph", status, &arena)) return NULL;
  leat_status_t result =
      while_begin(graph, name, inputs, count, options, &arena, out_variables, &context);
  if (result) {
    leat_control_flow_abandon(context);
    context = NULL;
  }
  leave(graph, &arena, result, status);
  return handle_of(context);
}

static leat_status_t while_body(leat_control_context_t* loop, TF_Output condition,
                                leat_arena_t* arena, TF_Output* out_variables) {
  TF_Graph* graph = loop->flow->owner;
  leat_output_t decides, *variables = NULL;
  int count = loop->variable_count - loop->counts;
  LEAT_RETURN_IF_ERROR(
      leat_capi_output_resolve(graph, condition, "Ending a loop's condition", &decides));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count + 1, &variables));
  LEAT_RETURN_IF_ERROR(leat_control_while_body(loop, decides, variables));
  return give(graph, variables, count, out_variables);
}

void leat_while_body(leat_flow_context_t* loop, TF_Output condition, TF_Output* out_variables,
                     TF_Status* status) {
  TF_Graph* graph = graph_of(loop);
  leat_arena_t arena;
  if (!enter(graph, "context", status, &arena)) return;
  leat_status_t result = while_body(context_of(loop), condition, &arena, out_variables);
  leave(graph, &arena, result, status);
}

static leat_status_t while_end(leat_control_context_t* loop, const TF_Output* results, int count,
                               leat_arena_t* arena, TF_Output* out_exits) {
  TF_Graph* graph = loop->flow->owner;
  leat_output_t *nexts = NULL, *exits = NULL;
  LEAT_RETURN_IF_ERROR(resolve(graph, results, count, false, "Ending a loop", arena, &nexts));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)(count > 0 ? count : 0) + 1, &exits));
  LEAT_RETURN_IF_ERROR(leat_control_while_end(loop, nexts, count, exits));
  ++graph->edits;  // the edges back into the Merges
  return give(graph, exits, count, out_exits);
}

void leat_while_end(leat_flow_context_t* loop, const TF_Output* results, int count,
                    TF_Output* out_exits, TF_Status* status) {
  TF_Graph* graph = graph_of(loop);
  leat_arena_t arena;
  if (!enter(graph, "context", status, &arena)) return;
  leat_status_t result = while_end(context_of(loop), results, count, &arena, out_exits);
  leave(graph, &arena, result, status);
}

// ---- Conditionals -------------------------------------------------------------------------------

static leat_status_t cond_begin(TF_Graph* graph, const char* name, TF_Output predicate,
                                const leat_flow_options_t* options, leat_arena_t* arena,
                                leat_control_context_t** out_context) {
  leat_control_flow_t* flow = NULL;
  leat_control_options_t taken;
  leat_output_t decides;
  LEAT_RETURN_IF_ERROR(leat_capi_check_no_gradient(graph, "Beginning a conditional"));
  LEAT_RETURN_IF_ERROR(get_flow(graph, &flow));
  LEAT_RETURN_IF_ERROR(take_options(graph, name, options, 0, arena, &taken));
  LEAT_RETURN_IF_ERROR(
      leat_capi_output_resolve(graph, predicate, "Beginning a conditional", &decides));
  return leat_control_cond_begin(flow, &taken, decides, out_context);
}

leat_flow_context_t* leat_cond_begin(TF_Graph* graph, const char* name, TF_Output predicate,
                                     const leat_flow_options_t* options, TF_Status* status) {
  leat_control_context_t* context = NULL;
  leat_arena_t arena;
  if (!enter(graph, "graph", status, &arena)) return NULL;
  leat_status_t result = cond_begin(graph, name, predicate, options, &arena, &context);
  leave(graph, &arena, result, status);
  return handle_of(context);
}

leat_flow_context_t* leat_cond_else(leat_flow_context_t* branch, const TF_Output* results,
                                    int count, TF_Status* status) {
  TF_Graph* graph = graph_of(branch);
  leat_control_context_t* context = context_of(branch);
  leat_output_t* taken = NULL;
  leat_arena_t arena;
  if (!enter(graph, "context", status, &arena)) return NULL;
  leat_status_t result =
      resolve(graph, results, count, true, "Ending a true branch", &arena, &taken);
  if (!result) result = leat_control_cond_else(context, taken, count, &context);
  leave(graph, &arena, result, status);
  return handle_of(context);
}

static leat_status_t cond_end(leat_control_context_t* branch, const TF_Output* results, int count,
                              leat_arena_t* arena, TF_Output* out_merged) {
  TF_Graph* graph = branch->flow->owner;
  leat_output_t *taken = NULL, *merged = NULL;
  LEAT_RETURN_IF_ERROR(
      resolve(graph, results, count, true, "Ending a conditional", arena, &taken));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)(count > 0 ? count : 0) + 1, &merged));
  LEAT_RETURN_IF_ERROR(leat_control_cond_end(branch, taken, count, merged));
  return give(graph, merged, count, out_merged);
}

void leat_cond_end(leat_flow_context_t* branch, const TF_Output* results, int count,
                   TF_Output* out_merged, TF_Status* status) {
  TF_Graph* graph = graph_of(branch);
  leat_arena_t arena;
  if (!enter(graph, "context", status, &arena)) return;
  leat_status_t result = cond_end(context_of(branch), results, count, &arena, out_merged);
  leave(graph, &arena, result, status);
}

// ---- Contexts -----------------------------------------------------------------------------------

void leat_flow_abandon(leat_flow_context_t* context) {
  TF_Graph* graph = graph_of(context);
  if (!graph) return;
  leat_capi_lock(graph);
  leat_control_flow_abandon(context_of(context));
  leat_capi_unlock(graph);
}

void leat_flow_enter(TF_Graph* graph, leat_flow_context_t* context, TF_Status* status) {
  if (!graph || (context && graph_of(context) != graph)) {
    leat_capi_status_set(status, leat_make_status(LEAT_INVALID_ARGUMENT,
                                                  "Entering a context failed: it is %s, must be in "
                                                  "the graph",
                                                  graph ? "of another graph" : "in none"));
    return;
  }
  leat_control_flow_t* flow = NULL;
  leat_capi_lock(graph);
  leat_status_t result = get_flow(graph, &flow);
  if (!result) result = leat_control_flow_enter(flow, context_of(context));
  leat_capi_unlock(graph);
  leat_capi_status_set(status, result);
}

void leat_flow_leave(TF_Graph* graph) {
  if (!graph) return;
  leat_capi_lock(graph);
  if (graph->flow) leat_control_flow_leave(graph->flow);
  leat_capi_unlock(graph);
}

leat_flow_context_t* leat_flow_current(TF_Graph* graph) {
  if (!graph) return NULL;
  leat_capi_lock(graph);
  leat_control_context_t* context = graph->flow ? leat_control_flow_current(graph->flow) : NULL;
  leat_capi_unlock(graph);
  return handle_of(context);
}

leat_flow_context_t* leat_flow_of(const TF_Operation* operation) {
  if (!operation) return NULL;
  TF_Graph* graph = operation->graph;
  leat_control_context_t* context = NULL;
  leat_status_t status = leat_ok_status();
  leat_capi_lock(graph);
  if (graph->flow) status = leat_control_flow_context_of(graph->flow, operation->node, &context);
  leat_capi_unlock(graph);
  leat_status_free(status);
  return handle_of(context);
}
