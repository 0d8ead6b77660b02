// The simulated network. Messages stand in one list, in the order of sending, until their receivers
// have returned. Each has a time at which it is due; the next one is the earliest due among those
// that may be delivered:
//
//   list:   m1 (due 7)   m2 (due 3)   m3 LAST of m1's step (due 1)   m4 BARRIER   m5 ...
//   next:   m2 at 3, m1 at 7, m3 as soon as m1 has been delivered; m5 waits for m4
//
// A linear search finds it. Few messages are under way at once, so its cost vanishes beside the
// delays, and a heap would only complicate the orders.
//
// A receiver may keep its thread for long: a step runs on it, or it waits for a reply that another
// message brings. A thread that takes a message therefore leaves another thread waiting behind it,
// which is started if there is none. So a message is never stuck behind the receiver of another
// one.
#include "cluster/network.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/sync.h"
#include "base/thread.h"

typedef struct item_s {
  struct item_s* next;
  leat_network_message_t message;
  int64_t due_ns;
  bool is_open;  // a thread is delivering it
} item_t;

struct leat_network_s {
  leat_allocator_t* allocator;
  int64_t max_delay_ns;
  leat_mutex_t mutex;  // guards all below
  leat_condition_t changed;
  leat_philox_t random;
  item_t* first;
  item_t** end;
  leat_thread_t* threads;
  size_t thread_count, thread_capacity;
  int waiting;  // threads that wait for a message
  bool closing;
};

// ---- With the mutex held ------------------------------------------------------------------------

static int64_t draw_due(leat_network_t* network) {
  LEAT_DCHECK(network->max_delay_ns >= 0);
  uint32_t words[4];
  leat_philox_next(&network->random, words);
  uint64_t word = (uint64_t)words[0] << 32 | words[1];
  return leat_clock_now_ns() + (int64_t)(word % ((uint64_t)network->max_delay_ns + 1));
}

// Whether a LEAT_NETWORK_LAST must wait, because an earlier message of its step is still in the
// list.
static bool waits_for_its_step(const leat_network_t* network, const item_t* item) {
  if (item->message.order != LEAT_NETWORK_LAST) return false;
  for (const item_t* earlier = network->first; earlier != item; earlier = earlier->next) {
    if (earlier->message.step_id == item->message.step_id) return true;
  }
  return false;
}

// Returns the message that may be delivered first, which need not be due yet; NULL when there is
// none.
static item_t* find_next(const leat_network_t* network) {
  item_t* next = NULL;
  for (item_t* item = network->first; item; item = item->next) {
    bool is_free = !item->is_open && !waits_for_its_step(network, item);
    if (is_free && (!next || item->due_ns < next->due_ns)) next = item;
    if (item->message.order == LEAT_NETWORK_BARRIER) break;
  }
  return next;
}

static void remove_item(leat_network_t* network, item_t* item) {
  // Only the thread that delivered the message takes it out.
  LEAT_DCHECK(item->is_open);
  item_t** link = &network->first;
  while (*link != item) link = &(*link)->next;
  *link = item->next;
  if (!item->next) network->end = link;
  leat_allocator_free(network->allocator, item);
}

static void deliver_messages(void* data);

static leat_status_t start_thread(leat_network_t* network) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(network->allocator, network->thread_count + 1, &network->threads,
                                 &network->thread_capacity));
  LEAT_RETURN_IF_ERROR(
      leat_thread_start("leat-network", deliver_messages, network,
                        &network->threads[network->thread_count]));
  ++network->thread_count;
  return leat_ok_status();
}

// Sees that another thread waits for the next message. Where no thread can be started, messages
// wait until this one comes back.
static void leave_one_waiting(leat_network_t* network) {
  if (network->waiting > 0) {
    leat_condition_notify_one(&network->changed);
  } else {
    leat_status_free(start_thread(network));  // where none can start, messages wait for this thread
  }
}

// ---- Threads ------------------------------------------------------------------------------------

// Delivers |item|; the mutex is free while the receiver runs.
static void deliver(leat_network_t* network, item_t* item) {
  const leat_network_message_t* message = &item->message;
  LEAT_DCHECK(!item->is_open);
  item->is_open = true;
  leave_one_waiting(network);
  leat_mutex_unlock(&network->mutex);
  message->receive(message->receiver, message->call, message->bytes, message->size_bytes);
  leat_mutex_lock(&network->mutex);
  remove_item(network, item);
  if (network->closing && !network->first) leat_condition_notify_all(&network->changed);
}

// The body of each thread.
static void deliver_messages(void* data) {
  leat_network_t* network = data;
  leat_mutex_lock(&network->mutex);
  while (network->first || !network->closing) {
    item_t* item = find_next(network);
    if (item && item->due_ns <= leat_clock_now_ns()) {
      deliver(network, item);
      continue;
    }
    ++network->waiting;
    leat_condition_wait_until(&network->changed, &network->mutex,
                              item ? item->due_ns : LEAT_DEADLINE_NEVER);
    LEAT_DCHECK(network->waiting > 0);
    --network->waiting;
  }
  leat_mutex_unlock(&network->mutex);
}

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_network_create(uint64_t seed, int64_t max_delay_ns, leat_allocator_t* allocator,
                                  leat_network_t** out_network) {
  leat_network_t* network;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &network));
  network->allocator = allocator;
  network->max_delay_ns = max_delay_ns;
  network->random = leat_philox_make(seed, 0);
  network->end = &network->first;
  leat_mutex_initialize(&network->mutex);
  leat_condition_initialize(&network->changed);
  leat_mutex_lock(&network->mutex);
  leat_status_t status = start_thread(network);
  leat_mutex_unlock(&network->mutex);
  if (status) {
    leat_network_free(network);
    return status;
  }
  *out_network = network;
  return leat_ok_status();
}

leat_status_t leat_network_send(leat_network_t* network, const leat_network_message_t* message) {
  item_t* item;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(network->allocator, 1, &item));
  item->message = *message;
  leat_mutex_lock(&network->mutex);
  LEAT_DCHECK(network->end && !*network->end);
  item->due_ns = draw_due(network);
  *network->end = item;
  network->end = &item->next;
  leat_condition_notify_one(&network->changed);
  leat_mutex_unlock(&network->mutex);
  return leat_ok_status();
}

void leat_network_free(leat_network_t* network) {
  if (!network) return;
  leat_mutex_lock(&network->mutex);
  network->closing = true;
  leat_condition_notify_all(&network->changed);
  // While one thread is joined, another may start more, which this loop then joins too.
  for (size_t i = 0; i < network->thread_count; ++i) {
    leat_thread_t thread = network->threads[i];
    leat_mutex_unlock(&network->mutex);
    leat_thread_join(thread);
    leat_mutex_lock(&network->mutex);
  }
  leat_mutex_unlock(&network->mutex);
  LEAT_DCHECK(!network->first && network->waiting == 0);
  leat_condition_deinitialize(&network->changed);
  leat_mutex_deinitialize(&network->mutex);
  leat_allocator_free(network->allocator, network->threads);
  leat_allocator_free(network->allocator, network);
}
