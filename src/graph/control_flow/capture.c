// Adding nodes to contexts, by the rules of TensorFlow 1's CondContext and WhileContext, so that a
// graph is the same here and there, node by node and name by name:
//
// - An input from outside is replaced by what stands for it in the context. On its way it passes
//   every context between: an Enter with is_constant for each loop, a Switch for each branch. Each
//   context remembers what it has captured.
// - In a loop, control inputs from outside the loop go, because no control edge can cross a frame.
//   Output 0 of such a node is captured instead, and an Identity of it is waited for.
// - A node that nothing else would tie to the context's runs waits for the context's pivot: one
//   without inputs, in a loop one that reads only loop constants, and calls of functions, whose
//   bodies may hold nodes without inputs.
//
// The nodes that capture are named under the node that needs them first ("while/add/Enter"). They
// stand before it, while TensorFlow adds them after it; readers are found by name, so that nobody
// sees the order. An addition that fails takes back what it captured.
#include "graph/control_flow/construct.h"

#include <string.h>

static uint64_t key_of(leat_output_t value) {
  LEAT_DCHECK(leat_output_exists(value) && value.index >= 0);
  return (uint64_t)(uint32_t)value.node << 32 | (uint32_t)value.index;
}

// ---- Nodes of constructs ------------------------------------------------------------------------

// The value of "_class": the group of |node|, or that which |node| begins.
static leat_status_t make_group(leat_control_flow_t* flow, const leat_node_t* node,
                                leat_arena_t* scratch, leat_attr_t* out_attr) {
  const leat_attr_value_t* group = leat_node_attr(node, LEAT_SV("_class"));
  *out_attr = (leat_attr_t){.name = LEAT_SV("_class")};
  if (group && group->kind == LEAT_ATTR_STRING && group->is_list && group->count > 0) {
    out_attr->value = *group;
    return leat_ok_status();
  }
  leat_string_view_t* name = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(scratch, 1, &name));
  LEAT_RETURN_IF_ERROR(leat_arena_print(scratch, name, "loc:@%.*s", LEAT_SV_ARG(node->name)));
  out_attr->value = (leat_attr_value_t){
      .kind = LEAT_ATTR_STRING, .is_list = true, .count = 1, .strings = name};
  return leat_ok_status();
}

static leat_status_t add(leat_control_flow_t* flow, const leat_node_spec_t* spec,
                         leat_arena_t* scratch, int32_t* out_node);

static leat_status_t build(leat_control_flow_t* flow, const leat_control_node_t* request,
                           leat_arena_t* scratch, int32_t* out_node) {
  leat_graph_t* graph = flow->graph;
  leat_node_spec_t spec = {.device = request->device,
                           .inputs = request->inputs.items,
                           .input_count = request->inputs.count,
                           .control_inputs = request->controls,
                           .control_count = request->control_count,
                           .attrs = request->attrs.items,
                           .attr_count = request->attrs.count,
                           .infer_attrs = true};
  LEAT_RETURN_IF_ERROR(
      leat_op_registry_find(graph->ops, leat_string_view_from(request->op), &spec.op));
  LEAT_RETURN_IF_ERROR(leat_arena_print(scratch, &spec.name, "%.*s%s",
                                        LEAT_SV_ARG(request->scope),
                                        request->name ? request->name : request->op));
  LEAT_RETURN_IF_ERROR(leat_graph_unique_name(graph, spec.name, &spec.name));
  leat_attr_t* attrs = NULL;
  if (request->colocate_with >= 0) {
    const leat_node_t* with = &graph->nodes[request->colocate_with];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(scratch, (size_t)spec.attr_count + 1, &attrs));
    for (int i = 0; i < spec.attr_count; ++i) attrs[i] = spec.attrs[i];
    LEAT_RETURN_IF_ERROR(make_group(flow, with, scratch, &attrs[spec.attr_count]));
    spec.attrs = attrs;
    ++spec.attr_count;
    spec.device = with->device;
  }
  return request->is_bare ? leat_graph_add_node(graph, &spec, out_node)
                          : add(flow, &spec, scratch, out_node);
}

