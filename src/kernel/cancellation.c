// Cancellation of a step. Callbacks stand in an array of places that are used again through a free
// list. A token is the index of a place and the number of times that the place was used before, so
// registering and deregistering search nothing, and an old token never names a newer callback.
//
//   place:  FREE --register--> WAITING --cancel--> RUNNING --returned--> FREE
//                                 '---deregister----------------------->'
//
// A callback runs without the lock, because it completes waits, and these may end the step and take
// other locks. Whoever deregisters a running callback waits until it has returned, since its data
// may go away afterwards; the exception is the thread that runs it, which would wait for itself.
// Only the first cancel runs callbacks.
#include "kernel/cancellation.h"

#include "base/sync.h"

typedef enum place_state_e { PLACE_FREE = 0, PLACE_WAITING, PLACE_RUNNING } place_state_t;

typedef struct place_s {
  leat_cancel_fn_t fn;
  void* data;
  uint32_t uses;       // of this place before; part of the token
  uint32_t next_free;  // index + 1
  place_state_t state;
} place_t;

struct leat_cancellation_s {
  leat_allocator_t* allocator;
  leat_reference_count_t references;
  _Atomic bool cancelled;
  leat_mutex_t mutex;
  leat_condition_t ended;  // notified when a running callback has returned
  place_t* places;
  size_t capacity;
  size_t count;         // places that were ever used
  size_t taken;         // places that are used now
  uint32_t first_free;  // index + 1
  const void* runner;   // the thread that runs callbacks, by &this_thread; NULL: none
};

// Every thread has another address of this variable, which serves as its identity.
static _Thread_local char this_thread;

leat_status_t leat_cancellation_create(leat_allocator_t* allocator,
                                       leat_cancellation_t** out_cancellation) {
  void* memory = NULL;
  *out_cancellation = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof(leat_cancellation_t), &memory));
  leat_cancellation_t* cancellation = memory;
  cancellation->allocator = allocator;
  atomic_init(&cancellation->references, 1);
  leat_mutex_initialize(&cancellation->mutex);
  leat_condition_initialize(&cancellation->ended);
  *out_cancellation = cancellation;
  return leat_ok_status();
}

void leat_cancellation_retain(leat_cancellation_t* cancellation) {
  leat_reference_count_retain(&cancellation->references);
}

void leat_cancellation_release(leat_cancellation_t* cancellation) {
  if (!cancellation || !leat_reference_count_release(&cancellation->references)) return;
  leat_condition_deinitialize(&cancellation->ended);
  leat_mutex_deinitialize(&cancellation->mutex);
  leat_allocator_free(cancellation->allocator, cancellation->places);
  leat_allocator_free(cancellation->allocator, cancellation);
}

bool leat_cancellation_is_cancelled(const leat_cancellation_t* cancellation) {
  return atomic_load_explicit(&cancellation->cancelled, memory_order_acquire);
}

// Reads |taken| without the lock: with a single owner nobody can register meanwhile.
bool leat_cancellation_is_unused(const leat_cancellation_t* cancellation) {
  return !leat_cancellation_is_cancelled(cancellation) &&
         atomic_load_explicit(&cancellation->references, memory_order_acquire) == 1 &&
         cancellation->taken == 0;
}

// ---- Places, under the lock ---------------------------------------------------------------------

// A place for a new callback; NULL when memory ran out.
static place_t* take_place(leat_cancellation_t* cancellation) {
  if (cancellation->first_free) {
    place_t* place = &cancellation->places[cancellation->first_free - 1];
    LEAT_DCHECK(place->state == PLACE_FREE && cancellation->first_free <= cancellation->count);
    cancellation->first_free = place->next_free;
    ++cancellation->taken;
    return place;
  }
  void* places = cancellation->places;
  leat_status_t status =
      leat_allocator_grow_array(cancellation->allocator, cancellation->count + 1, sizeof(place_t),
                                &places, &cancellation->capacity);
  cancellation->places = places;
  if (status) {
    leat_status_free(status);
    return NULL;
  }
  ++cancellation->taken;
  return &cancellation->places[cancellation->count++];
}

