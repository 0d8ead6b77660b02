// Loops of section 4.4, built in three calls with the client's nodes between them. For each loop
// variable (the names are TensorFlow's):
//
//   input ─▶ Enter ─▶ Merge ─▶ Switch ─▶ Exit ─▶ exit
//                       ▲  └▶ condition ─▶ LoopCond
//                       └──── NextIteration ◀── body ◀── Identity ◀── (Switch:1)
//
// leat_control_while_begin adds Enters and Merges, leat_control_while_body LoopCond, Switches and
// Identities, leat_control_while_end NextIterations and Exits. Until then the Enter stands for the
// second input of the Merge, so that the graph is well formed at any time, and a loop that is
// abandoned is only a loop that nobody reads.
//
// A bound on the iterations is a variable more, in front of the client's: it counts from 0, and the
// condition is the client's and that it is below the bound. These nodes too are TensorFlow's.
#include "graph/control_flow/construct.h"

static const char kBegin[] = "Beginning a loop", kBody[] = "Ending a loop's condition",
                  kEnd[] = "Ending a loop";

// Adds a node of the construct by the rules of the current context.
static leat_status_t build(leat_control_context_t* loop, const char* op, const char* name,
                           leat_outputs_t inputs, int32_t colocate_with, leat_output_t* out) {
  leat_control_node_t request = {.op = op,
                                 .name = name,
                                 .scope = loop->scope,
                                 .device = loop->device,
                                 .inputs = inputs,
                                 .colocate_with = colocate_with};
  out->index = 0;
  return leat_control_build(loop->flow, &request, &out->node);
}

// The form of an op for values like |value|: that for references, where it is one.
static const char* form(const leat_control_context_t* loop, leat_output_t value, const char* plain,
                        const char* reference) {
  return leat_dtype_is_ref(leat_graph_output_type(loop->flow->graph, value)) ? reference : plain;
}

// Adds a Const of one number by the rules of the current context.
static leat_status_t build_scalar(leat_control_context_t* loop, const char* name, int dtype,
                                  int value, leat_output_t* out) {
  const int64_t wide = value;
  const int32_t narrow = value;
  leat_tensor_t tensor;
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(
      dtype, dtype == LEAT_DTYPE_INT64 ? (const void*)&wide : &narrow, &tensor));
  leat_control_node_t request = {
      .op = "Const",
      .name = name,
      .scope = loop->scope,
      .device = loop->device,
      .attrs = LEAT_ATTRS(LEAT_TENSOR("value", &tensor), LEAT_TYPE("dtype", dtype)),
      .colocate_with = -1};
  out->index = 0;
  leat_status_t status = leat_control_build(loop->flow, &request, &out->node);
  leat_tensor_release(&tensor);
  return status;
}

// Whether each value of |shape| is one of |bound|: it knows all that |bound| knows.
static bool is_within(leat_partial_shape_t shape, leat_partial_shape_t bound) {
  if (bound.rank < 0) return true;
  if (shape.rank != bound.rank) return false;
  for (int i = 0; i < bound.rank; ++i) {
    if (bound.dims[i] != LEAT_DIM_UNKNOWN && bound.dims[i] != shape.dims[i]) return false;
  }
  return true;
}

// ---- The beginning ------------------------------------------------------------------------------

// A name that no frame of the graph has.
static leat_status_t name_frame(leat_control_context_t* loop) {
  leat_control_flow_t* flow = loop->flow;
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_arena_print(&flow->arena, &name, "%.*swhile_context",
                                        LEAT_SV_ARG(loop->scope)));
  loop->frame = name;
  for (int i = 1; leat_string_map_get(&flow->frames, loop->frame, NULL); ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(&flow->arena, &loop->frame, "%.*s_%d", LEAT_SV_ARG(name), i));
  }
  return leat_string_map_set(&flow->frames, loop->frame, (uintptr_t)loop);
}

// Keeps those of the nodes after which the loop shall begin that its Enters can wait for.
static leat_status_t keep_after(leat_control_context_t* loop,
                                const leat_control_options_t* options) {
  int32_t* kept = NULL;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&loop->flow->arena, (size_t)options->after_count + 1, &kept));
  for (int i = 0; i < options->after_count; ++i) {
    if (!leat_control_is_around(loop, options->after[i])) continue;
    kept[loop->after_count++] = options->after[i];
  }
  loop->after = kept;
  return leat_ok_status();
}

static int32_t pivot_around(const leat_control_context_t* loop) {
  const leat_control_context_t* c = loop->outer;
  while (c && c->pivot < 0) c = c->outer;
  return c ? c->pivot : -1;
}

