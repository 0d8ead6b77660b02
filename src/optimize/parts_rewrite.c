// Nodes for each part, in the place of those that worked on the whole. Who reads a node is put in
// its place after it, so that what a node reads and waits for is there in parts already.
//
// A part waits for parts: what waited for a value in parts, or for a NoOp that did, and is now in
// parts itself, waits for the same part of it. So no part waits for another, and the nodes of each
// may become a program of their own. Who is not in parts waits for all of them, through a NoOp.
#include <string.h>

#include "base/checked.h"
#include "optimize/parts.h"

#define ALL_PARTS (-1)

static const leat_node_t* node_at(const leat_parts_t* p, int32_t index) {
  LEAT_DCHECK(index >= 0 && (size_t)index < p->edit->graph->node_count);
  return &p->edit->graph->nodes[index];
}

static leat_status_t allocate(const leat_parts_t* p, int count, size_t item_bytes,
                              void** out_items) {
  return leat_arena_allocate_array(p->edit->scratch, (size_t)count + 1, item_bytes, out_items);
}

static leat_status_t find_op(const leat_parts_t* p, leat_string_view_t name,
                             const leat_op_t** out_op) {
  return leat_op_registry_find(p->edit->graph->ops, name, out_op);
}

static leat_status_t add_beside(const leat_parts_t* p, int32_t index, const char* suffix,
                                leat_node_spec_t* spec, leat_output_t* out_output) {
  out_output->index = 0;
  return leat_edit_add(p->edit, index, suffix, spec, &out_output->node);
}

// ---- What nodes wait for ------------------------------------------------------------------------

static leat_status_t add_no_op(const leat_parts_t* p, int32_t index, const char* suffix,
                               const leat_waits_t* waits, leat_output_t* out_node) {
  leat_node_spec_t spec = {.control_inputs = waits->nodes, .control_count = waits->count};
  LEAT_RETURN_IF_ERROR(find_op(p, LEAT_OP_NAME_NO_OP, &spec.op));
  return add_beside(p, index, suffix, &spec, out_node);
}

// The node that waits for all parts.
static leat_status_t find_gate(const leat_parts_t* p, int32_t index, int32_t* out_gate) {
  leat_parted_t* value = &p->values[index];
  if (value->gate < 0) {
    LEAT_DCHECK(value->parts);
    leat_output_t gate;
    leat_waits_t waits = {0};
    for (int i = 0; i < value->division.count; ++i) {
      LEAT_RETURN_IF_ERROR(leat_waits_add(p->edit, value->parts[i].node, &waits));
    }
    LEAT_RETURN_IF_ERROR(add_no_op(p, index, "/_parts", &waits, &gate));
    value->gate = gate.node;
  }
  *out_gate = value->gate;
  return leat_ok_status();
}

static bool is_old(const leat_parts_t* p, int32_t node) {
  return (size_t)node < p->count;
}

// Is there something for each part of |group| in the place of |node|?
static bool has_parts(const leat_parts_t* p, int32_t node, int32_t group) {
  return is_old(p, node) && p->values[node].parts && leat_parts_group(p, node) == group;
}

// The node from which |index| has the constant that it gives; -1: it is the constant.
static int32_t find_giver(const leat_parts_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  return node->input_count ? node->inputs[0].node : -1;
}

static leat_status_t add_waits_of(const leat_parts_t* p, int32_t index, int32_t group, int part,
                                  leat_waits_t* inout_waits);

// Adds what stands for |source| to what waits for it as part |part| of |group|. A constant is there
// as soon as what it waits for.
static leat_status_t add_awaited(const leat_parts_t* p, int32_t source, int32_t group, int part,
                                 leat_waits_t* inout_waits) {
  if (part != ALL_PARTS && has_parts(p, source, group)) {
    LEAT_DCHECK(part < p->values[source].division.count);
    return leat_waits_add(p->edit, p->values[source].parts[part].node, inout_waits);
  }
  if (part != ALL_PARTS && leat_parts_constant(p, source, NULL)) {
    return add_waits_of(p, source, group, part, inout_waits);
  }
  if (is_old(p, source) && leat_parts_gives(p, source)) {
    LEAT_RETURN_IF_ERROR(find_gate(p, source, &source));
  }
  return leat_waits_add(p->edit, source, inout_waits);
}

