// Containers of named resources. One hash table with the key (container, kind, name) serves all
// containers of a device, because look-ups by handle happen in every step and from every thread,
// while a container is hardly ever cleared.
//
// The table changes only with the mutex and all lanes held (a lane is one of eight spinlocks, see
// base/sync.h), so holding either the mutex or one lane is enough to read it: a look-up takes the
// lane of its thread, for which few other threads compete. The table owns one reference of each
// resource. Resources are released with all locks free, since ending one may end others, and an
// ending may call the manager.
#include "kernel/resource.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "kernel/collective.h"

typedef struct resource_key_s {
  leat_string_view_t container;
  leat_string_view_t name;
  const leat_resource_kind_t* kind;
  uint64_t hash;
} resource_key_t;

// An entry of a bucket's list.
typedef struct resource_entry_s resource_entry_t;
struct resource_entry_s {
  resource_entry_t* next;
  resource_key_t key;         // its strings follow the entry
  leat_resource_t* resource;  // one reference is the table's
};

struct leat_resource_manager_s {
  leat_lanes_t lanes;
  leat_mutex_t mutex;
  leat_allocator_t* allocator;
  resource_entry_t** buckets;
  size_t bucket_count;  // a power of two
  size_t count;
  leat_string_view_t default_container;
  uint64_t number;  // random
  leat_resource_manager_t* shared;  // has the named containers; NULL: this manager has them
  leat_collectives_t* collectives;
};

#define FIRST_BUCKETS 16

void leat_resource_release(leat_resource_t* resource) {
  if (resource && leat_reference_count_release(&resource->references)) {
    resource->kind->destroy(resource);
  }
}

// The key with its hash; the container "" is the default one.
static resource_key_t make_key(const leat_resource_manager_t* manager,
                               leat_string_view_t container, leat_string_view_t name,
                               const leat_resource_kind_t* kind) {
  if (container.size == 0) container = manager->default_container;
  uint64_t hash = leat_string_view_hash(name);
  hash ^= (leat_string_view_hash(container) ^ (uint64_t)(uintptr_t)kind) * 0x9e3779b97f4a7c15u;
  return (resource_key_t){container, name, kind, hash ^ hash >> 32};
}

static bool key_equal(const resource_key_t* a, const resource_key_t* b) {
  return a->hash == b->hash && a->kind == b->kind && leat_string_view_equal(a->name, b->name) &&
         leat_string_view_equal(a->container, b->container);
}

// ---- The table, under its locks -----------------------------------------------------------------

static resource_entry_t** bucket_of(const leat_resource_manager_t* manager, uint64_t hash) {
  LEAT_DCHECK(manager->bucket_count && (manager->bucket_count & (manager->bucket_count - 1)) == 0);
  return &manager->buckets[hash & (manager->bucket_count - 1)];
}

// The link that leads to the entry of |key|, or the NULL link at the end of its bucket.
static resource_entry_t** find_place(const leat_resource_manager_t* manager,
                                     const resource_key_t* key) {
  resource_entry_t** place = bucket_of(manager, key->hash);
  while (*place && !key_equal(&(*place)->key, key)) place = &(*place)->next;
  return place;
}

// Doubles the table. This function and the following ones are called with the mutex held.
static leat_status_t grow(leat_resource_manager_t* manager) {
  void* memory = NULL;
  size_t former_count = manager->bucket_count;
  resource_entry_t** former = manager->buckets;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(manager->allocator, former_count * 2,
                                                     sizeof(resource_entry_t*), &memory));
  leat_lanes_lock_all(&manager->lanes);
  manager->buckets = memory;
  manager->bucket_count = former_count * 2;
  for (size_t i = 0; i < former_count; ++i) {
    while (former[i]) {
      resource_entry_t* entry = former[i];
      former[i] = entry->next;
      resource_entry_t** bucket = bucket_of(manager, entry->key.hash);
      entry->next = *bucket;
      *bucket = entry;
    }
  }
  leat_lanes_unlock_all(&manager->lanes);
  leat_allocator_free(manager->allocator, former);
  return leat_ok_status();
}

// An entry for |key| that is not in the table yet and has no resource.
static leat_status_t make_entry(leat_resource_manager_t* manager, const resource_key_t* key,
                                resource_entry_t** out_entry) {
  void* memory = NULL;
  if (manager->count >= manager->bucket_count) LEAT_RETURN_IF_ERROR(grow(manager));
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      manager->allocator, sizeof(resource_entry_t) + key->container.size + key->name.size,
      &memory));
  resource_entry_t* entry = memory;
  char* text = (char*)(entry + 1);
  entry->key = *key;
  memcpy(text, key->container.data, key->container.size);
  if (key->name.size) memcpy(text + key->container.size, key->name.data, key->name.size);
  entry->key.container.data = text;
  entry->key.name.data = text + key->container.size;
  *out_entry = entry;
  return leat_ok_status();
}

