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
// This file handles products of what a node computes, and replaces the nodes in both cases;
// scale_input.c finds the products that a node reads. The pass runs after placement, because only
// then the kernels are known, and a node is replaced only where a kernel serves the new op on the
// same device.
#include <string.h>

#include "optimize/scale.h"

static const leat_node_t* node_at(const leat_edit_t* s, int32_t index) {
  return &s->graph->nodes[index];
}

bool leat_scaling_is_product(const leat_edit_t* s, int32_t index, const leat_node_t* beside) {
  LEAT_DCHECK(index >= 0 && (size_t)index < s->graph->node_count);
  const leat_node_t* node = node_at(s, index);
  return leat_string_view_equal(node->op->name, LEAT_OP_NAME_MUL) &&
         node->assigned_device == beside->assigned_device && leat_node_is_pure(s->graph, node);
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
static bool depends_otherwise(leat_edit_t* s, const leat_scaling_t* g) {
  const leat_node_t* product = node_at(s, g->product);
  bool depends = leat_edit_reaches(s, g->node, g->factor.node);
  for (int i = 0; i < product->control_count && !depends; ++i) {
    depends = leat_edit_reaches(s, g->node, product->inputs[product->input_count + i].node);
  }
  return depends;
}

// Finds the product that reads the node's output and may move into the node. False where there is
// none: another node reads the output too, the factor is no column, or a cycle would arise.
static bool find_product_of_output(leat_edit_t* s, leat_scaling_t* g) {
  const leat_node_t* node = node_at(s, g->node);
  const leat_output_t output = {g->node, LEAT_SCALES_OUTPUT(node->op->row->scales)};
  LEAT_DCHECK(output.index >= 0 && output.index < node->output_count);
  leat_reader_t reader;
  if (!leat_node_is_pure(s->graph, node) || !leat_edit_find_only_reader(s, output, &reader) ||
      !leat_scaling_is_product(s, reader.node, node) ||
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
static leat_status_t add_waits(leat_edit_t* s, const leat_scaling_t* g, int begin,
                               leat_waits_t* inout_waits) {
  LEAT_DCHECK(begin >= 0 && g->passed_count <= LEAT_SCALING_MAX_PASSED);
  for (int i = begin; i < g->passed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_waits_add_controls(s, g->passed[i], inout_waits));
  }
  return leat_ok_status();
}

// Describes the new node. It reads what the node reads and the factor, and waits for whatever the
// node, the product and the nodes between them waited for.
static leat_status_t describe(leat_edit_t* s, const leat_scaling_t* g,
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
static leat_status_t move_waiters(leat_edit_t* s, const leat_scaling_t* g) {
  leat_waits_t sources = {0};
  LEAT_RETURN_IF_ERROR(leat_waits_add(s, g->value.node, &sources));
  LEAT_RETURN_IF_ERROR(leat_waits_add(s, g->factor.node, &sources));
  LEAT_RETURN_IF_ERROR(add_waits(s, g, g->behind, &sources));
  LEAT_RETURN_IF_ERROR(leat_edit_move_waiters(s, g->product, &sources));
  return g->repeats < 0 ? leat_ok_status() : leat_edit_pass_waiters(s, g->repeats);
}

// Adds the new node and puts it in the place of the node and the product.
static leat_status_t replace(leat_edit_t* s, const leat_scaling_t* g) {
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
  leat_scaling_t scaling = {.node = index, .repeats = LEAT_SCALING_NONE};
  if (!row->scaled || !(row->scales < 0 ? find_product_of_output(s, &scaling)
                                        : leat_scaling_find_at_input(s, &scaling))) {
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
