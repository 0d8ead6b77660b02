// The pass "scale": a multiplication of a large array by a scalar or by one factor for each row
// moves into the node that computes the array, or into the node that reads it. The kernel of that
// node multiplies while it has the elements in registers, so that the step makes one pass over
// memory less. The row of the op names the op that does both (row.scaled) and says which input or
// output it multiplies (row.scales, graph/op/op.h); the pass itself knows only Mul.
//
//   x, y ─▶ CrossEntropy ─▶ loss           x, y, s ─▶ _ScaledCrossEntropy ─▶ loss
//                └─▶ Mul ─▶ dx                               └─▶ dx              (s: a column)
//                s ───┘
//   g, s ─▶ Mul ─▶ ApplyGradientDescent    g, s ─▶ _ScaledApplyGradientDescent   (s: a scalar)
//   x, s ─▶ Mul ─▶ ScatterSub              x, s ─▶ _ScaledScatterSub   (s: a scalar or a column)
//
// The array between the two nodes disappears, so nothing else may read it. The new node reads the
// factor as well, and therefore all its outputs wait for the factor. That must not close a cycle,
// so the pass moves a multiplication into the node that computes the array only where the factor
// does not depend on that node; and it must not make an output dead or late that was neither
// before, so node and product must have equal conditions (optimize/conditions.h).
//
// Products that a node reads are looked for first, and those of what it computes after them. The
// pass runs after placement, because only then the kernels are known, and a node is replaced only
// where a kernel serves the new op on the same device.
#include <string.h>

#include "optimize/edit.h"

#define MAX_PASSED 32  // nodes in |passed|; a longer way to the product is not taken
#define NO_NODE (-1)

// A node, and a product (Mul) of an array that the node reads or computes.
typedef struct scaling_s {
  int32_t node, product;
  leat_output_t value;   // the array before the multiplication, which the new node will read
  leat_output_t factor;  // the scalar, or the numbers by which the rows are multiplied
  // The nodes that the new node bypasses: the product, the Reshapes and Identities around it, and
  // their constant inputs. The new node waits for what they waited for. Those up to |behind| lie
  // between the product and the node; from |behind| on stand the product and what it depends on.
  int32_t passed[MAX_PASSED];
  int passed_count, behind;
  // The bypassed node that broadcasts the factor to the shape of the value; NO_NODE where there is
  // none.
  int32_t repeats;
  const leat_op_t* op;  // the op that computes node and product together
} scaling_t;

static const leat_node_t* node_at(const leat_edit_t* s, int32_t index) {
  return &s->graph->nodes[index];
}

// Whether node |index| is a pure Mul on the device of |beside|.
static bool is_product(const leat_edit_t* s, int32_t index, const leat_node_t* beside) {
  LEAT_DCHECK(index >= 0 && (size_t)index < s->graph->node_count);
  const leat_node_t* node = node_at(s, index);
  return leat_string_view_equal(node->op->name, LEAT_OP_NAME_MUL) &&
         node->assigned_device == beside->assigned_device && leat_node_is_pure(s->graph, node);
}

// ---- Products of what a node reads --------------------------------------------------------------
// The product that a node reads and may compute by itself. Gradients that are clipped by their norm
// are multiplied so before an update reads them, and Reshapes and Identities may lie in between:
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

// The output that the node reads at the input that its scaled form multiplies.
static leat_output_t read_output(const leat_edit_t* s, const scaling_t* g) {
  const leat_node_t* node = node_at(s, g->node);
  LEAT_DCHECK(node->op->row->scales >= 0 && node->op->row->scales < node->input_count);
  return node->inputs[node->op->row->scales];
}

// ---- Bypassing nodes ----------------------------------------------------------------------------

// Whether output 0 has the elements of input 0 in the same order: an Identity or a Reshape.
static bool keeps_elements(const leat_node_t* node) {
  return node->op->flags & (LEAT_OP_PASS_THROUGH | LEAT_OP_RESHAPES);
}

static bool add_passed(scaling_t* g, int32_t node) {
  if (g->passed_count == MAX_PASSED) return false;
  g->passed[g->passed_count++] = node;
  return true;
}

