// What stays behind while a message is under way: the message carries a ticket, whoever holds the
// ticket takes the object. Between two processes only calls lie here, which wait for their reply;
// within one also what has no form in bytes. Thread-safe.
#ifndef LEAT_CLUSTER_SHELF_H_
#define LEAT_CLUSTER_SHELF_H_

#include "base/map.h"
#include "base/sync.h"

typedef struct leat_shelf_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;  // of what follows
  leat_word_map_t entries;
  uint64_t last_ticket;
} leat_shelf_t;

void leat_shelf_initialize(leat_allocator_t* allocator, leat_shelf_t* out_shelf);
// Drops what nobody took, since memory lacked for its message.
void leat_shelf_deinitialize(leat_shelf_t* shelf);
// |drop| may be NULL. The ticket is never 0, and 0 for |object| NULL.
typedef void (*leat_shelf_drop_fn_t)(void* object);
LEAT_MUST_USE leat_status_t leat_shelf_put(leat_shelf_t* shelf, void* object,
                                           leat_shelf_drop_fn_t drop, uint64_t* out_ticket);
// NULL when nothing (more) lies there.
void* leat_shelf_take(leat_shelf_t* shelf, uint64_t ticket);

#endif  // LEAT_CLUSTER_SHELF_H_
