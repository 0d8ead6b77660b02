// A step must find its signature without slowing down steps of other threads, and a signature that
// takes seconds to compile must not hold up steps whose signatures are ready. There are two ways:
//
//   find    a comparison with the latest signature, then with the one under the low bits of the
//           hash. Both are atomic pointers that are written when a signature was looked up under
//           the mutex, so threads that alternate between a few signatures share nothing they write.
//   make    under the mutex the signature is entered as COMPILING; it is compiled without the
//           mutex; under the mutex it becomes READY, or is taken out again as FAILED.
//
// A failed signature is freed by the last thread that waited for it, since each takes a copy of the
// status. Signatures that are READY are never freed before the session, so that the atomic pointers
// and prepared callables stay valid.
#include "session/signature_cache.h"

#include <string.h>

void leat_signature_cache_initialize(leat_allocator_t* allocator,
                                     leat_signature_cache_t* out_cache) {
  *out_cache = (leat_signature_cache_t){.allocator = allocator};
  leat_mutex_initialize(&out_cache->mutex);
  leat_condition_initialize(&out_cache->changed);
  leat_word_map_initialize(allocator, &out_cache->by_hash);
}

static void signature_free(leat_signature_cache_t* cache, leat_signature_t* signature) {
  if (!signature) return;
  LEAT_DCHECK(signature->waiters == 0);
  leat_plans_deinitialize(&signature->plans);
  leat_allocator_free(cache->allocator, signature->feeds);
  leat_allocator_free(cache->allocator, signature->fetches);
  leat_allocator_free(cache->allocator, signature->targets);
  leat_allocator_free(cache->allocator, signature->feed_types);
  leat_status_free(signature->status);
  leat_allocator_free(cache->allocator, signature);
}

void leat_signature_cache_deinitialize(leat_signature_cache_t* cache) {
  for (size_t i = 0; i < cache->count; ++i) signature_free(cache, cache->items[i]);
  leat_allocator_free(cache->allocator, cache->items);
  leat_word_map_deinitialize(&cache->by_hash);
  leat_condition_deinitialize(&cache->changed);
  leat_mutex_deinitialize(&cache->mutex);
}

// ---- Keys ---------------------------------------------------------------------------------------

// The hash of a run's feeds, fetches and targets. Their order counts, because the values of a step
// are given and returned in it.
static uint64_t run_hash(const leat_run_t* run) {
  uint64_t hash =
      leat_hash_mix(leat_hash_mix((uint64_t)run->feed_count, (uint64_t)run->fetch_count),
                    (uint64_t)run->target_count);
  for (int i = 0; i < run->feed_count; ++i) {
    hash = leat_hash_mix(hash, (uint64_t)run->feeds[i].node << 32 | (uint32_t)run->feeds[i].index);
  }
  for (int i = 0; i < run->fetch_count; ++i) {
    hash =
        leat_hash_mix(hash, (uint64_t)run->fetches[i].node << 32 | (uint32_t)run->fetches[i].index);
  }
  for (int i = 0; i < run->target_count; ++i) hash = leat_hash_mix(hash, (uint64_t)run->targets[i]);
  return hash;
}

static bool same_items(const void* a, const void* b, int count, size_t item_bytes) {
  return count == 0 || memcmp(a, b, (size_t)count * item_bytes) == 0;
}

static bool signature_is(const leat_signature_t* s, const leat_run_t* run) {
  return s->feed_count == run->feed_count && s->fetch_count == run->fetch_count &&
         s->target_count == run->target_count &&
         same_items(s->feeds, run->feeds, s->feed_count, sizeof(leat_output_t)) &&
         same_items(s->fetches, run->fetches, s->fetch_count, sizeof(leat_output_t)) &&
         same_items(s->targets, run->targets, s->target_count, sizeof(int32_t));
}

static leat_status_t clone_items(leat_allocator_t* allocator, const void* items, int count,
                                 size_t item_bytes, void* out_items) {
  void** out = out_items;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(allocator, (size_t)(count ? count : 1),
                                                     item_bytes, out));
  if (count) memcpy(*out, items, (size_t)count * item_bytes);
  return leat_ok_status();
}

static leat_status_t copy_key(leat_allocator_t* a, const leat_run_t* run, leat_signature_t* s) {
  s->feed_count = run->feed_count;
  s->fetch_count = run->fetch_count;
  s->target_count = run->target_count;
  LEAT_RETURN_IF_ERROR(
      clone_items(a, run->feeds, run->feed_count, sizeof(leat_output_t), &s->feeds));
  LEAT_RETURN_IF_ERROR(
      clone_items(a, run->fetches, run->fetch_count, sizeof(leat_output_t), &s->fetches));
  LEAT_RETURN_IF_ERROR(
      clone_items(a, run->targets, run->target_count, sizeof(int32_t), &s->targets));
  return LEAT_ALLOCATE(a, (size_t)run->feed_count + 1, &s->feed_types);
}

// ---- The table, under the mutex -----------------------------------------------------------------

// The signature of |run|, or NULL. The map has only the newest one of each hash; two with the same
// hash are so rare that the list is searched for the other.
static leat_signature_t* look_up(const leat_signature_cache_t* cache, const leat_run_t* run,
                                 uint64_t hash) {
  uint64_t newest;
  if (!leat_word_map_get(&cache->by_hash, hash, &newest)) return NULL;
  LEAT_DCHECK(newest < cache->count);
  leat_signature_t* signature = cache->items[newest];
  if (signature_is(signature, run)) return signature;
  for (size_t i = 0; i < cache->count; ++i) {  // two signatures with one hash
    if (signature_is(cache->items[i], run)) return cache->items[i];
  }
  return NULL;
}