// The counter's first value. It is added outside the loop.
static leat_status_t start_counter(leat_control_context_t* loop, leat_output_t maximum,
                                   leat_output_t* out_start) {
  leat_graph_t* graph = loop->flow->graph;
  int dtype = leat_dtype_base(leat_graph_output_type(graph, maximum));
  const leat_node_t* node = leat_graph_node(graph, maximum.node);
  if (dtype != LEAT_DTYPE_INT32 && dtype != LEAT_DTYPE_INT64) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s failed for node '%.*s' (%.*s): maximum_iterations is %s, must be "
                            "int32 or int64",
                            kBegin, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            leat_dtype_name(dtype));
  }
  leat_partial_shape_t shape = leat_graph_output_shape(graph, maximum);
  if (shape.rank > 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s failed for node '%.*s' (%.*s): shape of maximum_iterations is %s, "
                            "must be a scalar",
                            kBegin, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            LEAT_PARTIAL_SHAPE_TEXT(shape));
  }
  return build_scalar(loop, "iteration_counter", dtype, 0, out_start);
}

// Checks a shape invariant against the first value and gives the Enter its shape.
static leat_status_t shape_variable(leat_control_context_t* loop, leat_control_variable_t* v,
                                    leat_output_t start, const leat_partial_shape_t* invariant) {
  leat_graph_t* graph = loop->flow->graph;
  leat_partial_shape_t shape = leat_graph_output_shape(graph, start);
  if (invariant && !is_within(shape, *invariant)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The shape invariant specified for %.*s:%d is not compatible with the "
                            "initial shape of the loop variable. It enters the loop with shape "
                            "%s, but the specified shape invariant is %s.",
                            LEAT_SV_ARG(graph->nodes[v->input.node].name), v->input.index,
                            LEAT_PARTIAL_SHAPE_TEXT(shape), LEAT_PARTIAL_SHAPE_TEXT(*invariant));
  }
  return leat_graph_refine_shape(graph, v->enter, invariant ? *invariant : shape);
}

// Lets the first values in: first each is brought to where the loop stands, and then all enter. One
// that is a constant of the loop around waits for that loop's pivot, so that this loop begins once
// for each of its iterations.
static leat_status_t enter(leat_control_context_t* loop, const leat_control_options_t* options) {
  leat_graph_t* graph = loop->flow->graph;
  leat_output_t* starts = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&loop->flow->arena, (size_t)loop->variable_count, &starts));
  const leat_op_t* op = NULL;
  const leat_control_reader_t reader = {.scope = loop->scope,
                                        .device = loop->device,
                                        .controls = options->after,
                                        .control_count = options->after_count};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, LEAT_SV("Merge"), &op));
  for (int i = 0; i < loop->variable_count; ++i) {
    leat_output_t input = loop->variables[i].input;
    LEAT_RETURN_IF_ERROR(
        leat_control_check_input(loop->flow, loop->outer, input, op, loop->scope));
    LEAT_RETURN_IF_ERROR(leat_control_bring(loop->outer, input, &reader, &starts[i]));
  }
  for (int i = 0; i < loop->variable_count; ++i) {
    leat_control_variable_t* v = &loop->variables[i];
    const leat_node_t* from = leat_graph_node(graph, starts[i].node);
    bool is_constant = (from->op->flags & LEAT_OP_ENTER) &&
                       leat_node_attr_bool(from, "is_constant", false);
    LEAT_RETURN_IF_ERROR(leat_control_enter_value(
        loop, starts[i], false, is_constant ? pivot_around(loop) : -1, &reader, &v->enter));
    int client = i - loop->counts;
    LEAT_RETURN_IF_ERROR(shape_variable(
        loop, v, starts[i], options->shapes && client >= 0 ? &options->shapes[client] : NULL));
  }
  return leat_ok_status();
}

// The Merges, which are added in the loop's own context, and with a bound the test of the counter.
static leat_status_t merge(leat_control_context_t* loop, leat_output_t maximum) {
  for (int i = 0; i < loop->variable_count; ++i) {
    leat_control_variable_t* v = &loop->variables[i];
    LEAT_RETURN_IF_ERROR(build(loop, form(loop, v->enter, "Merge", "RefMerge"), "Merge",
                               LEAT_INPUTS(v->enter, v->enter), -1, &v->merge));
    if (i == 0) loop->pivot = v->merge.node;
  }
  if (!loop->counts) return leat_ok_status();
  return build(loop, "Less", NULL, LEAT_INPUTS(loop->variables[0].merge, maximum), -1,
               &loop->within);
}

