// The pass "concat_sinking": tensors that are concatenated, computed on, and then sliced apart at
// the same places are computed on piece by piece, and the concatenation is never made.
//
//   a, b ─▶ ConcatV2 ─▶ Exp ─▶ Slice ─▶ y      a ─▶ Exp ─▶ y
//                        └──▶ Slice ─▶ z       b ─▶ Exp ─▶ z
//
// A sampled softmax is built like this: it concatenates true and sampled classes, gathers the rows
// of their weights and biases, and slices the logits apart. Gradients do it as well: the gradient
// of a concatenation is slices, and that of slices is a sum of padded tensors, which is a
// concatenation again.
//
// A concatenation, the nodes that compute on its value and the nodes that read the results form a
// group. The pass rewrites whole groups: every reader of a value in pieces must accept pieces, as a
// slice at the cuts, a sum over the axis that is cut, or an update of rows does; if a single reader
// needs the whole value, the concatenation must be made all the same, and the group stays. It also
// stays where the copies that it avoids are small compared with the nodes that it adds.
//
// Two properties must survive. A piece must be alive exactly when the whole was, so pieces and
// concatenation need equal conditions (optimize/conditions.h). And whatever ran after the whole
// value must still run after all pieces, as far as effects are concerned (see "Followers" below).
//
// This file finds the groups; concat_sinking_rewrite.c replaces their nodes. The pass runs after
// "rules", which turns a sum of padded terms into one node, and before "fusion", which can then
// fuse each piece with the nodes that compute and read it.
#include "optimize/concat_sinking.h"

#include <string.h>

#define MAX_PIECES 16
#define MAX_INPUTS 64  // of a node, since sets of inputs are 64 bits

static const leat_node_t* node_at(const leat_concat_t* p, int32_t index) {
  return &p->edit->graph->nodes[index];
}

static leat_partial_shape_t shape_of(const leat_concat_t* p, leat_output_t output) {
  return leat_graph_output_shape(p->edit->graph, output);
}

static const leat_tensor_t* constant_at(const leat_concat_t* p, const leat_node_t* node,
                                        int input) {
  return leat_constant_behind(p->edit->graph, node->inputs[input].node, NULL);
}

// ---- Groups -------------------------------------------------------------------------------------

int32_t leat_concat_group(const leat_concat_t* p, int32_t node) {
  LEAT_DCHECK(node >= 0 && (size_t)node < p->count);
  while (p->values[node].group != node) node = p->values[node].group;
  return node;
}

static void unite(leat_concat_t* p, int32_t a, int32_t b) {
  p->values[leat_concat_group(p, a)].group = leat_concat_group(p, b);
}

// ---- Concatenations -----------------------------------------------------------------------------

static leat_status_t allocate_division(leat_concat_t* p, int count, leat_concat_value_t* value,
                                       int64_t** out_lengths) {
  leat_arena_t* arena = p->edit->scratch;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &value->pieces));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, out_lengths));
  LEAT_DCHECK(count > 0 && count <= MAX_PIECES);
  value->division = (leat_division_t){count, *out_lengths};
  return leat_ok_status();
}

// Whether |piece| may stand by itself: its length along |axis| is known and not 0, and it has the
// conditions of the node |whole|.
static bool may_be_piece(const leat_concat_t* p, int32_t whole, leat_output_t piece, int axis) {
  const leat_partial_shape_t shape = shape_of(p, piece);
  return shape.rank > axis && shape.dims[axis] > 0 &&
         leat_edit_comes_with(p->edit, whole, piece.node);
}

