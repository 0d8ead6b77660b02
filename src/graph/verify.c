// Looks at every node once, then at the graph as a whole. The order within a node matters: the
// counts and types of inputs and outputs are read out of attributes, which are unions, so the
// attributes are checked before anything is computed from them; the index of a source is checked
// before the source is looked at. The first rule that is broken is reported, for the node with the
// lowest number. Cycles come last, because sorting follows edges without testing them.
//
// Nothing here may be needed for the graph to work: release builds verify nothing, and a test that
// a user's graph can fail belongs where the user's graph is read.
#include "graph/verify.h"

#include "graph/signature.h"

typedef struct verifier_s {
  const leat_graph_t* graph;
  const char* stage;
  const leat_node_t* node;  // the one that is looked at
  bool is_unfinished;       // see leat_graph_verify_unfinished
} verifier_t;

// "Verifying failed after pass fold for node 'x' (Add): ", and what |format| says.
LEAT_COLD LEAT_MUST_USE LEAT_PRINTF(2, 3) static leat_status_t
    broken(const verifier_t* v, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  leat_status_t status =
      leat_status_create_v(LEAT_INTERNAL, __FILE__, __LINE__, format, arguments);
  va_end(arguments);
  const leat_string_view_t op = v->node->op ? v->node->op->name : LEAT_SV("no op");
  return leat_status_annotate(status, "Verifying failed after %s for node '%.*s' (%.*s)", v->stage,
                              LEAT_SV_ARG(v->node->name), LEAT_SV_ARG(op));
}

// ---- Attributes ---------------------------------------------------------------------------------

// A value of a declared attribute is of the declared kind and allowed. In a function's body a
// number or a text may be a placeholder that the call fills.
static leat_status_t verify_attr(const verifier_t* v, int index) {
  const leat_op_attr_t* declared = &v->node->op->attrs[index];
  const leat_attr_t* attr = &v->node->attrs[index];
  if (!leat_string_view_equal(attr->name, declared->name)) {
    return broken(v, "attribute %d is '%.*s', must be '%.*s', as the op declares", index,
                  LEAT_SV_ARG(attr->name), LEAT_SV_ARG(declared->name));
  }
  const leat_attr_value_t* value = &attr->value;
  if (value->kind > LEAT_ATTR_PLACEHOLDER) {
    return broken(v, "attribute '%.*s' has kind %d, must be a leat_attr_kind_t",
                  LEAT_SV_ARG(attr->name), value->kind);
  }
  bool may_wait = declared->kind == LEAT_ATTR_INT || declared->kind == LEAT_ATTR_FLOAT ||
                  declared->kind == LEAT_ATTR_BOOL || declared->kind == LEAT_ATTR_STRING;
  if (value->kind == LEAT_ATTR_PLACEHOLDER && may_wait && !value->is_list && !declared->is_list) {
    return leat_ok_status();
  }
  if (value->kind != declared->kind || value->is_list != declared->is_list) {
    return broken(v, "attribute '%.*s' is of kind %s, must be %s", LEAT_SV_ARG(attr->name),
                  leat_attr_kind_name((leat_attr_kind_t)value->kind, value->is_list),
                  leat_attr_kind_name(declared->kind, declared->is_list));
  }
  bool is_pointer = value->is_list ? value->count > 0
                                   : value->kind == LEAT_ATTR_TENSOR ||
                                         value->kind == LEAT_ATTR_FUNCTION;
  if (is_pointer && !value->items) {
    return broken(v, "attribute '%.*s' is NULL, must be a value", LEAT_SV_ARG(attr->name));
  }
  leat_status_t status = leat_op_attr_check(declared, value);
  if (!status) return status;
  leat_status_t internal =
      broken(v, "attribute '%.*s' has a value that is not allowed: %s", LEAT_SV_ARG(attr->name),
             leat_status_message(status));
  leat_status_free(status);
  return internal;
}

static leat_status_t verify_attrs(const verifier_t* v) {
  const leat_node_t* node = v->node;
  if (node->attr_count < node->op->attr_count || (node->attr_count > 0 && !node->attrs)) {
    return broken(v, "attribute count is %d, must be at least the op's %d", node->attr_count,
                  node->op->attr_count);
  }
  for (int i = 0; i < node->op->attr_count; ++i) LEAT_RETURN_IF_ERROR(verify_attr(v, i));
  return leat_ok_status();
}

// How many tensors an argument stands for. An argument that repeats reads its number from an
// attribute, which must not be a placeholder.
static leat_status_t count_argument(const verifier_t* v, const leat_op_argument_t* argument,
                                    int64_t* out_count) {
  if (argument->number_attr >= 0 &&
      v->node->attrs[argument->number_attr].value.kind != LEAT_ATTR_INT) {
    return broken(v, "the number of tensors of '%.*s' is a placeholder, must be known",
                  LEAT_SV_ARG(argument->name));
  }
  *out_count = leat_signature_argument_count(argument, v->node->attrs);
  return leat_ok_status();
}

