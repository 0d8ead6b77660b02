// Letters that arrive late and in another order than they were posted in, as messages of a network
// do: each after a delay that a seeded random source draws. Threads of its own deliver them; there
// is always one that waits for the next letter, however long the others are kept by theirs.
#ifndef LEAT_CLUSTER_DELIVERY_H_
#define LEAT_CLUSTER_DELIVERY_H_

#include "base/allocator.h"
#include "base/status.h"
#include "base/string_view.h"

typedef struct leat_delivery_s leat_delivery_t;

// Takes the bytes.
typedef void (*leat_letter_fn_t)(void* receiver, uint64_t call, char* bytes, size_t size_bytes);

typedef enum leat_letter_order_e {
  LEAT_LETTER_FREE,
  LEAT_LETTER_LAST,     // delivered when all earlier letters of its step have been
  LEAT_LETTER_BARRIER,  // all later letters are delivered when it has been
} leat_letter_order_t;

typedef struct leat_letter_s {
  leat_letter_fn_t deliver;
  void* receiver;
  uint64_t call;  // that request and reply belong to; 0: no reply is wanted
  char* bytes;    // of the delivery's allocator
  size_t size_bytes;
  int64_t step_id;  // 0: of none
  leat_letter_order_t order;
} leat_letter_t;

// Delays are 0 to |max_delay_ns|.
LEAT_MUST_USE leat_status_t leat_delivery_create(uint64_t seed, int64_t max_delay_ns,
                                                 leat_allocator_t* allocator,
                                                 leat_delivery_t** out_delivery);
// Never blocks. |letter->bytes| are taken on success.
LEAT_MUST_USE leat_status_t leat_delivery_post(leat_delivery_t* delivery,
                                               const leat_letter_t* letter);
// Delivers what was posted first, and what is posted meanwhile. NULL is allowed.
void leat_delivery_free(leat_delivery_t* delivery);

#endif  // LEAT_CLUSTER_DELIVERY_H_
