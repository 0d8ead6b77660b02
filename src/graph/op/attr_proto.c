// AttrValue messages to attribute values and back. AttrValue is a oneof of ten cases, of which one
// is a list that has a repeated field for each kind:
//
//   AttrValue { oneof: list = 1, s = 2, i, f, b, type, shape, tensor, placeholder, func = 10 }
//   ListValue { s, i, f, b, type, shape, tensor, func: each repeated }
//
// A list value here has one kind, so a message whose list has items in two of the repeated fields
// is refused. Strings, shapes and functions are copied into the graph's storage and tensors are
// kept by it, because the message is dropped after the import. In the other direction the message
// borrows: the encoder only reads it, and what cannot be borrowed (shapes and tensors as messages)
// lies in the caller's arena. Numbers have the same layout in both forms and are copied as they
// are.
#include "graph/op/attr_proto.h"

#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_proto.h"
#include "graph/storage.h"

// The field numbers of AttrValue's oneof, which is what |value_case| holds.
enum { CASE_LIST = 1, CASE_S, CASE_I, CASE_F, CASE_B, CASE_TYPE, CASE_SHAPE, CASE_TENSOR,
       CASE_PLACEHOLDER, CASE_FUNC };

// ---- from ---------------------------------------------------------------------------------------

uint32_t leat_attr_tensor_listed(const leat_pb_tensor_proto_t* proto, const leat_tensor_t* tensor) {
  size_t listed = leat_tensor_proto_listed(proto, tensor->shape.element_count);
  return listed <= UINT32_MAX ? (uint32_t)listed : 0;
}

static leat_status_t shape_from(const leat_pb_tensor_shape_proto_t* proto,
                                leat_graph_storage_t* storage, leat_partial_shape_t* out_shape) {
  return leat_partial_shape_from_proto(proto, &storage->arena, out_shape);
}

static leat_status_t tensor_from(const leat_pb_tensor_proto_t* proto,
                                 leat_graph_storage_t* storage, const leat_tensor_t** out_tensor) {
  leat_tensor_t tensor;
  LEAT_RETURN_IF_ERROR(leat_tensor_from_proto(proto, leat_buffer_source_host(), &tensor));
  return leat_graph_storage_keep_tensor_move(storage, &tensor, out_tensor);
}

static leat_status_t function_from(const leat_pb_name_attr_list_t* proto,
                                   leat_graph_storage_t* storage,
                                   leat_function_name_t* out_function) {
  LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_text(storage, proto->name, &out_function->name));
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&storage->arena, proto->attr.count,
                                                 sizeof(leat_attr_t), &memory));
  leat_attr_t* attrs = memory;
  for (size_t i = 0; i < proto->attr.count; ++i) {
    const leat_pb_name_attr_list_attr_entry_t* entry = &proto->attr.items[i];
    LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_text(storage, entry->key, &attrs[i].name));
    if (!entry->value) continue;
    LEAT_RETURN_IF_ERROR(leat_attr_value_from_proto(entry->value, storage, &attrs[i].value));
  }
  out_function->attrs = attrs;
  out_function->attr_count = (int)proto->attr.count;
  return leat_ok_status();
}

// What a list message holds.
typedef struct list_items_s {
  leat_attr_kind_t kind;
  const void* items;
  size_t count;
  int kinds;  // number of kinds that have items; more than 1 is an error
} list_items_t;

// Notes |items| as the items of the list unless there are none.
static void consider(list_items_t* found, leat_attr_kind_t kind, const void* items, size_t count) {
  if (count == 0) return;
  found->kind = kind;
  found->items = items;
  found->count = count;
  ++found->kinds;
}