// ---- Edges --------------------------------------------------------------------------------------

// Input |position| names an output that exists and has the type |expected|. In a graph that is
// being built, a Merge may still wait for the edge that closes its loop.
static leat_status_t verify_input(const verifier_t* v, int position, int expected) {
  const leat_output_t input = v->node->inputs[position];
  if (!leat_output_exists(input)) {
    if (v->is_unfinished && (v->node->op->flags & LEAT_OP_MERGE)) return leat_ok_status();
    return broken(v, "input %d is missing, must be an output of a node", position);
  }
  if ((size_t)input.node >= v->graph->node_count) {
    return broken(v, "input %d is node %d, must be one of the graph's %zu", position, input.node,
                  v->graph->node_count);
  }
  const leat_node_t* source = &v->graph->nodes[input.node];
  if (input.index == LEAT_CONTROL_INDEX) {
    return broken(v, "input %d is a control input, must be behind the %d data inputs", position,
                  v->node->input_count);
  }
  if (input.index < 0 || input.index >= source->output_count) {
    return broken(v, "input %d is output %d of node '%.*s', must be in [0, %d)", position,
                  input.index, LEAT_SV_ARG(source->name), source->output_count);
  }
  const int actual = source->output_types ? source->output_types[input.index] : 0;
  // A reference serves where a value is wanted.
  if (actual == expected || actual == expected + LEAT_DTYPE_REF_OFFSET) return leat_ok_status();
  return broken(v, "input %d, '%.*s:%d', is of type %s, must be %s", position,
                LEAT_SV_ARG(source->name), input.index, leat_dtype_name(actual),
                leat_dtype_name(expected));
}

// The data inputs are as many and of the types that the op's arguments ask for with the node's
// attributes; behind them stand control inputs alone.
static leat_status_t verify_inputs(const verifier_t* v) {
  const leat_node_t* node = v->node;
  if (node->input_count < 0 || node->control_count < 0 ||
      (node->input_count + node->control_count > 0 && !node->inputs)) {
    return broken(v, "it has %d inputs and %d control inputs at %p, must have a list of them",
                  node->input_count, node->control_count, (const void*)node->inputs);
  }
  int position = 0;
  for (int i = 0; i < node->op->input_count; ++i) {
    const leat_op_argument_t* argument = &node->op->inputs[i];
    int64_t count = 0;
    LEAT_RETURN_IF_ERROR(count_argument(v, argument, &count));
    if (count < 0 || count > node->input_count - position) {
      return broken(v, "input count is %d, must be more, since '%.*s' begins at %d and stands for "
                    "%lld",
                    node->input_count, LEAT_SV_ARG(argument->name), position, (long long)count);
    }
    for (int64_t k = 0; k < count; ++k, ++position) {
      LEAT_RETURN_IF_ERROR(
          verify_input(v, position, leat_signature_argument_type(argument, node->attrs, k)));
    }
  }
  if (position != node->input_count) {
    return broken(v, "input count is %d, must be %d", node->input_count, position);
  }
  for (int i = position; i < position + node->control_count; ++i) {
    const leat_output_t input = node->inputs[i];
    if (input.index != LEAT_CONTROL_INDEX) {
      return broken(v, "control input %d has the index %d, must be %d", i - position, input.index,
                    LEAT_CONTROL_INDEX);
    }
    if (input.node < 0 || (size_t)input.node >= v->graph->node_count) {
      return broken(v, "control input %d is node %d, must be one of the graph's %zu", i - position,
                    input.node, v->graph->node_count);
    }
  }
  return leat_ok_status();
}

// ---- Outputs ------------------------------------------------------------------------------------

static leat_status_t verify_shape(const verifier_t* v, int output) {
  const leat_partial_shape_t shape = v->node->output_shapes[output];
  if (shape.rank < -1 || shape.rank > LEAT_SHAPE_MAX_RANK || (shape.rank > 0 && !shape.dims)) {
    return broken(v, "output %d has rank %d with dimensions at %p, must be in [-1, %d] with a list "
                  "of them",
                  output, shape.rank, (const void*)shape.dims, LEAT_SHAPE_MAX_RANK);
  }
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] >= 0 || shape.dims[d] == LEAT_DIM_UNKNOWN) continue;
    return broken(v, "output %d has %lld as dimension %d, must be -1 or more", output,
                  (long long)shape.dims[d], d);
  }
  return leat_ok_status();
}

