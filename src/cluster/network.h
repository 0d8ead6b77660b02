// A simulated network: messages arrive late and in another order than they were sent in, each after
// a delay that a seeded random source draws. Tests send all traffic between master and worker
// through it, so that code which relies on an order that a network does not keep fails. Threads of
// the network deliver the messages; there is always one that waits for the next message, however
// long the receivers of others keep their threads. All functions may be called from any thread.
#ifndef LEAT_CLUSTER_NETWORK_H_
#define LEAT_CLUSTER_NETWORK_H_

#include "base/allocator.h"
#include "base/status.h"
#include "base/string_view.h"

typedef struct leat_network_s leat_network_t;

// Receives a message, on a thread of the network. It takes over the bytes, which it frees with the
// network's allocator, and may block as long as it likes. |call| is the message's.
typedef void (*leat_network_receive_fn_t)(void* receiver, uint64_t call, char* bytes,
                                          size_t size_bytes);

// What a message's delivery must wait for. Delivered means that the receiver has returned.
typedef enum leat_network_order_e {
  LEAT_NETWORK_UNORDERED,     // no order
  LEAT_NETWORK_LAST,     // delivered after all earlier messages of its step
  LEAT_NETWORK_BARRIER,  // delivered before all later messages
} leat_network_order_t;

// A message on its way. |receiver| is passed to |receive| and must live until the message is
// delivered.
typedef struct leat_network_message_s {
  leat_network_receive_fn_t receive;
  void* receiver;
  uint64_t call;  // the number of the call whose request or reply it is; 0: no reply is wanted
  char* bytes;    // of the network's allocator
  size_t size_bytes;
  int64_t step_id;  // the step it belongs to, for LEAT_NETWORK_LAST; 0: none
  leat_network_order_t order;
} leat_network_message_t;

// Delays are drawn from 0 to |max_delay_ns|, evenly; equal seeds draw equal delays, though the
// order of delivery still depends on the clock. RESOURCE_EXHAUSTED without memory or threads.
LEAT_MUST_USE leat_status_t leat_network_create(uint64_t seed, int64_t max_delay_ns,
                                                leat_allocator_t* allocator,
                                                leat_network_t** out_network);
// Sends a message, which is copied; never waits for its delivery. |message->bytes| are taken over
// on success alone. RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_network_send(leat_network_t* network,
                                              const leat_network_message_t* message);
// Delivers all messages that were sent, and those that are sent meanwhile, and then frees the
// network; blocks until then. NULL is allowed.
void leat_network_free(leat_network_t* network);

#endif  // LEAT_CLUSTER_NETWORK_H_