static list_items_t items_of(const leat_pb_attr_value_list_value_t* list) {
  list_items_t found = {.kind = LEAT_ATTR_NONE};
  consider(&found, LEAT_ATTR_STRING, list->s.items, list->s.count);
  consider(&found, LEAT_ATTR_INT, list->i.items, list->i.count);
  consider(&found, LEAT_ATTR_FLOAT, list->f.items, list->f.count);
  consider(&found, LEAT_ATTR_BOOL, list->b.items, list->b.count);
  consider(&found, LEAT_ATTR_TYPE, list->type.items, list->type.count);
  consider(&found, LEAT_ATTR_SHAPE, list->shape.items, list->shape.count);
  consider(&found, LEAT_ATTR_TENSOR, list->tensor.items, list->tensor.count);
  consider(&found, LEAT_ATTR_FUNCTION, list->func.items, list->func.count);
  return found;
}

static leat_status_t copy_items(const list_items_t* from, leat_graph_storage_t* storage,
                                void* target) {
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < from->count && !status; ++i) {
    switch (from->kind) {
      case LEAT_ATTR_STRING:
        status = leat_graph_storage_copy_text(storage, ((const leat_string_view_t*)from->items)[i],
                                              (leat_string_view_t*)target + i);
        break;
      case LEAT_ATTR_SHAPE:
        status = shape_from((const leat_pb_tensor_shape_proto_t*)from->items + i, storage,
                            (leat_partial_shape_t*)target + i);
        break;
      case LEAT_ATTR_TENSOR:
        status = tensor_from((const leat_pb_tensor_proto_t*)from->items + i, storage,
                             (const leat_tensor_t**)target + i);
        break;
      case LEAT_ATTR_FUNCTION:
        status = function_from((const leat_pb_name_attr_list_t*)from->items + i, storage,
                               (leat_function_name_t*)target + i);
        break;
      default:  // numbers have the same layout in message and value
        memcpy(target, from->items, from->count * leat_attr_item_bytes(from->kind));
        return leat_ok_status();
    }
  }
  return status;
}

static leat_status_t list_from(const leat_pb_attr_value_list_value_t* list,
                               leat_graph_storage_t* storage, leat_attr_value_t* out_value) {
  list_items_t found = items_of(list);
  *out_value = (leat_attr_value_t){.kind = (uint8_t)found.kind, .is_list = true};
  if (found.kinds > 1 || found.count > UINT32_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "AttrValue has a list of %d kinds of values, must be of one",
                            found.kinds);
  }
  if (found.count == 0) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&storage->arena, found.count,
                                                 leat_attr_item_bytes(found.kind), &memory));
  out_value->count = (uint32_t)found.count;
  out_value->items = memory;
  return copy_items(&found, storage, memory);
}

leat_status_t leat_attr_value_from_proto(const leat_pb_attr_value_t* proto,
                                         leat_graph_storage_t* storage,
                                         leat_attr_value_t* out_value) {
  *out_value = (leat_attr_value_t){.kind = LEAT_ATTR_NONE};
  switch (proto->value_case) {
    case CASE_LIST: return list_from(proto->list, storage, out_value);
    case CASE_S:
      out_value->kind = LEAT_ATTR_STRING;
      return leat_graph_storage_copy_text(storage, proto->s, &out_value->s);
    case CASE_I:
      out_value->kind = LEAT_ATTR_INT;
      out_value->i = proto->i;
      break;
    case CASE_F:
      out_value->kind = LEAT_ATTR_FLOAT;
      out_value->f = proto->f;
      break;
    case CASE_B:
      out_value->kind = LEAT_ATTR_BOOL;
      out_value->b = proto->b;
      break;
    case CASE_TYPE:
      out_value->kind = LEAT_ATTR_TYPE;
      out_value->type = proto->type;
      break;
    case CASE_SHAPE:
      out_value->kind = LEAT_ATTR_SHAPE;
      return shape_from(proto->shape, storage, &out_value->shape);
    case CASE_TENSOR:
      out_value->kind = LEAT_ATTR_TENSOR;
      LEAT_RETURN_IF_ERROR(tensor_from(proto->tensor, storage, &out_value->tensor));
      out_value->count = leat_attr_tensor_listed(proto->tensor, out_value->tensor);
      return leat_ok_status();
    case CASE_PLACEHOLDER:
      out_value->kind = LEAT_ATTR_PLACEHOLDER;
      return leat_graph_storage_copy_text(storage, proto->placeholder, &out_value->s);
    case CASE_FUNC: {
      void* memory = NULL;
      out_value->kind = LEAT_ATTR_FUNCTION;
      LEAT_RETURN_IF_ERROR(
          leat_arena_allocate(&storage->arena, sizeof(leat_function_name_t), &memory));
      out_value->function = memory;
      return function_from(proto->func, storage, memory);
    }
    default: break;
  }
  return leat_ok_status();
}

