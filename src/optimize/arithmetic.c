// The pass "arithmetic": applies algebraic identities that hold bit for bit for every value, such
// as x + -0 = x and -(-x) = x. A node whose output equals a tensor that exists already is bypassed:
// its readers read that tensor, and the node disappears once nobody needs it. Which identities hold
// for an op says the op's row (leat_identity_e) or its flag PASS_THROUGH; the pass itself knows no
// op. An identity that only holds approximately, or that changes the sign of a zero, is not in a
// row.
//
//   x ─▶ Neg ─▶ Neg ─▶ y      x ─▶ y        x ─▶ Transpose(a) ─▶ Transpose(b) ─▶ y
//   x ─▶ Identity ─▶ y        x ─▶ y        x ─▶ Transpose(a[b]) ─▶ y
//
// A rewritten graph must fail where the original fails. A kernel may refuse a shape that inference
// accepts, so the pass examines the constant operands of such ops first (keeps_shape, cannot_fail).
//
// The pass leaves a node alone that has control inputs, and does not use operands that have any: in
// a branch that is not taken they are dead, and the tensor that would replace them may be alive.
// Node by node in topological order, chains of identities collapse in one visit. The pass runs
// after folding, which computes the constants that it looks for.
#include "graph/inference/inference.h"
#include "optimize/edit.h"

// The constant at input |index| if it has no control inputs and so is always alive; else NULL.
static const leat_tensor_t* constant_input(const leat_edit_t* a, const leat_node_t* node,
                                           int index) {
  const leat_node_t* source = &a->graph->nodes[node->inputs[index].node];
  return source->control_count ? NULL : leat_node_constant(source);
}

// The node whose output 0 is input 0 of |node|, if it has the same op, attributes and device and no
// control inputs; else NULL.
static const leat_node_t* same_op_before(const leat_edit_t* a, const leat_node_t* node) {
  leat_output_t input = node->inputs[0];
  const leat_node_t* before = &a->graph->nodes[input.node];
  bool same = before->op == node->op && input.index == 0 && !before->control_count &&
              before->attr_count == node->attr_count &&
              leat_string_view_equal(before->device, node->device);
  for (int i = 0; same && i < node->attr_count; ++i) {
    same = leat_string_view_equal(before->attrs[i].name, node->attrs[i].name) &&
           leat_attr_value_equal(&before->attrs[i].value, &node->attrs[i].value);
  }
  return same ? before : NULL;
}

// ---- Shapes -------------------------------------------------------------------------------------

// Whether both shapes are fully known and equal.
static bool shapes_agree(leat_partial_shape_t a, leat_partial_shape_t b) {
  return leat_partial_shape_is_full(a) && leat_partial_shape_equal(a, b);
}

// The product of the known dimensions, or -1 when it is 0, too large or more than one is unknown.
// |*out_unknown| is the unknown dimension; -1: none.
static int64_t known_count(leat_partial_shape_t shape, int* out_unknown) {
  int64_t count = 1;
  *out_unknown = -1;
  if (shape.rank < 0) return -1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] < 0) {
      if (*out_unknown >= 0) return -1;
      *out_unknown = d;
    } else if (shape.dims[d] == 0 || __builtin_mul_overflow(count, shape.dims[d], &count)) {
      return -1;
    }
  }
  return count;
}

// Whether one of the integers lies between |least| and |most|, both included.
static bool has_item_in(const leat_tensor_t* integers, int64_t least, int64_t most) {
  for (int64_t i = 0; i < integers->shape.element_count; ++i) {
    const int64_t item = leat_tensor_index_at(integers, i);
    if (item >= least && item <= most) return true;
  }
  return false;
}

// Whether shape inference can reason about the constant. Inference represents an unknown value by
// the number LEAT_VALUE_UNKNOWN, so a constant that holds that number by chance looks unknown.
static bool is_understood(const leat_tensor_t* constant) {
  if (!constant || constant->dtype != LEAT_DTYPE_INT64) return constant != NULL;
  return !has_item_in(constant, LEAT_VALUE_UNKNOWN, LEAT_VALUE_UNKNOWN);
}