static leat_status_t begin(leat_control_context_t* loop, const leat_control_options_t* options,
                           const leat_output_t* inputs, int count) {
  loop->is_loop = true;
  loop->counts = leat_output_exists(options->maximum);
  loop->parallel_iterations = options->parallel_iterations;
  loop->variable_count = count + loop->counts;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&loop->flow->arena, (size_t)loop->variable_count, &loop->variables));
  for (int i = 0; i < count; ++i) loop->variables[i + loop->counts].input = inputs[i];
  if (loop->counts) {
    LEAT_RETURN_IF_ERROR(start_counter(loop, options->maximum, &loop->variables[0].input));
  }
  LEAT_RETURN_IF_ERROR(name_frame(loop));
  LEAT_RETURN_IF_ERROR(keep_after(loop, options));
  // From here on the loop is around what is added.
  loop->loop = loop;
  LEAT_RETURN_IF_ERROR(enter(loop, options));
  LEAT_RETURN_IF_ERROR(leat_control_open(loop, LEAT_CONTROL_CONDITION));
  return merge(loop, options->maximum);
}

leat_status_t leat_control_while_begin(leat_control_flow_t* flow,
                                       const leat_control_options_t* options,
                                       const leat_output_t* inputs, int count,
                                       leat_output_t* out_variables,
                                       leat_control_context_t** out_context) {
  leat_control_context_t* loop = NULL;
  leat_control_change_t change;
  if (count < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "%s failed: variable count is %d, must be >= 1",
                            kBegin, count);
  }
  LEAT_RETURN_IF_ERROR(leat_control_change_begin(flow, &change));
  leat_status_t status = leat_control_create(flow, options, &loop);
  if (!status) status = begin(loop, options, inputs, count);
  if (status) {
    leat_control_flow_abandon(loop);
    return leat_control_change_end(flow, &change, status);
  }
  for (int i = 0; i < count; ++i) out_variables[i] = loop->variables[i + loop->counts].merge;
  *out_context = loop;
  return leat_ok_status();
}

// ---- The condition ------------------------------------------------------------------------------

static leat_status_t check_condition(const leat_control_context_t* loop, leat_output_t condition) {
  const leat_node_t* node = leat_graph_node(loop->flow->graph, condition.node);
  int dtype = leat_dtype_base(node->output_types[condition.index]);
  leat_partial_shape_t shape = node->output_shapes[condition.index];
  if (dtype == LEAT_DTYPE_BOOL && shape.rank <= 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%s failed for node '%.*s' (%.*s): condition is %s of shape %s, must be "
                          "a scalar bool",
                          kBody, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                          leat_dtype_name(dtype), LEAT_PARTIAL_SHAPE_TEXT(shape));
}

// The counter's next value.
static leat_status_t count(leat_control_context_t* loop) {
  leat_control_variable_t* v = &loop->variables[0];
  leat_output_t one;
  int dtype = leat_dtype_base(leat_graph_output_type(loop->flow->graph, v->body));
  LEAT_RETURN_IF_ERROR(build_scalar(loop, "add/y", dtype, 1, &one));
  return build(loop, "AddV2", "add", LEAT_INPUTS(v->body, one), -1, &loop->within);
}

static leat_status_t begin_body(leat_control_context_t* loop, leat_output_t condition) {
  LEAT_RETURN_IF_ERROR(check_condition(loop, condition));
  if (loop->counts) {
    LEAT_RETURN_IF_ERROR(build(loop, "LogicalAnd", NULL, LEAT_INPUTS(loop->within, condition), -1,
                               &condition));
  }
  LEAT_RETURN_IF_ERROR(
      build(loop, "LoopCond", NULL, LEAT_INPUTS(condition), -1, &loop->predicate));
  for (int i = 0; i < loop->variable_count; ++i) {
    leat_control_variable_t* v = &loop->variables[i];
    LEAT_RETURN_IF_ERROR(build(loop, form(loop, v->merge, "Switch", "RefSwitch"), "Switch",
                               LEAT_INPUTS(v->merge, loop->predicate), v->merge.node,
                               &v->parted));
  }
  for (int i = 0; i < loop->variable_count; ++i) {
    leat_control_variable_t* v = &loop->variables[i];
    leat_output_t goes_on = {v->parted.node, 1};
    LEAT_RETURN_IF_ERROR(build(loop, form(loop, goes_on, "Identity", "RefIdentity"), NULL,
                               LEAT_INPUTS(goes_on), -1, &v->body));
  }
  loop->pivot = loop->variables[0].body.node;
  return loop->counts ? count(loop) : leat_ok_status();
}

leat_status_t leat_control_while_body(leat_control_context_t* loop, leat_output_t condition,
                                      leat_output_t* out_variables) {
  LEAT_RETURN_IF_ERROR(leat_control_check_stage(loop, LEAT_CONTROL_CONDITION, kBody));
  leat_control_change_t change;
  LEAT_RETURN_IF_ERROR(leat_control_change_begin(loop->flow, &change));
  const int32_t pivot = loop->pivot;
  const leat_output_t within = loop->within;
  leat_status_t status = begin_body(loop, condition);
  if (status) {
    loop->pivot = pivot;
    loop->within = within;
    return leat_control_change_end(loop->flow, &change, status);
  }
  loop->stage = LEAT_CONTROL_OPEN;
  for (int i = loop->counts; i < loop->variable_count; ++i) {
    out_variables[i - loop->counts] = loop->variables[i].body;
  }
  return leat_ok_status();
}

