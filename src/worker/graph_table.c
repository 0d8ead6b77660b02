// The table of registered graphs, which finds an entry by its number without a lock. Every step
// looks its graph up here, on any thread, while other threads may register graphs.
//
// Entries lie in blocks of their own that never move, and an array of pointers names them by
// number. When the array is full, it is copied into one of twice the size. The old array is kept,
// because a thread may still be reading it; it is freed with the table. As each array is twice as
// large as the one before, all old ones together are smaller than the newest.
#include "worker/graph_table.h"

typedef struct leat_graph_places_s {
  struct leat_graph_places_s* former;
  size_t capacity;
  leat_graph_entry_t* entries[];
} leat_graph_places_t;

void leat_graph_table_initialize(leat_allocator_t* allocator, size_t entry_bytes,
                                 leat_graph_table_t* out_table) {
  LEAT_DCHECK(entry_bytes >= sizeof(leat_graph_entry_t));
  *out_table = (leat_graph_table_t){.allocator = allocator, .entry_bytes = entry_bytes};
  leat_mutex_initialize(&out_table->mutex);
}

void leat_graph_table_deinitialize(leat_graph_table_t* table) {
  for (size_t i = 0; i < table->count; ++i) {
    leat_allocator_free(table->allocator, leat_graph_table_at(table, i));
  }
  for (leat_graph_places_t *places = table->places, *former; places; places = former) {
    former = places->former;
    leat_allocator_free(table->allocator, places);
  }
  leat_mutex_deinitialize(&table->mutex);
}

leat_graph_entry_t* leat_graph_table_at(const leat_graph_table_t* table, size_t index) {
  LEAT_DCHECK(index < atomic_load_explicit(&table->count, memory_order_acquire));
  return atomic_load_explicit(&table->places, memory_order_acquire)->entries[index];
}

leat_graph_entry_t* leat_graph_table_find(const leat_graph_table_t* table, uint64_t handle) {
  size_t number = (size_t)(handle & ((UINT64_C(1) << LEAT_GRAPH_NUMBER_BITS) - 1));
  size_t count = atomic_load_explicit(&table->count, memory_order_acquire);
  return number < count ? leat_graph_table_at(table, number) : NULL;
}

// ---- With the mutex held ------------------------------------------------------------------------

static leat_status_t grow(leat_graph_table_t* table) {
  leat_graph_places_t* former = table->places;
  leat_graph_places_t* places;
  const size_t capacity = former ? 2 * former->capacity : 8;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      table->allocator, sizeof *places + capacity * sizeof(leat_graph_entry_t*),
      (void**)&places));
  places->former = former;
  places->capacity = capacity;
  for (size_t i = 0; i < table->count; ++i) places->entries[i] = former->entries[i];
  atomic_store_explicit(&table->places, places, memory_order_release);
  return leat_ok_status();
}

static leat_status_t add(leat_graph_table_t* table, leat_graph_entry_t** out_entry) {
  const size_t count = table->count;
  leat_graph_places_t* places = table->places;
  if (!places || count == places->capacity) LEAT_RETURN_IF_ERROR(grow(table));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_aligned(
      table->allocator, LEAT_CACHE_LINE_BYTES, table->entry_bytes, (void**)out_entry));
  (*out_entry)->handle = count;
  atomic_load(&table->places)->entries[count] = *out_entry;
  atomic_store_explicit(&table->count, count + 1, memory_order_release);
  return leat_ok_status();
}

leat_status_t leat_graph_table_take(leat_graph_table_t* table, leat_graph_entry_t** out_entry) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&table->mutex);
  *out_entry = table->free_entries;
  if (*out_entry) {
    table->free_entries = (*out_entry)->next_free;
  } else {
    status = add(table, out_entry);
  }
  leat_mutex_unlock(&table->mutex);
  return status;
}

void leat_graph_table_give_back(leat_graph_table_t* table, leat_graph_entry_t* entry) {
  leat_mutex_lock(&table->mutex);
  entry->next_free = table->free_entries;
  table->free_entries = entry;
  leat_mutex_unlock(&table->mutex);
}
