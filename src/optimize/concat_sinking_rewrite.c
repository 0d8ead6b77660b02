// The second half of the pass "concat_sinking": replaces the nodes that concat_sinking.c has given
// a role by one node for each piece. Nodes are visited in topological order, so that whatever a
// node reads and waits for is in pieces already when the node itself is replaced.
//
// Control edges are carried over piece by piece. Where a node in pieces waited for a value in
// pieces, or for a NoOp that waits for one, each piece of the node waits for the same piece of that
// value only. No piece therefore depends on another piece, so that the pass "fusion" can fuse the
// nodes of each piece separately without closing a cycle. A node that is not in pieces waits for
// all of them, through one NoOp, the gate of the value. Constants with control inputs are copied in
// the same manner, since gradients contain constants that wait for a whole group of values.
//
// The roles decide what replaces a node: nodes for each piece (EACH), these and a chain that
// combines their results (COMBINED), one update after another (APPLIED), or a piece itself (TAKEN).
// A concatenation (JOINED) and a reshape (FORWARDED) disappear once nothing reads them.
#include <string.h>

#include "base/checked.h"
#include "optimize/concat_sinking.h"

#define ALL_PIECES (-1)

static const leat_node_t* node_at(const leat_concat_t* p, int32_t index) {
  LEAT_DCHECK(index >= 0 && (size_t)index < p->edit->graph->node_count);
  return &p->edit->graph->nodes[index];
}

static leat_status_t allocate(const leat_concat_t* p, int count, size_t item_bytes,
                              void** out_items) {
  return leat_arena_allocate_array(p->edit->scratch, (size_t)count + 1, item_bytes, out_items);
}

static leat_status_t find_op(const leat_concat_t* p, leat_string_view_t name,
                             const leat_op_t** out_op) {
  return leat_op_registry_find(p->edit->graph->ops, name, out_op);
}

// Adds the node that |spec| describes on the device of node |index|.
static leat_status_t add_beside(const leat_concat_t* p, int32_t index, const char* suffix,
                                leat_node_spec_t* spec, leat_output_t* out_output) {
  out_output->index = 0;
  return leat_edit_add(p->edit, index, suffix, spec, &out_output->node);
}

// ---- Control edges ------------------------------------------------------------------------------

// Adds a NoOp that waits for |waits|.
static leat_status_t add_no_op(const leat_concat_t* p, int32_t index, const char* suffix,
                               const leat_waits_t* waits, leat_output_t* out_node) {
  leat_node_spec_t spec = {.control_inputs = waits->nodes, .control_count = waits->count};
  LEAT_RETURN_IF_ERROR(find_op(p, LEAT_OP_NAME_NO_OP, &spec.op));
  return add_beside(p, index, suffix, &spec, out_node);
}

// Finds or adds the NoOp that waits for all pieces of value |index|.
static leat_status_t find_gate(const leat_concat_t* p, int32_t index, int32_t* out_gate) {
  leat_concat_value_t* value = &p->values[index];
  if (value->gate < 0) {
    LEAT_DCHECK(value->pieces);
    leat_output_t gate;
    leat_waits_t waits = {0};
    for (int i = 0; i < value->division.count; ++i) {
      LEAT_RETURN_IF_ERROR(leat_waits_add(p->edit, value->pieces[i].node, &waits));
    }
    LEAT_RETURN_IF_ERROR(add_no_op(p, index, "/_pieces", &waits, &gate));
    value->gate = gate.node;
  }
  *out_gate = value->gate;
  return leat_ok_status();
}

// Whether the node was there when the pass began; later nodes have no entry in |values|.
static bool is_old(const leat_concat_t* p, int32_t node) {
  return (size_t)node < p->count;
}

// Whether |node| is in pieces, and its pieces are those of |group|.
static bool has_pieces(const leat_concat_t* p, int32_t node, int32_t group) {
  return is_old(p, node) && p->values[node].pieces && leat_concat_group(p, node) == group;
}

// The node whose constant node |index| forwards; -1 where |index| is the constant itself.
static int32_t find_giver(const leat_concat_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  return node->input_count ? node->inputs[0].node : -1;
}

