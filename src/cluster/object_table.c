// The table of pending objects: a map from tickets to entries. A counter makes the tickets, so that
// none is ever used twice and a late or repeated message cannot take the object of another one.
#include "cluster/object_table.h"

typedef struct entry_s {
  void* object;
  leat_object_drop_fn_t drop;
} entry_t;

void leat_object_table_initialize(leat_allocator_t* allocator, leat_object_table_t* out_table) {
  out_table->allocator = allocator;
  leat_mutex_initialize(&out_table->mutex);
  leat_word_map_initialize(allocator, &out_table->entries);
  out_table->last_ticket = 0;
}

void leat_object_table_deinitialize(leat_object_table_t* table) {
  const leat_word_map_t* entries = &table->entries;
  for (size_t i = 0; i < entries->capacity; ++i) {
    if (!entries->used[i]) continue;
    entry_t* entry = (entry_t*)(uintptr_t)entries->values[i];
    if (entry->drop) entry->drop(entry->object);
    leat_allocator_free(table->allocator, entry);
  }
  leat_word_map_deinitialize(&table->entries);
  leat_mutex_deinitialize(&table->mutex);
}

leat_status_t leat_object_table_put(leat_object_table_t* table, void* object,
                                    leat_object_drop_fn_t drop,
                                    uint64_t* out_ticket) {
  entry_t* entry;
  *out_ticket = 0;
  if (!object) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(table->allocator, 1, &entry));
  *entry = (entry_t){object, drop};
  leat_mutex_lock(&table->mutex);
  // A ticket is never used twice.
  LEAT_DCHECK(!leat_word_map_get(&table->entries, table->last_ticket + 1, NULL));
  uint64_t ticket = ++table->last_ticket;
  leat_status_t status = leat_word_map_set(&table->entries, ticket, (uint64_t)(uintptr_t)entry);
  leat_mutex_unlock(&table->mutex);
  if (status) {
    leat_allocator_free(table->allocator, entry);
  } else {
    *out_ticket = ticket;
  }
  return status;
}

void* leat_object_table_take(leat_object_table_t* table, uint64_t ticket) {
  uint64_t value;
  entry_t* entry = NULL;
  leat_mutex_lock(&table->mutex);
  if (ticket && leat_word_map_get(&table->entries, ticket, &value)) {
    entry = (entry_t*)(uintptr_t)value;
    leat_word_map_erase(&table->entries, ticket);
  }
  leat_mutex_unlock(&table->mutex);
  void* object = entry ? entry->object : NULL;
  leat_allocator_free(table->allocator, entry);
  return object;
}