static leat_status_t add_waits(const leat_parts_t* p, int32_t index, int32_t group, int part,
                               leat_waits_t* inout_waits) {
  const int begin = node_at(p, index)->input_count, count = node_at(p, index)->control_count;
  for (int i = begin; i < begin + count; ++i) {
    const int32_t source = node_at(p, index)->inputs[i].node;
    LEAT_RETURN_IF_ERROR(add_awaited(p, source, group, part, inout_waits));
  }
  return leat_ok_status();
}

// What the constant at |index| waits for, and each node on its way there.
static leat_status_t add_waits_of(const leat_parts_t* p, int32_t index, int32_t group, int part,
                                  leat_waits_t* inout_waits) {
  for (; index >= 0; index = find_giver(p, index)) {
    LEAT_RETURN_IF_ERROR(add_waits(p, index, group, part, inout_waits));
  }
  return leat_ok_status();
}

// A node in parts among what |index| waits for, or constants that it waits for do; -1: none.
static int32_t find_parts(const leat_parts_t* p, int32_t index) {
  const int begin = node_at(p, index)->input_count, count = node_at(p, index)->control_count;
  int32_t found = -1;
  for (int i = begin; i < begin + count && found < 0; ++i) {
    int32_t source = node_at(p, index)->inputs[i].node;
    if (is_old(p, source) && p->values[source].parts) return source;
    if (!leat_parts_constant(p, source, NULL)) continue;
    for (; source >= 0 && found < 0; source = find_giver(p, source)) found = find_parts(p, source);
  }
  return found;
}

// A NoOp that waits for values in parts is a NoOp for each part besides, for those in parts.
static leat_status_t add_no_ops(const leat_parts_t* p, int32_t index) {
  leat_parted_t* value = &p->values[index];
  const int32_t source = find_parts(p, index);
  leat_output_t* parts;
  if (source < 0) return leat_ok_status();
  const int32_t group = leat_parts_group(p, source);
  value->division = p->values[source].division;
  LEAT_RETURN_IF_ERROR(allocate(p, value->division.count, sizeof *parts, (void**)&parts));
  for (int i = 0; i < value->division.count; ++i) {
    leat_waits_t waits = {0};
    LEAT_RETURN_IF_ERROR(add_waits(p, index, group, i, &waits));
    LEAT_RETURN_IF_ERROR(add_no_op(p, index, "/_part", &waits, &parts[i]));
  }
  value->group = group;
  value->parts = parts;
  return leat_ok_status();
}

// Who waits for a value and is not in parts, waits for all parts; so do its followers, who come
// later.
static leat_status_t make_followers_wait(const leat_parts_t* p, int32_t index) {
  const leat_parted_t* value = &p->values[index];
  for (int i = 0; i < value->follower_count; ++i) {
    int32_t gate;
    LEAT_RETURN_IF_ERROR(find_gate(p, index, &gate));
    LEAT_RETURN_IF_ERROR(leat_edit_add_wait(p->edit, value->followers[i], gate));
  }
  return leat_ok_status();
}

static leat_status_t make_others_wait(const leat_parts_t* p, int32_t index) {
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
                                leat_tensor_t* out_part) {
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
      leat_tensor_allocate(leat_buffer_source_host(), whole->dtype, &shape, out_part);
  leat_shape_release(&shape);
  if (status) return status;
  const char* from = (const char*)whole->data + (size_t)begin * row_bytes;
  for (int64_t i = 0; i < rows; ++i) {
    memcpy((char*)out_part->data + (size_t)i * bytes, from + (size_t)i * stride, bytes);
  }
  return leat_ok_status();
}

// Adds a constant that comes when node |index|, which is one or hands one on, would if that were
// part |part|.
static leat_status_t add_constant(const leat_parts_t* p, int32_t index, int32_t group, int part,
                                  const leat_tensor_t* tensor, leat_output_t* out_constant) {
  const leat_attr_t attrs[] = {LEAT_TENSOR("value", tensor), LEAT_TYPE("dtype", tensor->dtype)};
  leat_node_spec_t spec = {.attrs = attrs, .attr_count = LEAT_ARRAY_SIZE(attrs)};
  leat_waits_t waits = {0};
  LEAT_RETURN_IF_ERROR(find_op(p, LEAT_OP_NAME_CONSTANT, &spec.op));
  LEAT_RETURN_IF_ERROR(add_waits_of(p, index, group, part, &waits));
  spec.control_inputs = waits.nodes;
  spec.control_count = waits.count;
  return add_beside(p, index, "/_part", &spec, out_constant);
}