// ---- The end ------------------------------------------------------------------------------------

// The result must be what the variable is: of its type, and of a shape that is not vaguer.
static leat_status_t check_result(const leat_control_context_t* loop,
                                  const leat_control_variable_t* v, leat_output_t result) {
  const leat_graph_t* graph = loop->flow->graph;
  const leat_node_t *input = leat_graph_node(graph, v->input.node),
                    *node = leat_graph_node(graph, result.node);
  int wanted = leat_graph_output_type(graph, v->merge);
  int dtype = leat_graph_output_type(graph, result);
  if (dtype != wanted && dtype != wanted + LEAT_DTYPE_REF_OFFSET) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s failed for node '%.*s' (%.*s): result is %s, must be %s as loop "
                            "variable '%.*s:%d'",
                            kEnd, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            leat_dtype_name(dtype), leat_dtype_name(wanted),
                            LEAT_SV_ARG(input->name), v->input.index);
  }
  leat_partial_shape_t shape = leat_graph_output_shape(graph, result);
  if (is_within(shape, leat_graph_output_shape(graph, v->merge))) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Input tensor '%.*s:%d' enters the loop with shape %s, but has shape %s "
                          "after one iteration (result '%.*s:%d'). To allow the shape to vary "
                          "across iterations, use shape invariants to specify a less-specific "
                          "shape.",
                          LEAT_SV_ARG(input->name), v->input.index,
                          LEAT_PARTIAL_SHAPE_TEXT(leat_graph_output_shape(graph, v->merge)),
                          LEAT_PARTIAL_SHAPE_TEXT(shape), LEAT_SV_ARG(node->name), result.index);
}

static leat_output_t result_of(const leat_control_context_t* loop, const leat_output_t* results,
                               int variable) {
  if (!loop->counts) return results[variable];
  return variable == 0 ? loop->within : results[variable - 1];
}

// Adds the last nodes. The edges back into the Merges come when nothing can fail any more.
static leat_status_t finish(leat_control_context_t* loop, const leat_output_t* results,
                            leat_output_t* nexts, leat_output_t* exits) {
  for (int i = 0; i < loop->variable_count; ++i) {
    LEAT_RETURN_IF_ERROR(check_result(loop, &loop->variables[i], result_of(loop, results, i)));
  }
  for (int i = 0; i < loop->variable_count; ++i) {
    leat_output_t result = result_of(loop, results, i);
    bool is_ref = leat_dtype_is_ref(leat_graph_output_type(loop->flow->graph,
                                                           loop->variables[i].merge));
    LEAT_RETURN_IF_ERROR(build(loop, is_ref ? "RefNextIteration" : "NextIteration", NULL,
                               LEAT_INPUTS(result), -1, &nexts[i]));
  }
  for (int i = 0; i < loop->variable_count; ++i) {
    leat_output_t last = {loop->variables[i].parted.node, 0};
    LEAT_RETURN_IF_ERROR(
        build(loop, form(loop, last, "Exit", "RefExit"), NULL, LEAT_INPUTS(last), -1, &exits[i]));
  }
  for (int i = 0; i < loop->variable_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_graph_set_input(loop->flow->graph, loop->variables[i].merge.node, 1,
                                              nexts[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_control_while_end(leat_control_context_t* loop, const leat_output_t* results,
                                     int count, leat_output_t* out_exits) {
  LEAT_RETURN_IF_ERROR(leat_control_check_stage(loop, LEAT_CONTROL_OPEN, kEnd));
  int wanted = loop->variable_count - loop->counts;
  if (!loop->is_loop || count != wanted) {
    return leat_make_status(loop->is_loop ? LEAT_INVALID_ARGUMENT : LEAT_FAILED_PRECONDITION,
                            "%s failed for context '%.*s': result count is %d, must be %d as there "
                            "are loop variables",
                            kEnd, LEAT_SV_ARG(loop->scope), count, wanted);
  }
  leat_control_flow_t* flow = loop->flow;
  leat_output_t* ends = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&flow->arena, 2 * (size_t)loop->variable_count, &ends));
  leat_output_t* exits = ends + loop->variable_count;
  leat_control_change_t change;
  LEAT_RETURN_IF_ERROR(leat_control_change_begin(flow, &change));
  leat_status_t status = finish(loop, results, ends, exits);
  if (status) return leat_control_change_end(flow, &change, status);
  leat_control_close(loop);
  for (int i = 0; i < count; ++i) out_exits[i] = exits[i + loop->counts];
  return leat_ok_status();
}
