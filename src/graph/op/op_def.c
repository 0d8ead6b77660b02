// Makes OpDef messages from parsed ops, the inverse of parsing the mini-language. Attributes and
// allowed values come out in the order in which the declaration lists them, because TensorFlow's
// tools compare OpDefs byte by byte. This is why leat_op_attr_t keeps its allowed types as a list
// besides the set. The message borrows its texts from the op, and the rest of it lies in an arena
// that is freed when the bytes have been written. An OpList is sorted by name, as TensorFlow's is.
#include "graph/op/op_def.h"

#include <stdlib.h>

#include "formats/wire/encode.h"
#include "graph/op/attr_proto.h"

static leat_status_t arguments_to_def(const leat_op_t* op, const leat_op_argument_t* arguments,
                                      int count, leat_arena_t* arena,
                                      leat_pb_op_def_arg_def_list_t* out_list) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)count,
                                                 sizeof(leat_pb_op_def_arg_def_t), &memory));
  out_list->items = memory;
  out_list->count = (size_t)count;
  for (int i = 0; i < count; ++i) {
    const leat_op_argument_t* argument = &arguments[i];
    leat_pb_op_def_arg_def_t* def = &out_list->items[i];
    def->name = argument->name;
    def->is_ref = argument->is_ref;
    if (argument->number_attr >= 0) def->number_attr = op->attrs[argument->number_attr].name;
    if (argument->source == LEAT_TYPE_FIXED) def->type = argument->dtype;
    if (argument->source == LEAT_TYPE_FROM_ATTR) {
      def->type_attr = op->attrs[argument->type_attr].name;
    }
    if (argument->source == LEAT_TYPE_FROM_LIST) {
      def->type_list_attr = op->attrs[argument->type_attr].name;
    }
  }
  return leat_ok_status();
}

// The allowed types or strings become one list value; an attribute that allows everything has none.
static leat_status_t allowed_to_def(const leat_op_attr_t* attr, leat_arena_t* arena,
                                    leat_pb_op_def_attr_def_t* def) {
  if (attr->allowed_type_count == 0 && attr->allowed_string_count == 0) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_pb_attr_value_t), &memory));
  def->allowed_values = memory;
  leat_attr_value_t value = {.kind = LEAT_ATTR_STRING,
                             .is_list = true,
                             .count = (uint32_t)attr->allowed_string_count,
                             .strings = attr->allowed_strings};
  if (attr->allowed_type_count > 0) {
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)attr->allowed_type_count,
                                                   sizeof(int32_t), &memory));
    int32_t* types = memory;
    for (int i = 0; i < attr->allowed_type_count; ++i) types[i] = attr->allowed_type_list[i];
    value = (leat_attr_value_t){.kind = LEAT_ATTR_TYPE,
                                .is_list = true,
                                .count = (uint32_t)attr->allowed_type_count,
                                .types = types};
  }
  return leat_attr_value_to_proto(&value, arena, def->allowed_values);
}

static leat_status_t attr_to_def(const leat_op_attr_t* attr, leat_arena_t* arena,
                                 leat_pb_op_def_attr_def_t* def) {
  def->name = attr->name;
  def->type = leat_string_view_from(leat_attr_kind_name(attr->kind, attr->is_list));
  def->has_minimum = attr->has_minimum;
  def->minimum = attr->has_minimum ? attr->minimum : 0;
  LEAT_RETURN_IF_ERROR(allowed_to_def(attr, arena, def));
  if (!attr->has_default) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_pb_attr_value_t), &memory));
  def->default_value = memory;
  return leat_attr_value_to_proto(&attr->default_value, arena, memory);
}

// Without a deprecation the message has no such field.
static leat_status_t deprecation_to_def(const leat_op_row_t* row, leat_arena_t* arena,
                                        leat_pb_op_def_t* def) {
  if (row->deprecated_since == 0 && !row->deprecation) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_pb_op_deprecation_t), &memory));
  def->deprecation = memory;
  def->deprecation->version = row->deprecated_since;
  def->deprecation->explanation = leat_string_view_from(row->deprecation);
  return leat_ok_status();
}

leat_status_t leat_op_to_def(const leat_op_t* op, leat_arena_t* arena,
                             leat_pb_op_def_t* out_def) {
  *out_def = (leat_pb_op_def_t){
      .name = op->name,
      .is_aggregate = op->flags & LEAT_OP_AGGREGATE,
      .is_stateful = op->flags & LEAT_OP_STATEFUL,
      .is_commutative = op->flags & LEAT_OP_COMMUTATIVE,
      .allows_uninitialized_input = op->flags & LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
      .is_distributed_communication = op->flags & LEAT_OP_DISTRIBUTED_COMMUNICATION,
  };
  LEAT_RETURN_IF_ERROR(
      arguments_to_def(op, op->inputs, op->input_count, arena, &out_def->input_arg));
  LEAT_RETURN_IF_ERROR(
      arguments_to_def(op, op->outputs, op->output_count, arena, &out_def->output_arg));
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)op->attr_count,
                                                 sizeof(leat_pb_op_def_attr_def_t), &memory));
  out_def->attr.items = memory;
  out_def->attr.count = (size_t)op->attr_count;
  for (int i = 0; i < op->attr_count; ++i) {
    LEAT_RETURN_IF_ERROR(attr_to_def(&op->attrs[i], arena, &out_def->attr.items[i]));
  }
  return deprecation_to_def(op->row, arena, out_def);
}

leat_status_t leat_op_to_op_def(const leat_op_t* op, leat_allocator_t* allocator,
                                leat_string_builder_t* out) {
  leat_arena_t arena;
  leat_arena_initialize(allocator, 0, &arena);
  leat_pb_op_def_t def;
  leat_status_t status = leat_op_to_def(op, &arena, &def);
  if (!status) status = leat_message_encode(&leat_pb_op_def_descriptor, &def, out);
  leat_arena_deinitialize(&arena);
  return status;
}

// All ops as an OpList in |arena|, encoded to |out|.
static leat_status_t export_all(leat_op_registry_t* registry, leat_arena_t* arena,
                                leat_string_builder_t* out) {
  const leat_op_row_t** rows;
  size_t count;
  leat_pb_op_list_t list = {.op = {0}};
  LEAT_RETURN_IF_ERROR(leat_op_registry_list(registry, true, arena, &rows, &count));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &list.op.items));
  list.op.count = count;
  for (size_t i = 0; i < count; ++i) {
    const leat_op_t* op = NULL;
    leat_string_view_t name = leat_string_view_from(rows[i]->name);
    LEAT_RETURN_IF_ERROR(leat_op_registry_find(registry, name, &op));
    LEAT_RETURN_IF_ERROR(leat_op_to_def(op, arena, &list.op.items[i]));
  }
  return leat_message_encode(&leat_pb_op_list_descriptor, &list, out);
}

leat_status_t leat_op_registry_export(leat_op_registry_t* registry, leat_allocator_t* allocator,
                                      leat_string_builder_t* out) {
  leat_arena_t arena;
  leat_arena_initialize(allocator, 0, &arena);
  leat_status_t status = export_all(registry, &arena, out);
  leat_arena_deinitialize(&arena);
  return status;
}