leat_status_t leat_control_build(leat_control_flow_t* flow, const leat_control_node_t* request,
                                 int32_t* out_node) {
  leat_arena_t scratch;
  leat_arena_initialize(leat_allocator_system(), 1024, &scratch);
  leat_status_t status = build(flow, request, &scratch, out_node);
  leat_arena_deinitialize(&scratch);
  return status;
}

// ---- Capturing ----------------------------------------------------------------------------------

// Whether |node| is |control| or waits for it by a control edge.
static bool is_after(const leat_node_t* nodes, int32_t node, int32_t control) {
  const leat_node_t* n = &nodes[node];
  for (int i = n->input_count; i < n->input_count + n->control_count; ++i) {
    if (n->inputs[i].node == control) return true;
  }
  return node == control;
}

// Makes the Enter |node| of |source| wait for those of |controls| that it can wait for, unless its
// source does so anyway.
static leat_status_t wait_around(const leat_control_context_t* loop, int32_t node,
                                 const int32_t* controls, int count, int32_t source) {
  const leat_node_t* nodes = loop->flow->graph->nodes;
  for (int i = 0; i < count; ++i) {
    if (is_after(nodes, source, controls[i])) continue;
    if (!leat_control_is_around(loop, controls[i])) continue;
    LEAT_RETURN_IF_ERROR(leat_graph_add_control_input(loop->flow->graph, node, controls[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_control_enter_value(leat_control_context_t* loop, leat_output_t value,
                                       bool is_constant, int32_t pivot,
                                       const leat_control_reader_t* reader,
                                       leat_output_t* out_here) {
  leat_control_flow_t* flow = loop->flow;
  bool is_ref = leat_dtype_is_ref(leat_graph_output_type(flow->graph, value));
  leat_attr_t attrs[4] = {LEAT_STRING("frame_name", loop->frame),
                          LEAT_BOOL("is_constant", is_constant),
                          LEAT_INT("parallel_iterations", loop->parallel_iterations)};
  if (reader->group) attrs[3] = *reader->group;
  leat_control_node_t request = {.op = is_ref ? "RefEnter" : "Enter",
                                 .scope = reader->scope,
                                 .device = reader->device,
                                 .inputs = LEAT_INPUTS(value),
                                 .attrs = {attrs, reader->group ? 4 : 3},
                                 .colocate_with = -1,
                                 .is_bare = true};
  int32_t node = -1;
  LEAT_RETURN_IF_ERROR(leat_control_build(flow, &request, &node));
  if (pivot >= 0) LEAT_RETURN_IF_ERROR(leat_graph_add_control_input(flow->graph, node, pivot));
  LEAT_RETURN_IF_ERROR(wait_around(loop, node, loop->after, loop->after_count, value.node));
  LEAT_RETURN_IF_ERROR(
      wait_around(loop, node, reader->controls, reader->control_count, value.node));
  *out_here = (leat_output_t){node, 0};
  return leat_control_put(flow, node, loop);
}

// Lets |value| into a branch: the output of a Switch which lives when the branch runs.
static leat_status_t part(leat_control_context_t* branch, leat_output_t value,
                          leat_string_view_t scope, leat_output_t* out_here) {
  leat_control_flow_t* flow = branch->flow;
  bool is_ref = leat_dtype_is_ref(leat_graph_output_type(flow->graph, value));
  leat_control_node_t request = {.op = is_ref ? "RefSwitch" : "Switch",
                                 .name = "Switch",
                                 .scope = scope,
                                 .inputs = LEAT_INPUTS(value, branch->predicate),
                                 .colocate_with = value.node,
                                 .is_bare = true};
  int32_t node = -1;
  LEAT_RETURN_IF_ERROR(leat_control_build(flow, &request, &node));
  *out_here = (leat_output_t){node, branch->branch};
  return leat_control_put(flow, node, branch);
}

// Remembers what stands for |value|, and that it does so since the change under way.
static leat_status_t remember(leat_control_context_t* context, leat_output_t value,
                              leat_output_t here) {
  leat_control_flow_t* flow = context->flow;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), flow->fresh_count + 1, &flow->fresh,
                                 &flow->fresh_capacity));
  LEAT_RETURN_IF_ERROR(leat_word_map_set(&context->captures, key_of(value), key_of(here)));
  flow->fresh[flow->fresh_count++] = (leat_control_capture_t){context, key_of(value)};
  return leat_ok_status();
}

// Whether |value| can be read in |context| already, and as what.
static bool is_known(const leat_control_flow_t* flow, const leat_control_context_t* context,
                     leat_output_t value, const leat_control_context_t* place,
                     leat_output_t* out_here) {
  uint64_t word = 0;
  *out_here = value;
  if (!context) return true;
  if (leat_word_map_get(&context->captures, key_of(value), &word)) {
    *out_here = (leat_output_t){(int32_t)(word >> 32), (int32_t)(uint32_t)word};
    return true;
  }
  return place && leat_control_holds(context, place);
}

// Goes outwards to the first context that knows the value, and back inwards.
leat_status_t leat_control_bring(leat_control_context_t* context, leat_output_t value,
                                 const leat_control_reader_t* reader, leat_output_t* out_here) {
  *out_here = value;
  if (!context) return leat_ok_status();
  leat_control_flow_t* flow = context->flow;
  const leat_control_context_t* place = leat_control_output_context(flow, value.node);
  if (is_known(flow, context, value, place, out_here)) return leat_ok_status();
  leat_control_context_t** path = NULL;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)context->depth, &path));
  int count = 0;
  leat_control_context_t* c = context;
  for (; !is_known(flow, c, value, place, out_here); c = c->outer) path[count++] = c;
  leat_status_t status = leat_ok_status();
  while (!status && count > 0) {
    c = path[--count];
    leat_output_t here = LEAT_OUTPUT_NONE;
    status = c->is_loop ? leat_control_enter_value(c, *out_here, true, -1, reader, &here)
                        : part(c, *out_here, reader->scope, &here);
    if (!status) status = remember(c, value, here);
    *out_here = here;
  }
  leat_allocator_free(leat_allocator_system(), path);
  return status;
}