// ---- to -----------------------------------------------------------------------------------------

static leat_status_t function_to(const leat_function_name_t* function, leat_arena_t* arena,
                                 leat_pb_name_attr_list_t* out_proto) {
  out_proto->name = function->name;
  void *entries = NULL, *values = NULL;
  size_t count = (size_t)function->attr_count;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(
      arena, count, sizeof(leat_pb_name_attr_list_attr_entry_t), &entries));
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, count, sizeof(leat_pb_attr_value_t), &values));
  out_proto->attr.items = entries;
  out_proto->attr.count = count;
  for (size_t i = 0; i < count; ++i) {
    leat_pb_attr_value_t* value = (leat_pb_attr_value_t*)values + i;
    out_proto->attr.items[i].key = function->attrs[i].name;
    out_proto->attr.items[i].value = value;
    LEAT_RETURN_IF_ERROR(leat_attr_value_to_proto(&function->attrs[i].value, arena, value));
  }
  return leat_ok_status();
}

static leat_status_t shapes_to(const leat_attr_value_t* list, leat_arena_t* arena,
                               leat_pb_tensor_shape_proto_list_t* out_list) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, list->count,
                                                 sizeof(leat_pb_tensor_shape_proto_t), &memory));
  out_list->items = memory;
  out_list->count = list->count;
  for (uint32_t i = 0; i < list->count; ++i) {
    leat_pb_tensor_shape_proto_t* shape = NULL;
    LEAT_RETURN_IF_ERROR(leat_partial_shape_to_proto(list->shapes[i], arena, &shape));
    out_list->items[i] = *shape;
  }
  return leat_ok_status();
}

static leat_status_t tensors_to(const leat_attr_value_t* list, leat_arena_t* arena,
                                leat_pb_tensor_proto_list_t* out_list) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, list->count, sizeof(leat_pb_tensor_proto_t), &memory));
  out_list->items = memory;
  out_list->count = list->count;
  for (uint32_t i = 0; i < list->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_tensor_to_proto(list->tensors[i], arena, &out_list->items[i]));
  }
  return leat_ok_status();
}

static leat_status_t functions_to(const leat_attr_value_t* list, leat_arena_t* arena,
                                  leat_pb_name_attr_list_list_t* out_list) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, list->count, sizeof(leat_pb_name_attr_list_t), &memory));
  out_list->items = memory;
  out_list->count = list->count;
  for (uint32_t i = 0; i < list->count; ++i) {
    LEAT_RETURN_IF_ERROR(function_to(&list->functions[i], arena, &out_list->items[i]));
  }
  return leat_ok_status();
}

// The message's lists are not const, but the encoder only reads them, so they may point to the
// value's items.
#define BORROW(list, value) ((list)->items = (void*)(uintptr_t)(value)->items, \
                             (list)->count = (value)->count)

