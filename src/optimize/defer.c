// A sum that a loop carries from turn to turn and nothing else reads is put off: what is added is
// kept, and added many turns at a time (the gradient of a weight that every turn multiplies by).
//
//   y ─▶ Enter ─▶ Merge ─▶ Switch ─▶ Exit ─▶ z         with _MatMulAdd (a, b) in the loop
//   y ─▶ Start ─▶ Enter ─▶ Merge ─▶ Switch ─▶ Exit ─▶ Finish ─▶ z
//                   a, b ─▶ Add ─┘ (a variant goes round)
//
// The ops are what the sum's op says of itself (LEAT_SUMS_IN_LOOPS). This comes after "sums", which
// makes such sums of products and additions.
#include <string.h>

#include "optimize/edit.h"

// The nodes through which the sum goes round; all but |add| stay, with another type.
typedef enum role_e { ENTER, MERGE, SWITCH, ADD, NEXT, EXIT, ROLE_COUNT } role_t;
typedef struct round_s {
  int32_t nodes[ROLE_COUNT];
  const leat_op_t *start, *add, *finish;
} round_t;

static const leat_node_t* node_of(const leat_edit_t* d, const round_t* round, role_t role) {
  LEAT_DCHECK(role < ROLE_COUNT && round->nodes[role] >= 0);
  return &d->graph->nodes[round->nodes[role]];
}

// ---- Finding ------------------------------------------------------------------------------------

// Does |reader| alone read |node|, its output |index|, and nobody wait for it?
static bool is_read_by(const leat_edit_t* d, int32_t node, int32_t reader) {
  return !leat_edit_is_kept(d, node) && leat_edit_use_count(d, node) == 1 &&
         leat_edit_reader(d, d->nodes[node].first_use).node == reader;
}

// The node that reads output |index| of |node| alone, with nobody else reading the node but one
// that reads its other output; -1: there is none.
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

static bool has_flag(const leat_edit_t* d, int32_t node, uint32_t flag) {
  const leat_node_t* n = &d->graph->nodes[node];
  return n->op->flags & flag && !n->op->has_ref_inputs && !n->op->has_ref_outputs;
}

// The nodes of the round that closes at |next|.
static bool find_round(const leat_edit_t* d, int32_t next, round_t* out_round) {
  const leat_node_t* nodes = d->graph->nodes;
  int32_t* found = out_round->nodes;
  found[NEXT] = next;
  if (!has_flag(d, next, LEAT_OP_NEXT_ITERATION)) return false;
  found[ADD] = nodes[next].inputs[0].node;
  LEAT_DCHECK((size_t)found[ADD] < d->graph->node_count);
  const leat_node_t* add = &nodes[found[ADD]];
  if (add->op->row->sums != LEAT_SUMS_IN_LOOPS || add->output_count != 1) return false;
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

// ---- The ops and kernels that it takes ----------------------------------------------------------

// The op |sum| of |op|, where it is served as the sum |add| is; else NULL.
static const leat_op_t* find_op(const leat_edit_t* d, const leat_node_t* add,
                                const leat_op_t* op) {
  const char* name = op ? op->row->sum : NULL;
  return name ? leat_node_served_as(d->graph, add, name, d->options) : NULL;
}

// Attribute T of a node that hands on sums, and of one that makes or ends one.
#define TYPE_ATTRS(t) \
  (leat_attr_t[]) { LEAT_TYPE("T", t) }

static bool find_ops(const leat_edit_t* d, round_t* round) {
  const leat_node_t* add = node_of(d, round, ADD);
  round->add = find_op(d, add, add->op);
  round->finish = find_op(d, add, round->add);
  round->start = find_op(d, add, round->finish);
  if (!round->start) return false;
  for (int role = 0; role < ROLE_COUNT; ++role) {
    const leat_node_t* node = node_of(d, round, (role_t)role);
    if (role != ADD &&
        !d->options->find_kernel(d->options->find_kernel_data, node->op,
                                 TYPE_ATTRS(LEAT_DTYPE_VARIANT), 1, node->assigned_device)) {
      return false;
    }
  }
  return true;
}

// ---- Rewriting ----------------------------------------------------------------------------------

// What goes round is a variant from now on.
static leat_status_t retype(leat_edit_t* d, int32_t index) {
  const leat_partial_shape_t scalar = leat_partial_shape_scalar();
  return leat_edit_set_type(d, index, "T", LEAT_DTYPE_VARIANT, &scalar);
}

static leat_status_t add_conversion(leat_edit_t* d, const leat_op_t* op, int32_t beside,
                                    const char* suffix, leat_output_t input, int type,
                                    int32_t* out_node) {
  leat_node_spec_t spec = {
      .op = op, .inputs = &input, .input_count = 1, .attrs = TYPE_ATTRS(type), .attr_count = 1};
  return leat_edit_add(d, beside, suffix, &spec, out_node);
}

static leat_status_t replace_add(leat_edit_t* d, const round_t* round) {
  const leat_node_t* add = node_of(d, round, ADD);
  leat_waits_t waits = {0};
  int32_t added;
  LEAT_RETURN_IF_ERROR(leat_waits_add_controls(d, round->nodes[ADD], &waits));
  leat_node_spec_t spec = {.op = round->add,
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
  LEAT_RETURN_IF_ERROR(add_conversion(d, round->start, enter, "/_start",
                                      d->graph->nodes[enter].inputs[0], type, &start));
  LEAT_DCHECK(leat_graph_output_type(d->graph, (leat_output_t){start, 0}) == LEAT_DTYPE_VARIANT);
  LEAT_RETURN_IF_ERROR(leat_edit_set_input(d, enter, 0, (leat_output_t){start, 0}));
  for (int role = 0; role < ROLE_COUNT; ++role) {
    if (role != ADD) LEAT_RETURN_IF_ERROR(retype(d, round->nodes[role]));
  }
  LEAT_RETURN_IF_ERROR(replace_add(d, round));
  LEAT_RETURN_IF_ERROR(add_conversion(d, round->finish, leaves, "/_finish",
                                      (leat_output_t){leaves, 0}, type, &finish));
  return leat_edit_replace_by_output(d, leaves, (leat_output_t){finish, 0});
}

// ---- The pass -----------------------------------------------------------------------------------

static leat_status_t try_node(leat_edit_t* d, int32_t index) {
  round_t round;
  if (!find_round(d, index, &round) || !is_closed(d, &round) || !find_ops(d, &round)) {
    return leat_ok_status();
  }
  return rewrite_round(d, &round);
}

static bool has_sums_in_loops(const leat_graph_t* graph) {
  bool sums = false, turns = false;
  for (size_t i = 0; i < graph->node_count; ++i) {
    sums |= graph->nodes[i].op->row->sums == LEAT_SUMS_IN_LOOPS;
    turns |= (graph->nodes[i].op->flags & LEAT_OP_NEXT_ITERATION) != 0;
  }
  return sums && turns;
}

static leat_status_t defer(leat_edit_t* edit) {
  if (!edit->options->find_kernel || !has_sums_in_loops(edit->graph)) return leat_ok_status();
  return leat_edit_visit(edit, try_node);
}

const leat_pass_t leat_pass_defer = {
    .name = "defer",
    .doc = "products that a loop sums are kept and multiplied many turns at a time",
    .after = "sums",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_DEFER,
    .run = defer};