// ---- The rules ----------------------------------------------------------------------------------

// A call of one function, whose body may hold nodes without inputs.
static bool is_named_call(const leat_op_t* op) {
  return (op->flags & LEAT_OP_CALLS) && !(op->flags & LEAT_OP_BRANCHES);
}

// Of these TensorFlow ties each call in a loop to the pivot, whatever it reads.
static bool is_call(const leat_op_t* op) {
  return leat_string_view_equal(op->name, LEAT_OP_NAME_CALL) ||
         leat_string_view_equal(op->name, LEAT_OP_NAME_STATEFUL_CALL);
}

static bool is_loop_constant(const leat_graph_t* graph, leat_output_t value) {
  const leat_node_t* node = &graph->nodes[value.node];
  return (node->op->flags & LEAT_OP_ENTER) && leat_node_attr_bool(node, "is_constant", false);
}

// The node that is put into a context: what it shall be, and its control inputs as they will be.
typedef struct placing_s {
  leat_control_flow_t* flow;
  leat_control_context_t* context;
  leat_node_spec_t* spec;
  leat_arena_t* scratch;
  leat_control_reader_t reader;
  int32_t* controls;
  int control_count;
  int32_t* outside;  // control inputs that were taken off
  int outside_count;
} placing_t;

static leat_status_t take_inputs(placing_t* p) {
  leat_output_t* inputs = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(p->scratch, (size_t)p->spec->input_count + 1, &inputs));
  for (int i = 0; i < p->spec->input_count; ++i) {
    inputs[i] = p->spec->inputs[i];
    if (!leat_output_exists(inputs[i])) continue;
    LEAT_RETURN_IF_ERROR(leat_control_check_input(p->flow, p->context, inputs[i], p->spec->op,
                                                  p->spec->name));
    LEAT_RETURN_IF_ERROR(leat_control_bring(p->context, inputs[i], &p->reader, &inputs[i]));
  }
  p->spec->inputs = inputs;
  return leat_ok_status();
}

