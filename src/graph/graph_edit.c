// Changes to nodes that are in a graph already: edges, attributes, shapes. Copies of a node share
// its arrays of attributes and shapes, in this graph and in its children, so these arrays are
// replaced and never written; edge lists belong to one node and are written in place while they
// have room. An edit that changes what is known of a value (an input, a shape) forgets the values
// that inference remembers, because each of them may depend on the edited node. Shapes of readers
// are not inferred again: a rewriting pass that wants them does so itself. Callers are the C API's
// mutation functions, import, which closes loops, and the optimizer.
#include "graph/signature.h"
#include "graph/storage.h"

leat_status_t leat_graph_add_control_input(leat_graph_t* graph, int32_t node_index,
                                           int32_t control_input) {
  LEAT_DCHECK((size_t)node_index < graph->node_count && (size_t)control_input < graph->node_count);
  leat_node_t* node = &graph->nodes[node_index];
  size_t count = (size_t)node->input_count + (size_t)node->control_count;
  for (size_t i = (size_t)node->input_count; i < count; ++i) {
    if (node->inputs[i].node == control_input) return leat_ok_status();
  }
  // The list is full: its room is always the power of two that leat_edge_capacity gives.
  if (leat_edge_capacity(count) == count) {
    void* memory = NULL;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&graph->storage->arena,
                                                   leat_edge_capacity(count + 1),
                                                   sizeof(leat_output_t), &memory));
    if (count > 0) memcpy(memory, node->inputs, count * sizeof(leat_output_t));
    node->inputs = memory;
  }
  node->inputs[count] = (leat_output_t){control_input, LEAT_CONTROL_INDEX};
  ++node->control_count;
  return leat_ok_status();
}

// An input may be a reference where the op asks for the plain type, since reading it gives the
// value.
leat_status_t leat_graph_set_input(leat_graph_t* graph, int32_t node_index, int index,
                                   leat_output_t source) {
  leat_node_t* node = &graph->nodes[node_index];
  if (index < 0 || index >= node->input_count) {
    return leat_make_status(LEAT_OUT_OF_RANGE,
                            "Setting an input of node '%.*s' (%.*s) failed: index is %d, must be "
                            "in [0, %d)",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), index,
                            node->input_count);
  }
  LEAT_DCHECK((size_t)node_index < graph->node_count && (size_t)source.node < graph->node_count);
  const leat_node_t* from = &graph->nodes[source.node];
  if (source.index < 0 || source.index >= from->output_count) {
    return leat_make_status(LEAT_OUT_OF_RANGE,
                            "Setting input %d of node '%.*s' (%.*s) failed: source is output %d of "
                            "'%.*s', must be in [0, %d)",
                            index, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            source.index, LEAT_SV_ARG(from->name), from->output_count);
  }
  int expected = leat_node_input_type(node, index);
  int actual = from->output_types[source.index];
  if (actual != expected && actual != expected + LEAT_DTYPE_REF_OFFSET) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Input %d of node %.*s was passed %s from %.*s:%d incompatible with "
                            "expected %s.",
                            index, LEAT_SV_ARG(node->name), leat_dtype_name(actual),
                            LEAT_SV_ARG(from->name), source.index, leat_dtype_name(expected));
  }
  node->inputs[index] = source;
  leat_word_map_clear(&graph->storage->values);
  return leat_ok_status();
}

// Appends the outputs that the attributes ask for and the node lacks, with unknown shapes.
static leat_status_t grow_outputs(leat_graph_t* graph, leat_node_t* node) {
  int64_t count = 0;
  for (int i = 0; i < node->op->output_count; ++i) {
    count += leat_signature_argument_count(&node->op->outputs[i], node->attrs);
  }
  if (count <= node->output_count) return leat_ok_status();
  void *types, *shapes;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&graph->storage->arena, (size_t)count, &types));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&graph->storage->arena, (size_t)count,
                                                 sizeof(leat_partial_shape_t), &shapes));
  int64_t next = 0;
  for (int i = 0; i < node->op->output_count; ++i) {
    const leat_op_argument_t* argument = &node->op->outputs[i];
    int64_t items = leat_signature_argument_count(argument, node->attrs);
    for (int64_t k = 0; k < items; ++k, ++next) {
      ((uint8_t*)types)[next] = (uint8_t)leat_signature_argument_type(argument, node->attrs, k);
      ((leat_partial_shape_t*)shapes)[next] = next < node->output_count
                                                  ? node->output_shapes[next]
                                                  : leat_partial_shape_unknown();
    }
  }
  LEAT_DCHECK(next == count);
  node->output_types = types;
  node->output_shapes = shapes;
  node->output_count = (int32_t)count;
  return leat_ok_status();
}

