// Finds, for the pass "scale" (scale.c), the product that a node reads and may compute by itself.
// Gradients that are clipped by their norm are multiplied so before an update reads them, and
// Reshapes and Identities may lie in between:
//
//   node ◀── (Reshape, Identity: nobody else reads them) ── Mul ◀── (Reshape, Identity) ── value
//                                                            ▲
//                    (Reshape, Identity) ── a column, repeated along each row ◀── factor
//
// A node may be bypassed only if its output has the elements of its input in the same order, or if
// it repeats a column along the rows. So only the ends of the way need to agree: the value must
// have the shape that the node reads, and both the product and what the node reads must have as
// many rows as the factor has numbers. The other inputs of a bypassed node must be constants, as
// the new node will not read them. The new node waits for everything that a bypassed node waited
// for, and each node that disappears has the conditions of what it reads; so the new node is dead
// or alive as the old one was, and no effect is reordered.
//
// One bit is not preserved. A MatMul with ones that repeats the factor computes 0 + number, which
// turns -0 into +0; the new node multiplies by the number itself. That changes only the sign of a
// zero in the product, and the sum of that zero and any number but another zero is the same. So an
// op takes factors by row (row.scales_rows) only if it does no more than add or subtract the
// product.
#include "optimize/scale.h"

static const leat_node_t* node_at(const leat_edit_t* s, int32_t index) {
  return &s->graph->nodes[index];
}

// The output that the node reads at the input that its scaled form multiplies.
static leat_output_t read_output(const leat_edit_t* s, const leat_scaling_t* g) {
  const leat_node_t* node = node_at(s, g->node);
  LEAT_DCHECK(node->op->row->scales >= 0 && node->op->row->scales < node->input_count);
  return node->inputs[node->op->row->scales];
}

// ---- Bypassing nodes ----------------------------------------------------------------------------

// Whether output 0 has the elements of input 0 in the same order: an Identity or a Reshape.
static bool keeps_elements(const leat_node_t* node) {
  return node->op->flags & (LEAT_OP_PASS_THROUGH | LEAT_OP_RESHAPES);
}

static bool add_passed(leat_scaling_t* g, int32_t node) {
  if (g->passed_count == LEAT_SCALING_MAX_PASSED) return false;
  g->passed[g->passed_count++] = node;
  return true;
}

// Notes that the new node bypasses node |index| and reads what lies behind its input 0. False where
// that is not possible: the node is not pure, lies on another device, has an input that is neither
// the first nor a constant, or reads a Switch (a control edge could not say which of its outputs is
// alive).
static bool pass(const leat_edit_t* s, leat_scaling_t* g, int32_t index) {
  const leat_node_t* node = node_at(s, index);
  if (node->assigned_device != node_at(s, g->node)->assigned_device || node->output_count != 1 ||
      !leat_node_is_pure(s->graph, node) || leat_node_reads_switch(s->graph, node) ||
      !add_passed(g, index)) {
    return false;
  }
  for (int i = 1; i < node->input_count; ++i) {
    const int32_t other = node->inputs[i].node;
    if (!leat_node_constant(node_at(s, other)) || !add_passed(g, other)) return false;
  }
  return true;
}

// Whether a node between the product and the node may disappear: the next node is its only user,
// and its value appears under the conditions of its input, so that it delays nothing.
static bool may_go(const leat_edit_t* s, int32_t index) {
  const leat_node_t* node = node_at(s, index);
  return keeps_elements(node) && leat_edit_may_vanish(s, index) &&
         leat_edit_use_count(s, index) == 1 && leat_edit_comes_with(s, index, node->inputs[0].node);
}

// Goes from what the node reads back to the nearest product.
static bool find_product(const leat_edit_t* s, leat_scaling_t* g) {
  int32_t index = read_output(s, g).node;
  while (!leat_scaling_is_product(s, index, node_at(s, g->node))) {
    if (!may_go(s, index) || !pass(s, g, index)) return false;
    index = node_at(s, index)->inputs[0].node;
  }
  g->product = index;
  g->behind = g->passed_count;
  return leat_edit_may_vanish(s, index) && add_passed(g, index);
}

// ---- The value ----------------------------------------------------------------------------------

// Whether a Reshape lies between the product and the node.
static bool is_reshaped(const leat_edit_t* s, const leat_scaling_t* g) {
  LEAT_DCHECK(g->behind <= g->passed_count);
  for (int i = 0; i < g->behind; ++i) {
    if (node_at(s, g->passed[i])->op->flags & LEAT_OP_RESHAPES) return true;
  }
  return false;
}