static leat_status_t add_waits_of(const leat_concat_t* p, int32_t index, int32_t group, int piece,
                                  leat_waits_t* inout_waits);

// Adds to |inout_waits| what piece |piece| of a node of |group| has to await in the place of
// |source|: the same piece where |source| is in pieces of that group, the gate where it is in other
// pieces, else |source| itself. A constant is replaced by what it waits for in turn, as it takes no
// time itself.
static leat_status_t add_awaited(const leat_concat_t* p, int32_t source, int32_t group, int piece,
                                 leat_waits_t* inout_waits) {
  if (piece != ALL_PIECES && has_pieces(p, source, group)) {
    LEAT_DCHECK(piece < p->values[source].division.count);
    return leat_waits_add(p->edit, p->values[source].pieces[piece].node, inout_waits);
  }
  if (piece != ALL_PIECES && leat_constant_behind(p->edit->graph, source, NULL)) {
    return add_waits_of(p, source, group, piece, inout_waits);
  }
  if (is_old(p, source) && leat_concat_gives(p, source)) {
    LEAT_RETURN_IF_ERROR(find_gate(p, source, &source));
  }
  return leat_waits_add(p->edit, source, inout_waits);
}

// Adds to |inout_waits| what piece |piece| has to await in the place of each control input of node
// |index|. ALL_PIECES means a node that is not in pieces itself.
static leat_status_t add_waits(const leat_concat_t* p, int32_t index, int32_t group, int piece,
                               leat_waits_t* inout_waits) {
  const int begin = node_at(p, index)->input_count, count = node_at(p, index)->control_count;
  for (int i = begin; i < begin + count; ++i) {
    const int32_t source = node_at(p, index)->inputs[i].node;
    LEAT_RETURN_IF_ERROR(add_awaited(p, source, group, piece, inout_waits));
  }
  return leat_ok_status();
}

// Adds what the constant that node |index| forwards waits for, and what each forwarding node does.
static leat_status_t add_waits_of(const leat_concat_t* p, int32_t index, int32_t group, int piece,
                                  leat_waits_t* inout_waits) {
  for (; index >= 0; index = find_giver(p, index)) {
    LEAT_RETURN_IF_ERROR(add_waits(p, index, group, piece, inout_waits));
  }
  return leat_ok_status();
}

// Returns a node in pieces that |index| waits for, directly or through a constant; -1: none.
static int32_t find_pieces(const leat_concat_t* p, int32_t index) {
  const int begin = node_at(p, index)->input_count, count = node_at(p, index)->control_count;
  int32_t found = -1;
  for (int i = begin; i < begin + count && found < 0; ++i) {
    int32_t source = node_at(p, index)->inputs[i].node;
    if (is_old(p, source) && p->values[source].pieces) return source;
    if (!leat_constant_behind(p->edit->graph, source, NULL)) continue;
    for (; source >= 0 && found < 0; source = find_giver(p, source)) found = find_pieces(p, source);
  }
  return found;
}

// Adds to a NoOp that waits for values in pieces one NoOp for each piece, for which nodes in pieces
// will wait instead. The NoOp itself stays for all other nodes.
static leat_status_t add_no_ops(const leat_concat_t* p, int32_t index) {
  leat_concat_value_t* value = &p->values[index];
  const int32_t source = find_pieces(p, index);
  leat_output_t* pieces;
  if (source < 0) return leat_ok_status();
  const int32_t group = leat_concat_group(p, source);
  value->division = p->values[source].division;
  LEAT_RETURN_IF_ERROR(allocate(p, value->division.count, sizeof *pieces, (void**)&pieces));
  for (int i = 0; i < value->division.count; ++i) {
    leat_waits_t waits = {0};
    LEAT_RETURN_IF_ERROR(add_waits(p, index, group, i, &waits));
    LEAT_RETURN_IF_ERROR(add_no_op(p, index, "/_piece", &waits, &pieces[i]));
  }
  value->group = group;
  value->pieces = pieces;
  return leat_ok_status();
}