leat_status_t leat_graph_add_input(leat_graph_t* graph, int32_t node_index,
                                   leat_output_t source) {
  leat_node_t* node = &graph->nodes[node_index];
  int expected = leat_node_input_type(node, node->input_count);
  LEAT_DCHECK(leat_output_exists(source) && (size_t)source.node < graph->node_count);
  int actual = leat_graph_output_type(graph, source);
  if (actual != expected && actual != expected + LEAT_DTYPE_REF_OFFSET) {
    return leat_make_status(expected == LEAT_DTYPE_INVALID ? LEAT_OUT_OF_RANGE
                                                           : LEAT_INVALID_ARGUMENT,
                            "Adding an input to node '%.*s' (%.*s) failed: input %d is of type "
                            "%s, must be %s",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                            node->input_count, leat_dtype_name(actual),
                            expected == LEAT_DTYPE_INVALID ? "none, as its attributes say"
                                                           : leat_dtype_name(expected));
  }
  size_t count = (size_t)node->input_count + (size_t)node->control_count;
  void* memory;
  LEAT_RETURN_IF_ERROR(grow_outputs(graph, node));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&graph->storage->arena,
                                                 leat_edge_capacity(count + 1),
                                                 sizeof(leat_output_t), &memory));
  leat_output_t* inputs = memory;
  // The new input goes between the data inputs and the control inputs.
  for (size_t i = 0; i < count; ++i) {
    inputs[i + (i >= (size_t)node->input_count)] = node->inputs[i];
  }
  inputs[node->input_count++] = source;
  node->inputs = inputs;
  leat_word_map_clear(&graph->storage->values);
  return leat_ok_status();
}

// The whole list of attributes is copied, because copies of the node share the old one.
leat_status_t leat_graph_set_attr(leat_graph_t* graph, int32_t node_index,
                                  const leat_attr_t* attr) {
  LEAT_DCHECK((size_t)node_index < graph->node_count && attr->name.size > 0);
  leat_node_t* node = &graph->nodes[node_index];
  int declared = leat_op_find_attr(node->op, attr->name);
  if (declared >= 0) {
    LEAT_RETURN_IF_ERROR(leat_op_attr_check(&node->op->attrs[declared], &attr->value));
  }
  int index = 0;
  while (index < node->attr_count && !leat_string_view_equal(node->attrs[index].name, attr->name)) {
    ++index;
  }
  int count = node->attr_count + (index == node->attr_count);
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&graph->storage->arena, (size_t)count,
                                                 sizeof(leat_attr_t), &memory));
  leat_attr_t* attrs = memory;
  if (node->attr_count > 0) {
    memcpy(attrs, node->attrs, (size_t)node->attr_count * sizeof(leat_attr_t));
  }
  if (index == node->attr_count) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(&graph->storage->arena, attr->name, &attrs[index].name));
  }
  LEAT_RETURN_IF_ERROR(
      leat_graph_storage_copy_value(graph->storage, &attr->value, &attrs[index].value));
  // A list that came empty from a file has no kind; the declaration tells it.
  if (declared >= 0 && attrs[index].value.is_list) {
    attrs[index].value.kind = (uint8_t)node->op->attrs[declared].kind;
  }
  node->attrs = attrs;
  node->attr_count = count;
  // Values that were inferred from the attribute, as a constant's are, may be others now.
  leat_word_map_clear(&graph->storage->values);
  return leat_ok_status();
}

// How many tensors |arguments| stand for in all; |*out_type| becomes the type of tensor |index|.
static int64_t count_tensors(const leat_op_argument_t* arguments, int count,
                             const leat_attr_t* attrs, int64_t index, int* out_type) {
  int64_t total = 0;
  *out_type = LEAT_DTYPE_INVALID;
  for (int i = 0; i < count; ++i) {
    const int64_t items = leat_signature_argument_count(&arguments[i], attrs);
    if (index >= total && index < total + items) {
      *out_type = leat_signature_argument_type(&arguments[i], attrs, index - total);
    }
    total += items;
  }
  return total;
}

