// The pass "defer": where a loop adds a product to an accumulator in each iteration and nothing
// else in the loop reads the accumulator, the loop collects the factors instead, and multiplies and
// adds those of many iterations at a time. The gradient of a weight by which each step of a
// recurrent network multiplies is such a sum. One product of large matrices is faster than many of
// small ones, and the accumulator is read and written less often.
//
//   y ─▶ Enter ─▶ Merge ─▶ Switch ─▶ Exit ─▶ z         with _MatMulAdd (a, b) in the loop
//   y ─▶ Convert ─▶ Enter ─▶ Merge ─▶ Switch ─▶ Exit ─▶ Convert ─▶ z
//                     a, b ─▶ Add ─┘ (the loop carries a variant)
//
// The loop carries a variant that holds the accumulator and the factors that have not been added
// yet. Convert makes it before the loop, Add appends to it in each iteration, and Convert makes the
// tensor after the loop. A rule of the adding op's family names the two
// (leat_deferral_t, graph/rewrite_rule.h); the pass itself knows no op.
//
// The nodes of the cycle keep their places and get another type, because none of them can be
// replaced without the others. So the pass first makes sure that no node outside the cycle reads or
// awaits any of them, that all lie on one device, and that kernels serve all of them with the new
// type; only then it changes the first one. It runs after the pass "rules", which makes the sums of
// products that this pass looks for, and after placement, because only then the kernels are known.
#include <string.h>

#include "graph/rewrite_rule.h"
#include "optimize/edit.h"

// The nodes through which a loop carries the accumulator, and the ops that defer the additions. All
// nodes but ADD stay in the graph, with type variant.
typedef enum role_e { ENTER, MERGE, SWITCH, ADD, NEXT, EXIT, ROLE_COUNT } role_t;
typedef struct round_s {
  int32_t nodes[ROLE_COUNT];
  const leat_rewrite_rule_t* rule;  // says by which ops the additions are put off
  const leat_op_t *convert, *append;
} round_t;

static const leat_node_t* node_of(const leat_edit_t* d, const round_t* round, role_t role) {
  LEAT_DCHECK(role < ROLE_COUNT && round->nodes[role] >= 0);
  return &d->graph->nodes[round->nodes[role]];
}

// ---- Finding the cycle --------------------------------------------------------------------------

// Whether |node| is neither fetched nor a target, and exactly one edge, data or control, leaves it
// and leads to |reader|.
static bool is_read_by(const leat_edit_t* d, int32_t node, int32_t reader) {
  return !leat_edit_is_kept(d, node) && leat_edit_use_count(d, node) == 1 &&
         leat_edit_reader(d, d->nodes[node].first_use).node == reader;
}

// Returns the only node that reads output |index| of |node|, a Switch. -1 unless exactly two edges
// leave the Switch, both data, one for each output.
static int32_t find_reader(const leat_edit_t* d, int32_t node, int index) {
  int32_t found = -1;
  if (leat_edit_is_kept(d, node) || leat_edit_use_count(d, node) != 2) return -1;
  LEAT_EDIT_FOR_EACH_USE(d, node, use) {
    const leat_reader_t reader = leat_edit_reader(d, use);
    const leat_node_t* reading = &d->graph->nodes[reader.node];
    if (reader.position >= reading->input_count) return -1;
    if (reading->inputs[reader.position].index != index) continue;
    if (found >= 0) return -1;
    found = reader.node;
  }
  return found;
}

// Whether the node has the flag and passes values, not references: a variant replaces no reference.
static bool has_flag(const leat_edit_t* d, int32_t node, uint32_t flag) {
  const leat_node_t* n = &d->graph->nodes[node];
  return n->op->flags & flag && !n->op->has_ref_inputs && !n->op->has_ref_outputs;
}