// Makes the followers of value |index| (concat_sinking.c says what they are) wait for all pieces.
static leat_status_t make_followers_wait(const leat_concat_t* p, int32_t index) {
  const leat_concat_value_t* value = &p->values[index];
  for (int i = 0; i < value->follower_count; ++i) {
    int32_t gate;
    LEAT_RETURN_IF_ERROR(find_gate(p, index, &gate));
    LEAT_RETURN_IF_ERROR(leat_edit_add_wait(p->edit, value->followers[i], gate));
  }
  return leat_ok_status();
}

// Makes nodes that are not in pieces, and that waited for value |index|, wait for all pieces.
static leat_status_t make_others_wait(const leat_concat_t* p, int32_t index) {
  LEAT_EDIT_FOR_EACH_USE(p->edit, index, use) {
    const leat_reader_t reader = leat_edit_reader(p->edit, use);
    int32_t gate;
    if (!is_old(p, reader.node) || p->values[reader.node].role ||
        !leat_edit_is_wait(p->edit, reader)) {
      continue;
    }
    LEAT_RETURN_IF_ERROR(find_gate(p, index, &gate));
    LEAT_RETURN_IF_ERROR(leat_edit_set_input(p->edit, reader.node, reader.position,
                                             (leat_output_t){gate, LEAT_CONTROL_INDEX}));
  }
  return leat_ok_status();
}

// ---- Constants ----------------------------------------------------------------------------------

// Copies the indices [begin, begin + length) of dimension |axis| of |whole| into a new tensor.
static leat_status_t cut_tensor(const leat_tensor_t* whole, int axis, int64_t begin, int64_t length,
                                leat_tensor_t* out_piece) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  const leat_shape_t* given = &whole->shape;
  leat_shape_t shape;
  for (int d = 0; d < given->rank; ++d) dims[d] = leat_shape_dim(given, d);
  const size_t row_bytes = (size_t)leat_shape_product(given, axis + 1, given->rank) *
                           leat_dtype_size(whole->dtype);
  const size_t stride = (size_t)dims[axis] * row_bytes, bytes = (size_t)length * row_bytes;
  LEAT_DCHECK(axis >= 0 && axis < given->rank);
  LEAT_DCHECK(begin >= 0 && length >= 0 && begin + length <= dims[axis]);
  const int64_t rows = leat_shape_product(given, 0, axis);
  dims[axis] = length;
  LEAT_RETURN_IF_ERROR(leat_shape_create(given->rank, dims, &shape));
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), whole->dtype, &shape, out_piece);
  leat_shape_release(&shape);
  if (status) return status;
  const char* from = (const char*)whole->data + (size_t)begin * row_bytes;
  for (int64_t i = 0; i < rows; ++i) {
    memcpy((char*)out_piece->data + (size_t)i * bytes, from + (size_t)i * stride, bytes);
  }
  return leat_ok_status();
}

// Adds a constant |tensor| for piece |piece|, in the place of node |index|, which is a constant or
// forwards one. It waits for what the node waits for, as far as that concerns the piece.
static leat_status_t add_constant(const leat_concat_t* p, int32_t index, int32_t group, int piece,
                                  const leat_tensor_t* tensor, leat_output_t* out_constant) {
  const leat_attr_t attrs[] = {LEAT_TENSOR("value", tensor), LEAT_TYPE("dtype", tensor->dtype)};
  leat_node_spec_t spec = {.attrs = attrs, .attr_count = LEAT_ARRAY_SIZE(attrs)};
  leat_waits_t waits = {0};
  LEAT_RETURN_IF_ERROR(find_op(p, LEAT_OP_NAME_CONSTANT, &spec.op));
  LEAT_RETURN_IF_ERROR(add_waits_of(p, index, group, piece, &waits));
  spec.control_inputs = waits.nodes;
  spec.control_count = waits.count;
  return add_beside(p, index, "/_piece", &spec, out_constant);
}