static void link_entry(leat_resource_manager_t* manager, resource_entry_t* entry,
                       leat_resource_t* resource) {
  LEAT_DCHECK(resource && resource->kind == entry->key.kind);
  entry->resource = resource;
  leat_lanes_lock_all(&manager->lanes);
  resource_entry_t** bucket = bucket_of(manager, entry->key.hash);
  entry->next = *bucket;
  *bucket = entry;
  leat_lanes_unlock_all(&manager->lanes);
  manager->count++;
}

static bool container_exists(const leat_resource_manager_t* manager,
                             leat_string_view_t container) {
  for (size_t i = 0; i < manager->bucket_count; ++i) {
    for (const resource_entry_t* e = manager->buckets[i]; e; e = e->next) {
      if (leat_string_view_equal(e->key.container, container)) return true;
    }
  }
  return false;
}

// The NOT_FOUND of a resource, which tells whether at least its container exists.
static LEAT_COLD leat_status_t absent(const leat_resource_manager_t* manager,
                                      const resource_key_t* key) {
  if (!container_exists(manager, key->container)) {
    return leat_make_status(
        LEAT_NOT_FOUND,
        "Container %.*s does not exist. (Could not find resource: %.*s/%.*s)",
        LEAT_SV_ARG(key->container), LEAT_SV_ARG(key->container), LEAT_SV_ARG(key->name));
  }
  return leat_make_status(LEAT_NOT_FOUND, "Resource %.*s/%.*s/%s does not exist.",
                          LEAT_SV_ARG(key->container), LEAT_SV_ARG(key->name), key->kind->name);
}

// ---- The manager --------------------------------------------------------------------------------

leat_status_t leat_resource_manager_create(leat_allocator_t* allocator,
                                           leat_resource_manager_t** out_manager) {
  void* memory = NULL;
  void* buckets = NULL;
  *out_manager = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_aligned(allocator, 64, sizeof(leat_resource_manager_t), &memory));
  leat_status_t status = leat_allocator_allocate_array(allocator, FIRST_BUCKETS,
                                                       sizeof(resource_entry_t*), &buckets);
  if (status) {
    leat_allocator_free(allocator, memory);
    return status;
  }
  leat_resource_manager_t* manager = memory;
  manager->allocator = allocator;
  manager->buckets = buckets;
  manager->bucket_count = FIRST_BUCKETS;
  leat_mutex_initialize(&manager->mutex);
  manager->default_container = LEAT_SV(LEAT_DEFAULT_CONTAINER);
  manager->number = leat_random_seed();
  *out_manager = manager;
  return leat_ok_status();
}

// Takes the entries of |container| out of the table whose names begin with |prefix|; those of all
// containers when its data is NULL.
static resource_entry_t* unlink_entries(leat_resource_manager_t* manager,
                                        leat_string_view_t container, leat_string_view_t prefix) {
  resource_entry_t* unlinked = NULL;
  leat_lanes_lock_all(&manager->lanes);
  for (size_t i = 0; i < manager->bucket_count; ++i) {
    resource_entry_t** place = &manager->buckets[i];
    while (*place) {
      resource_entry_t* entry = *place;
      const bool is_in = !container.data || leat_string_view_equal(entry->key.container, container);
      if (!is_in || !leat_string_view_starts_with(entry->key.name, prefix)) {
        place = &entry->next;
        continue;
      }
      *place = entry->next;
      entry->next = unlinked;
      unlinked = entry;
      LEAT_DCHECK(manager->count > 0);
      manager->count--;
    }
  }
  leat_lanes_unlock_all(&manager->lanes);
  return unlinked;
}

// Releases the entries' resources and frees the entries; called with the locks free.
static void free_entries(leat_resource_manager_t* manager, resource_entry_t* entry) {
  while (entry) {
    resource_entry_t* next = entry->next;
    leat_resource_release(entry->resource);
    leat_allocator_free(manager->allocator, entry);
    entry = next;
  }
}

void leat_resource_manager_name_default(leat_resource_manager_t* manager, leat_string_view_t name) {
  LEAT_DCHECK(manager->count == 0);
  manager->default_container = name;
}

