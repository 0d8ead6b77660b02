// Adds the nodes of a FunctionDef to a graph. A FunctionDef has a name space of its own, in which
// "x" is an argument, "node:out:1" an output of a node and "^node" a control input. A map leads
// from these names to sources, and each source knows to which outputs of the graph it has come:
//
//   argument           the caller's tensors
//   node               the outputs of the node that was added
//   call, expanded     the outputs of the call's body
//
// Nodes may stand in any order. They are added inputs first by a depth-first search with a stack of
// its own, since a file decides how deep it goes; the edge that closes a loop into a Merge is set
// at the end. Nodes with effects are collected, because a caller must run them even if it reads no
// return: one NoOp that waits for all of them is the call's |done|. Everything that a file can get
// wrong is INVALID_ARGUMENT and names the function.
#include <string.h>

#include "base/map.h"
#include "function/attr_binding.h"
#include "function/expander.h"
#include "graph/function/graph_functions.h"
#include "graph/op/attr_proto.h"
#include "graph/signature.h"
#include "graph/storage.h"

// What a name of the body stands for.
typedef struct source_s {
  const leat_pb_node_def_t* def;  // NULL: an argument
  const leat_op_t* op;
  const leat_attr_t* attrs;  // complete, once it is added
  leat_output_t* outputs;
  int output_count;
  int32_t node;  // to wait for, for control edges; -1: there is nothing to wait for
  int depth;     // loops of the body around it
  enum { WAITING, VISITING, ADDED } state;
} source_t;

// An open input of a Merge, which a node that is added later will give.
typedef struct back_edge_s {
  struct back_edge_s* next;
  int32_t node;
  int position;
  leat_string_view_t input;
} back_edge_t;

typedef struct body_s {
  const leat_expander_t* expander;
  leat_graph_t* graph;
  const leat_function_name_t* function;
  const leat_pb_function_def_t* def;
  const leat_op_t* op;       // the function as an op
  const leat_attr_t* attrs;  // the call's, in the order of |op|
  const leat_body_options_t* options;
  leat_arena_t scratch;
  leat_string_map_t names;  // name -> index in |sources|
  source_t* sources;        // arguments, then nodes
  size_t argument_count;    // of the signature
  leat_output_t* inputs;    // of the node that is being added
  size_t input_count, input_capacity;
  int32_t* controls;
  size_t control_count, control_capacity;
  back_edge_t* back_edges;
  int32_t* effects;  // nodes that every call must run
  size_t effect_count, effect_capacity;
} body_t;

static leat_status_t malformed(const body_t* b, leat_string_view_t text, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Calling function '%.*s' failed: '%.*s' %s",
                          LEAT_SV_ARG(b->function->name), LEAT_SV_ARG(text), rule);
}

// ---- Names --------------------------------------------------------------------------------------

// Gives |name| to source |index|; INVALID_ARGUMENT when it is taken.
static leat_status_t name_source(body_t* b, leat_string_view_t name, size_t index) {
  bool inserted;
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(&b->names, name, index, NULL, &inserted));
  return inserted ? leat_ok_status() : malformed(b, name, "is the name of two nodes");
}

// INVALID_ARGUMENT unless |tensors| [count] have the types that |argument| declares.
static leat_status_t check_types(const body_t* b, const leat_op_argument_t* argument,
                                 const leat_output_t* tensors, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    int expected = leat_dtype_base(leat_signature_argument_type(argument, b->attrs, i));
    int actual = leat_dtype_base(leat_graph_output_type(b->graph, tensors[i]));
    if (actual == expected) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Calling function '%.*s' failed: '%.*s' is of type %s, must be %s",
                            LEAT_SV_ARG(b->function->name), LEAT_SV_ARG(argument->name),
                            leat_dtype_name(actual), leat_dtype_name(expected));
  }
  return leat_ok_status();
}

