// The pass "fold": constant folding. A pure node whose inputs are all constants is computed once,
// before the first step, and replaced by constants; so is a node whose value follows from shapes
// alone (the Shape of a tensor whose dimensions are known). The session provides the function that
// computes a node, which checks the same contracts as a step does.
//
// A folded graph must behave as the original one. A node whose computation fails stays, and reports
// its error in the step. A node behind a Switch or Enter is not folded, since its value may be dead
// or belong to an iteration. Where only the shape of a tensor is needed, and computing the tensor
// reads state, that still runs, because reading an uninitialised variable must be reported.
//
// Folding is bounded. Results larger than a limit would make the graph too large, and are not kept;
// after a deadline no more nodes are computed.
//
// A folded value may have to wait. TensorFlow's gradients forward constants through Identities that
// wait for a whole group; a node computed from such a value is folded, and its constant waits for
// what the node depended on. The Identity itself stays, since a constant with the same control
// inputs would be no simpler.
//
// First all values are computed in topological order; then nodes are replaced in the opposite
// order, so that a node which only folded nodes read is gone before its turn comes. The pass runs
// first of all, as the other passes look for constants.
#include <string.h>

#include "base/clock.h"
#include "graph/inference/inference.h"
#include "optimize/edit.h"

#define DEFAULT_LIMIT_BYTES (INT64_C(10) << 20)
#define DEFAULT_LIMIT_NS INT64_C(2000000000)

typedef struct fold_s {
  leat_edit_t* edit;
  const leat_pass_options_t* options;
  leat_graph_t* graph;  // the edit's
  leat_arena_t* arena;
  int32_t* order;
  size_t count;
  leat_tensor_t** values;  // node -> the values of its outputs; NULL: not constant
  bool* harmless;          // by node: it depends on pure nodes and arguments only
  bool* controlled;        // by node: behind a Switch or Enter, so dead or many times alive
  bool* waits;             // by node: it has control inputs, or depends on a node that does
  size_t folded;           // how many nodes were computed
  int64_t deadline_ns;     // counted from the first computation; 0: not begun
} fold_t;

// Whether the results are small enough to be kept, and of types that a constant can have.
static bool fits(const fold_t* f, const leat_node_t* node, const leat_tensor_t* outputs) {
  int64_t limit = f->options->fold_limit_bytes;
  if (limit <= 0) limit = DEFAULT_LIMIT_BYTES;
  int64_t total = 0;
  for (int i = 0; i < node->output_count; ++i) {
    if (outputs[i].dtype == LEAT_DTYPE_RESOURCE || outputs[i].dtype == LEAT_DTYPE_VARIANT) {
      return false;
    }
    total += (int64_t)leat_tensor_size_bytes(&outputs[i]);
  }
  return total <= limit;
}

// Whether a result would be too large, or its size is not known beforehand. This test comes before
// the computation, which would exhaust memory otherwise (a Fill of 2^40 elements).
static bool may_be_huge(const fold_t* f, const leat_node_t* node) {
  int64_t limit = f->options->fold_limit_bytes > 0 ? f->options->fold_limit_bytes
                                                   : DEFAULT_LIMIT_BYTES;
  for (int i = 0; i < node->output_count; ++i) {
    leat_shape_t shape;
    if (!leat_partial_shape_is_full(node->output_shapes[i])) return true;
    leat_status_t status = leat_partial_shape_to_full(node->output_shapes[i], &shape);
    if (status) {
      leat_status_free(status);
      return true;
    }
    bool huge = shape.element_count > limit;
    leat_shape_release(&shape);
    if (huge) return true;
  }
  return false;
}

static bool inputs_are_constant(const fold_t* f, const leat_node_t* node) {
  for (int i = 0; i < node->input_count; ++i) {
    if (!f->values[node->inputs[i].node]) return false;
  }
  return true;
}

static void release_all(leat_tensor_t* tensors, int count) {
  for (int i = 0; i < count; ++i) leat_tensor_release(&tensors[i]);
}

static leat_status_t allocate_values(const fold_t* f, int count, leat_tensor_t** out_values) {
  return LEAT_NEW(f->arena, (size_t)count + 1, out_values);
}

// Whether the time for folding is up. It begins with the first call.
static bool is_late(fold_t* f) {
  int64_t now = leat_clock_now_ns(), limit = f->options->fold_limit_ns;
  if (!f->deadline_ns) f->deadline_ns = now + (limit > 0 ? limit : DEFAULT_LIMIT_NS);
  return now > f->deadline_ns;
}

// Computes the node from the values of its inputs, if it can be computed and the result is small.
static leat_status_t evaluate(fold_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  leat_tensor_t *inputs, *outputs;
  LEAT_RETURN_IF_ERROR(allocate_values(f, node->input_count, &inputs));
  LEAT_RETURN_IF_ERROR(allocate_values(f, node->output_count, &outputs));
  for (int i = 0; i < node->input_count; ++i) {
    LEAT_DCHECK(f->values[node->inputs[i].node]);
    inputs[i] = f->values[node->inputs[i].node][node->inputs[i].index];  // borrowed
  }
  leat_status_t status =
      f->options->evaluate(f->options->evaluate_data, f->graph, index, inputs, outputs);
  if (status) {  // the node stays, and the step reports the error
    leat_status_free(status);
    return leat_ok_status();
  }
  if (!fits(f, node, outputs)) {
    release_all(outputs, node->output_count);
    return leat_ok_status();
  }
  LEAT_DCHECK(!f->values[index]);
  f->values[index] = outputs;
  ++f->folded;
  return leat_ok_status();
}