// The dimension along which the constant that node |index| reads at |input| is cut; NONE where the
// constant does not run along the axis that is cut, or is repeated along it.
static int find_cut(const leat_concat_t* p, int32_t index, int input) {
  const leat_tensor_t* constant =
      leat_constant_behind(p->edit->graph, node_at(p, index)->inputs[input].node, NULL);
  leat_domain_t domain;
  const bool is_known =
      leat_domain_find(p->edit->graph, node_at(p, index), p->edit->options, &domain);
  // The node has its role because its domain is known, and only constants are in its set of these.
  LEAT_DCHECK(is_known && constant);
  const int axis = leat_domain_operand_axis(&domain, input, p->values[index].cut);
  return axis == LEAT_AXIS_NONE || leat_shape_dim(&constant->shape, axis) == 1 ? LEAT_AXIS_NONE
                                                                               : axis;
}

// Whether the constant has been cut in the same way for another reader.
static bool is_cut(const leat_concat_t* p, int32_t index, int axis, int32_t group,
                   leat_division_t division) {
  const leat_concat_value_t* constant = &p->values[index];
  return has_pieces(p, index, group) && constant->axis == axis &&
         leat_division_equal(constant->division, division);
}

// Makes a constant for each piece of |division| in the place of the constant |index|, which is cut
// along |axis|; NONE: each piece has all of it.
static leat_status_t cut_constant(const leat_concat_t* p, int32_t index, int axis,
                                  leat_division_t division, int32_t group) {
  leat_concat_value_t* constant = &p->values[index];
  const leat_tensor_t* whole = leat_constant_behind(p->edit->graph, index, NULL);
  int64_t begin = 0;
  if (is_cut(p, index, axis, group, division)) return leat_ok_status();
  leat_output_t* pieces;
  LEAT_RETURN_IF_ERROR(allocate(p, division.count, sizeof *pieces, (void**)&pieces));
  for (int i = 0; i < division.count; ++i) {
    leat_tensor_t piece;
    if (axis < 0) {
      piece = leat_tensor_share(whole);
    } else {
      LEAT_RETURN_IF_ERROR(cut_tensor(whole, axis, begin, division.lengths[i], &piece));
    }
    leat_status_t status = add_constant(p, index, group, i, &piece, &pieces[i]);
    leat_tensor_release(&piece);
    LEAT_RETURN_IF_ERROR(status);
    begin += division.lengths[i];
  }
  LEAT_DCHECK(axis < 0 || begin == leat_shape_dim(&whole->shape, axis));
  constant->pieces = pieces;
  constant->axis = axis;
  constant->division = division;
  constant->group = group;
  return leat_ok_status();
}

// ---- Nodes for pieces ---------------------------------------------------------------------------

// Cuts all constants that the nodes of the pieces of |index| will read.
static leat_status_t cut_constants(const leat_concat_t* p, int32_t index) {
  const leat_concat_value_t* value = &p->values[index];
  const int32_t group = leat_concat_group(p, index);
  for (int k = 0; k < node_at(p, index)->input_count; ++k) {
    if (!(value->constants >> k & 1)) continue;
    const int32_t constant = node_at(p, index)->inputs[k].node;
    const int axis = find_cut(p, index, k);
    LEAT_RETURN_IF_ERROR(cut_constant(p, constant, axis, value->division, group));
  }
  return leat_ok_status();
}

// Lists the inputs of the node for piece |piece|.
static leat_status_t list_inputs(const leat_concat_t* p, int32_t index, int piece,
                                 leat_output_t** out_inputs) {
  const leat_node_t* node = node_at(p, index);
  const leat_concat_value_t* value = &p->values[index];
  const uint64_t of_pieces = value->in_pieces | value->constants;
  LEAT_RETURN_IF_ERROR(allocate(p, node->input_count, sizeof **out_inputs, (void**)out_inputs));
  for (int k = 0; k < node->input_count; ++k) {
    const leat_output_t input = node->inputs[k];
    LEAT_DCHECK(k < 64);
    LEAT_DCHECK(!(of_pieces >> k & 1) || p->values[input.node].pieces);
    (*out_inputs)[k] = of_pieces >> k & 1 ? p->values[input.node].pieces[piece] : input;
  }
  return leat_ok_status();
}