// Whether dimension |dim| of the output is the one that the constant at input 1 gives as -1, so
// that the op computes it from the number of elements.
static bool is_free(const leat_edit_t* a, const leat_node_t* node, int dim) {
  LEAT_DCHECK(dim >= 0);
  const leat_tensor_t* shape = constant_input(a, node, 1);
  return shape && shape->shape.rank == 1 && dim < shape->shape.element_count &&
         leat_tensor_index_at(shape, dim) == -1;
}

// Whether |node|, whose op is an identity if the shape does not change, outputs its input and
// cannot fail. A shape with one unknown dimension does not change if the op computes that dimension
// from the number of elements.
static bool keeps_shape(const leat_edit_t* a, const leat_node_t* node) {
  const unsigned identities = node->op->row->identities;
  leat_partial_shape_t from = leat_graph_output_shape(a->graph, node->inputs[0]);
  leat_partial_shape_t to = node->output_shapes[0];
  int unknown;
  for (int i = 1; i < node->input_count; ++i) {
    const leat_tensor_t* constant = constant_input(a, node, i);
    if (!is_understood(constant)) return false;
    if (i > 1) continue;
    // Inference accepts these constants, but the kernel fails for them.
    if ((identities & LEAT_IDENTITY_AT_ORIGIN) &&
        (has_item_in(constant, INT64_MIN, -1) || has_item_in(constant, 1, INT64_MAX))) {
      return false;
    }
    if ((identities & LEAT_IDENTITY_NO_NEGATIVES) && has_item_in(constant, INT64_MIN, -1)) {
      return false;
    }
  }
  if (shapes_agree(from, to)) return true;
  return (identities & LEAT_IDENTITY_LAST_WINS) &&
         leat_partial_shape_equal(from, to) && known_count(from, &unknown) >= 0 && unknown >= 0 &&
         is_free(a, node, unknown);
}

// Whether |node|, whose op has LEAT_IDENTITY_LAST_WINS (a Reshape), always finds as many elements
// as its shape requires.
static bool cannot_fail(const leat_edit_t* a, const leat_node_t* node) {
  leat_partial_shape_t from = leat_graph_output_shape(a->graph, node->inputs[0]);
  int from_unknown, to_unknown;
  if (!is_understood(constant_input(a, node, 1))) return false;
  if (leat_partial_shape_is_full(from)) return leat_partial_shape_is_full(node->output_shapes[0]);
  int64_t all = known_count(from, &from_unknown);
  int64_t wanted = known_count(node->output_shapes[0], &to_unknown);
  return all > 0 && wanted > 0 && to_unknown >= 0 && all % wanted == 0 &&
         is_free(a, node, to_unknown);
}

// ---- Neutral operands ---------------------------------------------------------------------------

// The other input of a node one of whose inputs is neutral (x of x * 1), or LEAT_OUTPUT_NONE. The
// neutral constant must not broadcast the other input to a larger shape.
static leat_output_t without_neutral(const leat_edit_t* a, const leat_node_t* node,
                                     unsigned identities) {
  int sides = identities & LEAT_IDENTITY_EITHER_SIDE ? 2 : 1;
  for (int x = 0; x < sides; ++x) {
    const leat_tensor_t* e = constant_input(a, node, 1 - x);
    if (!e || !leat_tensor_is_neutral(e, identities)) continue;
    leat_output_t rest = node->inputs[x];
    if (e->shape.rank == 0 ||
        shapes_agree(leat_graph_output_shape(a->graph, rest), node->output_shapes[0])) {
      return rest;
    }
  }
  return LEAT_OUTPUT_NONE;
}

// ---- Permutations -------------------------------------------------------------------------------

// Reads the permutation at input 1 into |out_axes| and returns its length; -1 where the input is no
// constant, or no permutation.
static int read_permutation(const leat_edit_t* a, const leat_node_t* node,
                            uint8_t out_axes[LEAT_SHAPE_MAX_RANK]) {
  const leat_tensor_t* tensor = constant_input(a, node, 1);
  bool seen[LEAT_SHAPE_MAX_RANK] = {false};
  if (!tensor || tensor->shape.rank != 1 || tensor->shape.element_count > LEAT_SHAPE_MAX_RANK) {
    return -1;
  }
  int rank = (int)tensor->shape.element_count;
  for (int d = 0; d < rank; ++d) {
    int64_t axis = leat_tensor_index_at(tensor, d);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || seen[axis]) return -1;
    seen[axis] = true;
    out_axes[d] = (uint8_t)axis;
  }
  return rank;
}