// Makes a tensor, a scalar or vector of integers, of a value that shape inference knows.
static leat_status_t value_to_tensor(leat_partial_value_t value, int dtype, leat_tensor_t* out) {
  LEAT_DCHECK(value.rank == 1 || (value.rank == 0 && value.count == 1));
  leat_shape_t shape = value.rank == 0 ? leat_shape_scalar() : leat_shape_vector(value.count);
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, out));
  for (int i = 0; i < value.count; ++i) {
    if (dtype == LEAT_DTYPE_INT32) {
      leat_tensor_data(out, int32_t)[i] = (int32_t)value.items[i];
    } else {
      leat_tensor_data(out, int64_t)[i] = value.items[i];
    }
  }
  return leat_ok_status();
}

// Whether inference knows all elements of the value, and each fits the type.
static bool value_is_full(leat_partial_value_t value, int dtype) {
  if (value.rank < 0 || (dtype != LEAT_DTYPE_INT32 && dtype != LEAT_DTYPE_INT64)) return false;
  for (int i = 0; i < value.count; ++i) {
    if (value.items[i] == LEAT_VALUE_UNKNOWN) return false;
    if (dtype == LEAT_DTYPE_INT32 && (value.items[i] > INT32_MAX || value.items[i] < INT32_MIN)) {
      return false;
    }
  }
  return true;
}

// Takes the values of a node that depends on the shapes of its inputs only from shape inference.
static leat_status_t fold_shape(fold_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  leat_tensor_t* outputs;
  LEAT_RETURN_IF_ERROR(allocate_values(f, node->output_count, &outputs));
  for (int i = 0; i < node->output_count; ++i) {
    leat_partial_value_t value;
    LEAT_RETURN_IF_ERROR(
        leat_inference_value_of(f->graph, (leat_output_t){index, i}, 0, &value));
    if (!value_is_full(value, node->output_types[i])) {
      release_all(outputs, i);
      return leat_ok_status();
    }
    leat_status_t status = value_to_tensor(value, node->output_types[i], &outputs[i]);
    if (status) {
      release_all(outputs, i);
      return status;
    }
  }
  f->values[index] = outputs;
  ++f->folded;
  return leat_ok_status();
}

static leat_status_t take_constant(fold_t* f, int32_t index) {
  const leat_tensor_t* constant = leat_node_constant(&f->graph->nodes[index]);
  if (!constant) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(allocate_values(f, 1, &f->values[index]));
  f->values[index][0] = leat_tensor_share(constant);
  return leat_ok_status();
}

static bool is_harmless(const fold_t* f, const leat_node_t* node) {
  bool harmless = leat_node_is_pure(f->graph, node) || (node->op->flags & LEAT_OP_ARGUMENT);
  for (int i = 0; harmless && i < node->input_count + node->control_count; ++i) {
    harmless = f->harmless[node->inputs[i].node];
  }
  return harmless;
}

static bool is_controlled(const fold_t* f, const leat_node_t* node) {
  bool controlled = node->op->flags & (LEAT_OP_SWITCH | LEAT_OP_ENTER);
  for (int i = 0; !controlled && i < node->input_count + node->control_count; ++i) {
    controlled = f->controlled[node->inputs[i].node];
  }
  return controlled;
}

static bool find_waits(const fold_t* f, const leat_node_t* node) {
  bool waits = node->control_count > 0;
  for (int i = 0; i < node->input_count; ++i) waits |= f->waits[node->inputs[i].node];
  return waits;
}

// Finds the values of node |index| if they are constant, and what is known about it otherwise. The
// nodes before it in topological order have been visited.
static leat_status_t try_node(fold_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  f->waits[index] = find_waits(f, node);
  f->harmless[index] = is_harmless(f, node);
  f->controlled[index] = is_controlled(f, node);
  if (f->controlled[index]) return leat_ok_status();
  if (node->op->flags & LEAT_OP_CONSTANT) return take_constant(f, index);
  bool foldable = leat_node_is_pure(f->graph, node) && !(node->op->flags & LEAT_OP_NEVER_FOLD);
  if (!foldable) return leat_ok_status();
  if (node->op->flags & LEAT_OP_ONLY_SHAPE) {
    return node->control_count ? leat_ok_status() : fold_shape(f, index);
  }
  if (node->input_count == 0) return leat_ok_status();
  if (!inputs_are_constant(f, node) || may_be_huge(f, node) || is_late(f)) return leat_ok_status();
  return evaluate(f, index);
}

// ---- Constants in the place of nodes ------------------------------------------------------------