// Finds the value: |side|, an input of the product, or what lies behind its Reshapes. Where the
// product was reshaped, the value must have the shape that the node reads, since the new node will
// read it without those Reshapes.
static bool find_value(const leat_edit_t* s, leat_scaling_t* g, leat_output_t side) {
  const leat_partial_shape_t wanted = leat_graph_output_shape(s->graph, read_output(s, g));
  if (is_reshaped(s, g)) {
    if (!leat_partial_shape_is_full(wanted)) return false;
    while (!leat_partial_shape_equal(leat_graph_output_shape(s->graph, side), wanted)) {
      if (!keeps_elements(node_at(s, side.node)) || !pass(s, g, side.node)) return false;
      side = node_at(s, side.node)->inputs[0];
    }
  }
  g->value = side;
  return true;
}

// ---- The factor ---------------------------------------------------------------------------------

// Whether an array of |shape| has |rows| rows of one element each.
static bool is_column(leat_partial_shape_t shape, int64_t rows) {
  if (shape.rank < 1 || shape.dims[0] != rows) return false;
  for (int d = 1; d < shape.rank; ++d) {
    if (shape.dims[d] != 1) return false;
  }
  return true;
}

// Whether the node reads a column of |rows| numbers and repeats each along a row: by broadcasting
// (Tile), or by a matrix product of the column and a row of ones.
static bool repeats_column(const leat_edit_t* s, const leat_node_t* node, int64_t rows) {
  const leat_elementwise_kind_t kind = leat_node_elementwise(s->graph, node, s->options);
  if (kind == LEAT_ELEMENTWISE_PRODUCT) {
    const leat_tensor_t* ones = leat_node_constant(node_at(s, node->inputs[1].node));
    if (!ones || !leat_tensor_is_neutral(ones, LEAT_IDENTITY_ONE)) return false;
  } else if (kind != LEAT_ELEMENTWISE_REPEATED) {
    return false;
  }
  const leat_partial_shape_t shape = node->output_shapes[0];
  const leat_partial_shape_t column = leat_graph_output_shape(s->graph, node->inputs[0]);
  return shape.rank == column.rank && shape.rank > 0 && shape.dims[0] == rows &&
         is_column(column, rows);
}

// Finds the column of |rows| numbers that |side|, an input of the product, is or was made from.
static bool find_column(const leat_edit_t* s, leat_scaling_t* g, leat_output_t side,
                        int64_t rows) {
  while (!is_column(leat_graph_output_shape(s->graph, side), rows)) {
    const leat_node_t* node = node_at(s, side.node);
    if (repeats_column(s, node, rows)) {
      g->repeats = side.node;
    } else if (!keeps_elements(node)) {
      return false;
    }
    if (!pass(s, g, side.node)) return false;
    side = node->inputs[0];
  }
  g->factor = side;
  return true;
}

// Whether |shape| is fully known and has |rows| rows.
static bool has_rows(leat_partial_shape_t shape, int64_t rows) {
  return leat_partial_shape_is_full(shape) && shape.rank > 0 && shape.dims[0] == rows;
}

// Whether input |side| of the product has one number for each row of the other input. Finds the
// factor and the value.
static bool find_rows(const leat_edit_t* s, leat_scaling_t* g, int side) {
  LEAT_DCHECK(side == 0 || side == 1);
  const leat_node_t* product = node_at(s, g->product);
  const leat_output_t factor = product->inputs[side], value = product->inputs[1 - side];
  const leat_partial_shape_t shape = product->output_shapes[0];
  const leat_partial_shape_t numbers = leat_graph_output_shape(s->graph, factor);
  if (shape.rank <= 0 || !has_rows(shape, shape.dims[0])) return false;
  const int64_t rows = shape.dims[0];
  return has_rows(leat_graph_output_shape(s->graph, read_output(s, g)), rows) &&
         has_rows(numbers, rows) && numbers.rank == shape.rank &&
         leat_partial_shape_equal(leat_graph_output_shape(s->graph, value), shape) &&
         find_column(s, g, factor, rows) && find_value(s, g, value);
}

// Whether input |side| of the product is a scalar. The product then has the shape of its other
// input, so that no shape need be known.
static bool find_scalar(const leat_edit_t* s, leat_scaling_t* g, int side) {
  const leat_node_t* product = node_at(s, g->product);
  LEAT_DCHECK(product->input_count == 2);
  g->factor = product->inputs[side];
  return leat_graph_output_shape(s->graph, g->factor).rank == 0 &&
         find_value(s, g, product->inputs[1 - side]);
}

bool leat_scaling_find_at_input(const leat_edit_t* s, leat_scaling_t* inout_scaling) {
  const bool takes_rows = node_at(s, inout_scaling->node)->op->row->scales_rows;
  if (!find_product(s, inout_scaling)) return false;
  // A search that fails may already have noted bypassed nodes, so each begins with this copy.
  const leat_scaling_t found = *inout_scaling;
  for (int side = 1; side >= 0; --side) {
    if (find_scalar(s, inout_scaling, side)) return true;
    *inout_scaling = found;
    if (takes_rows && find_rows(s, inout_scaling, side)) return true;
    *inout_scaling = found;
  }
  return false;
}