// Gives each argument of the function its share of the caller's tensors, and enters it under its
// name.
static leat_status_t name_arguments(body_t* b, leat_outputs_t arguments) {
  int64_t next = 0;
  for (size_t i = 0; i < b->argument_count; ++i) {
    const leat_op_argument_t* argument = &b->op->inputs[i];
    int64_t count = leat_signature_argument_count(argument, b->attrs);
    if (count < 0 || count > arguments.count - next) {
      return malformed(b, argument->name, "is an argument that the call does not give");
    }
    LEAT_RETURN_IF_ERROR(check_types(b, argument, arguments.items + next, count));
    b->sources[i] = (source_t){.outputs = (leat_output_t*)arguments.items + next,
                               .output_count = (int)count,
                               .node = -1,
                               .state = ADDED};
    next += count;
    LEAT_RETURN_IF_ERROR(name_source(b, argument->name, i));
  }
  if (next == arguments.count) return leat_ok_status();
  return malformed(b, b->function->name, "is called with too many arguments");
}

static leat_status_t name_nodes(body_t* b) {
  for (size_t i = 0; i < b->def->node_def.count; ++i) {
    source_t* source = &b->sources[b->argument_count + i];
    source->def = &b->def->node_def.items[i];
    source->node = -1;
    LEAT_RETURN_IF_ERROR(leat_graph_find_op(b->graph, source->def->op, &source->op));
    if (source->def->name.size == 0) {
      return malformed(b, source->def->op, "is the op of a node without a name");
    }
    if (source->op->flags & (LEAT_OP_ARGUMENT | LEAT_OP_RETURN_VALUE)) {
      return malformed(b, source->def->name, "is an argument or a return value as a node");
    }
    LEAT_RETURN_IF_ERROR(name_source(b, source->def->name, b->argument_count + i));
  }
  return leat_ok_status();
}

// The source that "node:out:1" names, or NULL; |*out_rest| becomes "out:1", or empty.
static source_t* find_source(const body_t* b, leat_string_view_t text,
                             leat_string_view_t* out_rest) {
  size_t end = 0;
  while (end < text.size && text.data[end] != ':') ++end;
  uint64_t index;
  if (!leat_string_map_get(&b->names, leat_string_view_make(text.data, end), &index)) return NULL;
  *out_rest = leat_string_view_from_index(text, end < text.size ? end + 1 : end);
  LEAT_DCHECK(index < b->argument_count + b->def->node_def.count);
  return &b->sources[index];
}

// The number that |text| is, or -1.
static int64_t parse_index(leat_string_view_t text) {
  int64_t value = 0;
  if (text.size == 0 || text.size > 9) return -1;
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] < '0' || text.data[i] > '9') return -1;
    value = value * 10 + (text.data[i] - '0');
  }
  return value;
}

// The range of outputs of |source| that |rest| names: "" is all tensors of an argument or output 0
// of a node, "out" all tensors of an output argument, "out:1" or "1" a single one.
static leat_status_t find_outputs(const body_t* b, const source_t* source, leat_string_view_t text,
                                  leat_string_view_t rest, int64_t* out_begin,
                                  int64_t* out_count) {
  *out_begin = 0;
  *out_count = source->output_count;
  if (rest.size == 0) {
    if (source->def) *out_count = source->output_count ? 1 : 0;
    return leat_ok_status();
  }
  size_t end = 0;
  while (end < rest.size && rest.data[end] != ':') ++end;
  leat_string_view_t name = leat_string_view_make(rest.data, end), last = rest;
  for (int i = 0; source->def && i < source->op->output_count; ++i) {
    const leat_op_argument_t* argument = &source->op->outputs[i];
    *out_count = leat_signature_argument_count(argument, source->attrs);
    if (leat_string_view_equal(argument->name, name)) {
      if (end == rest.size) return leat_ok_status();
      last = leat_string_view_from_index(rest, end + 1);
      break;
    }
    *out_begin += *out_count;
    *out_count = 0;
  }
  if (last.data == rest.data) {  // a number alone counts all outputs of the node
    *out_begin = 0;
    *out_count = source->output_count;
  }
  int64_t index = parse_index(last);
  if (index < 0 || index >= *out_count) return malformed(b, text, "names no output of a node");
  *out_begin += index;
  *out_count = 1;
  return leat_ok_status();
}

// ---- Inputs -------------------------------------------------------------------------------------

static leat_status_t add_input(body_t* b, leat_output_t input) {
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(b->graph->allocator, b->input_count + 1, &b->inputs, &b->input_capacity));
  b->inputs[b->input_count++] = input;
  return leat_ok_status();
}