// Adds a constant permutation with the type of the one that node |like| reads.
static leat_status_t add_permutation(leat_edit_t* a, int32_t like, int rank, const uint8_t* axes,
                                     leat_output_t* out_constant) {
  const leat_node_t* node = &a->graph->nodes[like];
  int dtype = leat_graph_output_type(a->graph, node->inputs[1]);
  LEAT_DCHECK(rank >= 0 && rank <= LEAT_SHAPE_MAX_RANK);
  // The types that leat_tensor_index_at reads, as it has read the permutation.
  LEAT_DCHECK(dtype == LEAT_DTYPE_INT32 || dtype == LEAT_DTYPE_INT64);
  leat_shape_t shape = leat_shape_vector(rank);
  leat_tensor_t tensor;
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &tensor));
  for (int d = 0; d < rank; ++d) {
    if (dtype == LEAT_DTYPE_INT64) {
      leat_tensor_data(&tensor, int64_t)[d] = axes[d];
    } else {
      leat_tensor_data(&tensor, int32_t)[d] = axes[d];
    }
  }
  leat_attr_t attrs[] = {LEAT_TENSOR("value", &tensor), LEAT_TYPE("dtype", dtype)};
  leat_node_spec_t spec = {.attrs = attrs, .attr_count = 2};
  leat_status_t status =
      leat_op_registry_find(a->graph->ops, LEAT_OP_NAME_CONSTANT, &spec.op);
  if (!status) status = leat_edit_add(a, like, "/_permutation", &spec, &out_constant->node);
  out_constant->index = 0;
  leat_tensor_release(&tensor);
  return status;
}

// Merges two successive transpositions into one, or into none where they cancel out. Dimension i of
// the result is dimension second[i] of the tensor in between, which is dimension first[second[i]]
// of x.
static leat_status_t join_permutations(leat_edit_t* a, int32_t index, leat_output_t* out_same) {
  LEAT_DCHECK(a->graph->nodes[index].input_count == 2);
  uint8_t first[LEAT_SHAPE_MAX_RANK], second[LEAT_SHAPE_MAX_RANK];
  const leat_node_t* node = &a->graph->nodes[index];
  const leat_node_t* before = same_op_before(a, node);
  int rank = read_permutation(a, node, second);
  if (rank < 0) return leat_ok_status();
  leat_output_t x = node->inputs[0];
  bool joined = before && read_permutation(a, before, first) == rank;
  if (joined) {
    x = before->inputs[0];
    for (int d = 0; d < rank; ++d) second[d] = first[second[d]];
  }
  bool is_identity = leat_graph_output_shape(a->graph, x).rank == rank;
  for (int d = 0; d < rank && is_identity; ++d) is_identity = second[d] == d;
  if (is_identity) *out_same = x;
  if (is_identity || !joined) return leat_ok_status();
  leat_output_t axes;
  LEAT_RETURN_IF_ERROR(add_permutation(a, index, rank, second, &axes));
  LEAT_RETURN_IF_ERROR(leat_edit_set_input(a, index, 0, x));
  return leat_edit_set_input(a, index, 1, axes);
}

// ---- Rules --------------------------------------------------------------------------------------

// Whether the client asked for a device for this node other than that of |x|. Such an Identity is
// there to copy the tensor to the device, so it stays.
static bool is_elsewhere(const leat_edit_t* a, const leat_node_t* node, leat_output_t x) {
  LEAT_DCHECK(leat_output_exists(x));
  return node->device.size > 0 &&
         !leat_string_view_equal(node->device, a->graph->nodes[x.node].device);
}

// Lets a Reshape of a Reshape read the input of the first one. Not where one of the requested sizes
// is 0 and another one is -1: the kernel then computes the latter from the nonzero sizes of its
// input, so the shape of the input matters.
static leat_status_t skip_overruled(leat_edit_t* a, int32_t index) {
  const leat_node_t* node = &a->graph->nodes[index];
  const leat_node_t* before = same_op_before(a, node);
  const leat_tensor_t* sizes = constant_input(a, node, 1);
  if (!before || !is_understood(sizes) || !cannot_fail(a, before)) return leat_ok_status();
  if (has_item_in(sizes, 0, 0) && has_item_in(sizes, -1, -1)) return leat_ok_status();
  return leat_edit_set_input(a, index, 0, before->inputs[0]);
}