// The attributes of a node ask for |wanted| inputs or outputs, of which it has |count|.
static leat_status_t does_not_fit(const leat_node_t* node, const char* what, int count,
                                  int64_t wanted) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Setting an attribute failed for node '%.*s' (%.*s): %s count is %d, "
                          "must be %lld, as the attributes say",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), what, count,
                          (long long)wanted);
}

static leat_status_t has_other_type(const leat_node_t* node, const char* what, int index,
                                    int actual, int wanted) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Setting an attribute failed for node '%.*s' (%.*s): %s %d is of type "
                          "%s, must be %s, as the attributes say",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), what, index,
                          leat_dtype_name(actual), leat_dtype_name(wanted));
}

// A call, such as While, may for a time have fewer inputs and outputs than its attributes ask for:
// the client first makes the lists of types longer and then adds the inputs.
leat_status_t leat_graph_check_attrs(const leat_graph_t* graph, int32_t node_index) {
  const leat_node_t* node = &graph->nodes[node_index];
  const leat_op_t* op = node->op;
  const bool may_grow = op->flags & LEAT_OP_CALLS;
  int wanted;
  int64_t count = count_tensors(op->inputs, op->input_count, node->attrs, 0, &wanted);
  if (count < node->input_count || (count > node->input_count && !may_grow)) {
    return does_not_fit(node, "input", node->input_count, count);
  }
  count = count_tensors(op->outputs, op->output_count, node->attrs, 0, &wanted);
  if (count < node->output_count || (count > node->output_count && !may_grow)) {
    return does_not_fit(node, "output", node->output_count, count);
  }
  for (int i = 0; i < node->input_count; ++i) {
    if (!leat_output_exists(node->inputs[i])) continue;  // a Merge whose loop is not closed yet
    const int actual = leat_graph_output_type(graph, node->inputs[i]);
    wanted = leat_node_input_type(node, i);
    if (actual == wanted || actual == wanted + LEAT_DTYPE_REF_OFFSET) continue;
    return has_other_type(node, "input", i, actual, wanted);
  }
  for (int i = 0; i < node->output_count; ++i) {
    count_tensors(op->outputs, op->output_count, node->attrs, i, &wanted);
    if (node->output_types[i] == wanted) continue;
    return has_other_type(node, "output", i, node->output_types[i], wanted);
  }
  return leat_ok_status();
}

// Whether |claimed| says nothing about the shape that |known| does not say.
static bool is_no_news(leat_partial_shape_t known, leat_partial_shape_t claimed) {
  if (claimed.rank < 0) return true;
  if (claimed.rank != known.rank) return false;
  for (int i = 0; i < known.rank; ++i) {
    if (claimed.dims[i] != known.dims[i] && claimed.dims[i] != LEAT_DIM_UNKNOWN) return false;
  }
  return true;
}

leat_status_t leat_graph_refine_shape(leat_graph_t* graph, leat_output_t output,
                                      leat_partial_shape_t shape) {
  leat_node_t* node = &graph->nodes[output.node];
  LEAT_DCHECK(output.index >= 0 && output.index < node->output_count);
  if (is_no_news(node->output_shapes[output.index], shape)) return leat_ok_status();
  leat_partial_shape_t merged;
  leat_status_t status = leat_partial_shape_merge(node->output_shapes[output.index], shape,
                                                  &graph->storage->arena, &merged);
  if (status) {
    return leat_status_annotate(status, "Setting the shape of output %d of node '%.*s' failed",
                                output.index, LEAT_SV_ARG(node->name));
  }
  void* memory = NULL;
  size_t bytes = (size_t)node->output_count * sizeof(leat_partial_shape_t);
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&graph->storage->arena, bytes, &memory));
  leat_partial_shape_t* shapes = memcpy(memory, node->output_shapes, bytes);
  shapes[output.index] = merged;
  node->output_shapes = shapes;
  // A value that follows from this shape may be known better now.
  leat_word_map_clear(&graph->storage->values);
  return leat_ok_status();
}
