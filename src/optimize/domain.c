// Domains of nodes (domain.h): what each access says of the axes of a node's operands. Of most
// accesses a formula tells them; a reduction or permutation names them in a constant, which is read
// once, when the domain is found. A constant may be behind nodes that only forward it, and those
// are passed. Where anything is not known (an axis that is computed, an unknown rank, an axis named
// twice) there is no domain, and the pass that asked leaves the node alone.
#include "optimize/domain.h"

#include <string.h>

static leat_partial_shape_t shape_of(const leat_domain_t* d, int operand) {
  return leat_graph_output_shape(d->graph, d->node->inputs[operand]);
}

const leat_tensor_t* leat_constant_behind(const leat_graph_t* graph, int32_t index,
                                          bool* out_waits) {
  const leat_node_t* node = leat_graph_node(graph, index);
  int waits = node->control_count;
  while (leat_node_forwards(node)) {
    node = leat_graph_node(graph, node->inputs[0].node);
    waits += node->control_count;
  }
  if (out_waits) *out_waits = waits > 0;
  return leat_node_constant(node);
}

int leat_axis_in_rank(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return LEAT_AXIS_NONE;
  return (int)(axis < 0 ? axis + rank : axis);
}

int leat_axis_of_constant(const leat_tensor_t* axis, int rank) {
  if (!axis || rank < 1 || axis->shape.element_count != 1) return LEAT_AXIS_NONE;
  return leat_axis_in_rank(leat_tensor_index_at(axis, 0), rank);
}

static const leat_tensor_t* constant_at(const leat_domain_t* d, int operand) {
  return leat_constant_behind(d->graph, d->node->inputs[operand].node, NULL);
}

// ---- What constants say -------------------------------------------------------------------------

// Reads the axes of a reduction: those that are left are axes of the output, in order, and the
// others follow behind the output's axes.
static bool find_reduction(leat_domain_t* d) {
  const leat_tensor_t* axes = constant_at(d, 1);
  const int rank = shape_of(d, 0).rank;
  bool is_reduced[LEAT_DOMAIN_MAX_RANK] = {false};
  if (!axes || rank < 0 || rank > LEAT_DOMAIN_MAX_RANK) return false;
  for (int64_t i = 0; i < axes->shape.element_count; ++i) {
    const int axis = leat_axis_in_rank(leat_tensor_index_at(axes, i), rank);
    if (axis == LEAT_AXIS_NONE || is_reduced[axis]) return false;
    is_reduced[axis] = true;
  }
  const bool keeps = leat_node_attr_bool(d->node, "keep_dims", false);
  int left = 0;
  for (int a = 0; a < rank; ++a) {
    d->axes[a] = (int8_t)(is_reduced[a] ? d->rank + d->combined++ : keeps ? a : left);
    left += !is_reduced[a];
  }
  return d->rank == (keeps ? rank : left);
}

// Reads a permutation: axis i of the output is axis perm[i] of the input.
static bool find_permutation(leat_domain_t* d) {
  const leat_tensor_t* perm = constant_at(d, 1);
  if (!perm || perm->shape.element_count != d->rank || shape_of(d, 0).rank != d->rank) return false;
  memset(d->axes, LEAT_AXIS_NONE, sizeof d->axes);
  for (int i = 0; i < d->rank; ++i) {
    const int axis = leat_axis_in_rank(leat_tensor_index_at(perm, i), d->rank);
    if (axis == LEAT_AXIS_NONE || d->axes[axis] != LEAT_AXIS_NONE) return false;
    d->axes[axis] = (int8_t)i;
  }
  return true;
}

// A Tile repeats the axes whose multiple is not 1, so that these belong to no axis of the domain.
static bool find_repetition(leat_domain_t* d) {
  const leat_tensor_t* multiples = constant_at(d, 1);
  if (!multiples || multiples->shape.element_count != d->rank || shape_of(d, 0).rank != d->rank) {
    return false;
  }
  for (int i = 0; i < d->rank; ++i) {
    d->axes[i] = (int8_t)(leat_tensor_index_at(multiples, i) == 1 ? i : LEAT_AXIS_NONE);
  }
  return true;
}

// The last axis of each row is seen as a whole.
static bool find_rows(leat_domain_t* d) {
  if (shape_of(d, 0).rank != d->rank || d->rank < 1) return false;
  for (int i = 0; i < d->rank; ++i) d->axes[i] = (int8_t)(i + 1 < d->rank ? i : LEAT_AXIS_NONE);
  return true;
}

// Gathers rows: along axis 0, and not within a batch.
static bool gathers_rows(const leat_domain_t* d) {
  const int rank = shape_of(d, 0).rank;
  return shape_of(d, 1).rank >= 0 && leat_node_attr_int(d->node, "batch_dims", 0) == 0 &&
         (d->node->input_count < 3 || leat_axis_of_constant(constant_at(d, 2), rank) == 0);
}