static leat_status_t add_control(body_t* b, int32_t node) {
  LEAT_DCHECK(node < (int32_t)b->graph->node_count);
  if (node < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(b->graph->allocator, b->control_count + 1, &b->controls, &b->control_capacity));
  b->controls[b->control_count++] = node;
  return leat_ok_status();
}

static leat_status_t add_named_inputs(body_t* b, leat_string_view_t text) {
  leat_string_view_t rest;
  const source_t* source = find_source(b, text, &rest);
  if (!source) return malformed(b, text, "is not in the body");
  int64_t begin, count;
  LEAT_RETURN_IF_ERROR(find_outputs(b, source, text, rest, &begin, &count));
  for (int64_t i = 0; i < count; ++i) {
    LEAT_DCHECK(source->state == ADDED && begin + i < source->output_count);
    LEAT_RETURN_IF_ERROR(add_input(b, source->outputs[begin + i]));
  }
  return leat_ok_status();
}

// Leaves an input open, and remembers the name of its source.
static leat_status_t add_back_edge(body_t* b, leat_string_view_t text) {
  back_edge_t* edge;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&b->scratch, 1, &edge));
  *edge = (back_edge_t){b->back_edges, (int32_t)b->graph->node_count, (int)b->input_count, text};
  b->back_edges = edge;
  return add_input(b, LEAT_OUTPUT_NONE);
}

// Whether the input |text| of |reader| closes a loop.
static bool closes_loop(const body_t* b, const source_t* reader, leat_string_view_t text) {
  leat_string_view_t rest;
  if (!(reader->op->flags & LEAT_OP_MERGE)) return false;
  const source_t* source = find_source(b, text, &rest);
  return source && source->def && (source->op->flags & LEAT_OP_NEXT_ITERATION);
}

// Finds the edges of one node. A node that reads nothing waits for the gate.
static leat_status_t resolve_inputs(body_t* b, const source_t* reader) {
  b->input_count = b->control_count = 0;
  bool controls = false;
  for (size_t i = 0; i < reader->def->input.count; ++i) {
    leat_string_view_t text = reader->def->input.items[i], rest;
    if (text.size && text.data[0] == '^') {
      controls = true;
      text = leat_string_view_from_index(text, 1);
      const source_t* source = find_source(b, text, &rest);
      if (!source) return malformed(b, text, "is not in the body");
      LEAT_RETURN_IF_ERROR(add_control(b, source->node));
    } else if (controls) {
      return malformed(b, text, "is a data input, must come before the control inputs");
    } else if (closes_loop(b, reader, text)) {
      LEAT_RETURN_IF_ERROR(add_back_edge(b, text));
    } else {
      LEAT_RETURN_IF_ERROR(add_named_inputs(b, text));
    }
  }
  bool reads_nothing = b->input_count == 0 && b->control_count == 0;
  return reads_nothing ? add_control(b, b->options->gate) : leat_ok_status();
}

// ---- Nodes --------------------------------------------------------------------------------------

// Reads the attributes of a node of the body, with the call's values in place of the placeholders.
static leat_status_t resolve_attrs(body_t* b, const leat_pb_node_def_t* def,
                                   leat_attr_t** out_attrs, int* out_count) {
  static const leat_pb_attr_value_t nothing = {0};
  leat_graph_storage_t* storage = b->graph->storage;
  leat_attr_t* attrs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&b->scratch, def->attr.count + 1, &attrs));
  *out_count = 0;
  for (size_t i = 0; i < def->attr.count; ++i) {
    const leat_pb_node_def_attr_entry_t* entry = &def->attr.items[i];
    // "_class" names nodes of the body, whose names change, so it would be wrong; shapes are
    // inferred anew from those of the arguments.
    if (leat_string_view_equals(entry->key, "_class")) continue;
    if (leat_string_view_equals(entry->key, "_output_shapes")) continue;
    leat_attr_t* attr = &attrs[(*out_count)++];
    LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_attr_name(storage, entry->key, &attr->name));
    LEAT_RETURN_IF_ERROR(leat_attr_value_from_proto(entry->value ? entry->value : &nothing,
                                                    storage, &attr->value));
    LEAT_RETURN_IF_ERROR(leat_attr_bind(b->function, &storage->arena, &attr->value));
  }
  *out_attrs = attrs;
  return leat_ok_status();
}