// Finds the nodes of the cycle that |next|, a NextIteration, closes. False where they are not those
// in the picture above.
static bool find_round(const leat_edit_t* d, int32_t next, round_t* out_round) {
  const leat_node_t* nodes = d->graph->nodes;
  int32_t* found = out_round->nodes;
  found[NEXT] = next;
  if (!has_flag(d, next, LEAT_OP_NEXT_ITERATION)) return false;
  found[ADD] = nodes[next].inputs[0].node;
  LEAT_DCHECK((size_t)found[ADD] < d->graph->node_count);
  const leat_node_t* add = &nodes[found[ADD]];
  out_round->rule = leat_rewrite_find_rule(d->graph->ops, LEAT_REWRITE_LOOP, add->op->name);
  if (!out_round->rule || add->output_count != 1) return false;
  LEAT_DCHECK(add->input_count > 0);
  const leat_output_t sum = add->inputs[add->input_count - 1];
  found[SWITCH] = sum.node;
  if (sum.index != 1 || !has_flag(d, sum.node, LEAT_OP_SWITCH)) return false;
  found[MERGE] = nodes[sum.node].inputs[0].node;
  const leat_node_t* merge = &nodes[found[MERGE]];
  if (!has_flag(d, found[MERGE], LEAT_OP_MERGE) || merge->input_count != 2) return false;
  found[ENTER] = merge->inputs[merge->inputs[0].node == next].node;
  found[EXIT] = find_reader(d, sum.node, 0);
  return has_flag(d, found[ENTER], LEAT_OP_ENTER) && found[EXIT] >= 0 &&
         has_flag(d, found[EXIT], LEAT_OP_EXIT);
}

// Whether the nodes of the cycle lie on one device, and no other node reads or awaits what they
// carry: it would see the variant instead of the sum.
static bool is_closed(const leat_edit_t* d, const round_t* round) {
  const int32_t* n = round->nodes;
  const leat_node_t* first = &d->graph->nodes[n[ENTER]];
  for (int role = 0; role < ROLE_COUNT; ++role) {
    if (d->graph->nodes[n[role]].assigned_device != first->assigned_device) return false;
  }
  return is_read_by(d, n[ENTER], n[MERGE]) && is_read_by(d, n[MERGE], n[SWITCH]) &&
         find_reader(d, n[SWITCH], 1) == n[ADD] && is_read_by(d, n[ADD], n[NEXT]) &&
         is_read_by(d, n[NEXT], n[MERGE]) && !leat_node_attr_bool(first, "is_constant", false);
}

// ---- Finding the ops and kernels ----------------------------------------------------------------

// The attribute of the nodes of the cycle, and those of the conversions before and behind it.
#define TYPE_ATTRS(t) \
  (leat_attr_t[]) { LEAT_TYPE("T", t) }
#define CONVERSION_ATTRS(from, to) \
  (leat_attr_t[]) { LEAT_TYPE("From", from), LEAT_TYPE("To", to) }

static bool is_served(const leat_edit_t* d, const leat_op_t* op, const leat_attr_t* attrs,
                      int count, int32_t device) {
  return d->options->find_kernel(d->options->find_kernel_data, op, attrs, count, device) != NULL;
}

// Finds the two ops, and makes sure that kernels serve them, and the other nodes of the cycle with
// variants.
static bool find_ops(const leat_edit_t* d, round_t* round) {
  const leat_node_t* add = node_of(d, round, ADD);
  const leat_deferral_t* deferral = round->rule->deferral;
  const int type = add->output_types[0];
  round->append = leat_node_served_as(d->graph, add, deferral->append, d->options);
  leat_status_t status = leat_op_registry_find(
      d->graph->ops, leat_string_view_from(deferral->convert), &round->convert);
  leat_status_free(status);
  if (status || !round->append ||
      !is_served(d, round->convert, CONVERSION_ATTRS(type, LEAT_DTYPE_VARIANT), 2,
                 add->assigned_device) ||
      !is_served(d, round->convert, CONVERSION_ATTRS(LEAT_DTYPE_VARIANT, type), 2,
                 add->assigned_device)) {
    return false;
  }
  for (int role = 0; role < ROLE_COUNT; ++role) {
    const leat_node_t* node = node_of(d, round, (role_t)role);
    if (role != ADD &&
        !is_served(d, node->op, TYPE_ATTRS(LEAT_DTYPE_VARIANT), 1, node->assigned_device)) {
      return false;
    }
  }
  return true;
}

