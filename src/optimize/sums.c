// The pass "sums": an addition and the nodes that compute its terms become one node, whose kernel
// adds while it computes, so that no term is ever stored by itself. The row of the term's op names
// the op of that node (row.sum) and says how it adds (row.sums, graph/op/op.h); the pass itself
// knows no op.
//
//   a, b ─▶ MatMul ─▶ AddV2 ─▶ z      a, b, y ─▶ _MatMulAdd ─▶ z
//                 y ──┘
//   x, p ─▶ Pad ─▶ AddN ─▶ z          x, w, p, q ─▶ _SumOfPads ─▶ z     (of many)
//   w, q ─▶ Pad ──┘
//
// An addition of several inputs, of which all but at most one are products, becomes a chain of such
// nodes, each of which reads the sum of the ones before it. The pass leaves a product alone whose
// addend is known to have neither the product's shape nor that of one of its rows: broadcasting one
// along the other is left to the addition's own kernel. It also leaves a product alone that sums
// rows (a product with a column of ones), because the pass "fusion" can make that the reduction at
// the end of a region.
//
// A term disappears, so the addition must be its only reader. Identities may lie between the two.
// TensorFlow's gradients contain such Identities: each waits, through a NoOp, for all gradients of
// its group, and therefore for the term as well. Were those edges kept, the new node would wait for
// itself. So whatever waits for the term waits for the inputs of the term instead, as in the pass
// "dependency"; no effect that came before the term can then come after the waiting node.
//
// Every change goes through the edit, which refuses to close a cycle. The pass runs after
// placement, because only then the kernels are known, and a node is replaced only where a kernel
// serves the new op on the same device.
#include <string.h>

#include "optimize/edit.h"

static bool may_agree(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }

// Whether |y| may have the shape of |product|, or be a vector as long as its last dimension. An
// unknown rank or dimension may be anything, since the fused kernel broadcasts as the addition
// does.
static bool may_be_added(leat_partial_shape_t product, leat_partial_shape_t y) {
  if (product.rank < 0 || y.rank < 0) return true;
  if (product.rank < y.rank || y.rank == 0) return false;
  const int last = y.rank - 1;
  bool equal = product.rank == y.rank, row = true;
  for (int d = 0; d < y.rank; ++d) {
    if (!may_agree(product.dims[d + product.rank - y.rank], y.dims[d])) equal = false;
    if (d < last && y.dims[d] != 1) row = false;
  }
  return equal || (row && may_agree(product.dims[product.rank - 1], y.dims[last]));
}

// ---- Terms --------------------------------------------------------------------------------------

// Returns the node that computes input |side| of |sum|, looking through Identities. NULL where the
// term cannot be merged into the sum: another node reads it or an Identity on the way, it is not
// pure, it lies on another device, or an Identity on the way has other conditions than the term
// (optimize/conditions.h), so that merging would make the value appear at another time.
static const leat_node_t* find_term(const leat_edit_t* f, const leat_node_t* sum, int side) {
  leat_output_t input = sum->inputs[side];
  LEAT_DCHECK(side >= 0 && side < sum->input_count);
  int32_t reader = -1;
  for (;;) {
    const leat_node_t* node = &f->graph->nodes[input.node];
    if (input.index != 0 || node->assigned_device != sum->assigned_device ||
        !leat_edit_may_vanish(f, input.node) || !leat_node_is_pure(f->graph, node) ||
        (reader >= 0 && !leat_edit_comes_with(f, reader, input.node))) {
      return NULL;
    }
    if (!leat_node_forwards(node)) return node;
    reader = input.node;
    input = node->inputs[0];
  }
}

// The op that computes |term| and adds to it; NULL when its row names none, or no kernel serves it.
static const leat_op_t* find_sum_op(const leat_edit_t* f, const leat_node_t* term) {
  const char* name = term->op->row->sum;
  return name ? leat_node_served_as(f->graph, term, name, f->options) : NULL;
}

// ---- The node that stands for a sum and its terms -----------------------------------------------

// Collects in |inout_waits| the control inputs of node |index|, of the terms at its inputs |begin|
// to |end| (exclusive), and of the Identities between them, since the new node replaces all of
// them.
static leat_status_t add_waits(leat_edit_t* f, int32_t index, int begin, int end,
                               leat_waits_t* inout_waits) {
  const leat_node_t* nodes = f->graph->nodes;  // no node is added here
  LEAT_RETURN_IF_ERROR(leat_waits_add_controls(f, index, inout_waits));
  for (int side = begin; side < end; ++side) {
    int32_t node = nodes[index].inputs[side].node;
    LEAT_RETURN_IF_ERROR(leat_waits_add_controls(f, node, inout_waits));
    while (leat_node_forwards(&nodes[node])) {
      node = nodes[node].inputs[0].node;
      LEAT_RETURN_IF_ERROR(leat_waits_add_controls(f, node, inout_waits));
    }
  }
  return leat_ok_status();
}