// Whether a node in |context| can wait for |control|: outside all loops for any, else for what is
// in the same loop.
static bool may_wait(const leat_control_context_t* context, int32_t control) {
  if (!context->loop) return true;
  const leat_control_context_t* from = leat_control_output_context(context->flow, control);
  return from && from->loop == context->loop;
}

// Parts the control inputs.
static leat_status_t take_controls(placing_t* p) {
  size_t room = (size_t)p->spec->control_count;
  // Behind those that are given there is room for the pivot and for an Identity of each.
  LEAT_RETURN_IF_ERROR(LEAT_NEW(p->scratch, 2 * room + 2, &p->controls));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(p->scratch, room + 1, &p->outside));
  for (int i = 0; i < p->spec->control_count; ++i) {
    int32_t control = p->spec->control_inputs[i];
    if (may_wait(p->context, control)) {
      p->controls[p->control_count++] = control;
    } else {
      p->outside[p->outside_count++] = control;
    }
  }
  return leat_ok_status();
}

// Whether a node in a loop would run whenever its constants are there, if it does not wait for the
// pivot.
static bool is_free(const placing_t* p) {
  if (p->control_count > 0) return false;
  if (is_named_call(p->spec->op) && !is_call(p->spec->op)) return true;
  for (int i = 0; i < p->spec->input_count; ++i) {
    if (!leat_output_exists(p->spec->inputs[i])) return false;
    if (!is_loop_constant(p->flow->graph, p->spec->inputs[i])) return false;
  }
  return true;
}

static bool waits_in_branch(const placing_t* p) {
  if (p->spec->input_count > 0) return is_named_call(p->spec->op) && !is_call(p->spec->op);
  for (int i = 0; i < p->control_count; ++i) {
    const leat_control_context_t* from = leat_control_output_context(p->flow, p->controls[i]);
    if (from && leat_control_holds(p->context, from)) return false;
  }
  return true;
}

// What captures for the node is named under it and lies where it does. A constant, and the call of
// a function by its name, has no scope of its own in TensorFlow.
static leat_status_t describe_reader(placing_t* p) {
  const leat_node_spec_t* spec = p->spec;
  p->reader = (leat_control_reader_t){.device = spec->device,
                                      .controls = spec->control_inputs,
                                      .control_count = spec->control_count};
  for (int i = 0; i < spec->attr_count; ++i) {
    if (leat_string_view_equals(spec->attrs[i].name, "_class")) p->reader.group = &spec->attrs[i];
  }
  const leat_op_t* op = spec->op;
  bool is_function = (op->flags & LEAT_OP_CALLS) &&
                     !leat_op_registry_has(p->flow->graph->ops, op->name);
  if ((op->flags & LEAT_OP_CONSTANT) || is_function) {
    size_t size = spec->name.size;
    while (size > 0 && spec->name.data[size - 1] != '/') --size;
    p->reader.scope = leat_string_view_make(spec->name.data, size);
    return leat_ok_status();
  }
  return leat_arena_print(p->scratch, &p->reader.scope, "%.*s/", LEAT_SV_ARG(spec->name));
}

// Waits for an Identity of output 0 of each control input that was taken off, if it has one.
static leat_status_t replace_outside(placing_t* p) {
  for (int i = 0; i < p->outside_count; ++i) {
    leat_output_t value = {p->outside[i], 0};
    const leat_node_t* node = &p->flow->graph->nodes[value.node];
    if (node->output_count == 0) continue;
    leat_control_node_t request = {.op = "Identity",
                                   .scope = p->reader.scope,
                                   .device = p->reader.device,
                                   .inputs = LEAT_INPUTS(value),
                                   .attrs = {p->reader.group, p->reader.group ? 1 : 0},
                                   .colocate_with = -1};
    LEAT_RETURN_IF_ERROR(
        build(p->flow, &request, p->scratch, &p->controls[p->control_count]));
    ++p->control_count;
  }
  return leat_ok_status();
}