static void free_place(leat_cancellation_t* cancellation, size_t index) {
  place_t* place = &cancellation->places[index];
  LEAT_DCHECK(index < cancellation->count && place->state != PLACE_FREE && cancellation->taken > 0);
  place->state = PLACE_FREE;
  place->uses++;
  --cancellation->taken;
  place->next_free = cancellation->first_free;
  cancellation->first_free = (uint32_t)index + 1;
}

static uint64_t token_of(size_t index, uint32_t uses) {
  return (uint64_t)uses << 32 | (uint32_t)index;
}

static bool is_live(const leat_cancellation_t* cancellation, uint64_t token) {
  size_t index = (uint32_t)token;
  return index < cancellation->count && cancellation->places[index].uses == token >> 32 &&
         cancellation->places[index].state != PLACE_FREE;
}

// ---- Registering --------------------------------------------------------------------------------

bool leat_cancellation_register(leat_cancellation_t* cancellation, leat_cancel_fn_t fn, void* data,
                                uint64_t* out_token) {
  place_t* place = NULL;
  *out_token = UINT64_MAX;
  leat_mutex_lock(&cancellation->mutex);
  if (!leat_cancellation_is_cancelled(cancellation)) place = take_place(cancellation);
  if (place) {
    LEAT_DCHECK(fn && place->state == PLACE_FREE);
    place->fn = fn;
    place->data = data;
    place->state = PLACE_WAITING;
    *out_token = token_of((size_t)(place - cancellation->places), place->uses);
  }
  leat_mutex_unlock(&cancellation->mutex);
  return place != NULL;
}

bool leat_cancellation_deregister(leat_cancellation_t* cancellation, uint64_t token) {
  bool removed = false;
  leat_mutex_lock(&cancellation->mutex);
  while (is_live(cancellation, token)) {
    if (cancellation->places[(uint32_t)token].state == PLACE_WAITING) {
      free_place(cancellation, (uint32_t)token);
      removed = true;
    } else if (cancellation->runner == &this_thread) {
      break;
    } else {
      leat_condition_wait(&cancellation->ended, &cancellation->mutex);
    }
  }
  leat_mutex_unlock(&cancellation->mutex);
  return removed;
}

void leat_cancellation_cancel(leat_cancellation_t* cancellation) {
  leat_mutex_lock(&cancellation->mutex);
  if (leat_cancellation_is_cancelled(cancellation)) {
    leat_mutex_unlock(&cancellation->mutex);
    return;
  }
  // A callback may end the step, which releases the reference that the caller relies on.
  leat_cancellation_retain(cancellation);
  atomic_store_explicit(&cancellation->cancelled, true, memory_order_release);
  // Only the first who cancels runs callbacks.
  LEAT_DCHECK(!cancellation->runner);
  cancellation->runner = &this_thread;
  for (size_t i = 0; i < cancellation->count; ++i) {
    if (cancellation->places[i].state != PLACE_WAITING) continue;
    place_t place = cancellation->places[i];
    cancellation->places[i].state = PLACE_RUNNING;
    leat_mutex_unlock(&cancellation->mutex);
    place.fn(place.data);
    leat_mutex_lock(&cancellation->mutex);
    LEAT_DCHECK(cancellation->places[i].state == PLACE_RUNNING);
    free_place(cancellation, i);
    leat_condition_notify_all(&cancellation->ended);
  }
  cancellation->runner = NULL;
  leat_mutex_unlock(&cancellation->mutex);
  leat_cancellation_release(cancellation);
}

leat_status_t leat_step_timeout(void) {
  return leat_make_status(LEAT_DEADLINE_EXCEEDED,
                          "Timed out waiting for notification: the step's timeout has passed");
}