// The dimension of the constant that is cut; -1: none is, it is repeated.
static int find_cut(const leat_tensor_t* constant, int from_end) {
  const int axis = constant->shape.rank - from_end;
  return axis < 0 || leat_shape_dim(&constant->shape, axis) == 1 ? -1 : axis;
}

static bool is_cut(const leat_parts_t* p, int32_t index, int axis, int32_t group,
                   leat_division_t division) {
  const leat_parted_t* constant = &p->values[index];
  return has_parts(p, index, group) && constant->axis == axis &&
         leat_division_equal(constant->division, division);
}

// Gives each part of |value|, which reads the constant |index|, one of its own.
static leat_status_t cut_constant(const leat_parts_t* p, int32_t index, const leat_parted_t* value,
                                  int32_t group) {
  leat_parted_t* constant = &p->values[index];
  const leat_tensor_t* whole = leat_parts_constant(p, index, NULL);
  // Only constants are in the set of constants of a value.
  LEAT_DCHECK(whole);
  const leat_division_t division = value->division;
  const int axis = find_cut(whole, value->from_end);
  int64_t begin = 0;
  if (is_cut(p, index, axis, group, division)) return leat_ok_status();
  leat_output_t* parts;
  LEAT_RETURN_IF_ERROR(allocate(p, division.count, sizeof *parts, (void**)&parts));
  for (int i = 0; i < division.count; ++i) {
    leat_tensor_t part;
    if (axis < 0) {
      part = leat_tensor_share(whole);
    } else {
      LEAT_RETURN_IF_ERROR(cut_tensor(whole, axis, begin, division.lengths[i], &part));
    }
    leat_status_t status = add_constant(p, index, group, i, &part, &parts[i]);
    leat_tensor_release(&part);
    LEAT_RETURN_IF_ERROR(status);
    begin += division.lengths[i];
  }
  LEAT_DCHECK(axis < 0 || begin == leat_shape_dim(&whole->shape, axis));
  constant->parts = parts;
  constant->axis = axis;
  constant->division = division;
  constant->group = group;
  return leat_ok_status();
}

// ---- Nodes for parts ----------------------------------------------------------------------------

static leat_status_t cut_constants(const leat_parts_t* p, int32_t index) {
  const leat_parted_t* value = &p->values[index];
  const int32_t group = leat_parts_group(p, index);
  for (int k = 0; k < node_at(p, index)->input_count; ++k) {
    if (!(value->constants >> k & 1)) continue;
    LEAT_RETURN_IF_ERROR(cut_constant(p, node_at(p, index)->inputs[k].node, value, group));
  }
  return leat_ok_status();
}

// What the node for part |part| is to read.
static leat_status_t list_inputs(const leat_parts_t* p, int32_t index, int part,
                                 leat_output_t** out_inputs) {
  const leat_node_t* node = node_at(p, index);
  const leat_parted_t* value = &p->values[index];
  const uint64_t of_parts = value->in_parts | value->constants;
  LEAT_RETURN_IF_ERROR(allocate(p, node->input_count, sizeof **out_inputs, (void**)out_inputs));
  for (int k = 0; k < node->input_count; ++k) {
    const leat_output_t input = node->inputs[k];
    LEAT_DCHECK(k < 64);
    LEAT_DCHECK(!(of_parts >> k & 1) || p->values[input.node].parts);
    (*out_inputs)[k] = of_parts >> k & 1 ? p->values[input.node].parts[part] : input;
  }
  return leat_ok_status();
}

static leat_status_t add_node(const leat_parts_t* p, int32_t index, const leat_output_t* inputs,
                              const leat_waits_t* waits, leat_output_t* out_output) {
  const leat_node_t* node = node_at(p, index);
  leat_node_spec_t spec = {.op = node->op,
                           .attrs = node->attrs,
                           .attr_count = node->attr_count,
                           .inputs = inputs,
                           .input_count = node->input_count,
                           .control_inputs = waits->nodes,
                           .control_count = waits->count};
  return add_beside(p, index, "/_part", &spec, out_output);
}

