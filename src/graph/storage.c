// The storage of a graph. Nodes, names, edge lists and attribute values are plain data in one
// arena, which is freed as a whole; only tensors own something outside it, so they hang in a list
// and are released one by one when the storage ends. Freeing a graph of a million nodes is
// therefore a walk over its tensors and over nothing else. References are counted across threads,
// but a storage is changed only by the graph that made it.
//
// Copying an attribute's value is recursive, because a value may name a function whose attributes
// are values. The depth is bounded, since a file decides it.
#include "graph/storage.h"

#include "graph/function/function_library.h"

#define MAX_FUNCTION_DEPTH 32  // functions in attributes of functions
#define TEXT_CHUNK_BYTES 4096  // texts of an eighth of this or more go into the arena by themselves

leat_status_t leat_graph_storage_create(leat_allocator_t* allocator, leat_graph_storage_t* parent,
                                        leat_graph_storage_t** out_storage) {
  *out_storage = NULL;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof(leat_graph_storage_t), &memory));
  leat_graph_storage_t* storage = memory;
  storage->references = 1;
  storage->allocator = allocator;
  storage->parent = parent;
  if (parent) leat_reference_count_retain(&parent->references);
  leat_arena_initialize(allocator, 0, &storage->arena);
  leat_string_map_initialize(allocator, &storage->suffixes);
  leat_word_map_initialize(allocator, &storage->values);
  leat_word_map_initialize(allocator, &storage->referents);
  *out_storage = storage;
  return leat_ok_status();
}

// The last reference is gone: tensors first, the arena that lists them last.
static void storage_free(leat_graph_storage_t* storage) {
  for (leat_kept_tensor_t* kept = storage->tensors; kept; kept = kept->next) {
    leat_tensor_release(&kept->tensor);
  }
  leat_function_library_free(storage->functions);
  leat_string_map_deinitialize(&storage->suffixes);
  leat_word_map_deinitialize(&storage->values);
  leat_word_map_deinitialize(&storage->referents);
  leat_arena_deinitialize(&storage->arena);
  leat_allocator_free(storage->allocator, storage);
}

// A loop rather than recursion: a chain of children may be long.
void leat_graph_storage_release(leat_graph_storage_t* storage) {
  while (storage && leat_reference_count_release(&storage->references)) {
    leat_graph_storage_t* parent = storage->parent;
    storage_free(storage);
    storage = parent;
  }
}

leat_status_t leat_graph_storage_keep_tensor_move(leat_graph_storage_t* storage,
                                                  leat_tensor_t* tensor,
                                                  const leat_tensor_t** out_tensor) {
  void* memory = NULL;
  leat_status_t status = leat_arena_allocate(&storage->arena, sizeof(leat_kept_tensor_t), &memory);
  if (status) {
    leat_tensor_release(tensor);
    return status;
  }
  leat_kept_tensor_t* kept = memory;
  LEAT_DCHECK(tensor->dtype != LEAT_DTYPE_INVALID);
  kept->tensor = leat_tensor_move(tensor);
  kept->next = storage->tensors;
  storage->tensors = kept;
  *out_tensor = &kept->tensor;
  return leat_ok_status();
}

leat_status_t leat_graph_storage_keep_tensor(leat_graph_storage_t* storage,
                                             const leat_tensor_t* tensor,
                                             const leat_tensor_t** out_tensor) {
  leat_tensor_t shared = leat_tensor_share(tensor);
  return leat_graph_storage_keep_tensor_move(storage, &shared, out_tensor);
}

leat_status_t leat_graph_storage_copy_text(leat_graph_storage_t* storage, leat_string_view_t text,
                                           leat_string_view_t* out_text) {
  if (text.size == 0) text.data = "";
  if (text.size >= TEXT_CHUNK_BYTES / 8) {
    return leat_arena_copy_string(&storage->arena, text, out_text);
  }
  if ((size_t)(storage->text_end - storage->text_next) <= text.size) {
    void* chunk = NULL;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate(&storage->arena, TEXT_CHUNK_BYTES, &chunk));
    storage->text_next = chunk;
    storage->text_end = storage->text_next + TEXT_CHUNK_BYTES;
  }
  LEAT_DCHECK((size_t)(storage->text_end - storage->text_next) > text.size);
  return leat_graph_storage_take_text(storage, text, out_text);
}