// Notes that the new node bypasses node |index| and reads what lies behind its input 0. False where
// that is not possible: the node is not pure, lies on another device, has an input that is neither
// the first nor a constant, or reads a Switch (a control edge could not say which of its outputs is
// alive).
static bool pass(const leat_edit_t* s, scaling_t* g, int32_t index) {
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
static bool find_product(const leat_edit_t* s, scaling_t* g) {
  int32_t index = read_output(s, g).node;
  while (!is_product(s, index, node_at(s, g->node))) {
    if (!may_go(s, index) || !pass(s, g, index)) return false;
    index = node_at(s, index)->inputs[0].node;
  }
  g->product = index;
  g->behind = g->passed_count;
  return leat_edit_may_vanish(s, index) && add_passed(g, index);
}

// ---- The value ----------------------------------------------------------------------------------

// Whether a Reshape lies between the product and the node.
static bool is_reshaped(const leat_edit_t* s, const scaling_t* g) {
  LEAT_DCHECK(g->behind <= g->passed_count);
  for (int i = 0; i < g->behind; ++i) {
    if (node_at(s, g->passed[i])->op->flags & LEAT_OP_RESHAPES) return true;
  }
  return false;
}

// Finds the value: |side|, an input of the product, or what lies behind its Reshapes. Where the
// product was reshaped, the value must have the shape that the node reads, since the new node will
// read it without those Reshapes.
static bool find_value(const leat_edit_t* s, scaling_t* g, leat_output_t side) {
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
static bool is_row_column(leat_partial_shape_t shape, int64_t rows) {
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
         is_row_column(column, rows);
}

// Finds the column of |rows| numbers that |side|, an input of the product, is or was made from.
static bool find_column(const leat_edit_t* s, scaling_t* g, leat_output_t side,
                        int64_t rows) {
  while (!is_row_column(leat_graph_output_shape(s->graph, side), rows)) {
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
static bool find_rows(const leat_edit_t* s, scaling_t* g, int side) {
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
static bool find_scalar(const leat_edit_t* s, scaling_t* g, int side) {
  const leat_node_t* product = node_at(s, g->product);
  LEAT_DCHECK(product->input_count == 2);
  g->factor = product->inputs[side];
  return leat_graph_output_shape(s->graph, g->factor).rank == 0 &&
         find_value(s, g, product->inputs[1 - side]);
}

// Finds a product in what the node of |inout_scaling| reads at input row.scales, and fills in the
// other fields but |op|. False where there is none that may move into the node.
static bool find_product_of_input(const leat_edit_t* s, scaling_t* inout_scaling) {
  const bool takes_rows = node_at(s, inout_scaling->node)->op->row->scales_rows;
  if (!find_product(s, inout_scaling)) return false;
  // A search that fails may already have noted bypassed nodes, so each begins with this copy.
  const scaling_t found = *inout_scaling;
  for (int side = 1; side >= 0; --side) {
    if (find_scalar(s, inout_scaling, side)) return true;
    *inout_scaling = found;
    if (takes_rows && find_rows(s, inout_scaling, side)) return true;
    *inout_scaling = found;
  }
  return false;
}

// ---- Products of what a node gives --------------------------------------------------------------

// Whether |factor| has one number for each row along the last dimension of an array of |shape|. All
// dimensions before the last one must be known and equal, so that the product has the same shape.
static bool is_column(leat_partial_shape_t factor, leat_partial_shape_t shape) {
  const int last = shape.rank - 1;
  if (last < 0 || factor.rank != shape.rank || factor.dims[last] != 1) return false;
  for (int d = 0; d < last; ++d) {
    if (factor.dims[d] < 0 || factor.dims[d] != shape.dims[d]) return false;
  }
  return true;
}

// Whether the factor, or a node that the product waits for, depends on the node itself. The new
// node reads the factor and waits for those nodes, and that would close a cycle.
static bool depends_otherwise(leat_edit_t* s, const scaling_t* g) {
  const leat_node_t* product = node_at(s, g->product);
  bool depends = leat_edit_reaches(s, g->node, g->factor.node);
  for (int i = 0; i < product->control_count && !depends; ++i) {
    depends = leat_edit_reaches(s, g->node, product->inputs[product->input_count + i].node);
  }
  return depends;
}

// Finds the product that reads the node's output and may move into the node. False where there is
// none: another node reads the output too, the factor is no column, or a cycle would arise.
static bool find_product_of_output(leat_edit_t* s, scaling_t* g) {
  const leat_node_t* node = node_at(s, g->node);
  const leat_output_t output = {g->node, LEAT_SCALES_OUTPUT(node->op->row->scales)};
  LEAT_DCHECK(output.index >= 0 && output.index < node->output_count);
  leat_reader_t reader;
  if (!leat_node_is_pure(s->graph, node) || !leat_edit_find_only_reader(s, output, &reader) ||
      !is_product(s, reader.node, node) ||
      !leat_edit_comes_with(s, g->node, reader.node)) {
    return false;
  }
  LEAT_DCHECK(reader.position == 0 || reader.position == 1);
  g->product = reader.node;
  g->factor = node_at(s, reader.node)->inputs[1 - reader.position];
  g->passed[g->passed_count++] = reader.node;
  return is_column(leat_graph_output_shape(s->graph, g->factor),
                   node->output_shapes[output.index]) &&
         !depends_otherwise(s, g);
}

// ---- Replacing the two nodes --------------------------------------------------------------------

// Collects the control inputs of the nodes in |g->passed| from place |begin| on.
static leat_status_t add_waits(leat_edit_t* s, const scaling_t* g, int begin,
                               leat_waits_t* inout_waits) {
  LEAT_DCHECK(begin >= 0 && g->passed_count <= MAX_PASSED);
  for (int i = begin; i < g->passed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add_controls(s, g->passed[i], inout_waits));
  }
  return leat_ok_status();
}

// Describes the new node. It reads what the node reads and the factor, and waits for whatever the
// node, the product and the nodes between them waited for.
static leat_status_t describe(leat_edit_t* s, const scaling_t* g,
                              leat_node_spec_t* out_spec) {
  const leat_node_t* node = node_at(s, g->node);
  const int count = node->input_count, scales = node->op->row->scales;
  leat_waits_t waits = {0};
  leat_output_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(s->scratch, (size_t)count + 1, &inputs));
  LEAT_DCHECK(scales < count);
  memcpy(inputs, node->inputs, (size_t)count * sizeof *inputs);
  if (scales >= 0) inputs[scales] = g->value;
  inputs[count] = g->factor;
  LEAT_RETURN_IF_ERROR(leat_waits_add_controls(s, g->node, &waits));
  LEAT_RETURN_IF_ERROR(add_waits(s, g, 0, &waits));
  *out_spec = (leat_node_spec_t){.op = g->op,
                                 .attrs = node->attrs,
                                 .attr_count = node->attr_count,
                                 .inputs = inputs,
                                 .input_count = count + 1,
                                 .control_inputs = waits.nodes,
                                 .control_count = waits.count};
  return leat_ok_status();
}

// Moves the waiters of the product, which disappears, to the nodes that remain of it: the value,
// the factor, and whatever the product and the nodes before it waited for. The waiters of the node
// that repeats the factor move to its inputs.
static leat_status_t move_waiters(leat_edit_t* s, const scaling_t* g) {
  leat_waits_t sources = {0};
  LEAT_RETURN_IF_ERROR(leat_waits_add(s, g->value.node, &sources));
  LEAT_RETURN_IF_ERROR(leat_waits_add(s, g->factor.node, &sources));
  LEAT_RETURN_IF_ERROR(add_waits(s, g, g->behind, &sources));
  LEAT_RETURN_IF_ERROR(leat_edit_move_waiters(s, g->product, &sources));
  return g->repeats < 0 ? leat_ok_status() : leat_edit_pass_waiters(s, g->repeats);
}

// Adds the new node and puts it in the place of the node and the product.
static leat_status_t replace(leat_edit_t* s, const scaling_t* g) {
  leat_node_spec_t spec;
  int32_t scaled;
  LEAT_RETURN_IF_ERROR(describe(s, g, &spec));
  LEAT_RETURN_IF_ERROR(leat_edit_add(s, g->node, "/_scaled", &spec, &scaled));
  const leat_node_t* node = node_at(s, g->node);
  for (int i = 0; i < node->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_graph_refine_shape(s->graph, (leat_output_t){scaled, i}, node->output_shapes[i]));
  }
  const int scales = node->op->row->scales;
  if (scales < 0) {
    LEAT_RETURN_IF_ERROR(leat_edit_replace_by_output(
        s, g->product, (leat_output_t){scaled, LEAT_SCALES_OUTPUT(scales)}));
  } else {
    LEAT_RETURN_IF_ERROR(move_waiters(s, g));
  }
  return leat_edit_replace(s, g->node, scaled);
}

static leat_status_t try_node(leat_edit_t* s, int32_t index) {
  const leat_node_t* node = node_at(s, index);
  const leat_op_row_t* row = node->op->row;
  scaling_t scaling = {.node = index, .repeats = NO_NODE};
  if (!row->scaled || !(row->scales < 0 ? find_product_of_output(s, &scaling)
                                        : find_product_of_input(s, &scaling))) {
    return leat_ok_status();
  }
  scaling.op = leat_node_served_as(s->graph, node, row->scaled, s->options);
  return scaling.op ? replace(s, &scaling) : leat_ok_status();
}

// ---- The pass -----------------------------------------------------------------------------------

// Whether any node has a scaled form; if not, the pass need not compute conditions.
static bool has_scaled(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->row->scaled) return true;
  }
  return false;
}

static leat_status_t scale(leat_edit_t* edit) {
  if (!edit->options->find_kernel || !has_scaled(edit->graph)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_edit_find_conditions(edit));
  return leat_edit_visit(edit, try_node);
}

const leat_pass_t leat_pass_scale = {
    .name = "scale",
    .doc = "a product with few numbers is made where the many are made or read",
    .after = "sums,defer,concat_sinking",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_SCALE,
    .run = scale};