// Adds a node of |op| with the attributes of node |index|.
static leat_status_t add_node(const leat_concat_t* p, int32_t index, const leat_op_t* op,
                              const leat_output_t* inputs, const leat_waits_t* waits,
                              leat_output_t* out_output) {
  const leat_node_t* node = node_at(p, index);
  leat_node_spec_t spec = {.op = op,
                           .attrs = node->attrs,
                           .attr_count = node->attr_count,
                           .inputs = inputs,
                           .input_count = node->input_count,
                           .control_inputs = waits->nodes,
                           .control_count = waits->count};
  return add_beside(p, index, "/_piece", &spec, out_output);
}

// Adds a node of |op| for each piece.
static leat_status_t add_each(const leat_concat_t* p, int32_t index, const leat_op_t* op) {
  leat_concat_value_t* value = &p->values[index];
  const int count = value->division.count;
  leat_output_t *pieces, *inputs;
  LEAT_RETURN_IF_ERROR(cut_constants(p, index));
  LEAT_RETURN_IF_ERROR(allocate(p, count, sizeof *pieces, (void**)&pieces));
  for (int i = 0; i < count; ++i) {
    leat_waits_t waits = {0};
    LEAT_RETURN_IF_ERROR(list_inputs(p, index, i, &inputs));
    LEAT_RETURN_IF_ERROR(add_waits(p, index, leat_concat_group(p, index), i, &waits));
    LEAT_RETURN_IF_ERROR(add_node(p, index, op, inputs, &waits, &pieces[i]));
  }
  value->pieces = pieces;
  return leat_ok_status();
}

// Adds a node of |op| beside node |index| whose operands are |*inout_value|, which becomes its
// result, and a constant: the scalar at |number|, of |dtype|.
static leat_status_t add_with_scalar(const leat_concat_t* p, int32_t index, leat_string_view_t op,
                                     int dtype, const void* number, leat_output_t* inout_value) {
  leat_tensor_t scalar;
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar(dtype, number, &scalar));
  const leat_attr_t attrs[] = {LEAT_TENSOR("value", &scalar), LEAT_TYPE("dtype", dtype)};
  leat_node_spec_t spec = {.attrs = attrs, .attr_count = LEAT_ARRAY_SIZE(attrs)};
  leat_output_t inputs[2] = {*inout_value};
  leat_status_t status = find_op(p, LEAT_OP_NAME_CONSTANT, &spec.op);
  if (!status) status = add_beside(p, index, "/_scalar", &spec, &inputs[1]);
  leat_tensor_release(&scalar);
  LEAT_RETURN_IF_ERROR(status);
  spec = (leat_node_spec_t){.inputs = inputs, .input_count = 2, .infer_attrs = true};
  LEAT_RETURN_IF_ERROR(find_op(p, op, &spec.op));
  return add_beside(p, index, "/_piece", &spec, inout_value);
}

// Divides |*inout_value|, which stands for the reduction |index|, by the number of elements of the
// input that make one element of it.
static leat_status_t add_division(const leat_concat_t* p, int32_t index, const char* op,
                                  leat_output_t* inout_value) {
  const leat_node_t* node = node_at(p, index);
  const int dtype = node->output_types[0];
  const leat_partial_shape_t shape = leat_graph_output_shape(p->edit->graph, node->inputs[0]);
  leat_domain_t domain;
  const bool is_known = leat_domain_find(p->edit->graph, node, p->edit->options, &domain);
  LEAT_DCHECK(is_known && leat_partial_shape_is_full(shape));
  double count = 1;
  for (int a = 0; a < shape.rank; ++a) {
    if (leat_domain_axis(&domain, 0, a) >= domain.rank) count *= (double)shape.dims[a];
  }
  const float single = (float)count;
  const void* number = dtype == LEAT_DTYPE_FLOAT ? (const void*)&single : &count;
  LEAT_DCHECK(dtype == LEAT_DTYPE_FLOAT || dtype == LEAT_DTYPE_DOUBLE);
  return add_with_scalar(p, index, leat_string_view_from(op), dtype, number, inout_value);
}