// Adds the node that |spec| describes. It computes node |index| together with the terms at the
// inputs |begin| to |end| (exclusive). The waiters of the terms are moved first, because an
// Identity on the way may wait for its own term.
static leat_status_t add_fused(leat_edit_t* f, int32_t index, int begin, int end,
                               leat_node_spec_t* spec, int32_t* out_node) {
  leat_waits_t waits = {0};
  for (int side = begin; side < end; ++side) {
    const leat_node_t* term = find_term(f, &f->graph->nodes[index], side);
    // The caller has found the term, and the graph has not changed since.
    LEAT_DCHECK(term);
    LEAT_RETURN_IF_ERROR(leat_edit_pass_waiters(f, (int32_t)(term - f->graph->nodes)));
  }
  LEAT_RETURN_IF_ERROR(add_waits(f, index, begin, end, &waits));
  spec->control_inputs = waits.nodes;
  spec->control_count = waits.count;
  LEAT_RETURN_IF_ERROR(leat_edit_add(f, index, "/_fused", spec, out_node));
  return leat_graph_refine_shape(f->graph, (leat_output_t){*out_node, 0},
                                 f->graph->nodes[index].output_shapes[0]);
}

// ---- Sums of products ---------------------------------------------------------------------------

// Returns the op that computes the product at input |side| of |sum| and adds to it. NULL where that
// input is not such a product, or its addend has a shape for which the pass leaves it alone.
static const leat_op_t* find_fused(const leat_edit_t* f, const leat_node_t* sum, int side) {
  const leat_output_t other = sum->inputs[side == 0];
  const leat_node_t* product = find_term(f, sum, side);
  if (!product || product->op->row->sums != LEAT_SUMS_TO_ONE ||
      leat_node_sums_rows(f->graph, product, f->options) ||
      !may_be_added(product->output_shapes[0], leat_graph_output_shape(f->graph, other))) {
    return NULL;
  }
  return find_sum_op(f, product);
}

// Adds a node that computes the product at input |side| of node |index| plus |inout_sum|, and sets
// |inout_sum| to its output.
static leat_status_t add_product(leat_edit_t* f, int32_t index, int side,
                                 leat_output_t* inout_sum) {
  const leat_node_t* sum = &f->graph->nodes[index];
  const leat_node_t* product = find_term(f, sum, side);
  leat_node_spec_t spec = {.op = find_fused(f, sum, side),
                           .attrs = product->attrs,
                           .attr_count = product->attr_count,
                           .input_count = product->input_count + 1};
  leat_output_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->scratch, (size_t)spec.input_count, &inputs));
  memcpy(inputs, product->inputs, (size_t)product->input_count * sizeof *inputs);
  inputs[product->input_count] = *inout_sum;
  spec.inputs = inputs;
  inout_sum->index = 0;
  return add_fused(f, index, side, side + 1, &spec, &inout_sum->node);
}

// Whether the node adds its inputs as AddV2 does. AddN fails for inputs of different shapes, which
// the fused node would broadcast; so an op with an attribute N counts only where the shapes are
// known to be equal, and no error is lost.
static bool is_sum(const leat_edit_t* f, const leat_node_t* node) {
  if (!leat_node_is_pure(f->graph, node)) return false;
  if (node->op->flags & LEAT_OP_AGGREGATE) {
    return leat_op_find_attr(node->op, LEAT_SV("N")) < 0 ||
           leat_node_has_one_shape(f->graph, node);
  }
  return leat_node_elementwise(f->graph, node, f->options) == LEAT_ELEMENTWISE_BIAS;
}

// Turns an addition into a chain of fused products, provided that all inputs but at most one are
// products that may be fused.
static leat_status_t try_products(leat_edit_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  const int count = node->input_count;
  int first = -1;  // the input with which the chain begins: the one that is no product
  if (count < 2 || !is_sum(f, node)) return leat_ok_status();
  for (int i = 0; i < count; ++i) {
    if (find_fused(f, node, i)) continue;
    if (first >= 0) return leat_ok_status();
    first = i;
  }
  if (first < 0) first = 0;
  leat_output_t sum = node->inputs[first];
  for (int i = 0; i < count; ++i) {
    if (i != first) LEAT_RETURN_IF_ERROR(add_product(f, index, i, &sum));
  }
  return leat_edit_replace_by_output(f, index, sum);
}

// ---- Sums of many -------------------------------------------------------------------------------

// Whether the inputs of the sum have one shape: either the op fails otherwise (an op with an
// attribute N, like AddN), or the shapes are known to be equal. The fused op does not broadcast.
static bool is_strict_sum(const leat_edit_t* f, const leat_node_t* node) {
  return node->op->flags & LEAT_OP_AGGREGATE && leat_node_is_pure(f->graph, node) &&
         (leat_op_find_attr(node->op, LEAT_SV("N")) >= 0 ||
          leat_node_has_one_shape(f->graph, node));
}