// A product combines along its depth, which is told apart only where it merely sums rows: sums of
// other products may be cut as well, but each piece would have to be added to memory.
static bool find_product(leat_domain_t* d, const leat_pass_options_t* options) {
  d->combined = leat_node_sums_rows(d->graph, d->node, options);
  return d->rank == 2 && shape_of(d, 0).rank == 2 && shape_of(d, 1).rank == 2;
}

static bool knows_ranks(const leat_domain_t* d) {
  for (int k = 0; k < d->node->input_count; ++k) {
    if (shape_of(d, k).rank < 0) return false;
  }
  return true;
}

bool leat_domain_find(const leat_graph_t* graph, const leat_node_t* node,
                      const leat_pass_options_t* options, leat_domain_t* out_domain) {
  leat_domain_t* d = out_domain;
  *d = (leat_domain_t){.graph = graph, .node = node};
  if (node->output_count != 1 || node->input_count == 0) return false;
  d->rank = node->output_shapes[0].rank;
  if (d->rank < 0 || d->rank > LEAT_DOMAIN_MAX_RANK) return false;
  d->access = leat_node_forwards(node) ? LEAT_ACCESS_SAME : leat_node_access(graph, node, options);
  switch (d->access) {
    case LEAT_ACCESS_BROADCAST:
    case LEAT_ACCESS_BIAS:
    case LEAT_ACCESS_SAME: return knows_ranks(d);
    case LEAT_ACCESS_IF_SAME:
    case LEAT_ACCESS_SUM: return leat_node_has_one_shape(graph, node);
    case LEAT_ACCESS_REPEATED: return find_repetition(d);
    case LEAT_ACCESS_ROWS: return find_rows(d);
    case LEAT_ACCESS_PERMUTATION: return find_permutation(d);
    case LEAT_ACCESS_REDUCTION: return find_reduction(d);
    case LEAT_ACCESS_CONTRACTION: return find_product(d, options);
    case LEAT_ACCESS_GATHER: return gathers_rows(d);
    default: return false;
  }
}

// ---- Axes ---------------------------------------------------------------------------------------

bool leat_domain_repeats(const leat_domain_t* domain) {
  return domain->access == LEAT_ACCESS_BROADCAST || domain->access == LEAT_ACCESS_BIAS;
}

// The axes of a product's operands, by axis of the domain (rows, columns, depth).
static int product_axis(const leat_domain_t* d, int operand, int axis) {
  const bool is_transposed =
      leat_node_attr_bool(d->node, operand ? "transpose_b" : "transpose_a", false);
  const int outer = operand ? 1 : 0;  // the output's axis along which the operand runs
  if (axis == 1 - outer) return LEAT_AXIS_NONE;
  return (axis == outer) == is_transposed ? 1 - outer : outer;
}

// The axes of a table (operand 0) and of the indices into it.
static int gather_axis(const leat_domain_t* d, int operand, int axis) {
  const int indices = shape_of(d, 1).rank;
  if (operand == 1) return axis < indices ? axis : LEAT_AXIS_NONE;
  return operand == 0 && axis >= indices ? axis - indices + 1 : LEAT_AXIS_NONE;
}

static int listed_axis(const leat_domain_t* d, int operand, int axis) {
  const int rank = shape_of(d, 0).rank;
  for (int a = 0; a < rank && operand == 0; ++a) {
    if (d->axes[a] == axis) return a;
  }
  return LEAT_AXIS_NONE;
}

int leat_domain_operand_axis(const leat_domain_t* d, int operand, int axis) {
  LEAT_DCHECK(operand >= 0 && operand < d->node->input_count);
  LEAT_DCHECK(axis >= 0 && axis < d->rank + d->combined);
  switch (d->access) {
    case LEAT_ACCESS_REPEATED:
    case LEAT_ACCESS_ROWS:
    case LEAT_ACCESS_PERMUTATION:
    case LEAT_ACCESS_REDUCTION: return listed_axis(d, operand, axis);
    case LEAT_ACCESS_CONTRACTION: return product_axis(d, operand, axis);
    case LEAT_ACCESS_GATHER: return gather_axis(d, operand, axis);
    default: {  // elementwise: last axes are aligned
      const int found = axis - d->rank + shape_of(d, operand).rank;
      return found >= 0 ? found : LEAT_AXIS_NONE;
    }
  }
}

int leat_domain_axis(const leat_domain_t* d, int operand, int operand_axis) {
  for (int axis = 0; axis < d->rank + d->combined; ++axis) {
    if (leat_domain_operand_axis(d, operand, axis) == operand_axis) return axis;
  }
  return LEAT_AXIS_NONE;
}