// ---- Rewriting ----------------------------------------------------------------------------------

// Makes the node pass scalar variants.
static leat_status_t retype(leat_edit_t* d, int32_t index) {
  const leat_partial_shape_t scalar = leat_partial_shape_scalar();
  return leat_edit_set_type(d, index, "T", LEAT_DTYPE_VARIANT, &scalar);
}

// Adds the node that turns |input| of type |from| into one of type |to|.
static leat_status_t add_conversion(leat_edit_t* d, const round_t* round, int32_t beside,
                                    const char* suffix, leat_output_t input, int from, int to,
                                    int32_t* out_node) {
  leat_node_spec_t spec = {.op = round->convert,
                           .inputs = &input,
                           .input_count = 1,
                           .attrs = CONVERSION_ATTRS(from, to),
                           .attr_count = 2};
  return leat_edit_add(d, beside, suffix, &spec, out_node);
}

// Replaces the adding node by one that appends to the variant. It comes after the retyping, as it
// reads the Switch, which must give variants by then.
static leat_status_t replace_add(leat_edit_t* d, const round_t* round) {
  const leat_node_t* add = node_of(d, round, ADD);
  leat_waits_t waits = {0};
  int32_t added;
  LEAT_RETURN_IF_ERROR(leat_waits_add_controls(d, round->nodes[ADD], &waits));
  leat_node_spec_t spec = {.op = round->append,
                           .inputs = add->inputs,
                           .input_count = add->input_count,
                           .control_inputs = waits.nodes,
                           .control_count = waits.count,
                           .attrs = add->attrs,
                           .attr_count = add->attr_count};
  LEAT_RETURN_IF_ERROR(
      leat_edit_add(d, round->nodes[ADD], "/_deferred", &spec, &added));
  return leat_edit_replace_by_output(d, round->nodes[ADD], (leat_output_t){added, 0});
}

static leat_status_t rewrite_round(leat_edit_t* d, const round_t* round) {
  const int type = node_of(d, round, ADD)->output_types[0];
  const int32_t enter = round->nodes[ENTER], leaves = round->nodes[EXIT];
  int32_t start, finish;
  LEAT_RETURN_IF_ERROR(add_conversion(d, round, enter, "/_start", d->graph->nodes[enter].inputs[0],
                                      type, LEAT_DTYPE_VARIANT, &start));
  LEAT_DCHECK(leat_graph_output_type(d->graph, (leat_output_t){start, 0}) == LEAT_DTYPE_VARIANT);
  LEAT_RETURN_IF_ERROR(leat_edit_set_input(d, enter, 0, (leat_output_t){start, 0}));
  for (int role = 0; role < ROLE_COUNT; ++role) {
    if (role != ADD) LEAT_RETURN_IF_ERROR(retype(d, round->nodes[role]));
  }
  LEAT_RETURN_IF_ERROR(replace_add(d, round));
  LEAT_RETURN_IF_ERROR(add_conversion(d, round, leaves, "/_finish", (leat_output_t){leaves, 0},
                                      LEAT_DTYPE_VARIANT, type, &finish));
  return leat_edit_replace_by_output(d, leaves, (leat_output_t){finish, 0});
}

// ---- The pass -----------------------------------------------------------------------------------

static leat_status_t try_node(leat_edit_t* d, int32_t index) {
  round_t round;
  if (!find_round(d, index, &round) || !is_closed(d, &round) || !find_ops(d, &round)) {
    return leat_ok_status();
  }
  leat_pass_note_rule(d->options, round.rule);
  return rewrite_round(d, &round);
}

static bool has_loops(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (graph->nodes[i].op->flags & LEAT_OP_NEXT_ITERATION) return true;
  }
  return false;
}

static leat_status_t defer(leat_edit_t* edit) {
  if (!edit->options->find_kernel) return leat_ok_status();
  return leat_edit_visit(edit, try_node);
}

const leat_pass_t leat_pass_defer = {
    .name = "defer",
    .doc = "products that a loop sums are kept and multiplied many iterations at a time",
    .after = "rules",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_DEFER,
    .option = "remapping",
    .has_work = has_loops,
    .run = defer};