// Remembers that callers must run |source|. A node within a loop of the body runs with its loop and
// cannot be waited for from outside.
static leat_status_t note_effect(body_t* b, const source_t* source) {
  if (source->node < 0 || source->depth > 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(b->graph->allocator, b->effect_count + 1, &b->effects, &b->effect_capacity));
  b->effects[b->effect_count++] = source->node;
  return leat_ok_status();
}

// The number of the body's loops in which |source| runs, from those of its inputs: Enter adds one,
// Exit takes one.
static void count_loops(const body_t* b, source_t* source) {
  for (size_t i = 0; i < source->def->input.count; ++i) {
    leat_string_view_t text = source->def->input.items[i], rest;
    if (text.size && text.data[0] == '^') text = leat_string_view_from_index(text, 1);
    const source_t* from = find_source(b, text, &rest);
    if (!from || !from->def) continue;
    int depth = from->depth - ((from->op->flags & LEAT_OP_EXIT) != 0);
    if (depth > source->depth) source->depth = depth;
  }
  if (source->op->flags & LEAT_OP_ENTER) ++source->depth;
}

// |source| has become node |index|. A stateful node is an effect, but making the handle of a
// variable is not.
static leat_status_t take_node(body_t* b, source_t* source, int32_t index) {
  const leat_node_t* node = &b->graph->nodes[index];
  source->node = index;
  source->attrs = node->attrs;
  source->output_count = node->output_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&b->scratch, (size_t)node->output_count + 1, &source->outputs));
  LEAT_DCHECK(index >= 0 && (size_t)index < b->graph->node_count);
  for (int k = 0; k < node->output_count; ++k) source->outputs[k] = (leat_output_t){index, k};
  bool acts = (node->op->flags & LEAT_OP_STATEFUL) && !(node->op->flags & LEAT_OP_VARIABLE);
  return acts ? note_effect(b, source) : leat_ok_status();
}

// Expands a call in the body, or adds it as a node where the expander does not take it.
static leat_status_t add_call(body_t* b, source_t* source, const leat_node_spec_t* spec) {
  leat_node_signature_t signature;
  LEAT_RETURN_IF_ERROR(leat_signature_resolve(b->graph, spec, &signature));
  leat_node_t node = {.name = spec->name,
                      .op = spec->op,
                      .device = spec->device,
                      .attrs = signature.attrs,
                      .attr_count = signature.attr_count,
                      .output_types = signature.output_types,
                      .output_count = signature.output_count,
                      .input_count = spec->input_count};
  leat_call_site_t site = {&node,           spec->name,          spec->inputs, spec->control_inputs,
                           spec->control_count, b->options->gate};
  if (!leat_expander_takes(b->expander, &node)) {
    int32_t kept;
    LEAT_RETURN_IF_ERROR(leat_expander_keep(b->expander, &site, &kept));
    LEAT_RETURN_IF_ERROR(take_node(b, source, kept));
    source->attrs = node.attrs;
    return leat_ok_status();
  }
  source->attrs = node.attrs;
  source->output_count = node.output_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&b->scratch, (size_t)node.output_count + 1, &source->outputs));
  LEAT_RETURN_IF_ERROR(
      leat_expander_expand(b->expander, &site, source->outputs, &source->node));
  LEAT_RETURN_IF_ERROR(note_effect(b, source));
  if (source->node < 0 && node.output_count) source->node = source->outputs[0].node;
  return leat_ok_status();
}

// Adds a node whose inputs have been added. Its name gets the scope in front, and where it names no
// device it takes the caller's.
static leat_status_t add_node(body_t* b, source_t* source) {
  LEAT_RETURN_IF_ERROR(resolve_inputs(b, source));
  count_loops(b, source);
  leat_node_spec_t spec = {.op = source->op, .inputs = b->inputs, .borrow_storage = true};
  leat_attr_t* attrs;
  LEAT_RETURN_IF_ERROR(resolve_attrs(b, source->def, &attrs, &spec.attr_count));
  spec.attrs = attrs;
  spec.input_count = (int)b->input_count;
  spec.control_inputs = b->controls;
  spec.control_count = (int)b->control_count;
  leat_string_view_t name, device = source->def->device;
  LEAT_RETURN_IF_ERROR(leat_arena_print(&b->scratch, &name, "%.*s%.*s",
                                        LEAT_SV_ARG(b->options->scope),
                                        LEAT_SV_ARG(source->def->name)));
  LEAT_RETURN_IF_ERROR(leat_graph_unique_name(b->graph, name, &spec.name));
  LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_device(
      b->graph->storage, device.size ? device : b->options->device, &spec.device));
  if (source->op->flags & LEAT_OP_CALLS) return add_call(b, source, &spec);
  int32_t node;
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(b->graph, &spec, &node));
  return take_node(b, source, node);
}