// Whether the two nodes have one op and equal attributes, so that one fused node can have them.
static bool is_alike(const leat_node_t* a, const leat_node_t* b) {
  if (a->op != b->op) return false;
  for (int i = 0; i < a->op->attr_count; ++i) {
    if (!leat_attr_value_equal(&a->attrs[i].value, &b->attrs[i].value)) return false;
  }
  return true;
}

// Returns the op that computes all terms of |sum| and adds them. NULL unless every input is a term
// that may disappear, and all terms have the same op and attributes.
static const leat_op_t* find_sum_of_many(const leat_edit_t* f, const leat_node_t* sum) {
  if (sum->input_count < 2 || !is_strict_sum(f, sum)) return NULL;
  const leat_node_t* first = find_term(f, sum, 0);
  if (!first || first->op->row->sums != LEAT_SUMS_OF_MANY) return NULL;
  for (int i = 1; i < sum->input_count; ++i) {
    const leat_node_t* term = find_term(f, sum, i);
    if (!term || !is_alike(first, term)) return NULL;
  }
  return find_sum_op(f, first);
}

// Lists the inputs of the fused node: input 0 of every term, then input 1 of every term, and so on,
// as the op's lists of N inputs follow each other.
static leat_status_t list_inputs(const leat_edit_t* f, const leat_node_t* sum,
                                 leat_node_spec_t* inout_spec) {
  const int count = sum->input_count, arity = find_term(f, sum, 0)->input_count;
  LEAT_DCHECK(count >= 2 && arity >= 1);
  leat_output_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->scratch, (size_t)(count * arity), &inputs));
  for (int i = 0; i < count; ++i) {
    const leat_node_t* term = find_term(f, sum, i);
    LEAT_DCHECK(term && term->input_count == arity);
    for (int k = 0; k < arity; ++k) inputs[k * count + i] = term->inputs[k];
  }
  inout_spec->inputs = inputs;
  inout_spec->input_count = count * arity;
  return leat_ok_status();
}

// Lists the attributes of the fused node: those that the terms share, their number N, and their
// names.
static leat_status_t list_attrs(const leat_edit_t* f, const leat_node_t* sum,
                                leat_node_spec_t* inout_spec) {
  const leat_node_t* first = find_term(f, sum, 0);
  const int count = sum->input_count, shared = first->op->attr_count;
  leat_string_view_t* names;
  leat_attr_t* attrs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->scratch, (size_t)count, &names));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->scratch, (size_t)shared + 2, &attrs));
  for (int i = 0; i < count; ++i) names[i] = find_term(f, sum, i)->name;
  memcpy(attrs, first->attrs, (size_t)shared * sizeof *attrs);
  attrs[shared] = LEAT_INT("N", count);
  attrs[shared + 1] = LEAT_LIST("names", STRING, count, strings, names);
  inout_spec->attrs = attrs;
  inout_spec->attr_count = shared + 2;
  return leat_ok_status();
}

static leat_status_t try_many(leat_edit_t* f, int32_t index, const leat_op_t* op) {
  const leat_node_t* sum = &f->graph->nodes[index];
  leat_node_spec_t spec = {.op = op};
  leat_output_t output = {0};
  LEAT_RETURN_IF_ERROR(list_inputs(f, sum, &spec));
  LEAT_RETURN_IF_ERROR(list_attrs(f, sum, &spec));
  leat_status_t status = add_fused(f, index, 0, sum->input_count, &spec, &output.node);
  // A term with invalid inputs can make the fused node one that cannot be added. The sum and its
  // terms then stay, and the term reports its own error if it comes to run.
  if (leat_status_code(status) == LEAT_INVALID_ARGUMENT) {
    leat_status_free(status);
    return leat_ok_status();
  }
  return status ? status : leat_edit_replace_by_output(f, index, output);
}

static leat_status_t try_node(leat_edit_t* f, int32_t index) {
  const leat_op_t* op = find_sum_of_many(f, &f->graph->nodes[index]);
  return op ? try_many(f, index, op) : try_products(f, index);
}

// ---- The pass -----------------------------------------------------------------------------------

// Whether any op can be fused with its sum; most graphs without training have none, and are left
// without computing conditions.
static bool has_terms(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->row->sum) return true;
  }
  return false;
}

static leat_status_t sums(leat_edit_t* edit) {
  if (!edit->options->find_kernel) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_edit_find_conditions(edit));
  return leat_edit_visit(edit, try_node);
}

const leat_pass_t leat_pass_sums = {.name = "sums",
                                    .doc = "a sum is made where its terms are, products or padded",
                                    .after = "rules",
                                    .stage = LEAT_PASS_PLACED,
                                    .bit = LEAT_PASS_BIT_SUMS,
                                    .option = "remapping",
                                    .has_work = has_terms,
                                    .run = sums};