leat_string_view_t leat_resource_manager_default(const leat_resource_manager_t* manager) {
  return manager ? manager->default_container : LEAT_SV(LEAT_DEFAULT_CONTAINER);
}

void leat_resource_manager_share_named(leat_resource_manager_t* manager,
                                       leat_resource_manager_t* shared) {
  // holder_of follows one step only.
  LEAT_DCHECK(manager != shared && (!shared || !shared->shared));
  manager->shared = shared;
}

void leat_resource_manager_set_collectives(leat_resource_manager_t* manager,
                                           leat_collectives_t* collectives) {
  LEAT_DCHECK(!manager->collectives);
  manager->collectives = collectives;
  if (collectives) leat_collectives_retain(collectives);
}

leat_collectives_t* leat_resource_manager_collectives(const leat_resource_manager_t* manager) {
  return manager ? manager->collectives : NULL;
}

// The manager that has |container|: this one, or the shared one for named containers.
static leat_resource_manager_t* holder_of(leat_resource_manager_t* manager,
                                          leat_string_view_t container) {
  bool named = container.size && !leat_string_view_equal(container, manager->default_container);
  return named && manager->shared ? manager->shared : manager;
}

void leat_resource_manager_free(leat_resource_manager_t* manager) {
  if (!manager) return;
  free_entries(manager, unlink_entries(manager, (leat_string_view_t){0}, LEAT_SV("")));
  leat_collectives_release(manager->collectives);
  leat_mutex_deinitialize(&manager->mutex);
  leat_allocator_free(manager->allocator, manager->buckets);
  leat_allocator_free(manager->allocator, manager);
}

void leat_resource_manager_clear(leat_resource_manager_t* manager, leat_string_view_t container) {
  manager = holder_of(manager, container);
  if (container.size == 0) container = manager->default_container;
  leat_mutex_lock(&manager->mutex);
  resource_entry_t* entries = unlink_entries(manager, container, LEAT_SV(""));
  leat_mutex_unlock(&manager->mutex);
  free_entries(manager, entries);
}

void leat_resource_manager_print_private(const leat_resource_manager_t* session,
                                         char out_prefix[LEAT_PRIVATE_PREFIX_BYTES]) {
  snprintf(out_prefix, LEAT_PRIVATE_PREFIX_BYTES, "_%016" PRIx64 "_",
           session ? session->number : 0);
}

void leat_resource_manager_end_session(leat_resource_manager_t* manager,
                                       const leat_resource_manager_t* session) {
  char prefix[LEAT_PRIVATE_PREFIX_BYTES];
  if (!manager || !session) return;
  leat_resource_manager_print_private(session, prefix);
  leat_mutex_lock(&manager->mutex);
  resource_entry_t* entries =
      unlink_entries(manager, (leat_string_view_t){0}, leat_string_view_from(prefix));
  leat_mutex_unlock(&manager->mutex);
  free_entries(manager, entries);
  leat_resource_manager_end_session(manager->shared, session);
}

// The resource, retained, or NULL. Takes one lane, never the mutex.
static leat_resource_t* look_up(leat_resource_manager_t* manager, const resource_key_t* key) {
  leat_spinlock_t* lane = leat_lanes_lock_one(&manager->lanes);
  const resource_entry_t* entry = *find_place(manager, key);
  leat_resource_t* resource = entry ? entry->resource : NULL;
  if (resource) leat_resource_retain(resource);
  leat_spinlock_unlock(lane);
  return resource;
}

static leat_status_t find_or_make_locked(leat_resource_manager_t* manager,
                                         const resource_key_t* key, leat_resource_make_fn_t make,
                                         void* data, leat_resource_t** out_resource) {
  resource_entry_t* entry = *find_place(manager, key);
  if (!entry) {
    leat_resource_t* resource = NULL;
    LEAT_RETURN_IF_ERROR(make_entry(manager, key, &entry));
    leat_status_t status = make(data, &resource);
    if (status) {
      leat_allocator_free(manager->allocator, entry);
      return status;
    }
    // Making the resource has added none of that name, as the mutex is held.
    LEAT_DCHECK(!*find_place(manager, key));
    link_entry(manager, entry, resource);
  }
  leat_resource_retain(entry->resource);
  *out_resource = entry->resource;
  return leat_ok_status();
}

