#include "cluster/shelf.h"

void leat_shelf_initialize(leat_allocator_t* allocator, leat_shelf_t* out_shelf) {
  leat_mutex_initialize(&out_shelf->mutex);
  leat_word_map_initialize(allocator, &out_shelf->objects);
  out_shelf->last_ticket = 0;
}

void leat_shelf_deinitialize(leat_shelf_t* shelf) {
  leat_word_map_deinitialize(&shelf->objects);
  leat_mutex_deinitialize(&shelf->mutex);
}

leat_status_t leat_shelf_put(leat_shelf_t* shelf, void* object, uint64_t* out_ticket) {
  *out_ticket = 0;
  if (!object) return leat_ok_status();
  leat_mutex_lock(&shelf->mutex);
  uint64_t ticket = ++shelf->last_ticket;
  leat_status_t status = leat_word_map_set(&shelf->objects, ticket, (uint64_t)(uintptr_t)object);
  leat_mutex_unlock(&shelf->mutex);
  if (!status) *out_ticket = ticket;
  return status;
}

void* leat_shelf_take(leat_shelf_t* shelf, uint64_t ticket) {
  uint64_t object = 0;
  if (!ticket) return NULL;
  leat_mutex_lock(&shelf->mutex);
  if (leat_word_map_get(&shelf->objects, ticket, &object)) {
    leat_word_map_erase(&shelf->objects, ticket);
  }
  leat_mutex_unlock(&shelf->mutex);
  return (void*)(uintptr_t)object;
}