// Gives |*inout_last| where |text| equals it, and else a copy that becomes |*inout_last|.
static leat_status_t copy_unless_last(leat_graph_storage_t* storage, leat_string_view_t text,
                                      leat_string_view_t* inout_last,
                                      leat_string_view_t* out_text) {
  *out_text = LEAT_SV("");
  if (text.size == 0) return leat_ok_status();
  if (!leat_string_view_equal(text, *inout_last)) {
    LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_text(storage, text, inout_last));
  }
  *out_text = *inout_last;
  return leat_ok_status();
}

leat_status_t leat_graph_storage_copy_device(leat_graph_storage_t* storage,
                                             leat_string_view_t device,
                                             leat_string_view_t* out_device) {
  return copy_unless_last(storage, device, &storage->last_device, out_device);
}

leat_status_t leat_graph_storage_copy_attr_name(leat_graph_storage_t* storage,
                                                leat_string_view_t name,
                                                leat_string_view_t* out_name) {
  return copy_unless_last(storage, name, &storage->last_attr_name, out_name);
}

static leat_status_t copy_value(leat_graph_storage_t* storage, const leat_attr_value_t* value,
                                int depth, leat_attr_value_t* out_value);

// Copies the name of a function with the attributes that it is called with.
static leat_status_t copy_function(leat_graph_storage_t* storage,
                                   const leat_function_name_t* function, int depth,
                                   leat_function_name_t* out_function) {
  if (depth > MAX_FUNCTION_DEPTH) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Copying an attribute failed: depth of functions in it is over %d",
                            MAX_FUNCTION_DEPTH);
  }
  LEAT_RETURN_IF_ERROR(
      leat_graph_storage_copy_text(storage, function->name, &out_function->name));
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&storage->arena, (size_t)function->attr_count,
                                                 sizeof(leat_attr_t), &memory));
  leat_attr_t* attrs = memory;
  for (int i = 0; i < function->attr_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_graph_storage_copy_text(storage, function->attrs[i].name, &attrs[i].name));
    LEAT_RETURN_IF_ERROR(
        copy_value(storage, &function->attrs[i].value, depth + 1, &attrs[i].value));
  }
  out_function->attrs = attrs;
  out_function->attr_count = function->attr_count;
  return leat_ok_status();
}

// Copies one value: |source| and |target| are items of a list's array, or the unions of single
// values.
static leat_status_t copy_item(leat_graph_storage_t* storage, leat_attr_kind_t kind,
                               const void* source, int depth, void* target) {
  leat_arena_t* arena = &storage->arena;
  switch (kind) {
    case LEAT_ATTR_PLACEHOLDER:
    case LEAT_ATTR_STRING:
      return leat_graph_storage_copy_text(storage, *(const leat_string_view_t*)source, target);
    case LEAT_ATTR_SHAPE: {
      leat_partial_shape_t shape = *(const leat_partial_shape_t*)source;
      return leat_partial_shape_create(shape.rank, shape.dims, arena, target);
    }
    case LEAT_ATTR_TENSOR: {
      const leat_tensor_t* tensor = *(const leat_tensor_t* const*)source;
      LEAT_DCHECK(tensor);
      return leat_graph_storage_keep_tensor(storage, tensor, target);
    }
    case LEAT_ATTR_FUNCTION: return copy_function(storage, source, depth, target);
    default: memcpy(target, source, leat_attr_item_bytes(kind));
  }
  return leat_ok_status();
}

// Copies a value. A single one is copied through the union's member |s|, which begins where all
// members do.
static leat_status_t copy_value(leat_graph_storage_t* storage, const leat_attr_value_t* value,
                                int depth, leat_attr_value_t* out_value) {
  *out_value = *value;
  leat_attr_kind_t kind = (leat_attr_kind_t)value->kind;
  size_t bytes = leat_attr_item_bytes(kind);
  void* memory = NULL;
  if (!value->is_list) {
    if (kind != LEAT_ATTR_FUNCTION) {
      return copy_item(storage, kind, &value->s, depth, &out_value->s);
    }
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate(&storage->arena, sizeof(leat_function_name_t), &memory));
    out_value->function = memory;
    return copy_function(storage, value->function, depth, memory);
  }
  if (value->count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&storage->arena, value->count, bytes, &memory));
  LEAT_DCHECK(bytes > 0);
  out_value->items = memory;
  for (uint32_t i = 0; i < value->count; ++i) {
    LEAT_RETURN_IF_ERROR(copy_item(storage, kind, (const char*)value->items + i * bytes, depth,
                                   (char*)memory + i * bytes));
  }
  return leat_ok_status();
}

leat_status_t leat_graph_storage_copy_value(leat_graph_storage_t* storage,
                                            const leat_attr_value_t* value,
                                            leat_attr_value_t* out_value) {
  return copy_value(storage, value, 0, out_value);
}