// Whether constants replace the node: its values are known, it is no constant, and it is not an
// Identity that waits.
static bool is_folded(const fold_t* f, int32_t index) {
  const uint32_t flags = f->graph->nodes[index].op->flags;
  return f->values[index] && !(flags & LEAT_OP_CONSTANT) &&
         !(f->waits[index] && flags & LEAT_OP_PASS_THROUGH);
}

// Lists what a constant must wait for that replaces the node: the node's control inputs, and those
// of its inputs that wait themselves.
static leat_status_t list_waits(const fold_t* f, int32_t index, leat_waits_t* out_waits) {
  *out_waits = (leat_waits_t){0};
  if (!f->waits[index]) return leat_ok_status();
  const leat_node_t* node = &f->graph->nodes[index];
  for (int i = 0; i < node->input_count; ++i) {
    if (!f->waits[node->inputs[i].node]) continue;
    LEAT_RETURN_IF_ERROR(leat_waits_add(f->edit, node->inputs[i].node, out_waits));
  }
  return leat_waits_add_controls(f->edit, index, out_waits);
}

// Adds a constant with the value of output |output| of node |index|.
static leat_status_t add_constant(fold_t* f, int32_t index, int output, leat_output_t* out_added) {
  const leat_tensor_t* value = &f->values[index][output];
  LEAT_DCHECK(value->dtype == f->graph->nodes[index].output_types[output]);
  const leat_attr_t attrs[] = {LEAT_TENSOR("value", value), LEAT_TYPE("dtype", value->dtype)};
  leat_node_spec_t spec = {.attrs = attrs, .attr_count = 2};
  leat_waits_t waits;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(f->graph->ops, LEAT_OP_NAME_CONSTANT, &spec.op));
  LEAT_RETURN_IF_ERROR(list_waits(f, index, &waits));
  spec.control_inputs = waits.nodes;
  spec.control_count = waits.count;
  out_added->index = 0;
  return leat_edit_add(f->edit, index, "/_folded", &spec, &out_added->node);
}

// Makes the inputs of a folded shape targets where they read state or can fail in another way than
// pure nodes: the error for an uninitialised variable must be reported, though its shape is known.
static leat_status_t keep_readers_of_state(fold_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  if (!(node->op->flags & LEAT_OP_ONLY_SHAPE) || f->harmless[index]) return leat_ok_status();
  for (int i = 0; i < node->input_count; ++i) {
    const int32_t source = f->graph->nodes[index].inputs[i].node;
    if (!f->harmless[source]) LEAT_RETURN_IF_ERROR(leat_edit_keep(f->edit, source));
  }
  return leat_ok_status();
}

// Puts a constant in the place of each output of the node.
static leat_status_t replace(fold_t* f, int32_t index) {
  const int outputs = f->graph->nodes[index].output_count;
  leat_output_t first = LEAT_OUTPUT_NONE;
  LEAT_RETURN_IF_ERROR(keep_readers_of_state(f, index));
  for (int k = 0; k < outputs; ++k) {
    leat_output_t constant;
    LEAT_RETURN_IF_ERROR(add_constant(f, index, k, &constant));
    if (k == 0) first = constant;
    LEAT_RETURN_IF_ERROR(leat_edit_redirect(f->edit, (leat_output_t){index, k}, constant));
  }
  // A folded node is pure, and a pure node has outputs. Nodes that wait for it wait for the first
  // constant.
  LEAT_DCHECK(outputs > 0);
  return leat_edit_replace_by_output(f->edit, index, first);
}

static leat_status_t run(fold_t* f) {
  const size_t nodes = f->graph->node_count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->arena, nodes, &f->values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->arena, nodes, &f->harmless));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->arena, nodes, &f->controlled));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->arena, nodes, &f->waits));
  for (size_t i = 0; i < f->count; ++i) LEAT_RETURN_IF_ERROR(try_node(f, f->order[i]));
  // Readers come first, so that a node which only folded nodes read is gone before its turn comes.
  for (size_t i = f->count; f->folded && i-- > 0;) {
    const int32_t index = f->order[i];
    if (!leat_edit_is_gone(f->edit, index) && is_folded(f, index)) {
      LEAT_RETURN_IF_ERROR(replace(f, index));
    }
  }
  return leat_ok_status();
}

static leat_status_t fold(leat_edit_t* edit) {
  fold_t f = {.edit = edit,
              .options = edit->options,
              .graph = edit->graph,
              .arena = edit->scratch};
  if (!edit->options->evaluate) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_edit_sort(edit, &f.order, &f.count));
  leat_status_t status = run(&f);
  for (size_t i = 0; f.values && i < f.count; ++i) {
    const int32_t node = f.order[i];
    if (f.values[node]) release_all(f.values[node], f.graph->nodes[node].output_count);
  }
  return status;
}

const leat_pass_t leat_pass_fold = {
    .name = "fold",
    .doc = "computes what is constant before the first step",
    .stage = LEAT_PASS_WHOLE,
    .bit = LEAT_PASS_BIT_FOLD,
    .option = "constant_folding",
    .has_work = leat_graph_computes,
    .run = fold};
