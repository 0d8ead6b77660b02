// Sums that are made where their terms are, so that a term never lies in memory by itself. What op
// does both is what the terms' op says of itself.
//
//   a, b ─▶ MatMul ─▶ AddV2 ─▶ z      a, b, y ─▶ _MatMulAdd ─▶ z
//                 y ──┘
//   x, p ─▶ Pad ─▶ AddN ─▶ z          x, w, p, q ─▶ _SumOfPads ─▶ z     (of many)
//   w, q ─▶ Pad ──┘
//
// A sum of many, all products but for one at most, becomes a chain. Where the shapes are known to
// differ and what is added is no row, one is repeated along the other, which is the sum's trade. A
// product that sums rows may end a fused region, and is left alone.
//
// Nobody else reads a term. An Identity may hand it on that waits for a group of gradients, and so
// for the term: who waits for the term waits for what it read instead, as in the pass "dependency".
//
// This comes after placement, as only then it is known which kernels there are.
#include <string.h>

#include "optimize/edit.h"

static bool may_agree(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }

// May |y| be of the shape of |product|, or a row of it?
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

// The node that makes input |side| of |sum|, for it alone; NULL: others have something of it, or it
// would come later if it waited for what hands it on.
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

// The op that makes a sum of |term|; NULL: none that is served.
static const leat_op_t* find_sum_op(const leat_edit_t* f, const leat_node_t* term) {
  const char* name = term->op->row->sum;
  return name ? leat_node_served_as(f->graph, term, name, f->options) : NULL;
}

// ---- The node that stands for a sum and its terms -----------------------------------------------

// Adds what node |index| waits for, and each node on the way to its inputs from |begin| to |end|.
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

// Adds the node |spec|, which stands for node |index| and what makes its inputs |begin| to |end|.
static leat_status_t add_fused(leat_edit_t* f, int32_t index, int begin, int end,
                               leat_node_spec_t* spec, int32_t* out_node) {
  leat_waits_t waits = {0};
  for (int side = begin; side < end; ++side) {
    const leat_node_t* term = find_term(f, &f->graph->nodes[index], side);
    // The caller has found it, and nothing has changed since.
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

// The op that adds to the product that input |side| of |sum| is; NULL: there is none.
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

// Adds |inout_sum| to the product at input |side| of node |index|.
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

// Does the node add its inputs as AddV2 does? What refuses inputs that differ (AddN) would not see
// them any more.
static bool is_sum(const leat_edit_t* f, const leat_node_t* node) {
  if (!leat_node_is_pure(f->graph, node)) return false;
  if (node->op->flags & LEAT_OP_AGGREGATE) {
    return leat_op_find_attr(node->op, LEAT_SV("N")) < 0 ||
           leat_node_has_one_shape(f->graph, node);
  }
  return leat_node_elementwise(f->graph, node, f->options) == LEAT_ELEMENTWISE_BIAS;
}

static leat_status_t try_products(leat_edit_t* f, int32_t index) {
  const leat_node_t* node = &f->graph->nodes[index];
  const int count = node->input_count;
  int first = -1;  // the input that the others are added to
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

// Does the node refuse inputs whose shapes differ, or are they known not to?
static bool is_strict_sum(const leat_edit_t* f, const leat_node_t* node) {
  return node->op->flags & LEAT_OP_AGGREGATE && leat_node_is_pure(f->graph, node) &&
         (leat_op_find_attr(node->op, LEAT_SV("N")) >= 0 ||
          leat_node_has_one_shape(f->graph, node));
}

static bool is_alike(const leat_node_t* a, const leat_node_t* b) {
  if (a->op != b->op) return false;
  for (int i = 0; i < a->op->attr_count; ++i) {
    if (!leat_attr_value_equal(&a->attrs[i].value, &b->attrs[i].value)) return false;
  }
  return true;
}

// The op that gives the sum of all terms of |sum|, which are alike; NULL: there is none.
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

// The terms' inputs, list by list.
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
  attrs[shared] = (leat_attr_t){LEAT_SV("N"), {.kind = LEAT_ATTR_INT, .i = count}};
  attrs[shared + 1] = (leat_attr_t){
      LEAT_SV("names"),
      {.kind = LEAT_ATTR_STRING, .is_list = true, .count = (uint32_t)count, .strings = names}};
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
  if (status) {  // what is wrong with a term it says itself, if it comes to run
    leat_status_free(status);
    return leat_ok_status();
  }
  return leat_edit_replace_by_output(f, index, output);
}

static leat_status_t try_node(leat_edit_t* f, int32_t index) {
  const leat_op_t* op = find_sum_of_many(f, &f->graph->nodes[index]);
  return op ? try_many(f, index, op) : try_products(f, index);
}

// ---- The pass -----------------------------------------------------------------------------------

static bool has_terms(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->row->sum) return true;
  }
  return false;
}

static leat_status_t sums(leat_edit_t* edit) {
  if (!edit->options->find_kernel || !has_terms(edit->graph)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_edit_find_conditions(edit));
  return leat_edit_visit(edit, try_node);
}

const leat_pass_t leat_pass_sums = {.name = "sums",
                                    .doc = "a sum is made where its terms are, products or padded",
                                    .after = "rules",
                                    .stage = LEAT_PASS_PLACED,
                                    .bit = LEAT_PASS_BIT_SUMS,
                                    .run = sums};
