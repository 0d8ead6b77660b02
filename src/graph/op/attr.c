// Attribute values: finding one by name, comparing two, hashing one. Common subexpression
// elimination and the sharing of attribute arrays rely on equality that means "the same in every
// respect": floats are compared by their bits, so that 0.0 and -0.0 differ and a NaN equals itself,
// and tensors by their bytes. Hash and equality walk the same fields; two orders do not count, that
// of a function's attributes (they were a map in the file, so their hashes are added up) and none
// else. A list is compared item by item through leat_attr_value_item, which gives item |i| as a
// single value, so that each kind is written once.
#include "graph/op/attr.h"

const leat_attr_value_t* leat_attr_find(const leat_attr_t* attrs, int count,
                                        leat_string_view_t name) {
  for (int i = 0; i < count; ++i) {
    if (leat_string_view_equal(attrs[i].name, name)) return &attrs[i].value;
  }
  return NULL;
}

const char* leat_attr_kind_name(leat_attr_kind_t kind, bool is_list) {
  LEAT_DCHECK(kind <= LEAT_ATTR_PLACEHOLDER);
  static const char* const names[][2] = {
      [LEAT_ATTR_NONE] = {"none", "list(none)"},
      [LEAT_ATTR_STRING] = {"string", "list(string)"},
      [LEAT_ATTR_INT] = {"int", "list(int)"},
      [LEAT_ATTR_FLOAT] = {"float", "list(float)"},
      [LEAT_ATTR_BOOL] = {"bool", "list(bool)"},
      [LEAT_ATTR_TYPE] = {"type", "list(type)"},
      [LEAT_ATTR_SHAPE] = {"shape", "list(shape)"},
      [LEAT_ATTR_TENSOR] = {"tensor", "list(tensor)"},
      [LEAT_ATTR_FUNCTION] = {"func", "list(func)"},
      [LEAT_ATTR_PLACEHOLDER] = {"placeholder", "list(placeholder)"},
  };
  return names[kind][is_list];
}

leat_attr_value_t leat_attr_value_item(const leat_attr_value_t* list, uint32_t index) {
  LEAT_DCHECK(list->is_list && index < list->count);
  leat_attr_value_t item = {.kind = list->kind};
  switch ((leat_attr_kind_t)list->kind) {
    case LEAT_ATTR_PLACEHOLDER:
    case LEAT_ATTR_STRING: item.s = list->strings[index]; break;
    case LEAT_ATTR_INT: item.i = list->ints[index]; break;
    case LEAT_ATTR_FLOAT: item.f = list->floats[index]; break;
    case LEAT_ATTR_BOOL: item.b = list->bools[index]; break;
    case LEAT_ATTR_TYPE: item.type = list->types[index]; break;
    case LEAT_ATTR_SHAPE: item.shape = list->shapes[index]; break;
    case LEAT_ATTR_TENSOR: item.tensor = list->tensors[index]; break;
    case LEAT_ATTR_FUNCTION: item.function = &list->functions[index]; break;
    case LEAT_ATTR_NONE: break;
  }
  return item;
}

size_t leat_attr_item_bytes(leat_attr_kind_t kind) {
  LEAT_DCHECK(kind <= LEAT_ATTR_PLACEHOLDER);
  static const uint8_t bytes[] = {
      [LEAT_ATTR_NONE] = 0,
      [LEAT_ATTR_STRING] = sizeof(leat_string_view_t),
      [LEAT_ATTR_INT] = sizeof(int64_t),
      [LEAT_ATTR_FLOAT] = sizeof(float),
      [LEAT_ATTR_BOOL] = sizeof(bool),
      [LEAT_ATTR_TYPE] = sizeof(int32_t),
      [LEAT_ATTR_SHAPE] = sizeof(leat_partial_shape_t),
      [LEAT_ATTR_TENSOR] = sizeof(const leat_tensor_t*),
      [LEAT_ATTR_FUNCTION] = sizeof(leat_function_name_t),
      [LEAT_ATTR_PLACEHOLDER] = sizeof(leat_string_view_t),
  };
  return bytes[kind];
}

// The bytes of element |index| that equality compares: of a string, its characters.
static leat_string_view_t element_bytes(const leat_tensor_t* tensor, int64_t index) {
  LEAT_DCHECK(index >= 0 && index < tensor->shape.element_count);
  if (tensor->dtype == LEAT_DTYPE_STRING) return leat_tensor_string_at(tensor, index);
  size_t size = leat_dtype_size(tensor->dtype);
  return leat_string_view_make((const char*)tensor->data + (size_t)index * size, size);
}

static bool tensor_equal(const leat_tensor_t* a, const leat_tensor_t* b) {
  if (a == b) return true;
  if (!a || !b || a->dtype != b->dtype || !leat_shape_equal(&a->shape, &b->shape)) return false;
  if (a->data == b->data || a->shape.element_count == 0) return true;
  if (a->dtype != LEAT_DTYPE_STRING) {
    return memcmp(a->data, b->data, leat_tensor_size_bytes(a)) == 0;
  }
  for (int64_t i = 0; i < a->shape.element_count; ++i) {
    if (!leat_string_view_equal(element_bytes(a, i), element_bytes(b, i))) return false;
  }
  return true;
}

