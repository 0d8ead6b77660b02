// The second half of concat sinking: puts nodes for each piece in the place of those that worked on
// the whole. A node is replaced after all that it reads, so that what it reads and waits for is in
// pieces already.
//
// A piece waits for pieces. A node that waited for a value in pieces, or for a NoOp that did, and
// is in pieces itself now, waits with each of its pieces for the same piece of that value. No piece
// therefore waits for another one, and the nodes of each piece may become a program of their own
// (optimize/fusion.c). A node that is not in pieces waits for all of them, through one NoOp.
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

static leat_status_t add_beside(const leat_concat_t* p, int32_t index, const char* suffix,
                                leat_node_spec_t* spec, leat_output_t* out_output) {
  out_output->index = 0;
  return leat_edit_add(p->edit, index, suffix, spec, &out_output->node);
}

// ---- What nodes wait for ------------------------------------------------------------------------

static leat_status_t add_no_op(const leat_concat_t* p, int32_t index, const char* suffix,
                               const leat_waits_t* waits, leat_output_t* out_node) {
  leat_node_spec_t spec = {.control_inputs = waits->nodes, .control_count = waits->count};
  LEAT_RETURN_IF_ERROR(find_op(p, LEAT_OP_NAME_NO_OP, &spec.op));
  return add_beside(p, index, suffix, &spec, out_node);
}

// The node that waits for all pieces.
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

static bool is_old(const leat_concat_t* p, int32_t node) {
  return (size_t)node < p->count;
}

// Is there something for each piece of |group| in the place of |node|?
static bool has_pieces(const leat_concat_t* p, int32_t node, int32_t group) {
  return is_old(p, node) && p->values[node].pieces && leat_concat_group(p, node) == group;
}

// The node from which |index| has the constant that it gives; -1: it is the constant.
static int32_t find_giver(const leat_concat_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  return node->input_count ? node->inputs[0].node : -1;
}

static leat_status_t add_waits_of(const leat_concat_t* p, int32_t index, int32_t group, int piece,
                                  leat_waits_t* inout_waits);

// Adds what stands for |source| to what waits for it as piece |piece| of |group|. A constant is
// there as soon as what it waits for.
static leat_status_t add_awaited(const leat_concat_t* p, int32_t source, int32_t group, int piece,
                                 leat_waits_t* inout_waits) {
  if (piece != ALL_PIECES && has_pieces(p, source, group)) {
    LEAT_DCHECK(piece < p->values[source].division.count);
    return leat_waits_add(p->edit, p->values[source].pieces[piece].node, inout_waits);
  }
  if (piece != ALL_PIECES && leat_concat_constant(p, source, NULL)) {
    return add_waits_of(p, source, group, piece, inout_waits);
  }
  if (is_old(p, source) && leat_concat_gives(p, source)) {
    LEAT_RETURN_IF_ERROR(find_gate(p, source, &source));
  }
  return leat_waits_add(p->edit, source, inout_waits);
}

static leat_status_t add_waits(const leat_concat_t* p, int32_t index, int32_t group, int piece,
                               leat_waits_t* inout_waits) {
  const int begin = node_at(p, index)->input_count, count = node_at(p, index)->control_count;
  for (int i = begin; i < begin + count; ++i) {
    const int32_t source = node_at(p, index)->inputs[i].node;
    LEAT_RETURN_IF_ERROR(add_awaited(p, source, group, piece, inout_waits));
  }
  return leat_ok_status();
}

// What the constant at |index| waits for, and each node on its way there.
static leat_status_t add_waits_of(const leat_concat_t* p, int32_t index, int32_t group, int piece,
                                  leat_waits_t* inout_waits) {
  for (; index >= 0; index = find_giver(p, index)) {
    LEAT_RETURN_IF_ERROR(add_waits(p, index, group, piece, inout_waits));
  }
  return leat_ok_status();
}

// A node in pieces among what |index| waits for, or constants that it waits for do; -1: none.
static int32_t find_pieces(const leat_concat_t* p, int32_t index) {
  const int begin = node_at(p, index)->input_count, count = node_at(p, index)->control_count;
  int32_t found = -1;
  for (int i = begin; i < begin + count && found < 0; ++i) {
    int32_t source = node_at(p, index)->inputs[i].node;
    if (is_old(p, source) && p->values[source].pieces) return source;
    if (!leat_concat_constant(p, source, NULL)) continue;
    for (; source >= 0 && found < 0; source = find_giver(p, source)) found = find_pieces(p, source);
  }
  return found;
}

// A NoOp that waits for values in pieces is a NoOp for each piece besides, for those in pieces.
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

// Who waits for a value and is not in pieces, waits for all pieces; so do its followers, who come
// later.
static leat_status_t make_followers_wait(const leat_concat_t* p, int32_t index) {
  const leat_concat_value_t* value = &p->values[index];
  for (int i = 0; i < value->follower_count; ++i) {
    int32_t gate;
    LEAT_RETURN_IF_ERROR(find_gate(p, index, &gate));
    LEAT_RETURN_IF_ERROR(leat_edit_add_wait(p->edit, value->followers[i], gate));
  }
  return leat_ok_status();
}

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

