// The tensors that a session keeps between steps, for GetSessionTensor and its kin: a table of
// tensors by id. The kernels of those ops call it in the name of their step.
//
// A handle is a text that a client may make up. Its id only finds the entry, and the whole text
// must then equal the handle that was given out, so that a guessed id finds nothing.
//
// One mutex guards the table. Tensors are released with the mutex free, because releasing one may
// run a resource's destructor.
#include "kernel/session_tensors.h"

#include "base/map.h"
#include "base/sync.h"

typedef struct entry_s {
  char* handle;
  size_t handle_size;
  leat_tensor_t tensor;
} entry_t;

struct leat_session_tensors_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;
  leat_word_map_t entries;  // id -> entry_t*
  int64_t next_id;
};

leat_status_t leat_session_tensors_create(leat_allocator_t* allocator,
                                          leat_session_tensors_t** out_tensors) {
  leat_session_tensors_t* tensors;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &tensors));
  tensors->allocator = allocator;
  leat_mutex_initialize(&tensors->mutex);
  leat_word_map_initialize(allocator, &tensors->entries);
  *out_tensors = tensors;
  return leat_ok_status();
}

static void free_entry(leat_session_tensors_t* tensors, entry_t* entry) {
  LEAT_DCHECK(entry && entry->handle);
  leat_tensor_release(&entry->tensor);
  leat_allocator_free(tensors->allocator, entry->handle);
  leat_allocator_free(tensors->allocator, entry);
}

void leat_session_tensors_free(leat_session_tensors_t* tensors) {
  if (!tensors) return;
  const leat_word_map_t* entries = &tensors->entries;
  for (size_t i = 0; i < entries->capacity; ++i) {
    if (entries->used[i]) free_entry(tensors, (entry_t*)(uintptr_t)entries->values[i]);
  }
  leat_word_map_deinitialize(&tensors->entries);
  leat_mutex_deinitialize(&tensors->mutex);
  leat_allocator_free(tensors->allocator, tensors);
}

// ---- Adding -------------------------------------------------------------------------------------

static leat_status_t make_entry(leat_session_tensors_t* tensors, leat_string_view_t handle,
                                const leat_tensor_t* tensor, entry_t** out_entry) {
  entry_t* entry;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(tensors->allocator, 1, &entry));
  leat_status_t status = leat_allocator_clone_string(tensors->allocator, handle.data, handle.size,
                                                     &entry->handle);
  if (status) {
    leat_allocator_free(tensors->allocator, entry);
    return status;
  }
  entry->handle_size = handle.size;
  entry->tensor = leat_tensor_share(tensor);
  *out_entry = entry;
  return status;
}

leat_status_t leat_session_tensors_add(leat_session_tensors_t* tensors, leat_string_view_t node,
                                       leat_string_view_t device, const leat_tensor_t* tensor,
                                       leat_string_builder_t* out_handle) {
  leat_mutex_lock(&tensors->mutex);
  int64_t id = tensors->next_id++;
  size_t begin = out_handle->size;
  leat_string_builder_print(out_handle, "%.*s;%lld;%.*s", LEAT_SV_ARG(node), (long long)id,
                            LEAT_SV_ARG(device));
  leat_status_t status = leat_status_clone(out_handle->status);
  entry_t* entry = NULL;
  if (!status) {
    status = make_entry(
        tensors, leat_string_view_from_index(leat_string_builder_view(out_handle), begin), tensor,
        &entry);
  }
  if (!status) {
    status = leat_word_map_set(&tensors->entries, (uint64_t)id, (uint64_t)(uintptr_t)entry);
    if (status) free_entry(tensors, entry);
  }
  leat_mutex_unlock(&tensors->mutex);
  return status;
}

// ---- Finding ------------------------------------------------------------------------------------

// The number between the last two semicolons of |handle|, since a node's name may hold semicolons.
static bool parse_id(leat_string_view_t handle, int64_t* out_id) {
  size_t end = leat_string_view_find_last(handle, ';');
  if (end == SIZE_MAX) return false;
  leat_string_view_t front = {handle.data, end};
  size_t begin = leat_string_view_find_last(front, ';');
  return begin != SIZE_MAX &&
         leat_string_view_to_int64(leat_string_view_from_index(front, begin + 1), out_id);
}

// The entry of |handle|, or NULL. Called with the mutex held.
static entry_t* find(const leat_session_tensors_t* tensors, leat_string_view_t handle,
                     int64_t* out_id) {
  uint64_t value;
  if (!parse_id(handle, out_id) ||
      !leat_word_map_get(&tensors->entries, (uint64_t)*out_id, &value)) {
    return NULL;
  }
  entry_t* entry = (entry_t*)(uintptr_t)value;
  leat_string_view_t own = {entry->handle, entry->handle_size};
  return leat_string_view_equal(own, handle) ? entry : NULL;
}

leat_status_t leat_session_tensors_get(leat_session_tensors_t* tensors, leat_string_view_t handle,
                                       leat_tensor_t* out_tensor) {
  int64_t id;
  leat_mutex_lock(&tensors->mutex);
  const entry_t* entry = find(tensors, handle, &id);
  if (entry) *out_tensor = leat_tensor_share(&entry->tensor);
  leat_mutex_unlock(&tensors->mutex);
  if (entry) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "The tensor with handle '%.*s' is not in the session store.",
                          LEAT_SV_ARG(handle));
}

leat_status_t leat_session_tensors_remove(leat_session_tensors_t* tensors,
                                          leat_string_view_t handle) {
  int64_t id;
  leat_mutex_lock(&tensors->mutex);
  entry_t* entry = find(tensors, handle, &id);
  if (entry) leat_word_map_erase(&tensors->entries, (uint64_t)id);
  leat_mutex_unlock(&tensors->mutex);
  if (entry) {
    free_entry(tensors, entry);
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Failed to delete a tensor with handle '%.*s' in the session store.",
                          LEAT_SV_ARG(handle));
}
