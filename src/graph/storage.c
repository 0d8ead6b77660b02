// The storage of a graph. Nodes, names, edge lists and attribute values are plain data in one
// arena, which is freed as a whole; only tensors own something outside it, so they hang in a list
// and are released one by one when the storage ends. Freeing a graph of a million nodes is
// therefore a walk over its tensors and over nothing else. References are counted across threads,
// but a storage is changed only by the graph that made it.
#include "graph/storage.h"

#include "graph/function/function_library.h"

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
  leat_source_lines_free(atomic_load_explicit(&storage->source_lines, memory_order_relaxed));
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

static leat_status_t place_text(void* storage, leat_string_view_t text,
                                leat_string_view_t* out_text) {
  return leat_graph_storage_copy_text(storage, text, out_text);
}

static leat_status_t place_tensor(void* storage, const leat_tensor_t* tensor,
                                  const leat_tensor_t** out_tensor) {
  return leat_graph_storage_keep_tensor(storage, tensor, out_tensor);
}

leat_status_t leat_graph_storage_copy_value(leat_graph_storage_t* storage,
                                            const leat_attr_value_t* value,
                                            leat_attr_value_t* out_value) {
  const leat_attr_place_t place = {&storage->arena, place_text, place_tensor, storage};
  return leat_attr_value_copy(&place, value, out_value);
}
