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
#include "cluster/delivery.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/sync.h"
#include "base/thread.h"

typedef struct item_s {
  struct item_s* next;
  leat_letter_t letter;
  int64_t due_ns;
  bool is_open;  // a thread is delivering it
} item_t;

struct leat_delivery_s {
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

static int64_t draw_due(leat_delivery_t* d) {
  LEAT_DCHECK(d->max_delay_ns >= 0);
  uint32_t words[4];
  leat_philox_next(&d->random, words);
  uint64_t word = (uint64_t)words[0] << 32 | words[1];
  return leat_clock_now_ns() + (int64_t)(word % ((uint64_t)d->max_delay_ns + 1));
}

// Whether a LEAT_LETTER_LAST must wait, because an earlier message of its step is still in the
// list.
static bool waits_for_its_step(const leat_delivery_t* d, const item_t* item) {
  if (item->letter.order != LEAT_LETTER_LAST) return false;
  for (const item_t* earlier = d->first; earlier != item; earlier = earlier->next) {
    if (earlier->letter.step_id == item->letter.step_id) return true;
  }
  return false;
}

// Returns the message that may be delivered first, which need not be due yet; NULL when there is
// none.
static item_t* find_next(const leat_delivery_t* d) {
  item_t* next = NULL;
  for (item_t* item = d->first; item; item = item->next) {
    bool is_free = !item->is_open && !waits_for_its_step(d, item);
    if (is_free && (!next || item->due_ns < next->due_ns)) next = item;
    if (item->letter.order == LEAT_LETTER_BARRIER) break;
  }
  return next;
}

static void remove_item(leat_delivery_t* d, item_t* item) {
  // Only the thread that delivered the message takes it out.
  LEAT_DCHECK(item->is_open);
  item_t** link = &d->first;
  while (*link != item) link = &(*link)->next;
  *link = item->next;
  if (!item->next) d->end = link;
  leat_allocator_free(d->allocator, item);
}

static void deliver_letters(void* data);

static leat_status_t start_thread(leat_delivery_t* d) {
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(d->allocator, d->thread_count + 1, &d->threads, &d->thread_capacity));
  LEAT_RETURN_IF_ERROR(
      leat_thread_start("leat-delivery", deliver_letters, d, &d->threads[d->thread_count]));
  ++d->thread_count;
  return leat_ok_status();
}

// Sees that another thread waits for the next message. Where no thread can be started, messages
// wait until this one comes back.
static void leave_one_waiting(leat_delivery_t* d) {
  if (d->waiting > 0) {
    leat_condition_notify_one(&d->changed);
  } else {
    leat_status_free(start_thread(d));  // where none can start, letters wait for this thread
  }
}

// ---- Threads ------------------------------------------------------------------------------------

// Delivers |item|; the mutex is free while the receiver runs.
static void deliver(leat_delivery_t* d, item_t* item) {
  const leat_letter_t* letter = &item->letter;
  LEAT_DCHECK(!item->is_open);
  item->is_open = true;
  leave_one_waiting(d);
  leat_mutex_unlock(&d->mutex);
  letter->deliver(letter->receiver, letter->call, letter->bytes, letter->size_bytes);
  leat_mutex_lock(&d->mutex);
  remove_item(d, item);
  if (d->closing && !d->first) leat_condition_notify_all(&d->changed);
}

// The body of each thread.
static void deliver_letters(void* data) {
  leat_delivery_t* d = data;
  leat_mutex_lock(&d->mutex);
  while (d->first || !d->closing) {
    item_t* item = find_next(d);
    if (item && item->due_ns <= leat_clock_now_ns()) {
      deliver(d, item);
      continue;
    }
    ++d->waiting;
    leat_condition_wait_until(&d->changed, &d->mutex, item ? item->due_ns : LEAT_DEADLINE_NEVER);
    LEAT_DCHECK(d->waiting > 0);
    --d->waiting;
  }
  leat_mutex_unlock(&d->mutex);
}

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_delivery_create(uint64_t seed, int64_t max_delay_ns, leat_allocator_t* allocator,
                                   leat_delivery_t** out_delivery) {
  leat_delivery_t* d;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &d));
  d->allocator = allocator;
  d->max_delay_ns = max_delay_ns;
  d->random = leat_philox_make(seed, 0);
  d->end = &d->first;
  leat_mutex_initialize(&d->mutex);
  leat_condition_initialize(&d->changed);
  leat_mutex_lock(&d->mutex);
  leat_status_t status = start_thread(d);
  leat_mutex_unlock(&d->mutex);
  if (status) {
    leat_delivery_free(d);
    return status;
  }
  *out_delivery = d;
  return leat_ok_status();
}

leat_status_t leat_delivery_post(leat_delivery_t* d, const leat_letter_t* letter) {
  item_t* item;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(d->allocator, 1, &item));
  item->letter = *letter;
  leat_mutex_lock(&d->mutex);
  LEAT_DCHECK(d->end && !*d->end);
  item->due_ns = draw_due(d);
  *d->end = item;
  d->end = &item->next;
  leat_condition_notify_one(&d->changed);
  leat_mutex_unlock(&d->mutex);
  return leat_ok_status();
}

void leat_delivery_free(leat_delivery_t* d) {
  if (!d) return;
  leat_mutex_lock(&d->mutex);
  d->closing = true;
  leat_condition_notify_all(&d->changed);
  // While one thread is joined, another may start more, which this loop then joins too.
  for (size_t i = 0; i < d->thread_count; ++i) {
    leat_thread_t thread = d->threads[i];
    leat_mutex_unlock(&d->mutex);
    leat_thread_join(thread);
    leat_mutex_lock(&d->mutex);
  }
  leat_mutex_unlock(&d->mutex);
  LEAT_DCHECK(!d->first && d->waiting == 0);
  leat_condition_deinitialize(&d->changed);
  leat_mutex_deinitialize(&d->mutex);
  leat_allocator_free(d->allocator, d->threads);
  leat_allocator_free(d->allocator, d);
}