static leat_status_t add_each(const leat_parts_t* p, int32_t index) {
  leat_parted_t* value = &p->values[index];
  const int count = value->division.count;
  leat_output_t *parts, *inputs;
  LEAT_RETURN_IF_ERROR(cut_constants(p, index));
  LEAT_RETURN_IF_ERROR(allocate(p, count, sizeof *parts, (void**)&parts));
  for (int i = 0; i < count; ++i) {
    leat_waits_t waits = {0};
    LEAT_RETURN_IF_ERROR(list_inputs(p, index, i, &inputs));
    LEAT_RETURN_IF_ERROR(add_waits(p, index, leat_parts_group(p, index), i, &waits));
    LEAT_RETURN_IF_ERROR(add_node(p, index, inputs, &waits, &parts[i]));
  }
  value->parts = parts;
  return leat_ok_status();
}

static leat_status_t add_sum(const leat_parts_t* p, int32_t index) {
  const leat_parted_t* value = &p->values[index];
  leat_output_t sum;
  leat_node_spec_t spec = {.input_count = 2, .infer_attrs = true};
  LEAT_RETURN_IF_ERROR(find_op(p, LEAT_OP_NAME_ADD, &spec.op));
  LEAT_RETURN_IF_ERROR(add_each(p, index));
  LEAT_DCHECK(value->parts && value->division.count > 0);
  sum = value->parts[0];
  for (int i = 1; i < value->division.count; ++i) {
    const leat_output_t terms[] = {sum, value->parts[i]};
    spec.inputs = terms;
    LEAT_RETURN_IF_ERROR(add_beside(p, index, "/_parts", &spec, &sum));
  }
  return leat_edit_replace_by_output(p->edit, index, sum);
}

// The first update waits for all that the whole waited for: what it reads, and every other part.
static leat_status_t add_first_waits(const leat_parts_t* p, int32_t index,
                                     leat_waits_t* inout_waits) {
  const leat_parted_t* value = &p->values[index];
  const leat_output_t* inputs = node_at(p, index)->inputs;
  LEAT_RETURN_IF_ERROR(add_waits(p, index, 0, ALL_PARTS, inout_waits));
  for (int k = 0; k < node_at(p, index)->input_count; ++k) {
    for (int i = 1; i < value->division.count && value->in_parts >> k & 1; ++i) {
      const int32_t part = p->values[inputs[k].node].parts[i].node;
      LEAT_RETURN_IF_ERROR(leat_waits_add(p->edit, part, inout_waits));
    }
  }
  return leat_ok_status();
}

// One after the other: by reference the second has what the first gives, else it waits for it.
static leat_status_t add_updates(const leat_parts_t* p, int32_t index) {
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

static leat_status_t take(const leat_parts_t* p, int32_t index) {
  const leat_parted_t* whole = &p->values[node_at(p, index)->inputs[0].node];
  LEAT_DCHECK(whole->parts && p->values[index].taken < whole->division.count);
  return leat_edit_replace_by_output(p->edit, index, whole->parts[p->values[index].taken]);
}

static leat_status_t rewrite_node(const leat_parts_t* p, int32_t index) {
  const leat_node_t* node = node_at(p, index);
  switch (p->values[index].role) {
    case LEAT_PARTS_STRANGER:
      return leat_string_view_equal(node->op->name, LEAT_OP_NAME_NO_OP) ? add_no_ops(p, index)
                                                                        : leat_ok_status();
    case LEAT_PARTS_EACH: LEAT_RETURN_IF_ERROR(add_each(p, index)); break;
    case LEAT_PARTS_HANDED_ON:
      p->values[index].parts = p->values[node->inputs[0].node].parts;
      break;
    case LEAT_PARTS_TAKEN: return take(p, index);
    case LEAT_PARTS_SUMMED: return add_sum(p, index);
    case LEAT_PARTS_APPLIED: return add_updates(p, index);
    default: break;
  }
  return make_followers_wait(p, index);
}

leat_status_t leat_parts_rewrite(leat_parts_t* parts) {
  for (size_t i = 0; i < parts->order_count; ++i) {
    LEAT_RETURN_IF_ERROR(rewrite_node(parts, parts->order[i]));
  }
  for (size_t i = 0; i < parts->count; ++i) {
    if (!leat_parts_gives(parts, (int32_t)i)) continue;
    LEAT_RETURN_IF_ERROR(make_others_wait(parts, (int32_t)i));
  }
  return leat_ok_status();
}