// Adds a reduction for each piece and a chain that combines their results, which replaces the node.
static leat_status_t add_combination(const leat_concat_t* p, int32_t index) {
  const leat_concat_value_t* value = &p->values[index];
  const leat_combination_t* combination = value->rule->combination;
  const leat_op_t* each = node_at(p, index)->op;
  leat_output_t result;
  leat_node_spec_t spec = {.input_count = 2, .infer_attrs = true};
  if (combination->each) {
    LEAT_RETURN_IF_ERROR(find_op(p, leat_string_view_from(combination->each), &each));
  }
  LEAT_RETURN_IF_ERROR(find_op(p, leat_string_view_from(combination->combine), &spec.op));
  LEAT_RETURN_IF_ERROR(add_each(p, index, each));
  LEAT_DCHECK(value->pieces && value->division.count > 0);
  result = value->pieces[0];
  for (int i = 1; i < value->division.count; ++i) {
    const leat_output_t two[] = {result, value->pieces[i]};
    spec.inputs = two;
    LEAT_RETURN_IF_ERROR(add_beside(p, index, "/_pieces", &spec, &result));
  }
  if (combination->divide) {
    LEAT_RETURN_IF_ERROR(add_division(p, index, combination->divide, &result));
  }
  leat_pass_note_rule(p->edit->options, value->rule);
  return leat_edit_replace_by_output(p->edit, index, result);
}

// Lists what the first update waits for: everything that the whole update depended on, so also the
// pieces that only the later updates read. No row may change before all inputs have been computed,
// because they may depend on the old rows.
static leat_status_t add_first_waits(const leat_concat_t* p, int32_t index,
                                     leat_waits_t* inout_waits) {
  const leat_concat_value_t* value = &p->values[index];
  const leat_output_t* inputs = node_at(p, index)->inputs;
  LEAT_RETURN_IF_ERROR(add_waits(p, index, 0, ALL_PIECES, inout_waits));
  for (int k = 0; k < node_at(p, index)->input_count; ++k) {
    for (int i = 1; i < value->division.count && value->in_pieces >> k & 1; ++i) {
      const int32_t piece = p->values[inputs[k].node].pieces[i].node;
      LEAT_RETURN_IF_ERROR(leat_waits_add(p->edit, piece, inout_waits));
    }
  }
  return leat_ok_status();
}

// Adds an update for each piece, in order. An op that updates through a reference passes it on, so
// the next update reads the output of the one before; an op without outputs (a resource variable)
// is awaited by a control edge.
static leat_status_t add_updates(const leat_concat_t* p, int32_t index) {
  leat_output_t *inputs, last = {0};
  for (int i = 0; i < p->values[index].division.count; ++i) {
    leat_waits_t waits = {0};
    LEAT_RETURN_IF_ERROR(list_inputs(p, index, i, &inputs));
    if (i == 0) {
      LEAT_RETURN_IF_ERROR(add_first_waits(p, index, &waits));
    } else if (node_at(p, index)->output_count) {
      inputs[0] = last;
    } else {
      LEAT_RETURN_IF_ERROR(leat_waits_add(p->edit, last.node, &waits));
    }
    LEAT_RETURN_IF_ERROR(add_node(p, index, node_at(p, index)->op, inputs, &waits, &last));
  }
  // The last update replaces the node, for readers of the reference and for waiting nodes.
  return leat_edit_replace(p->edit, index, last.node);
}

// Adds a node of ExpandDims, by which |*inout_piece| gets axis |axis|, of length 1, beside node
// |index|.
static leat_status_t add_axis(const leat_concat_t* p, int32_t index, int axis,
                              leat_output_t* inout_piece) {
  const int32_t number = axis;
  return add_with_scalar(p, index, LEAT_OP_NAME_EXPAND_DIMS, LEAT_DTYPE_INT32, &number,
                         inout_piece);
}

// Makes the pieces of a Pack, which waits for what the Pack waited for.
static leat_status_t expand_pieces(const leat_concat_t* p, int32_t index) {
  leat_concat_value_t* value = &p->values[index];
  leat_output_t* pieces;
  LEAT_RETURN_IF_ERROR(allocate(p, value->division.count, sizeof *pieces, (void**)&pieces));
  for (int i = 0; i < value->division.count; ++i) {
    pieces[i] = node_at(p, index)->inputs[i];
    LEAT_RETURN_IF_ERROR(add_axis(p, index, value->axis, &pieces[i]));
  }
  value->pieces = pieces;
  return leat_ok_status();
}