// [begin, begin + length) of dimension |axis|.
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

// Adds a constant that comes when node |index|, which is one or forwardse on, would if that were
// piece |piece|.
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

// The dimension of the constant that is cut; -1: none is, it is repeated.
static int find_cut(const leat_tensor_t* constant, int from_end) {
  const int axis = constant->shape.rank - from_end;
  return axis < 0 || leat_shape_dim(&constant->shape, axis) == 1 ? -1 : axis;
}

static bool is_cut(const leat_concat_t* p, int32_t index, int axis, int32_t group,
                   leat_division_t division) {
  const leat_concat_value_t* constant = &p->values[index];
  return has_pieces(p, index, group) && constant->axis == axis &&
         leat_division_equal(constant->division, division);
}

// Gives each piece of |value|, which reads the constant |index|, one of its own.
static leat_status_t cut_constant(const leat_concat_t* p, int32_t index,
                                  const leat_concat_value_t* value, int32_t group) {
  leat_concat_value_t* constant = &p->values[index];
  const leat_tensor_t* whole = leat_concat_constant(p, index, NULL);
  // Only constants are in the set of constants of a value.
  LEAT_DCHECK(whole);
  const leat_division_t division = value->division;
  const int axis = find_cut(whole, value->from_end);
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

static leat_status_t cut_constants(const leat_concat_t* p, int32_t index) {
  const leat_concat_value_t* value = &p->values[index];
  const int32_t group = leat_concat_group(p, index);
  for (int k = 0; k < node_at(p, index)->input_count; ++k) {
    if (!(value->constants >> k & 1)) continue;
    LEAT_RETURN_IF_ERROR(cut_constant(p, node_at(p, index)->inputs[k].node, value, group));
  }
  return leat_ok_status();
}

// What the node for piece |piece| is to read.
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

static leat_status_t add_node(const leat_concat_t* p, int32_t index, const leat_output_t* inputs,
                              const leat_waits_t* waits, leat_output_t* out_output) {
  const leat_node_t* node = node_at(p, index);
  leat_node_spec_t spec = {.op = node->op,
                           .attrs = node->attrs,
                           .attr_count = node->attr_count,
                           .inputs = inputs,
                           .input_count = node->input_count,
                           .control_inputs = waits->nodes,
                           .control_count = waits->count};
  return add_beside(p, index, "/_piece", &spec, out_output);
}

static leat_status_t add_each(const leat_concat_t* p, int32_t index) {
  leat_concat_value_t* value = &p->values[index];
  const int count = value->division.count;
  leat_output_t *pieces, *inputs;
  LEAT_RETURN_IF_ERROR(cut_constants(p, index));
  LEAT_RETURN_IF_ERROR(allocate(p, count, sizeof *pieces, (void**)&pieces));
  for (int i = 0; i < count; ++i) {
    leat_waits_t waits = {0};
    LEAT_RETURN_IF_ERROR(list_inputs(p, index, i, &inputs));
    LEAT_RETURN_IF_ERROR(add_waits(p, index, leat_concat_group(p, index), i, &waits));
    LEAT_RETURN_IF_ERROR(add_node(p, index, inputs, &waits, &pieces[i]));
  }
  value->pieces = pieces;
  return leat_ok_status();
}

static leat_status_t add_sum(const leat_concat_t* p, int32_t index) {
  const leat_concat_value_t* value = &p->values[index];
  leat_output_t sum;
  leat_node_spec_t spec = {.input_count = 2, .infer_attrs = true};
  LEAT_RETURN_IF_ERROR(find_op(p, LEAT_OP_NAME_ADD, &spec.op));
  LEAT_RETURN_IF_ERROR(add_each(p, index));
  LEAT_DCHECK(value->pieces && value->division.count > 0);
  sum = value->pieces[0];
  for (int i = 1; i < value->division.count; ++i) {
    const leat_output_t terms[] = {sum, value->pieces[i]};
    spec.inputs = terms;
    LEAT_RETURN_IF_ERROR(add_beside(p, index, "/_pieces", &spec, &sum));
  }
  return leat_edit_replace_by_output(p->edit, index, sum);
}

// The first update waits for all that the whole waited for: what it reads, and every other piece.
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

// One after the other: by reference the second has what the first gives, else it waits for it.
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
    LEAT_RETURN_IF_ERROR(add_node(p, index, inputs, &waits, &last));
  }
  // The updates stand for the node; where it gives nothing, others wait for the last of them.
  return leat_edit_replace(p->edit, index, last.node);
}

static leat_status_t take(const leat_concat_t* p, int32_t index) {
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
    case LEAT_CONCAT_EACH: LEAT_RETURN_IF_ERROR(add_each(p, index)); break;
    case LEAT_CONCAT_FORWARDED:
      p->values[index].pieces = p->values[node->inputs[0].node].pieces;
      break;
    case LEAT_CONCAT_TAKEN: return take(p, index);
    case LEAT_CONCAT_SUMMED: return add_sum(p, index);
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