static leat_status_t look_at_concatenation(leat_concat_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  leat_concat_value_t* value = &p->values[index];
  const int count = node->input_count - 1;
  int64_t* lengths;
  value->axis = leat_axis_of_constant(constant_at(p, node, count), node->output_shapes[0].rank);
  if (value->axis < 0 || count < 2 || count > MAX_PIECES) return leat_ok_status();
  for (int i = 0; i < count; ++i) {
    if (!may_be_piece(p, index, node->inputs[i], value->axis)) return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(allocate_division(p, count, value, &lengths));
  for (int i = 0; i < count; ++i) {
    value->pieces[i] = node->inputs[i];
    lengths[i] = shape_of(p, node->inputs[i]).dims[value->axis];
  }
  value->role = LEAT_CONCAT_JOINED;
  return leat_ok_status();
}

// A Pack is a concatenation of pieces of length 1: its inputs, each with the new axis, which the
// rewrite gives them.
static leat_status_t look_at_pack(leat_concat_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  leat_concat_value_t* value = &p->values[index];
  const int axis =
      leat_axis_in_rank(leat_node_attr_int(node, "axis", 0), node->output_shapes[0].rank);
  int64_t* lengths;
  if (axis == LEAT_AXIS_NONE || node->input_count < 2 || node->input_count > MAX_PIECES ||
      !leat_node_served_as(p->edit->graph, node, LEAT_OP_NAME_EXPAND_DIMS.data, p->edit->options)) {
    return leat_ok_status();
  }
  for (int i = 0; i < node->input_count; ++i) {
    if (!leat_edit_comes_with(p->edit, index, node->inputs[i].node)) return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(allocate_division(p, node->input_count, value, &lengths));
  for (int i = 0; i < node->input_count; ++i) lengths[i] = 1;
  value->pieces = NULL;
  value->axis = axis;
  value->role = LEAT_CONCAT_JOINED;
  return leat_ok_status();
}

// The only axis along which |paddings| [rank, 2] pad; -1 where there is none or more than one.
static int padded_axis(const leat_tensor_t* paddings) {
  int axis = -1;
  if (!paddings) return -1;
  for (int64_t i = 0; i < paddings->shape.element_count; ++i) {
    const int d = (int)(i / 2);
    if (leat_tensor_index_at(paddings, i) == 0 || d == axis) continue;
    if (axis >= 0) return -1;
    axis = d;
  }
  return axis;
}

// The term of |node|, a sum of pads, that begins at |begin| along |axis|; -1 where none does.
static int find_term(const leat_concat_t* p, const leat_node_t* node, int axis, int64_t begin) {
  const int count = node->input_count / 2;
  for (int i = 0; i < count; ++i) {
    const leat_tensor_t* paddings = constant_at(p, node, count + i);
    if (padded_axis(paddings) == axis && leat_tensor_index_at(paddings, 2 * axis) == begin) {
      return i;
    }
  }
  return -1;
}

// A sum of padded terms is a concatenation if the terms lie side by side along one axis, without
// overlaps, and fill it.
static leat_status_t look_at_pads(leat_concat_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  const int count = node->input_count / 2;
  const leat_partial_shape_t shape = node->output_shapes[0];
  leat_concat_value_t* value = &p->values[index];
  int64_t* lengths;
  int64_t begin = 0;
  value->axis = padded_axis(constant_at(p, node, count));
  if (value->axis < 0 || value->axis >= shape.rank || count > MAX_PIECES) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(allocate_division(p, count, value, &lengths));
  for (int i = 0; i < count; ++i) {
    const int term = find_term(p, node, value->axis, begin);
    if (term < 0 || !may_be_piece(p, index, node->inputs[term], value->axis)) {
      return leat_ok_status();
    }
    value->pieces[i] = node->inputs[term];
    lengths[i] = shape_of(p, node->inputs[term]).dims[value->axis];
    begin += lengths[i];
  }
  if (begin == shape.dims[value->axis]) value->role = LEAT_CONCAT_JOINED;
  return leat_ok_status();
}

// ---- Nodes that accept pieces -------------------------------------------------------------------

// The value in pieces that the node reads at |input|; NULL where that input is whole.
static const leat_concat_value_t* value_at(const leat_concat_t* p, const leat_node_t* node,
                                           int input) {
  if (input >= node->input_count) return NULL;
  const int32_t source = node->inputs[input].node;
  return leat_concat_gives(p, source) ? &p->values[source] : NULL;
}

// Decides how the nodes of the pieces read input |k|: in the same pieces, as pieces of a constant,
// or whole, because it does not run along the axis that is cut or is repeated along it. False where
// none of these is possible. A constant with control inputs that is read whole is copied for each
// piece, so that a piece need not wait for what another piece waits for.
static bool admit_operand(const leat_concat_t* p, const leat_domain_t* domain, int k,
                          leat_concat_value_t* inout_value) {
  const leat_output_t input = domain->node->inputs[k];
  const leat_concat_value_t* operand = value_at(p, domain->node, k);
  const int axis = leat_domain_operand_axis(domain, k, inout_value->cut);
  const int64_t length = axis == LEAT_AXIS_NONE ? 1 : shape_of(p, input).dims[axis];
  LEAT_DCHECK(k >= 0 && k < MAX_INPUTS);
  const uint64_t bit = UINT64_C(1) << k;
  if (operand && operand->axis == axis &&
      leat_division_equal(operand->division, inout_value->division)) {
    inout_value->in_pieces |= bit;
    return true;
  }
  bool waits;
  const leat_tensor_t* constant = leat_constant_behind(p->edit->graph, input.node, &waits);
  const bool is_whole = axis == LEAT_AXIS_NONE || (length == 1 && leat_domain_repeats(domain));
  if (constant && !leat_dtype_in(constant->dtype, LEAT_DTYPES_OBJECT)) {
    const bool is_cut = !is_whole && length == leat_division_length(inout_value->division);
    if (is_cut || (is_whole && waits)) inout_value->constants |= bit;
    return is_cut || is_whole;
  }
  return is_whole;
}

// The rule by which the node's op reduces a concatenation; NULL: there is none for it, or no kernel
// serves the ops that the rule names.
static const leat_rewrite_rule_t* find_rule(const leat_concat_t* p, const leat_node_t* node) {
  const leat_graph_t* graph = p->edit->graph;
  const leat_pass_options_t* options = p->edit->options;
  const leat_rewrite_rule_t* rule =
      leat_rewrite_find_rule(graph->ops, LEAT_REWRITE_PIECES, node->op->name);
  if (!rule) return NULL;
  const leat_combination_t* found = rule->combination;
  if (!leat_node_served_as(graph, node, found->combine, options)) return NULL;
  if (found->each && !leat_node_served_as(graph, node, found->each, options)) return NULL;
  const bool divides = !found->divide ||
                       (leat_dtype_in(node->output_types[0],
                                      LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE)) &&
                        leat_partial_shape_is_full(shape_of(p, node->inputs[0])) &&
                        leat_node_served_as(graph, node, found->divide, options));
  return divides ? rule : NULL;
}

// The role of a node that works along its axes (optimize/domain.h) and whose input |first| is in
// pieces.
static leat_concat_role_t find_role_by_axes(const leat_concat_t* p, const leat_node_t* node,
                                            int first, leat_concat_value_t* inout_value) {
  const leat_edit_t* edit = p->edit;
  const leat_concat_value_t* operand = value_at(p, node, first);
  leat_domain_t domain;
  // The caller has seen that this input is in pieces.
  LEAT_DCHECK(operand);
  if (!leat_node_is_pure(edit->graph, node) ||
      !leat_domain_find(edit->graph, node, edit->options, &domain)) {
    return LEAT_CONCAT_OUTSIDER;
  }
  inout_value->cut = leat_domain_axis(&domain, first, operand->axis);
  inout_value->axis = inout_value->cut;
  inout_value->division = operand->division;
  if (inout_value->cut == LEAT_AXIS_NONE) return LEAT_CONCAT_OUTSIDER;
  for (int k = 0; k < node->input_count; ++k) {
    if (!admit_operand(p, &domain, k, inout_value)) return LEAT_CONCAT_OUTSIDER;
  }
  if (inout_value->cut < domain.rank) return LEAT_CONCAT_EACH;
  inout_value->rule = find_rule(p, node);
  return inout_value->rule ? LEAT_CONCAT_COMBINED : LEAT_CONCAT_OUTSIDER;
}

// Whether a Reshape of a value in pieces leaves the shape as it is and has no control inputs. It is
// then the same value; where shapes are not fully known, the cuts might move.
static bool forwards_pieces(const leat_concat_t* p, const leat_node_t* node,
                            leat_concat_value_t* inout_value) {
  const leat_concat_value_t* value = value_at(p, node, 0);
  const leat_partial_shape_t shape = node->output_shapes[0];
  if (!value || node->control_count || !leat_partial_shape_is_full(shape) ||
      !leat_partial_shape_equal(shape, shape_of(p, node->inputs[0]))) {
    return false;
  }
  inout_value->division = value->division;
  inout_value->axis = value->axis;
  inout_value->in_pieces = 1 << 0;
  return true;
}

// The index of the piece that begins at |begin| and is |size| long (-1: to the end); -1 where no
// piece is exactly that.
static int find_piece(leat_division_t division, int64_t begin, int64_t size) {
  int i = 0;
  for (; i < division.count && begin > 0; ++i) begin -= division.lengths[i];
  if (begin || i == division.count) return -1;
  const bool is_rest = size == -1 && i + 1 == division.count;
  return is_rest || size == division.lengths[i] ? i : -1;
}

// Whether a slice of a value in pieces is exactly one of the pieces.
static bool takes_piece(const leat_concat_t* p, const leat_node_t* node,
                        leat_concat_value_t* inout_value) {
  const leat_concat_value_t* value = value_at(p, node, 0);
  const leat_tensor_t *begin = constant_at(p, node, 1), *size = constant_at(p, node, 2);
  if (!value || !begin || !size || node->control_count) return false;
  const leat_partial_shape_t shape = shape_of(p, node->inputs[0]);
  if (begin->shape.element_count != shape.rank || size->shape.element_count != shape.rank) {
    return false;
  }
  for (int d = 0; d < shape.rank; ++d) {
    const int64_t from = leat_tensor_index_at(begin, d), length = leat_tensor_index_at(size, d);
    if (d == value->axis) {
      inout_value->taken = find_piece(value->division, from, length);
    } else if (from != 0 || (length != -1 && length != shape.dims[d])) {
      return false;
    }
  }
  inout_value->in_pieces = 1 << 0;
  return inout_value->taken >= 0;
}

// Whether the node takes a value in pieces of length 1 apart along the axis that is cut, so that
// each output is a piece without that axis.
static bool unpacks_pieces(const leat_concat_t* p, const leat_node_t* node,
                           leat_concat_value_t* inout_value) {
  const leat_concat_value_t* value = value_at(p, node, 0);
  const int axis = leat_axis_in_rank(leat_node_attr_int(node, "axis", 0),
                                     shape_of(p, node->inputs[0]).rank);
  if (!value || node->control_count || axis != value->axis ||
      node->output_count != value->division.count ||
      !leat_node_served_as(p->edit->graph, node, LEAT_OP_NAME_SQUEEZE.data, p->edit->options)) {
    return false;
  }
  for (int i = 0; i < value->division.count; ++i) {
    if (value->division.lengths[i] != 1) return false;
  }
  inout_value->axis = value->axis;
  inout_value->in_pieces = 1 << 0;
  inout_value->taken = LEAT_CONCAT_ALL_PIECES;
  return true;
}

// Whether the outputs of a node are the pieces of its input, one after the other.
static bool splits_into_pieces(const leat_concat_t* p, const leat_node_t* node,
                               leat_concat_value_t* inout_value) {
  const int input = leat_concat_split_input(node);
  const leat_concat_value_t* value = value_at(p, node, input);
  if (!value || node->control_count || node->output_count != value->division.count ||
      leat_axis_of_constant(constant_at(p, node, input ? 0 : node->input_count - 1),
                            shape_of(p, node->inputs[input]).rank) != value->axis) {
    return false;
  }
  for (int i = 0; i < node->output_count; ++i) {
    const leat_partial_shape_t shape = node->output_shapes[i];
    if (shape.rank <= value->axis || shape.dims[value->axis] != value->division.lengths[i]) {
      return false;
    }
  }
  inout_value->in_pieces = UINT64_C(1) << input;
  inout_value->taken = LEAT_CONCAT_ALL_PIECES;
  return true;
}

// Whether a node updates rows, and both the indices and the updates are in the same pieces. With
// use_locking the update of all rows is one indivisible step, so it cannot become several.
static bool scatters_pieces(const leat_concat_t* p, const leat_node_t* node,
                            leat_concat_value_t* inout_value) {
  const leat_concat_value_t *indices = value_at(p, node, 1), *updates = value_at(p, node, 2);
  if (!indices || !updates || indices->axis != 0 || updates->axis != 0 ||
      !leat_division_equal(indices->division, updates->division) ||
      leat_node_attr_bool(node, "use_locking", false)) {
    return false;
  }
  inout_value->division = indices->division;
  inout_value->in_pieces = 1 << 1 | 1 << 2;
  return true;
}

// The role of a node whose first input in pieces is |first|, if its group is rewritten.
static leat_concat_role_t find_role(const leat_concat_t* p, const leat_node_t* node, int first,
                                    leat_concat_value_t* inout_value) {
  switch (leat_node_access(p->edit->graph, node, p->edit->options)) {
    case LEAT_ACCESS_SLICE:
      return takes_piece(p, node, inout_value) ? LEAT_CONCAT_TAKEN : LEAT_CONCAT_OUTSIDER;
    case LEAT_ACCESS_SPLIT:
      return splits_into_pieces(p, node, inout_value) ? LEAT_CONCAT_TAKEN : LEAT_CONCAT_OUTSIDER;
    case LEAT_ACCESS_UNPACK:
      return unpacks_pieces(p, node, inout_value) ? LEAT_CONCAT_TAKEN : LEAT_CONCAT_OUTSIDER;
    case LEAT_ACCESS_SCATTER:
      return scatters_pieces(p, node, inout_value) ? LEAT_CONCAT_APPLIED : LEAT_CONCAT_OUTSIDER;
    default: break;
  }
  if (node->op->flags & LEAT_OP_RESHAPES) {
    return forwards_pieces(p, node, inout_value) ? LEAT_CONCAT_FORWARDED : LEAT_CONCAT_OUTSIDER;
  }
  return find_role_by_axes(p, node, first, inout_value);
}

// ---- The groups of a graph ----------------------------------------------------------------------

static void look_at_reader(leat_concat_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  leat_concat_value_t* value = &p->values[index];
  int first = 0;
  while (first < node->input_count && !value_at(p, node, first)) ++first;
  if (first == node->input_count || node->input_count > MAX_INPUTS) return;
  value->role = find_role(p, node, first, value);
  if (value->role == LEAT_CONCAT_OUTSIDER) return;
  for (int k = 0; k < node->input_count; ++k) {
    if (value->in_pieces >> k & 1) unite(p, index, node->inputs[k].node);
  }
}

// Whether the node may join its inputs: its first argument is a list. That is quickly seen, while
// asking for its kernel is a look-up.
static bool may_join(const leat_node_t* node) {
  return node->input_count > 1 && node->op->inputs[0].number_attr >= 0;
}

// How the node joins its inputs: CONCAT, PACK or PAD_SUM; OTHER: it does not.
static leat_access_t find_join(const leat_edit_t* edit, const leat_node_t* node) {
  const leat_access_t access =
      may_join(node) ? leat_node_access(edit->graph, node, edit->options) : LEAT_ACCESS_OTHER;
  const bool joins = access == LEAT_ACCESS_CONCAT || access == LEAT_ACCESS_PACK ||
                     access == LEAT_ACCESS_PAD_SUM;
  return joins ? access : LEAT_ACCESS_OTHER;
}

static leat_status_t look_at(leat_concat_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  const leat_access_t access = find_join(p->edit, node);
  // A node that waits for a concatenation thereby also waits for the concatenation's own control
  // inputs. It would no longer do so if it waited for the pieces instead.
  if (access != LEAT_ACCESS_OTHER &&
      (node->control_count || !leat_node_is_pure(p->edit->graph, node))) {
    return leat_ok_status();
  }
  switch (access) {
    case LEAT_ACCESS_CONCAT: return look_at_concatenation(p, index);
    case LEAT_ACCESS_PACK: return look_at_pack(p, index);
    case LEAT_ACCESS_PAD_SUM: return look_at_pads(p, index);
    default: look_at_reader(p, index); return leat_ok_status();
  }
}

// Whether |reader| needs the whole value. A control edge does not: the rewrite makes it wait for
// all pieces.
static bool wants_whole(const leat_concat_t* p, leat_reader_t reader) {
  const leat_concat_value_t* value = &p->values[reader.node];
  if (reader.position >= node_at(p, reader.node)->input_count) return false;
  return value->role <= LEAT_CONCAT_JOINED || !(value->in_pieces >> reader.position & 1);
}

static bool is_wanted_whole(const leat_concat_t* p, int32_t index) {
  if (leat_edit_is_kept(p->edit, index)) return true;
  LEAT_EDIT_FOR_EACH_USE(p->edit, index, use) {
    if (wants_whole(p, leat_edit_reader(p->edit, use))) return true;
  }
  return false;
}

bool leat_concat_is_refused(const leat_concat_t* p, int32_t index) {
  const leat_concat_value_t* group = &p->values[leat_concat_group(p, index)];
  return group->is_refused || group->gain_ns <= 0;
}

// ---- The pass -----------------------------------------------------------------------------------

static leat_status_t find_groups(leat_concat_t* p) {
  for (size_t i = 0; i < p->count; ++i) {
    p->values[i] = (leat_concat_value_t){.group = (int32_t)i, .gate = -1};
  }
  for (size_t i = 0; i < p->order_count; ++i) LEAT_RETURN_IF_ERROR(look_at(p, p->order[i]));
  for (size_t i = 0; i < p->count; ++i) {
    const int32_t index = (int32_t)i;
    if (p->values[i].role == LEAT_CONCAT_OUTSIDER) continue;
    leat_concat_weigh(p, index);
    if (leat_concat_gives(p, index) && is_wanted_whole(p, index)) {
      p->values[leat_concat_group(p, index)].is_refused = true;
    }
  }
  return leat_concat_find_followers(p);
}

// Finds the groups, drops the roles of those that are refused, and rewrites the others.
static leat_status_t rewrite_graph(leat_edit_t* edit) {
  leat_concat_t p = {.edit = edit, .count = edit->graph->node_count};
  bool any_changes = false;
  LEAT_RETURN_IF_ERROR(leat_edit_find_conditions(edit));
  LEAT_RETURN_IF_ERROR(leat_edit_sort(edit, &p.order, &p.order_count));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(edit->scratch, p.count + 1, &p.values));
  LEAT_RETURN_IF_ERROR(find_groups(&p));
  for (size_t i = 0; i < p.count; ++i) {
    if (leat_concat_is_refused(&p, (int32_t)i)) p.values[i].role = LEAT_CONCAT_OUTSIDER;
    if (p.values[i].role == LEAT_CONCAT_OUTSIDER) p.values[i].pieces = NULL;
    any_changes |= p.values[i].role != LEAT_CONCAT_OUTSIDER;
  }
  return any_changes ? leat_concat_rewrite(&p) : leat_ok_status();
}

static bool may_have_joins(const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    if (may_join(&graph->nodes[i])) return true;
  }
  return false;
}

static bool has_joins(const leat_edit_t* edit) {
  for (size_t i = 0; i < edit->graph->node_count; ++i) {
    if (leat_edit_is_gone(edit, (int32_t)i)) continue;
    if (find_join(edit, &edit->graph->nodes[i]) != LEAT_ACCESS_OTHER) return true;
  }
  return false;
}

static leat_status_t concat_sinking(leat_edit_t* edit) {
  return edit->options->find_kernel && has_joins(edit) ? rewrite_graph(edit) : leat_ok_status();
}

const leat_pass_t leat_pass_concat_sinking = {
    .name = "concat_sinking",
    .doc = "what is joined and taken apart again is worked on in pieces",
    .after = "rules,defer",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_CONCAT_SINKING,
    .option = "remapping",
    .has_work = may_have_joins,
    .run = concat_sinking};