// Adds a node of Squeeze, by which |*inout_piece| loses axis |axis|, of length 1.
static leat_status_t drop_axis(const leat_concat_t* p, int32_t index, int axis,
                               leat_output_t* inout_piece) {
  const int64_t axes[] = {axis};
  const leat_output_t inputs[] = {*inout_piece};
  const leat_attr_t attrs[] = {
      LEAT_TYPE("T", leat_graph_output_type(p->edit->graph, *inout_piece)),
      LEAT_LIST("squeeze_dims", INT, LEAT_ARRAY_SIZE(axes), ints, axes)};
  leat_node_spec_t spec = {.inputs = inputs,
                           .input_count = 1,
                           .attrs = attrs,
                           .attr_count = LEAT_ARRAY_SIZE(attrs)};
  LEAT_RETURN_IF_ERROR(find_op(p, LEAT_OP_NAME_SQUEEZE, &spec.op));
  return add_beside(p, index, "/_piece", &spec, inout_piece);
}

// Replaces each output of a node that splits or unpacks a value by the piece that it is. Who waits
// for the node waits for all pieces.
static leat_status_t take_all(const leat_concat_t* p, int32_t index) {
  const leat_access_t access =
      leat_node_access(p->edit->graph, node_at(p, index), p->edit->options);
  const bool unpacks = access == LEAT_ACCESS_UNPACK;
  const int input = unpacks ? 0 : leat_concat_split_input(node_at(p, index));
  const int32_t source = node_at(p, index)->inputs[input].node;
  const int count = node_at(p, index)->output_count;
  int32_t gate;
  for (int i = 0; i < count; ++i) {
    leat_output_t piece = p->values[source].pieces[i];
    if (unpacks) LEAT_RETURN_IF_ERROR(drop_axis(p, index, p->values[index].axis, &piece));
    LEAT_RETURN_IF_ERROR(leat_edit_redirect(p->edit, (leat_output_t){index, i}, piece));
  }
  if (!leat_edit_use_count(p->edit, index)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_gate(p, source, &gate));
  return leat_edit_replace(p->edit, index, gate);
}

// Replaces a slice by the piece that it is.
static leat_status_t take(const leat_concat_t* p, int32_t index) {
  if (p->values[index].taken == LEAT_CONCAT_ALL_PIECES) return take_all(p, index);
  const leat_concat_value_t* whole = &p->values[node_at(p, index)->inputs[0].node];
  LEAT_DCHECK(whole->pieces && p->values[index].taken < whole->division.count);
  return leat_edit_replace_by_output(p->edit, index, whole->pieces[p->values[index].taken]);
}

static leat_status_t rewrite_node(const leat_concat_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  switch (p->values[index].role) {
    case LEAT_CONCAT_OUTSIDER:
      return leat_string_view_equal(node->op->name, LEAT_OP_NAME_NO_OP) ? add_no_ops(p, index)
                                                                        : leat_ok_status();
    case LEAT_CONCAT_JOINED:
      if (!p->values[index].pieces) LEAT_RETURN_IF_ERROR(expand_pieces(p, index));
      break;
    case LEAT_CONCAT_EACH: LEAT_RETURN_IF_ERROR(add_each(p, index, node->op)); break;
    case LEAT_CONCAT_FORWARDED:
      p->values[index].pieces = p->values[node->inputs[0].node].pieces;
      break;
    case LEAT_CONCAT_TAKEN: return take(p, index);
    case LEAT_CONCAT_COMBINED: return add_combination(p, index);
    case LEAT_CONCAT_APPLIED: return add_updates(p, index);
    default: break;
  }
  return make_followers_wait(p, index);
}

leat_status_t leat_concat_rewrite(leat_concat_t* pieces) {
  for (size_t i = 0; i < pieces->order_count; ++i) {
    LEAT_RETURN_IF_ERROR(rewrite_node(pieces, pieces->order[i]));
  }
  for (size_t i = 0; i < pieces->count; ++i) {
    if (!leat_concat_gives(pieces, (int32_t)i)) continue;
    LEAT_RETURN_IF_ERROR(make_others_wait(pieces, (int32_t)i));
  }
  return leat_ok_status();
}
