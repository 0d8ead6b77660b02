// The rendezvous of a step within a process (kernel/rendezvous.h): a hash table of items, each of
// which is either a value that waits for its receiver or a receiver that waits for its value.
// Whoever comes second finds the item of the first under the key and takes it out.
//
// Invariant: under one key there are only values or only receivers, the oldest first in its bucket.
// A pair is taken out of the table under the lock and completed outside it, since the receiver's
// callback may run the rest of a step and send again. After an abort the table is empty, and every
// call fails with the cause of the abort.
#include "worker/local_rendezvous.h"

#include <string.h>

typedef struct rendezvous_item_s rendezvous_item_t;
struct rendezvous_item_s {
  rendezvous_item_t* next;
  uint64_t hash;
  leat_string_view_t key;           // its bytes follow the item
  leat_rendezvous_receive_fn_t fn;  // NULL: |value| waits
  void* data;
  leat_slot_t value;
};

typedef struct rendezvous_list_s {
  rendezvous_item_t* first;
  rendezvous_item_t* last;
} rendezvous_list_t;

typedef struct leat_local_rendezvous_s {
  leat_rendezvous_t rendezvous;
  leat_allocator_t* allocator;
  leat_mutex_t mutex;
  leat_status_t aborted;  // the cause, or OK
  rendezvous_list_t* buckets;
  size_t bucket_count;    // a power of two
  size_t count;
} leat_local_rendezvous_t;

#define FIRST_BUCKETS 32

// ---- Items --------------------------------------------------------------------------------------

static leat_status_t make_item(leat_local_rendezvous_t* self, leat_string_view_t key,
                               rendezvous_item_t** out_item) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(self->allocator,
                                               sizeof(rendezvous_item_t) + key.size, &memory));
  rendezvous_item_t* item = memory;
  char* text = (char*)(item + 1);
  if (key.size) memcpy(text, key.data, key.size);
  item->key = leat_string_view_make(text, key.size);
  item->hash = leat_string_view_hash(key);
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

static void add_item(leat_local_rendezvous_t* self, rendezvous_item_t* item) {
  if (self->count >= self->bucket_count) grow(self);
  append_item(bucket_of(self, item->hash), item);
  self->count++;
}

// Takes out the oldest item under |key| if it is of the wanted kind.
static rendezvous_item_t* take_item(leat_local_rendezvous_t* self, leat_string_view_t key,
                                    uint64_t hash, bool receiver) {
  rendezvous_list_t* list = bucket_of(self, hash);
  rendezvous_item_t* previous = NULL;
  for (rendezvous_item_t* item = list->first; item; previous = item, item = item->next) {
    if (item->hash != hash || !leat_string_view_equal(item->key, key)) continue;
    if ((item->fn != NULL) != receiver) return NULL;
    if (previous) {
      previous->next = item->next;
    } else {
      list->first = item->next;
    }
    if (list->last == item) list->last = previous;
    self->count--;
    return item;
  }
  return NULL;
}

// ---- Sending and receiving ----------------------------------------------------------------------

static leat_status_t send(leat_rendezvous_t* rendezvous, leat_string_view_t key,
                          leat_slot_t value) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  rendezvous_item_t* item = NULL;
  rendezvous_item_t* receiver = NULL;
  // Made before the lock is taken, and for nothing when the receiver is already there.
  leat_status_t status = make_item(self, key, &item);
  if (status) {
    leat_slot_release(&value);
    return status;
  }
  leat_mutex_lock(&self->mutex);
  if (self->aborted) {
    status = leat_status_clone(self->aborted);
  } else {
    receiver = take_item(self, item->key, item->hash, true);
    if (!receiver) {
      item->value = value;
      add_item(self, item);
      item = NULL;
    }
  }
  leat_mutex_unlock(&self->mutex);
  if (receiver) {
    receiver->fn(receiver->data, leat_ok_status(), value);
    leat_allocator_free(self->allocator, receiver);
  }
  if (status) leat_slot_release(&value);
  leat_allocator_free(self->allocator, item);
  return status;
}

static void receive(leat_rendezvous_t* rendezvous, leat_string_view_t key,
                    leat_rendezvous_receive_fn_t fn, void* data) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  uint64_t hash = leat_string_view_hash(key);
  rendezvous_item_t* sent = NULL;
  rendezvous_item_t* waiter = NULL;
  leat_status_t status = leat_ok_status();
  bool waits = false;
  leat_mutex_lock(&self->mutex);
  if (self->aborted) {
    status = leat_status_clone(self->aborted);
  } else {
    sent = take_item(self, key, hash, false);
    if (!sent) status = make_item(self, key, &waiter);
    if (waiter) {
      waits = true;
      waiter->fn = fn;
      waiter->data = data;
      add_item(self, waiter);
    }
  }
  leat_mutex_unlock(&self->mutex);
  if (waits) return;
  leat_slot_t value = sent ? sent->value : (leat_slot_t){0};
  leat_allocator_free(self->allocator, sent);
  fn(data, status, value);
}

// ---- Ending -------------------------------------------------------------------------------------

// Takes all items out, chained.
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

// Values are released, receivers get a clone of |cause|.
static void end_items(leat_local_rendezvous_t* self, rendezvous_item_t* item,
                      leat_status_t cause) {
  while (item) {
    rendezvous_item_t* next = item->next;
    if (item->fn) {
      item->fn(item->data, leat_status_clone(cause), (leat_slot_t){0});
    } else {
      leat_slot_release(&item->value);
    }
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
  if (!self->aborted) {
    self->aborted = leat_status_clone(cause);
    items = take_all(self);
  }
  leat_mutex_unlock(&self->mutex);
  end_items(self, items, cause);
  leat_status_free(cause);
  leat_rendezvous_release(rendezvous);
}

static void destroy(leat_rendezvous_t* rendezvous) {
  leat_local_rendezvous_t* self = (leat_local_rendezvous_t*)rendezvous;
  if (self->count > 0) {
    leat_status_t cause = leat_make_status(LEAT_CANCELLED, "The rendezvous has ended");
    end_items(self, take_all(self), cause);
    leat_status_free(cause);
  }
  leat_status_free(self->aborted);
  leat_mutex_deinitialize(&self->mutex);
  leat_allocator_free(self->allocator, self->buckets);
  leat_allocator_free(self->allocator, self);
}

static const leat_rendezvous_vtable_t local_vtable = {
    .destroy = destroy,
    .send = send,
    .receive = receive,
    .abort = abort_all,
};

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