// The next source that |source| reads and that is not added yet, or NULL. |*inout_input| remembers
// how far the inputs were searched.
static leat_status_t next_missing(body_t* b, const source_t* source, size_t* inout_input,
                                  source_t** out_missing) {
  *out_missing = NULL;
  for (; *inout_input < source->def->input.count; ++*inout_input) {
    leat_string_view_t text = source->def->input.items[*inout_input], rest;
    if (closes_loop(b, source, text)) continue;
    if (text.size && text.data[0] == '^') text = leat_string_view_from_index(text, 1);
    source_t* found = find_source(b, text, &rest);
    if (!found) return malformed(b, text, "is not in the body");
    if (found->state == VISITING) return malformed(b, text, "is on a cycle");
    if (found->state == ADDED) continue;
    *out_missing = found;
    return leat_ok_status();
  }
  return leat_ok_status();
}

// A level of the depth-first search.
typedef struct visit_s {
  source_t* source;
  size_t next_input;
} visit_t;

// Adds all nodes, each after those that it reads. A node is on top of the stack while its inputs
// are looked for, and is added when none is missing.
static leat_status_t add_nodes(body_t* b) {
  size_t count = b->def->node_def.count, depth = 0;
  visit_t* stack;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&b->scratch, count + 1, &stack));
  for (size_t i = 0; i < count; ++i) {
    source_t* root = &b->sources[b->argument_count + i];
    if (root->state == ADDED) continue;
    root->state = VISITING;
    stack[depth++] = (visit_t){root, 0};
    while (depth) {
      visit_t* top = &stack[depth - 1];
      source_t* missing;
      LEAT_RETURN_IF_ERROR(next_missing(b, top->source, &top->next_input, &missing));
      if (missing) {
        missing->state = VISITING;
        // A node is on the stack once at most, so the stack is never deeper than the body is long.
        LEAT_DCHECK(depth < count);
        stack[depth++] = (visit_t){missing, 0};
        continue;
      }
      LEAT_DCHECK(top->source->def && top->source->state == VISITING);
      LEAT_RETURN_IF_ERROR(add_node(b, top->source));
      top->source->state = ADDED;
      --depth;
    }
  }
  return leat_ok_status();
}

static leat_status_t close_loops(body_t* b) {
  for (const back_edge_t* edge = b->back_edges; edge; edge = edge->next) {
    b->input_count = 0;
    LEAT_RETURN_IF_ERROR(add_named_inputs(b, edge->input));
    if (b->input_count != 1) return malformed(b, edge->input, "closes a loop, must be one tensor");
    LEAT_DCHECK(!leat_output_exists(b->graph->nodes[edge->node].inputs[edge->position]));
    LEAT_RETURN_IF_ERROR(leat_graph_set_input(b->graph, edge->node, edge->position, b->inputs[0]));
  }
  return leat_ok_status();
}

// ---- The call -----------------------------------------------------------------------------------

// What FunctionDef.ret says of return |key|; the same name where it says nothing.
static leat_string_view_t entry_of(const leat_pb_function_def_ret_entry_list_t* entries,
                                   leat_string_view_t key) {
  for (size_t i = 0; i < entries->count; ++i) {
    if (leat_string_view_equal(entries->items[i].key, key)) return entries->items[i].value;
  }
  return key;
}

