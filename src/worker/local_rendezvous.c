// The rendezvous of a step within a process (kernel/rendezvous.h). It keeps items, each of which is
// either a value that waits for its receiver or a receiver that waits for its value. Whoever comes
// second finds the item of the first under the key and takes it out.
//
// A numbered transfer has a place in an array, which holds one item without allocating any:
//
//   places    [ 0: value ] [ 1: free ] [ 2: receiver, iteration 7 ] ...
//   buckets   text keys, and the other iterations of a transfer whose place is taken
//
// Outside loops a transfer has only one item in a step, so the place is all that it needs. In a
// loop, one device may be many iterations ahead of the other. The items of further iterations then
// go to the hash table, in which any one of them is found at once, however many there are.
//
// Invariant: under one key there are only values or only receivers. They are taken out in the order
// in which they came: in a bucket the oldest is first, and a place is only filled while no item of
// its transfer lies in the table, so the item in a place is older than those in the table.
// A pair is taken out of the table under the lock and completed outside it, since the receiver's
// callback may run the rest of a step and send again. After an abort the table is empty, and every
// call fails with the cause of the abort.
#include "worker/local_rendezvous.h"

#include <string.h>

typedef struct rendezvous_item_s rendezvous_item_t;
struct rendezvous_item_s {
  rendezvous_item_t* next;
  uint64_t hash;
  leat_rendezvous_key_t key;        // the bytes of its text follow the item
  leat_rendezvous_receive_fn_t fn;  // NULL: |value| waits
  void* data;
  leat_slot_t value;
};

typedef struct rendezvous_list_s {
  rendezvous_item_t* first;
  rendezvous_item_t* last;
} rendezvous_list_t;

typedef struct rendezvous_place_s {
  rendezvous_item_t item;
  bool is_taken;       // |item| waits
  uint32_t elsewhere;  // items of the transfer in the hash table
} rendezvous_place_t;

typedef struct leat_local_rendezvous_s {
  leat_rendezvous_t rendezvous;
  leat_allocator_t* allocator;
  leat_mutex_t mutex;
  leat_status_t aborted;  // the cause, or OK
  rendezvous_list_t* buckets;
  size_t bucket_count;    // a power of two
  size_t count;           // of items in the buckets
  rendezvous_place_t* places;  // by the transfer's number
  uint32_t place_count;
} leat_local_rendezvous_t;

#define FIRST_BUCKETS 32

// ---- Items --------------------------------------------------------------------------------------

static uint64_t hash_of(leat_rendezvous_key_t key) {
  return key.transfer < 0 ? leat_string_view_hash(key.text)
                          : leat_hash_mix(key.iteration, (uint64_t)key.transfer);
}

static bool same_key(leat_rendezvous_key_t a, leat_rendezvous_key_t b) {
  if (a.transfer != b.transfer) return false;
  return a.transfer < 0 ? leat_string_view_equal(a.text, b.text) : a.iteration == b.iteration;
}

// Makes an item for the table, with a copy of the key's text.
static leat_status_t make_item(leat_local_rendezvous_t* self, leat_rendezvous_key_t key,
                               uint64_t hash, rendezvous_item_t** out_item) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      self->allocator, sizeof(rendezvous_item_t) + key.text.size, &memory));
  rendezvous_item_t* item = memory;
  char* text = (char*)(item + 1);
  if (key.text.size) memcpy(text, key.text.data, key.text.size);
  item->key = key;
  item->key.text = leat_string_view_make(text, key.text.size);
  item->hash = hash;
  *out_item = item;
  return leat_ok_status();
}

static void append_item(rendezvous_list_t* list, rendezvous_item_t* item) {
  item->next = NULL;
  if (list->last) {
    list->last->next = item;
  } else {
    list->first = item;
  }
  list->last = item;
}

static rendezvous_list_t* bucket_of(const leat_local_rendezvous_t* self, uint64_t hash) {
  LEAT_DCHECK((self->bucket_count & (self->bucket_count - 1)) == 0);
  return &self->buckets[hash & (self->bucket_count - 1)];
}

// A table that stays small is only slower.
static void grow(leat_local_rendezvous_t* self) {
  void* memory = NULL;
  size_t former_count = self->bucket_count;
  rendezvous_list_t* former = self->buckets;
  leat_status_t status = leat_allocator_allocate_array(self->allocator, former_count * 2,
                                                       sizeof(rendezvous_list_t), &memory);
  if (status) {
    leat_status_free(status);
    return;
  }
  self->buckets = memory;
  self->bucket_count = former_count * 2;
  for (size_t i = 0; i < former_count; ++i) {
    for (rendezvous_item_t *item = former[i].first, *next; item; item = next) {
      next = item->next;
      append_item(bucket_of(self, item->hash), item);
    }
  }
  leat_allocator_free(self->allocator, former);
}

// The place of a numbered transfer; NULL for a text.
static rendezvous_place_t* place_of(const leat_local_rendezvous_t* self,
                                    leat_rendezvous_key_t key) {
  LEAT_DCHECK(key.transfer < (int64_t)self->place_count);
  return key.transfer < 0 ? NULL : &self->places[key.transfer];
}