static leat_status_t list_to(const leat_attr_value_t* value, leat_arena_t* arena,
                             leat_pb_attr_value_t* out_proto) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(arena, sizeof(leat_pb_attr_value_list_value_t), &memory));
  leat_pb_attr_value_list_value_t* list = out_proto->list = memory;
  out_proto->value_case = CASE_LIST;
  if (value->count == 0) return leat_ok_status();
  switch ((leat_attr_kind_t)value->kind) {
    case LEAT_ATTR_STRING: BORROW(&list->s, value); break;
    case LEAT_ATTR_INT: BORROW(&list->i, value); break;
    case LEAT_ATTR_FLOAT: BORROW(&list->f, value); break;
    case LEAT_ATTR_BOOL: BORROW(&list->b, value); break;
    case LEAT_ATTR_TYPE: BORROW(&list->type, value); break;
    case LEAT_ATTR_SHAPE: return shapes_to(value, arena, &list->shape);
    case LEAT_ATTR_TENSOR: return tensors_to(value, arena, &list->tensor);
    case LEAT_ATTR_FUNCTION: return functions_to(value, arena, &list->func);
    default: break;
  }
  return leat_ok_status();
}

// Types whose constants TensorFlow writes as lists, however many elements there are.
static bool is_always_listed(int dtype) {
  return dtype == LEAT_DTYPE_BOOL || dtype == LEAT_DTYPE_UINT16 ||
         dtype == LEAT_DTYPE_COMPLEX64 || dtype == LEAT_DTYPE_COMPLEX128 ||
         dtype == LEAT_DTYPE_INT4 || dtype == LEAT_DTYPE_UINT4 || dtype == LEAT_DTYPE_INT2 ||
         dtype == LEAT_DTYPE_UINT2;
}

static leat_status_t tensor_to(const leat_attr_value_t* value, leat_arena_t* arena,
                               leat_pb_tensor_proto_t* out_proto) {
  const leat_tensor_t* tensor = value->tensor;
  size_t listed = value->count;
  if (listed == 0 && is_always_listed(tensor->dtype)) listed = (size_t)tensor->shape.element_count;
  return listed ? leat_tensor_to_listed_proto(tensor, listed, arena, out_proto)
                : leat_tensor_to_proto(tensor, arena, out_proto);
}

// The kinds that are messages within the message: shape, tensor and function.
static leat_status_t message_to(const leat_attr_value_t* value, leat_arena_t* arena,
                                leat_pb_attr_value_t* out_proto) {
  void* memory = NULL;
  if (value->kind == LEAT_ATTR_SHAPE) {
    out_proto->value_case = CASE_SHAPE;
    return leat_partial_shape_to_proto(value->shape, arena, &out_proto->shape);
  }
  if (value->kind == LEAT_ATTR_TENSOR) {
    LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_pb_tensor_proto_t), &memory));
    out_proto->value_case = CASE_TENSOR;
    out_proto->tensor = memory;
    return tensor_to(value, arena, memory);
  }
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_pb_name_attr_list_t), &memory));
  out_proto->value_case = CASE_FUNC;
  out_proto->func = memory;
  return function_to(value->function, arena, memory);
}

leat_status_t leat_attr_value_to_proto(const leat_attr_value_t* value, leat_arena_t* arena,
                                       leat_pb_attr_value_t* out_proto) {
  *out_proto = (leat_pb_attr_value_t){0};
  if (value->is_list) return list_to(value, arena, out_proto);
  switch ((leat_attr_kind_t)value->kind) {
    case LEAT_ATTR_STRING:
      out_proto->value_case = CASE_S;
      out_proto->s = value->s;
      break;
    case LEAT_ATTR_INT:
      out_proto->value_case = CASE_I;
      out_proto->i = value->i;
      break;
    case LEAT_ATTR_FLOAT:
      out_proto->value_case = CASE_F;
      out_proto->f = value->f;
      break;
    case LEAT_ATTR_BOOL:
      out_proto->value_case = CASE_B;
      out_proto->b = value->b;
      break;
    case LEAT_ATTR_TYPE:
      out_proto->value_case = CASE_TYPE;
      out_proto->type = value->type;
      break;
    case LEAT_ATTR_PLACEHOLDER:
      out_proto->value_case = CASE_PLACEHOLDER;
      out_proto->placeholder = value->s;
      break;
    case LEAT_ATTR_NONE: break;
    default: return message_to(value, arena, out_proto);
  }
  return leat_ok_status();
}