// The outputs are as many and of the types that op and attributes say, and their shapes are well
// formed.
static leat_status_t verify_outputs(const verifier_t* v) {
  const leat_node_t* node = v->node;
  if (node->output_count < 0 ||
      (node->output_count > 0 && (!node->output_types || !node->output_shapes))) {
    return broken(v, "it has %d outputs with types at %p and shapes at %p, must have lists of both",
                  node->output_count, (const void*)node->output_types,
                  (const void*)node->output_shapes);
  }
  int position = 0;
  for (int i = 0; i < node->op->output_count; ++i) {
    const leat_op_argument_t* argument = &node->op->outputs[i];
    int64_t count = 0;
    LEAT_RETURN_IF_ERROR(count_argument(v, argument, &count));
    if (count < 0 || count > node->output_count - position) {
      return broken(v, "output count is %d, must be more, since '%.*s' begins at %d and stands for "
                    "%lld",
                    node->output_count, LEAT_SV_ARG(argument->name), position, (long long)count);
    }
    for (int64_t k = 0; k < count; ++k, ++position) {
      const int expected = leat_signature_argument_type(argument, node->attrs, k);
      if (node->output_types[position] == expected) continue;
      return broken(v, "output %d is of type %s, must be %s", position,
                    leat_dtype_name(node->output_types[position]), leat_dtype_name(expected));
    }
  }
  if (position != node->output_count) {
    return broken(v, "output count is %d, must be %d", node->output_count, position);
  }
  for (int i = 0; i < position; ++i) LEAT_RETURN_IF_ERROR(verify_shape(v, i));
  return leat_ok_status();
}

// ---- Nodes and graph ----------------------------------------------------------------------------

// The name is valid, and the graph's index finds this node by it; so no two nodes share a name.
static leat_status_t verify_name(const verifier_t* v) {
  const leat_node_t* node = v->node;
  if (!leat_node_name_is_valid(node->name, true)) {
    return broken(v, "the name is not one that a node may have");
  }
  const int32_t index = (int32_t)(node - v->graph->nodes);
  const int32_t found = leat_graph_find_node(v->graph, node->name);
  if (found == index) return leat_ok_status();
  if (found < 0) return broken(v, "the name is not in the graph's index, must be there");
  return broken(v, "the name is that of nodes %d and %d, must be of one", found, index);
}

static leat_status_t verify_node(const verifier_t* v) {
  if (!v->node->op) return broken(v, "op is NULL, must be one of the registry's");
  LEAT_RETURN_IF_ERROR(verify_attrs(v));
  LEAT_RETURN_IF_ERROR(verify_outputs(v));
  LEAT_RETURN_IF_ERROR(verify_inputs(v));
  return verify_name(v);
}

static leat_status_t verify_acyclic(const verifier_t* v) {
  int32_t* order;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(v->graph->allocator, v->graph->node_count + 1, &order));
  leat_status_t status = leat_graph_sort(v->graph, order);
  leat_allocator_free(v->graph->allocator, order);
  return leat_status_annotate(status, "Verifying failed after %s", v->stage);
}

static leat_status_t verify(verifier_t* v) {
  const leat_graph_t* graph = v->graph;
  if (graph->node_count > graph->node_capacity || graph->names.count != graph->node_count) {
    return leat_make_status(LEAT_INTERNAL,
                            "Verifying failed after %s: the graph has %zu nodes, room for %zu and "
                            "%zu names, must have a name and room for each node",
                            v->stage, graph->node_count, graph->node_capacity, graph->names.count);
  }
  for (size_t i = 0; i < graph->node_count; ++i) {
    v->node = &graph->nodes[i];
    LEAT_RETURN_IF_ERROR(verify_node(v));
  }
  return v->is_unfinished ? leat_ok_status() : verify_acyclic(v);
}

leat_status_t leat_graph_verify(const leat_graph_t* graph, const char* stage) {
  verifier_t v = {.graph = graph, .stage = stage};
  return verify(&v);
}

leat_status_t leat_graph_verify_unfinished(const leat_graph_t* graph, const char* stage) {
  verifier_t v = {.graph = graph, .stage = stage, .is_unfinished = true};
  return verify(&v);
}

leat_status_t leat_graph_verify_placed(const leat_graph_t* graph, int device_count,
                                       const char* stage) {
  verifier_t v = {.graph = graph, .stage = stage};
  LEAT_RETURN_IF_ERROR(verify(&v));
  for (size_t i = 0; i < graph->node_count; ++i) {
    v.node = &graph->nodes[i];
    if (v.node->assigned_device >= 0 && v.node->assigned_device < device_count) continue;
    return broken(&v, "the device is %d, must be in [0, %d)", v.node->assigned_device,
                  device_count);
  }
  return leat_ok_status();
}