// Adds a signature, which is COMPILING, under its hash.
static leat_status_t enter(leat_signature_cache_t* cache, const leat_run_t* run, uint64_t hash,
                           leat_signature_t** out_signature) {
  leat_signature_t* s;
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(cache->allocator, cache->count + 1, &cache->items, &cache->capacity));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(cache->allocator, 1, &s));
  s->hash = hash;
  leat_status_t status = copy_key(cache->allocator, run, s);
  if (!status) status = leat_word_map_set(&cache->by_hash, hash, cache->count);
  if (status) {
    signature_free(cache, s);
    return status;
  }
  s->place = cache->count++;
  cache->items[s->place] = s;
  *out_signature = s;
  return leat_ok_status();
}

// The last entry takes the place of the one that goes, so that failing runs leave nothing behind.
static void take_out(leat_signature_cache_t* cache, leat_signature_t* signature) {
  const size_t place = signature->place;
  uint64_t newest;
  LEAT_DCHECK(place < cache->count && cache->items[place] == signature);
  if (leat_word_map_get(&cache->by_hash, signature->hash, &newest) && newest == place) {
    leat_word_map_erase(&cache->by_hash, signature->hash);
  }
  leat_signature_t* last = cache->items[--cache->count];
  if (last == signature) return;
  cache->items[place] = last;
  last->place = place;
  if (leat_word_map_get(&cache->by_hash, last->hash, &newest) && newest == cache->count) {
    // Replacing the value of a key that is there takes no memory.
    leat_status_free(leat_word_map_set(&cache->by_hash, last->hash, place));
  }
}

// ---- The two ways -------------------------------------------------------------------------------

static leat_signature_t* known(const _Atomic(leat_signature_t*)* place, const leat_run_t* run) {
  leat_signature_t* signature = atomic_load_explicit(place, memory_order_acquire);
  return signature && signature_is(signature, run) ? signature : NULL;
}

leat_signature_t* leat_signature_cache_find(const leat_signature_cache_t* cache,
                                            const leat_run_t* run) {
  leat_signature_t* signature = known(&cache->latest, run);
  if (LEAT_LIKELY(signature != NULL)) return signature;
  return known(&cache->short_cuts[run_hash(run) % LEAT_SIGNATURE_SHORT_CUTS], run);
}

// Called with the mutex held, which is let go meanwhile. Frees a failed signature with its last
// waiter.
static leat_status_t wait_for(leat_signature_cache_t* cache, leat_signature_t* s,
                              int64_t deadline_ns) {
  bool in_time = true;
  ++s->waiters;
  while (s->state == LEAT_SIGNATURE_COMPILING && in_time) {
    in_time = leat_condition_wait_until(&cache->changed, &cache->mutex, deadline_ns);
  }
  leat_signature_state_t state = s->state;
  leat_status_t status = leat_ok_status();
  if (state == LEAT_SIGNATURE_FAILED) status = leat_status_clone(s->status);
  if (state == LEAT_SIGNATURE_COMPILING) {
    status = leat_make_status(LEAT_DEADLINE_EXCEEDED,
                              "Timed out waiting for notification: the step's timeout has passed "
                              "while another thread compiled its signature");
  }
  if (--s->waiters == 0 && state == LEAT_SIGNATURE_FAILED) signature_free(cache, s);
  return status;
}

// Called with the mutex held, which is let go while |compile| runs.
static leat_status_t compile_entry(leat_signature_cache_t* cache, const leat_run_t* run,
                                   leat_signature_compile_fn_t compile, void* data,
                                   leat_signature_t* s) {
  leat_mutex_unlock(&cache->mutex);
  leat_status_t status = compile(data, run, s);
  leat_mutex_lock(&cache->mutex);
  s->state = status ? LEAT_SIGNATURE_FAILED : LEAT_SIGNATURE_READY;
  leat_condition_notify_all(&cache->changed);
  if (!status) return status;
  take_out(cache, s);
  if (s->waiters == 0) {
    signature_free(cache, s);
  } else {
    s->status = leat_status_clone(status);
  }
  return status;
}

leat_status_t leat_signature_cache_make(leat_signature_cache_t* cache, const leat_run_t* run,
                                        int64_t deadline_ns, leat_signature_compile_fn_t compile,
                                        void* data, leat_signature_t** out_signature) {
  uint64_t hash = run_hash(run);
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&cache->mutex);
  leat_signature_t* s = look_up(cache, run, hash);
  if (!s) {
    status = enter(cache, run, hash, &s);
    if (!status) status = compile_entry(cache, run, compile, data, s);
  } else if (s->state == LEAT_SIGNATURE_COMPILING) {
    status = wait_for(cache, s, deadline_ns);
  }
  leat_mutex_unlock(&cache->mutex);
  if (status) return status;
  LEAT_DCHECK(s->state == LEAT_SIGNATURE_READY);
  atomic_store_explicit(&cache->short_cuts[hash % LEAT_SIGNATURE_SHORT_CUTS], s,
                        memory_order_release);
  atomic_store_explicit(&cache->latest, s, memory_order_release);
  *out_signature = s;
  return leat_ok_status();
}