// Attributes are matched by name, because the order in which a file lists a map means nothing.
static bool function_equal(const leat_function_name_t* a, const leat_function_name_t* b) {
  if (!leat_string_view_equal(a->name, b->name) || a->attr_count != b->attr_count) return false;
  for (int i = 0; i < a->attr_count; ++i) {
    const leat_attr_value_t* other = leat_attr_find(b->attrs, b->attr_count, a->attrs[i].name);
    if (!other || !leat_attr_value_equal(&a->attrs[i].value, other)) return false;
  }
  return true;
}

static bool list_equal(const leat_attr_value_t* a, const leat_attr_value_t* b) {
  if (a->count != b->count) return false;
  for (uint32_t i = 0; i < a->count; ++i) {
    leat_attr_value_t x = leat_attr_value_item(a, i), y = leat_attr_value_item(b, i);
    if (!leat_attr_value_equal(&x, &y)) return false;
  }
  return true;
}

bool leat_attr_value_equal(const leat_attr_value_t* a, const leat_attr_value_t* b) {
  if (a->is_list != b->is_list) return false;
  // An empty list from a file has no kind, so the kinds of empty lists do not count.
  if (a->is_list && a->count == 0 && b->count == 0) return true;
  if (a->kind != b->kind) return false;
  if (a->is_list) return list_equal(a, b);
  switch ((leat_attr_kind_t)a->kind) {
    case LEAT_ATTR_PLACEHOLDER:
    case LEAT_ATTR_STRING: return leat_string_view_equal(a->s, b->s);
    case LEAT_ATTR_INT: return a->i == b->i;
    case LEAT_ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof(float)) == 0;
    case LEAT_ATTR_BOOL: return a->b == b->b;
    case LEAT_ATTR_TYPE: return a->type == b->type;
    case LEAT_ATTR_SHAPE: return leat_partial_shape_equal(a->shape, b->shape);
    case LEAT_ATTR_TENSOR: return tensor_equal(a->tensor, b->tensor);
    case LEAT_ATTR_FUNCTION: return function_equal(a->function, b->function);
    case LEAT_ATTR_NONE: break;
  }
  return true;
}

static uint64_t mix_bytes(uint64_t hash, const void* data, size_t size) {
  return leat_hash_mix(hash, leat_string_view_hash(leat_string_view_make(data, size)));
}

static uint64_t tensor_hash(const leat_tensor_t* tensor) {
  if (!tensor) return 0;
  uint64_t hash = leat_hash_mix(1, (uint64_t)tensor->dtype);
  hash = mix_bytes(hash, leat_shape_dims(&tensor->shape),
                   (size_t)tensor->shape.rank * sizeof(int64_t));
  if (tensor->shape.element_count == 0) return hash;
  if (tensor->dtype != LEAT_DTYPE_STRING) {
    return mix_bytes(hash, tensor->data, leat_tensor_size_bytes(tensor));
  }
  for (int64_t i = 0; i < tensor->shape.element_count; ++i) {
    hash = leat_hash_mix(hash, leat_string_view_hash(element_bytes(tensor, i)));
  }
  return hash;
}

uint64_t leat_attr_value_hash(const leat_attr_value_t* value) {
  if (value->is_list) {
    uint64_t hash = leat_hash_mix(2, value->count);
    for (uint32_t i = 0; i < value->count; ++i) {
      leat_attr_value_t item = leat_attr_value_item(value, i);
      hash = leat_hash_mix(hash, leat_attr_value_hash(&item));
    }
    return hash;
  }
  uint64_t hash = leat_hash_mix(3, value->kind);
  switch ((leat_attr_kind_t)value->kind) {
    case LEAT_ATTR_PLACEHOLDER:
    case LEAT_ATTR_STRING: return leat_hash_mix(hash, leat_string_view_hash(value->s));
    case LEAT_ATTR_INT: return leat_hash_mix(hash, (uint64_t)value->i);
    case LEAT_ATTR_FLOAT: return mix_bytes(hash, &value->f, sizeof(float));
    case LEAT_ATTR_BOOL: return leat_hash_mix(hash, value->b);
    case LEAT_ATTR_TYPE: return leat_hash_mix(hash, (uint64_t)value->type);
    case LEAT_ATTR_SHAPE:
      hash = leat_hash_mix(hash, (uint64_t)value->shape.rank);
      if (value->shape.rank <= 0) return hash;
      return mix_bytes(hash, value->shape.dims, (size_t)value->shape.rank * sizeof(int64_t));
    case LEAT_ATTR_TENSOR: return leat_hash_mix(hash, tensor_hash(value->tensor));
    case LEAT_ATTR_FUNCTION: {
      // A sum does not depend on the order of the attributes.
      uint64_t sum = 0;
      for (int i = 0; i < value->function->attr_count; ++i) {
        const leat_attr_t* attr = &value->function->attrs[i];
        sum += leat_hash_mix(leat_string_view_hash(attr->name), leat_attr_value_hash(&attr->value));
      }
      return leat_hash_mix(leat_hash_mix(hash, leat_string_view_hash(value->function->name)), sum);
    }
    case LEAT_ATTR_NONE: break;
  }
  return hash;
}