// Adds a receiver, or a value where |fn| is NULL.
static leat_status_t add_item(leat_local_rendezvous_t* self, leat_rendezvous_key_t key,
                              uint64_t hash, leat_rendezvous_receive_fn_t fn, void* data,
                              leat_slot_t value) {
  rendezvous_place_t* place = place_of(self, key);
  rendezvous_item_t* item = NULL;
  if (place && !place->is_taken && place->elsewhere == 0) {
    place->is_taken = true;
    item = &place->item;
    item->key = key;
  } else {
    LEAT_RETURN_IF_ERROR(make_item(self, key, hash, &item));
    if (self->count >= self->bucket_count) grow(self);
    append_item(bucket_of(self, hash), item);
    self->count++;
    if (place) place->elsewhere++;
  }
  LEAT_DCHECK(!self->aborted);
  item->fn = fn;
  item->data = data;
  item->value = value;
  return leat_ok_status();
}

// Takes the oldest item under |key| out of the table if it is of the wanted kind.
static rendezvous_item_t* take_from_table(leat_local_rendezvous_t* self, leat_rendezvous_key_t key,
                                          uint64_t hash, bool receiver) {
  rendezvous_list_t* list = bucket_of(self, hash);
  rendezvous_item_t* previous = NULL;
  for (rendezvous_item_t* item = list->first; item; previous = item, item = item->next) {
    if (item->hash != hash || !same_key(item->key, key)) continue;
    if ((item->fn != NULL) != receiver) return NULL;
    if (previous) {
      previous->next = item->next;
    } else {
      list->first = item->next;
    }
    if (list->last == item) list->last = previous;
    LEAT_DCHECK(self->count > 0);
    self->count--;
    return item;
  }
  return NULL;
}

// Takes out the oldest item under |key| if it is of the wanted kind. What lay in a place is copied
// to |copy|, because the place may be filled again as soon as the lock is let go.
static rendezvous_item_t* take_item(leat_local_rendezvous_t* self, leat_rendezvous_key_t key,
                                    uint64_t hash, bool receiver, rendezvous_item_t* copy) {
  rendezvous_place_t* place = place_of(self, key);
  if (place && place->is_taken && same_key(place->item.key, key)) {
    if ((place->item.fn != NULL) != receiver) return NULL;
    *copy = place->item;
    place->is_taken = false;
    return copy;
  }
  if (place && place->elsewhere == 0) return NULL;
  rendezvous_item_t* item = take_from_table(self, key, hash, receiver);
  LEAT_DCHECK(!item || !place || place->elsewhere > 0);
  if (item && place) place->elsewhere--;
  return item;
}

// ---- Sending and receiving ----------------------------------------------------------------------

// Whether a transfer under |key| may take place. The lock is held.
static leat_status_t check(const leat_local_rendezvous_t* self, leat_rendezvous_key_t key) {
  if (self->aborted) return leat_status_clone(self->aborted);
  if (LEAT_LIKELY(key.transfer < (int64_t)self->place_count)) return leat_ok_status();
  return leat_make_status(LEAT_INTERNAL,
                          "Transfer failed: its number is %lld, must be less than %u, the number "
                          "of the step's transfers",
                          (long long)key.transfer, (unsigned)self->place_count);
}

static leat_status_t reserve(leat_rendezvous_t* rendezvous, uint32_t transfer_count) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  if (transfer_count == 0) return leat_ok_status();
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&self->mutex);
  if (!self->aborted && !self->places) {
    status = LEAT_ALLOCATE(self->allocator, transfer_count, &self->places);
    if (!status) self->place_count = transfer_count;
  } else if (!self->aborted && self->place_count != transfer_count) {
    status = leat_make_status(LEAT_INTERNAL,
                              "RunGraph failed: the graph's number of transfers is %u, must be "
                              "%u, as in the step's other graphs",
                              (unsigned)transfer_count, (unsigned)self->place_count);
  }
  leat_mutex_unlock(&self->mutex);
  return status;
}

static leat_status_t send(leat_rendezvous_t* rendezvous, leat_rendezvous_key_t key,
                          leat_slot_t value) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  uint64_t hash = hash_of(key);
  rendezvous_item_t copy;
  rendezvous_item_t* receiver = NULL;
  leat_mutex_lock(&self->mutex);
  leat_status_t status = check(self, key);
  if (!status) receiver = take_item(self, key, hash, true, &copy);
  if (!status && !receiver) status = add_item(self, key, hash, NULL, NULL, value);
  leat_mutex_unlock(&self->mutex);
  if (receiver) {
    receiver->fn(receiver->data, leat_ok_status(), value);
    if (receiver != &copy) leat_allocator_free(self->allocator, receiver);
  }
  if (status) leat_slot_release(&value);
  return status;
}