// Finds the outputs that the function returns, and checks them against its declaration.
static leat_status_t collect_returns(body_t* b, leat_call_t* call) {
  b->input_count = 0;
  for (int i = 0; i < b->op->output_count; ++i) {
    const leat_op_argument_t* argument = &b->op->outputs[i];
    int64_t count = leat_signature_argument_count(argument, b->attrs);
    size_t before = b->input_count;
    leat_string_view_t rest, value = entry_of(&b->def->ret, argument->name);
    const source_t* source = find_source(b, value, &rest);
    if (source && source->def && rest.size == 0) {
      return malformed(b, value, "is returned, must name an output of the node");
    }
    LEAT_RETURN_IF_ERROR(add_named_inputs(b, value));
    if ((int64_t)(b->input_count - before) != count) {
      return malformed(b, argument->name, "returns another number of tensors than it declares");
    }
    LEAT_RETURN_IF_ERROR(check_types(b, argument, b->inputs + before, count));
  }
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(leat_graph_arena(b->graph), b->input_count + 1,
                                                 sizeof(leat_output_t), &memory));
  call->returns = memory;
  call->return_count = (int)b->input_count;
  if (b->input_count) memcpy(memory, b->inputs, b->input_count * sizeof(leat_output_t));
  return leat_ok_status();
}

static leat_status_t note_control_returns(body_t* b) {
  for (size_t i = 0; i < b->def->control_ret.count; ++i) {
    leat_string_view_t rest, name = b->def->control_ret.items[i].value;
    const source_t* source = find_source(b, name, &rest);
    if (!source) return malformed(b, name, "is a control output, must be in the body");
    LEAT_RETURN_IF_ERROR(note_effect(b, source));
  }
  return leat_ok_status();
}

// A node that runs when all effects have happened: a NoOp that waits for them, if there are
// several.
static leat_status_t join_effects(body_t* b, leat_call_t* call) {
  call->done = b->effect_count ? b->effects[0] : -1;
  if (b->effect_count < 2) return leat_ok_status();
  leat_builder_t builder = {.graph = b->graph,
                            .scope = b->options->scope,
                            .device = b->options->device,
                            .control_inputs = b->effects,
                            .control_count = (int)b->effect_count};
  call->done = leat_build_node(&builder, "NoOp", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  return builder.status;
}

static leat_status_t add_body(body_t* b, leat_outputs_t arguments, leat_call_t* call) {
  leat_attr_t* attrs;
  LEAT_RETURN_IF_ERROR(
      leat_function_library_op(b->graph->functions, b->function->name, &b->op));
  LEAT_RETURN_IF_ERROR(leat_function_order_attrs(b->op, b->function, &b->scratch, &attrs));
  b->attrs = attrs;
  b->argument_count = (size_t)b->op->input_count;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(&b->scratch, b->argument_count + b->def->node_def.count + 1, &b->sources));
  LEAT_RETURN_IF_ERROR(name_arguments(b, arguments));
  LEAT_RETURN_IF_ERROR(name_nodes(b));
  LEAT_RETURN_IF_ERROR(add_nodes(b));
  LEAT_RETURN_IF_ERROR(close_loops(b));
  LEAT_RETURN_IF_ERROR(note_control_returns(b));
  LEAT_RETURN_IF_ERROR(collect_returns(b, call));
  return join_effects(b, call);
}

leat_status_t leat_expander_add_body(const leat_expander_t* expander,
                                     const leat_function_name_t* function,
                                     leat_outputs_t arguments, const leat_body_options_t* options,
                                     leat_call_t* out_call) {
  leat_graph_t* graph = expander->graph;
  leat_call_chain_t chain = {expander->chain, function->name,
                             expander->chain ? expander->chain->depth + 1 : 1};
  leat_expander_t inner = *expander;
  if (expander->call_count) ++*expander->call_count;
  inner.chain = &chain;
  body_t b = {.expander = &inner, .graph = graph, .function = function, .options = options};
  b.def = leat_function_library_find(graph->functions, function->name);
  if (!b.def) {
    if (expander->lacks_function) *expander->lacks_function = true;
    return leat_make_status(LEAT_NOT_FOUND, "Function '%.*s' is not defined.",
                            LEAT_SV_ARG(function->name));
  }
  leat_arena_initialize(graph->allocator, 0, &b.scratch);
  leat_string_map_initialize(graph->allocator, &b.names);
  leat_status_t status = add_body(&b, arguments, out_call);
  leat_string_map_deinitialize(&b.names);
  leat_arena_deinitialize(&b.scratch);
  leat_allocator_free(graph->allocator, b.inputs);
  leat_allocator_free(graph->allocator, b.controls);
  leat_allocator_free(graph->allocator, b.effects);
  return leat_status_annotate(status, "in function '%.*s'", LEAT_SV_ARG(function->name));
}