leat_status_t leat_resource_manager_find_or_make(leat_resource_manager_t* manager,
                                                 leat_string_view_t container,
                                                 leat_string_view_t name,
                                                 const leat_resource_kind_t* kind,
                                                 leat_resource_make_fn_t make, void* data,
                                                 leat_resource_t** out_resource) {
  manager = holder_of(manager, container);
  resource_key_t key = make_key(manager, container, name, kind);
  *out_resource = look_up(manager, &key);
  if (LEAT_LIKELY(*out_resource != NULL)) return leat_ok_status();
  leat_mutex_lock(&manager->mutex);
  leat_status_t status = find_or_make_locked(manager, &key, make, data, out_resource);
  leat_mutex_unlock(&manager->mutex);
  return status;
}

leat_status_t leat_resource_manager_find(leat_resource_manager_t* manager,
                                         leat_string_view_t container, leat_string_view_t name,
                                         const leat_resource_kind_t* kind,
                                         leat_resource_t** out_resource) {
  manager = holder_of(manager, container);
  resource_key_t key = make_key(manager, container, name, kind);
  *out_resource = look_up(manager, &key);
  if (LEAT_LIKELY(*out_resource != NULL)) return leat_ok_status();
  leat_mutex_lock(&manager->mutex);
  leat_status_t status = absent(manager, &key);
  leat_mutex_unlock(&manager->mutex);
  return status;
}

static leat_status_t add_locked(leat_resource_manager_t* manager, const resource_key_t* key,
                                leat_resource_t* resource) {
  resource_entry_t* entry = NULL;
  if (*find_place(manager, key)) {
    return leat_make_status(LEAT_ALREADY_EXISTS, "Resource %.*s/%.*s/%s",
                            LEAT_SV_ARG(key->container), LEAT_SV_ARG(key->name), key->kind->name);
  }
  LEAT_RETURN_IF_ERROR(make_entry(manager, key, &entry));
  leat_resource_retain(resource);
  link_entry(manager, entry, resource);
  return leat_ok_status();
}

leat_status_t leat_resource_manager_add(leat_resource_manager_t* manager,
                                        leat_string_view_t container, leat_string_view_t name,
                                        leat_resource_t* resource) {
  manager = holder_of(manager, container);
  resource_key_t key = make_key(manager, container, name, resource->kind);
  leat_mutex_lock(&manager->mutex);
  leat_status_t status = add_locked(manager, &key, resource);
  leat_mutex_unlock(&manager->mutex);
  return status;
}

leat_status_t leat_resource_manager_remove(leat_resource_manager_t* manager,
                                           leat_string_view_t container, leat_string_view_t name,
                                           const leat_resource_kind_t* kind) {
  manager = holder_of(manager, container);
  resource_key_t key = make_key(manager, container, name, kind);
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&manager->mutex);
  resource_entry_t** place = find_place(manager, &key);
  resource_entry_t* entry = *place;
  if (entry) {
    leat_lanes_lock_all(&manager->lanes);
    *place = entry->next;
    leat_lanes_unlock_all(&manager->lanes);
    entry->next = NULL;
    LEAT_DCHECK(manager->count > 0);
    manager->count--;
  } else {
    status = absent(manager, &key);
  }
  leat_mutex_unlock(&manager->mutex);
  free_entries(manager, entry);
  return status;
}

// The kind called |kind_name| of a resource that exists under that name, or NULL.
static const leat_resource_kind_t* find_kind(leat_resource_manager_t* manager,
                                             leat_string_view_t container, leat_string_view_t name,
                                             leat_string_view_t kind_name) {
  const leat_resource_kind_t* kind = NULL;
  if (container.size == 0) container = manager->default_container;
  leat_mutex_lock(&manager->mutex);
  for (size_t i = 0; !kind && i < manager->bucket_count; ++i) {
    for (const resource_entry_t* e = manager->buckets[i]; e; e = e->next) {
      if (leat_string_view_equals(kind_name, e->key.kind->name) &&
          leat_string_view_equal(e->key.name, name) &&
          leat_string_view_equal(e->key.container, container)) {
        kind = e->key.kind;
      }
    }
  }
  leat_mutex_unlock(&manager->mutex);
  return kind;
}

leat_status_t leat_resource_manager_remove_named(leat_resource_manager_t* manager,
                                                 leat_string_view_t container,
                                                 leat_string_view_t name,
                                                 leat_string_view_t kind_name) {
  const leat_resource_kind_t* kind =
      find_kind(holder_of(manager, container), container, name, kind_name);
  if (kind) return leat_resource_manager_remove(manager, container, name, kind);
  return leat_make_status(LEAT_NOT_FOUND, "Resource %.*s/%.*s/%.*s does not exist.",
                          LEAT_SV_ARG(container), LEAT_SV_ARG(name), LEAT_SV_ARG(kind_name));
}