// Finds the output that equals output 0 of node |index|, if there is one; |*out_same| stays as it
// is otherwise.
static leat_status_t find_same(leat_edit_t* a, int32_t index, leat_output_t* out_same) {
  const leat_node_t* node = &a->graph->nodes[index];
  unsigned identities = node->op->row->identities;
  const unsigned neutral = LEAT_IDENTITY_ZERO | LEAT_IDENTITY_PLUS_ZERO | LEAT_IDENTITY_ONE |
                           LEAT_IDENTITY_ALL_ONES;
  leat_output_t x = node->inputs[0];
  if (node->op->flags & LEAT_OP_PASS_THROUGH) {
    *out_same = x;
  } else if (identities & neutral) {
    *out_same = without_neutral(a, node, identities);
  } else if (identities & LEAT_IDENTITY_SAME_TYPE) {
    if (leat_graph_output_type(a->graph, x) == node->output_types[0]) *out_same = x;
  } else if (identities & LEAT_IDENTITY_ONE_INPUT) {
    if (node->input_count == 1) *out_same = x;
  } else if (identities & LEAT_IDENTITY_NO_ITEMS) {
    const leat_tensor_t* items = constant_input(a, node, 1);
    if (items && items->shape.element_count == 0) *out_same = x;
  } else if (identities & (LEAT_IDENTITY_INVOLUTION | LEAT_IDENTITY_IDEMPOTENT)) {
    const leat_node_t* before = same_op_before(a, node);
    if (before) *out_same = identities & LEAT_IDENTITY_IDEMPOTENT ? x : before->inputs[0];
  } else if (identities & LEAT_IDENTITY_PERMUTES) {
    return join_permutations(a, index, out_same);
  } else {
    if (identities & LEAT_IDENTITY_LAST_WINS) LEAT_RETURN_IF_ERROR(skip_overruled(a, index));
    if (keeps_shape(a, node)) *out_same = node->inputs[0];
  }
  return leat_ok_status();
}

static leat_status_t try_node(leat_edit_t* a, int32_t index) {
  const leat_node_t* node = &a->graph->nodes[index];
  if (!(node->op->flags & LEAT_OP_PASS_THROUGH) && !node->op->row->identities) {
    return leat_ok_status();
  }
  if (node->control_count || !node->input_count || !leat_node_is_pure(a->graph, node)) {
    return leat_ok_status();
  }
  leat_output_t same = LEAT_OUTPUT_NONE;
  LEAT_RETURN_IF_ERROR(find_same(a, index, &same));
  if (!leat_output_exists(same) || is_elsewhere(a, &a->graph->nodes[index], same)) {
    return leat_ok_status();
  }
  // Nodes that wait for this node wait for its replacement instead. If that is an output of a
  // Switch they cannot, since a control edge does not say which output is meant, nor if it is a
  // value that a Recv brings, which may be dead; then only the readers are redirected.
  return a->graph->nodes[same.node].op->flags & (LEAT_OP_SWITCH | LEAT_OP_RECV)
             ? leat_edit_redirect(a, (leat_output_t){index, 0}, same)
             : leat_edit_replace_by_output(a, index, same);
}

// Whether any op of the graph has an identity.
static bool has_candidates(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_op_t* op = graph->nodes[i].op;
    if (op->row->identities || (op->flags & LEAT_OP_PASS_THROUGH)) return true;
  }
  return false;
}

static leat_status_t arithmetic(leat_edit_t* edit) {
  return leat_edit_visit(edit, try_node);
}

const leat_pass_t leat_pass_arithmetic = {
    .name = "arithmetic",
    .doc = "nodes whose value is there already are bypassed",
    .after = "fold",
    .stage = LEAT_PASS_WHOLE,
    .bit = LEAT_PASS_BIT_ARITHMETIC,
    .option = "arithmetic_optimization",
    .has_work = has_candidates,
    .run = arithmetic};
