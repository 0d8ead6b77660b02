// A table of objects that stay behind while a message is under way. Putting an object in gives a
// ticket, a number that the message carries; the one who receives the message takes the object out
// by it. The remote worker keeps its pending calls in such a table, each until its reply comes. A
// transport within one process also keeps values there that cannot be encoded as bytes. All
// functions may be called from any thread; none blocks.
#ifndef LEAT_CLUSTER_OBJECT_TABLE_H_
#define LEAT_CLUSTER_OBJECT_TABLE_H_

#include "base/map.h"
#include "base/sync.h"

// The table; its fields are for object_table.c.
typedef struct leat_object_table_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;  // guards what follows
  leat_word_map_t entries;
  uint64_t last_ticket;
} leat_object_table_t;

void leat_object_table_initialize(leat_allocator_t* allocator, leat_object_table_t* out_table);
// Drops the objects that nobody took, because memory for their message was missing, and frees the
// table. No call may be under way.
void leat_object_table_deinitialize(leat_object_table_t* table);
// Puts |object| in. |drop|, which may be NULL, is called for it when nobody takes it. Tickets are
// never 0, except that a NULL |object| gets 0 and is not put in. RESOURCE_EXHAUSTED without memory.
typedef void (*leat_object_drop_fn_t)(void* object);
LEAT_MUST_USE leat_status_t leat_object_table_put(leat_object_table_t* table, void* object,
                                                  leat_object_drop_fn_t drop, uint64_t* out_ticket);
// Takes the object of |ticket| out; NULL when there is none (any more).
void* leat_object_table_take(leat_object_table_t* table, uint64_t ticket);

#endif  // LEAT_CLUSTER_OBJECT_TABLE_H_
