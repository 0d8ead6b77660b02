// The table of pending objects: a map from tickets to entries. A counter makes the tickets, so that
// none is ever used twice and a late or repeated message cannot take the object of another one.
#include "cluster/shelf.h"

typedef struct entry_s {
  void* object;
  leat_shelf_drop_fn_t drop;
} entry_t;

void leat_shelf_initialize(leat_allocator_t* allocator, leat_shelf_t* out_shelf) {
  out_shelf->allocator = allocator;
  leat_mutex_initialize(&out_shelf->mutex);
  leat_word_map_initialize(allocator, &out_shelf->entries);
  out_shelf->last_ticket = 0;
}

void leat_shelf_deinitialize(leat_shelf_t* shelf) {
  const leat_word_map_t* entries = &shelf->entries;
  for (size_t i = 0; i < entries->capacity; ++i) {
    if (!entries->used[i]) continue;
    entry_t* entry = (entry_t*)(uintptr_t)entries->values[i];
    if (entry->drop) entry->drop(entry->object);
    leat_allocator_free(shelf->allocator, entry);
  }
  leat_word_map_deinitialize(&shelf->entries);
  leat_mutex_deinitialize(&shelf->mutex);
}

leat_status_t leat_shelf_put(leat_shelf_t* shelf, void* object, leat_shelf_drop_fn_t drop,
                             uint64_t* out_ticket) {
  entry_t* entry;
  *out_ticket = 0;
  if (!object) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(shelf->allocator, 1, &entry));
  *entry = (entry_t){object, drop};
  leat_mutex_lock(&shelf->mutex);
  // A ticket is never used twice.
  LEAT_DCHECK(!leat_word_map_get(&shelf->entries, shelf->last_ticket + 1, NULL));
  uint64_t ticket = ++shelf->last_ticket;
  leat_status_t status = leat_word_map_set(&shelf->entries, ticket, (uint64_t)(uintptr_t)entry);
  leat_mutex_unlock(&shelf->mutex);
  if (status) {
    leat_allocator_free(shelf->allocator, entry);
  } else {
    *out_ticket = ticket;
  }
  return status;
}

void* leat_shelf_take(leat_shelf_t* shelf, uint64_t ticket) {
  uint64_t value;
  entry_t* entry = NULL;
  leat_mutex_lock(&shelf->mutex);
  if (ticket && leat_word_map_get(&shelf->entries, ticket, &value)) {
    entry = (entry_t*)(uintptr_t)value;
    leat_word_map_erase(&shelf->entries, ticket);
  }
  leat_mutex_unlock(&shelf->mutex);
  void* object = entry ? entry->object : NULL;
  leat_allocator_free(shelf->allocator, entry);
  return object;
}
