// Copies of attribute values, and lists of attributes that own what they hold. A graph copies the
// attributes of its nodes into its storage; a list is a small storage of its own, for those that
// need a node's attributes when its graph may be gone: a dataset, which can be written as the node
// that made it (ops/dataset/dataset_graph_cpu.h).
//
// Copying is recursive, because a value may name a function whose attributes are values. The depth
// is bounded, since a file decides it. A list lies with all that its values point to in one arena,
// except for the buffers of tensors, which it shares and releases one by one.
#include "graph/op/attr.h"

#define MAX_FUNCTION_DEPTH 32  // functions in attributes of functions

static leat_status_t copy_value(const leat_attr_place_t* place, const leat_attr_value_t* value,
                                int depth, leat_attr_value_t* out_value);

static leat_status_t copy_attrs(const leat_attr_place_t* place, const leat_attr_t* attrs, int count,
                                int depth, leat_attr_t** out_attrs) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(place->arena, (size_t)count, out_attrs));
  for (int i = 0; i < count; ++i) {
    leat_attr_t* copy = &(*out_attrs)[i];
    LEAT_RETURN_IF_ERROR(place->copy_text(place->owner, attrs[i].name, &copy->name));
    LEAT_RETURN_IF_ERROR(copy_value(place, &attrs[i].value, depth, &copy->value));
  }
  return leat_ok_status();
}

// Copies the name of a function with the attributes that it is called with.
static leat_status_t copy_function(const leat_attr_place_t* place,
                                   const leat_function_name_t* function, int depth,
                                   leat_function_name_t* out_function) {
  if (depth > MAX_FUNCTION_DEPTH) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Copying an attribute failed: depth of functions in it is over %d",
                            MAX_FUNCTION_DEPTH);
  }
  leat_attr_t* attrs = NULL;
  LEAT_RETURN_IF_ERROR(place->copy_text(place->owner, function->name, &out_function->name));
  LEAT_RETURN_IF_ERROR(copy_attrs(place, function->attrs, function->attr_count, depth + 1, &attrs));
  out_function->attrs = attrs;
  out_function->attr_count = function->attr_count;
  return leat_ok_status();
}

// Copies one value: |source| and |target| are items of a list's array, or the unions of single
// values.
static leat_status_t copy_item(const leat_attr_place_t* place, leat_attr_kind_t kind,
                               const void* source, int depth, void* target) {
  switch (kind) {
    case LEAT_ATTR_PLACEHOLDER:
    case LEAT_ATTR_STRING:
      return place->copy_text(place->owner, *(const leat_string_view_t*)source, target);
    case LEAT_ATTR_SHAPE: {
      leat_partial_shape_t shape = *(const leat_partial_shape_t*)source;
      return leat_partial_shape_create(shape.rank, shape.dims, place->arena, target);
    }
    case LEAT_ATTR_TENSOR: {
      const leat_tensor_t* tensor = *(const leat_tensor_t* const*)source;
      LEAT_DCHECK(tensor);
      return place->keep_tensor(place->owner, tensor, target);
    }
    case LEAT_ATTR_FUNCTION: return copy_function(place, source, depth, target);
    default: memcpy(target, source, leat_attr_item_bytes(kind));
  }
  return leat_ok_status();
}

// A single value is copied through the union's member |s|, which begins where all members do.
static leat_status_t copy_value(const leat_attr_place_t* place, const leat_attr_value_t* value,
                                int depth, leat_attr_value_t* out_value) {
  *out_value = *value;
  leat_attr_kind_t kind = (leat_attr_kind_t)value->kind;
  size_t bytes = leat_attr_item_bytes(kind);
  void* memory = NULL;
  if (!value->is_list) {
    if (kind != LEAT_ATTR_FUNCTION) {
      return copy_item(place, kind, &value->s, depth, &out_value->s);
    }
    LEAT_RETURN_IF_ERROR(leat_arena_allocate(place->arena, sizeof(leat_function_name_t), &memory));
    out_value->function = memory;
    return copy_function(place, value->function, depth, memory);
  }
  if (value->count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(place->arena, value->count, bytes, &memory));
  LEAT_DCHECK(bytes > 0);
  out_value->items = memory;
  for (uint32_t i = 0; i < value->count; ++i) {
    LEAT_RETURN_IF_ERROR(copy_item(place, kind, (const char*)value->items + i * bytes, depth,
                                   (char*)memory + i * bytes));
  }
  return leat_ok_status();
}

leat_status_t leat_attr_value_copy(const leat_attr_place_t* place, const leat_attr_value_t* value,
                                   leat_attr_value_t* out_value) {
  return copy_value(place, value, 0, out_value);
}

// ---- Lists --------------------------------------------------------------------------------------

#define LIST_ARENA_BYTES 1024

typedef struct tensor_link_s {
  struct tensor_link_s* next;
  leat_tensor_t tensor;
} tensor_link_t;

typedef struct list_s {
  leat_attr_list_t base;
  leat_arena_t arena;
  tensor_link_t* tensors;
} list_t;

static leat_status_t list_text(void* list, leat_string_view_t text, leat_string_view_t* out_text) {
  return leat_arena_copy_string(&((list_t*)list)->arena, text, out_text);
}

static leat_status_t list_tensor(void* owner, const leat_tensor_t* tensor,
                                 const leat_tensor_t** out_tensor) {
  list_t* list = owner;
  tensor_link_t* link;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&list->arena, 1, &link));
  *link = (tensor_link_t){list->tensors, leat_tensor_share(tensor)};
  list->tensors = link;
  *out_tensor = &link->tensor;
  return leat_ok_status();
}

static uint64_t hash_attrs(const leat_attr_t* attrs, int count) {
  uint64_t hash = 0;
  for (int i = 0; i < count; ++i) {
    hash += leat_hash_mix(leat_string_view_hash(attrs[i].name),
                          leat_attr_value_hash(&attrs[i].value));
  }
  return hash;
}

leat_status_t leat_attr_list_create(const leat_attr_t* attrs, int count,
                                    leat_attr_list_t** out_list) {
  list_t* list;
  *out_list = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &list));
  list->base.references = 1;
  leat_arena_initialize(leat_allocator_system(), LIST_ARENA_BYTES, &list->arena);
  const leat_attr_place_t place = {&list->arena, list_text, list_tensor, list};
  leat_status_t status = copy_attrs(&place, attrs, count, 0, &list->base.attrs);
  if (status) {
    leat_attr_list_release(&list->base);
    return status;
  }
  list->base.count = count;
  list->base.hash = hash_attrs(attrs, count);
  *out_list = &list->base;
  return leat_ok_status();
}

void leat_attr_list_retain(leat_attr_list_t* list) {
  leat_reference_count_retain(&list->references);
}

void leat_attr_list_release(leat_attr_list_t* base) {
  list_t* list = (list_t*)base;
  if (!list || !leat_reference_count_release(&base->references)) return;
  for (tensor_link_t* link = list->tensors; link; link = link->next) {
    leat_tensor_release(&link->tensor);
  }
  leat_arena_deinitialize(&list->arena);
  leat_allocator_free(leat_allocator_system(), list);
}