static leat_status_t place(placing_t* p) {
  LEAT_RETURN_IF_ERROR(describe_reader(p));
  LEAT_RETURN_IF_ERROR(take_controls(p));
  LEAT_RETURN_IF_ERROR(take_inputs(p));
  bool waits;
  if (p->context->is_loop) {
    waits = is_free(p) || is_call(p->spec->op);
  } else {
    waits = waits_in_branch(p);
  }
  if (waits) p->controls[p->control_count++] = p->context->pivot;
  if (p->context->is_loop) LEAT_RETURN_IF_ERROR(replace_outside(p));
  p->spec->control_inputs = p->controls;
  p->spec->control_count = p->control_count;
  return leat_ok_status();
}

static leat_status_t check_outside(const leat_control_flow_t* flow, const leat_node_spec_t* spec) {
  for (int i = 0; i < spec->input_count; ++i) {
    if (!leat_output_exists(spec->inputs[i])) continue;
    LEAT_RETURN_IF_ERROR(
        leat_control_check_input(flow, NULL, spec->inputs[i], spec->op, spec->name));
  }
  return leat_ok_status();
}

static leat_status_t add(leat_control_flow_t* flow, const leat_node_spec_t* given,
                         leat_arena_t* scratch, int32_t* out_node) {
  leat_node_spec_t spec = *given;
  leat_control_context_t* current = leat_control_flow_current(flow);
  placing_t placing = {.flow = flow, .context = current, .spec = &spec, .scratch = scratch};
  LEAT_RETURN_IF_ERROR(current ? place(&placing) : check_outside(flow, &spec));
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(flow->graph, &spec, out_node));
  LEAT_RETURN_IF_ERROR(leat_control_put(flow, *out_node, current));
  // A client that makes a loop by hand begins a frame.
  return spec.op->flags & LEAT_OP_ENTER ? leat_control_note_frame(flow, *out_node)
                                        : leat_ok_status();
}

leat_status_t leat_control_flow_add_node(leat_control_flow_t* flow, const leat_node_spec_t* spec,
                                         int32_t* out_node) {
  leat_control_change_t change;
  LEAT_RETURN_IF_ERROR(leat_control_change_begin(flow, &change));
  leat_arena_t scratch;
  leat_arena_initialize(leat_allocator_system(), 1024, &scratch);
  leat_status_t status = add(flow, spec, &scratch, out_node);
  leat_arena_deinitialize(&scratch);
  return leat_control_change_end(flow, &change, status);
}

// ---- For nodes that come otherwise --------------------------------------------------------------

leat_status_t leat_control_flow_bring(leat_control_flow_t* flow, leat_output_t value,
                                      leat_string_view_t scope, leat_output_t* out_here) {
  leat_control_change_t change;
  const leat_op_t* op = NULL;
  const leat_control_reader_t reader = {.scope = scope};
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(flow->graph->ops, LEAT_OP_NAME_NO_OP, &op));
  LEAT_RETURN_IF_ERROR(leat_control_change_begin(flow, &change));
  leat_control_context_t* current = leat_control_flow_current(flow);
  leat_status_t status = leat_control_check_input(flow, current, value, op, scope);
  if (!status) status = leat_control_bring(current, value, &reader, out_here);
  return leat_control_change_end(flow, &change, status);
}

leat_status_t leat_control_flow_wait(leat_control_flow_t* flow, const int32_t* controls, int count,
                                     leat_arena_t* arena, const int32_t** out_controls,
                                     int* out_count) {
  *out_controls = controls;
  *out_count = count;
  LEAT_RETURN_IF_ERROR(leat_control_catch_up(flow));
  const leat_control_context_t* current = leat_control_flow_current(flow);
  if (!current) return leat_ok_status();
  int32_t* kept = NULL;
  int kept_count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count + 1, &kept));
  for (int i = 0; i < count; ++i) {
    if (may_wait(current, controls[i])) kept[kept_count++] = controls[i];
  }
  kept[kept_count++] = current->pivot;
  *out_controls = kept;
  *out_count = kept_count;
  return leat_ok_status();
}