// Takes the value if it has been sent, and else leaves the receiver in its place. |fn| is called
// without the mutex.
static void receive(leat_rendezvous_t* rendezvous, leat_rendezvous_key_t key,
                    leat_rendezvous_receive_fn_t fn, void* data) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  uint64_t hash = hash_of(key);
  rendezvous_item_t copy;
  rendezvous_item_t* sent = NULL;
  leat_mutex_lock(&self->mutex);
  leat_status_t status = check(self, key);
  if (!status) sent = take_item(self, key, hash, false, &copy);
  bool waits = !status && !sent;
  if (waits) {
    status = add_item(self, key, hash, fn, data, (leat_slot_t){0});
    waits = !status;
  }
  leat_mutex_unlock(&self->mutex);
  if (waits) return;
  leat_slot_t value = sent ? sent->value : (leat_slot_t){0};
  if (sent != &copy) leat_allocator_free(self->allocator, sent);
  fn(data, status, value);
}

// ---- Ending -------------------------------------------------------------------------------------

// Takes all items out of the table, chained.
static rendezvous_item_t* take_all(leat_local_rendezvous_t* self) {
  rendezvous_list_t all = {0};
  for (size_t i = 0; i < self->bucket_count; ++i) {
    for (rendezvous_item_t *item = self->buckets[i].first, *next; item; item = next) {
      next = item->next;
      append_item(&all, item);
    }
    self->buckets[i] = (rendezvous_list_t){0};
  }
  self->count = 0;
  return all.first;
}

// A value is released, a receiver gets a clone of |cause|.
static void end_item(rendezvous_item_t* item, leat_status_t cause) {
  if (item->fn) {
    item->fn(item->data, leat_status_clone(cause), (leat_slot_t){0});
  } else {
    leat_slot_release(&item->value);
  }
}

// Ends the items of all places and those of the chain |item|, which came out of the table. It needs
// no lock: after an abort nobody else uses the places, nor at the end of the rendezvous.
static void end_items(leat_local_rendezvous_t* self, rendezvous_item_t* item,
                      leat_status_t cause) {
  for (uint32_t i = 0; i < self->place_count; ++i) {
    rendezvous_place_t* place = &self->places[i];
    place->elsewhere = 0;
    if (!place->is_taken) continue;
    place->is_taken = false;
    end_item(&place->item, cause);
  }
  while (item) {
    rendezvous_item_t* next = item->next;
    end_item(item, cause);
    leat_allocator_free(self->allocator, item);
    item = next;
  }
}

static void abort_all(leat_rendezvous_t* rendezvous, leat_status_t status) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  leat_status_t cause = status ? leat_status_clone(status)
                               : leat_make_status(LEAT_ABORTED, "The rendezvous was aborted");
  rendezvous_item_t* items = NULL;
  // A callback may drop the last reference but this.
  leat_rendezvous_retain(rendezvous);
  leat_mutex_lock(&self->mutex);
  bool is_first = !self->aborted;
  if (is_first) {
    self->aborted = leat_status_clone(cause);
    items = take_all(self);
  }
  leat_mutex_unlock(&self->mutex);
  if (is_first) end_items(self, items, cause);
  leat_status_free(cause);
  leat_rendezvous_release(rendezvous);
}

static bool has_items(const leat_local_rendezvous_t* self) {
  bool found = self->count > 0;
  for (uint32_t i = 0; i < self->place_count && !found; ++i) found = self->places[i].is_taken;
  return found;
}

static void destroy(leat_rendezvous_t* rendezvous) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  if (has_items(self)) {
    leat_status_t cause = leat_make_status(LEAT_CANCELLED, "The rendezvous has ended");
    end_items(self, take_all(self), cause);
    leat_status_free(cause);
  }
  leat_status_free(self->aborted);
  leat_mutex_deinitialize(&self->mutex);
  leat_allocator_free(self->allocator, self->places);
  leat_allocator_free(self->allocator, self->buckets);
  leat_allocator_free(self->allocator, self);
}

static const leat_rendezvous_vtable_t local_vtable = {
    .destroy = destroy,
    .send = send,
    .receive = receive,
    .reserve = reserve,
    .abort = abort_all,
};

bool leat_local_rendezvous_is_empty(leat_rendezvous_t* rendezvous) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  leat_mutex_lock(&self->mutex);
  const bool is_empty = self->count == 0;
  leat_mutex_unlock(&self->mutex);
  return is_empty;
}

leat_status_t leat_local_rendezvous_create(leat_allocator_t* allocator,
                                           leat_rendezvous_t** out_rendezvous) {
  void* memory = NULL;
  void* buckets = NULL;
  *out_rendezvous = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(allocator, sizeof(leat_local_rendezvous_t), &memory));
  leat_status_t status = leat_allocator_allocate_array(allocator, FIRST_BUCKETS,
                                                       sizeof(rendezvous_list_t), &buckets);
  if (status) {
    leat_allocator_free(allocator, memory);
    return status;
  }
  leat_local_rendezvous_t* self = memory;
  self->rendezvous.vtable = &local_vtable;
  atomic_init(&self->rendezvous.references, 1);
  self->allocator = allocator;
  self->buckets = buckets;
  self->bucket_count = FIRST_BUCKETS;
  leat_mutex_initialize(&self->mutex);
  *out_rendezvous = &self->rendezvous;
  return leat_ok_status();
}
