// The host's source of buffers. A step that runs again asks for the same sizes again, so a block
// that comes back is kept in the list of its size class and the next request takes it: no malloc,
// no page fault.
//
//   request ─▶ thread's list of the class (<= 64 KiB, no lock, no locked instruction)
//           ─▶ shared list of the class (spinlock; a batch for a thread's list)
//           ─▶ the system: malloc below 2 MiB, huge pages from there on
//
//   block below 2 MiB:  | block_t, 64 bytes | data, 64-byte aligned ... |
//   block of pages:     block_t ──▶ data, 2 MiB aligned
//
// Invariant: used + kept <= recent peak of used + LEAT_BUFFER_POOL_SLACK_BYTES; what is above goes
// back, the block that lay longest first. The peak sinks by an eighth every WINDOW_TICKS blocks
// that come back to the shared lists, so that a burst is forgotten. A step of many large sizes
// would push out its own blocks at that limit, and fault in as much in every step; where the limit
// is reached, a kept block up to twice as large serves instead of a new one.
//
// Under AddressSanitizer every buffer is a heap block of its own (buffer_heap.c), so that overruns
// and use after release show.
#include "base/attributes.h"

#if !defined(LEAT_ASAN)
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/observer.h"
#include "base/pages.h"
#include "base/span.h"
#include "base/sync.h"
#include "tensor/buffer_pool.h"

enum {
  THREAD_CLASSES = 36,  // up to 64 KiB
  WINDOW_TICKS = 4096,
  LARGER_CLASSES = 4,  // a block is at most twice as large as the request's class
};
#define THREAD_LIST_BYTES ((size_t)128 << 10)
#define PAGES_BYTES LEAT_PAGES_HUGE_BYTES

typedef struct block_s block_t;
struct block_s {
  leat_buffer_t buffer;
  void* memory;     // this block's own, where buffer.data may be a caller's
  block_t* next;    // in a list: towards the older
  block_t* newer;   // in a shared list
  uint32_t tick;    // when it came to the shared list
  uint16_t size_class;
  uint16_t shift;   // from where malloc's begins
};
_Static_assert(sizeof(block_t) == LEAT_BUFFER_ALIGNMENT, "data follow the header, aligned");

typedef struct LEAT_ALIGNED(LEAT_CACHE_LINE_BYTES) shared_list_s {
  leat_spinlock_t lock;
  _Atomic uint32_t oldest_tick;
  _Atomic(block_t*) newest;
  block_t* oldest;
} shared_list_t;

typedef struct thread_list_s {
  block_t* newest;
  uint32_t count;
  uint32_t limit;
} thread_list_t;

typedef struct thread_cache_s thread_cache_t;
struct thread_cache_s {
  thread_list_t lists[THREAD_CLASSES];
  _Atomic size_t kept_bytes;  // written by its thread alone
  thread_cache_t* next;       // of all caches
  thread_cache_t* previous;
};

typedef struct pool_s {
  leat_buffer_source_t base;
  shared_list_t lists[LEAT_BUFFER_POOL_CLASSES];
  _Atomic size_t total_bytes;   // taken from the system
  _Atomic size_t shared_bytes;  // of it in shared lists
  _Atomic size_t peak_bytes;    // of total - shared, recently
  _Atomic size_t window_peak_bytes;
  _Atomic uint32_t tick;
  leat_spinlock_t caches_lock;
  thread_cache_t* caches;
  _Atomic int key_state;  // 0: none yet, 1: made, -1: refused
  leat_thread_key_t key;
} pool_t;

static leat_status_t pool_allocate(leat_buffer_source_t* self, size_t size_bytes,
                                   leat_buffer_t** out_buffer);
static void pool_destroy(leat_buffer_t* buffer);

static const leat_buffer_source_vtable_t source_vtable = {.allocate = pool_allocate};
static const leat_buffer_vtable_t buffer_vtable = {.destroy = pool_destroy};
static pool_t pool = {.base = {&source_vtable}};

// NULL before the first use and after the thread's end.
static LEAT_THREAD_LOCAL thread_cache_t* thread_cache;
static LEAT_THREAD_LOCAL bool thread_ended;

leat_buffer_source_t* leat_buffer_source_host(void) { return &pool.base; }

void* leat_buffer_pool_memory(leat_buffer_t* buffer) { return ((block_t*)buffer)->memory; }

// ---- The system ----

static bool is_of_pages(unsigned size_class) {
  return leat_buffer_pool_class_bytes(size_class) >= PAGES_BYTES;
}

// Aligned by hand: small blocks are many, and malloc's own way of it takes five times as long.
static block_t* heap_take(size_t size_bytes) {
  size_t most = LEAT_BUFFER_ALIGNMENT - _Alignof(max_align_t);
  char* memory = malloc(sizeof(block_t) + size_bytes + most);
  if (!memory) return NULL;
  size_t shift = -(uintptr_t)memory % LEAT_BUFFER_ALIGNMENT;
  block_t* block = (block_t*)(memory + shift);
  block->shift = (uint16_t)shift;
  return block;
}

static void heap_give(block_t* block) { free((char*)block - block->shift); }

static block_t* system_take_pages(size_t size_bytes) {
  block_t* block = heap_take(0);
  if (!block) return NULL;
  leat_status_t status = leat_pages_allocate(size_bytes, LEAT_PAGES_HUGE_BYTES, &block->memory);
  if (status) {
    leat_status_free(status);
    heap_give(block);
    return NULL;
  }
  leat_pages_advise(block->memory, size_bytes, LEAT_PAGES_HUGE);
  return block;
}

// |size_bytes| more are held.
static void add_held(size_t size_bytes) {
  const size_t before =
      atomic_fetch_add_explicit(&pool.total_bytes, size_bytes, memory_order_relaxed);
  leat_span_mark(LEAT_SPAN_HELD, 0, (int64_t)(before + size_bytes));
}

void leat_buffer_source_host_tell(void) { add_held(0); }

static block_t* system_take(unsigned size_class) {
  size_t size_bytes = leat_buffer_pool_class_bytes(size_class);
  block_t* block;
  const int64_t span = leat_span_begin();
  if (is_of_pages(size_class)) {
    block = system_take_pages(size_bytes);
  } else {
    block = heap_take(size_bytes);
    if (block) block->memory = block + 1;
  }
  if (!block) return NULL;
  block->size_class = (uint16_t)size_class;
  block->buffer.vtable = &buffer_vtable;
  block->buffer.data = block->memory;
  if (LEAT_UNLIKELY(span)) leat_span_end(span, LEAT_SPAN_MEMORY, 0, (int64_t)size_bytes);
  add_held(size_bytes);
  return block;
}

static void system_give(block_t* block) {
  size_t size_bytes = leat_buffer_pool_class_bytes(block->size_class);
  if (is_of_pages(block->size_class)) leat_pages_free(block->memory, size_bytes);
  heap_give(block);
  add_held(-size_bytes);
}

// ---- Shared lists ----

// Takes over |count| blocks of one class, linked by next. Returns the last one's tick.
static uint32_t shared_push(block_t* blocks, uint32_t count) {
  shared_list_t* list = &pool.lists[blocks->size_class];
  size_t size_bytes = count * leat_buffer_pool_class_bytes(blocks->size_class);
  atomic_fetch_add_explicit(&pool.shared_bytes, size_bytes, memory_order_relaxed);
  uint32_t tick = atomic_fetch_add_explicit(&pool.tick, 1, memory_order_relaxed);
  leat_spinlock_lock(&list->lock);
  block_t* newest = atomic_load_explicit(&list->newest, memory_order_relaxed);
  if (!newest) {
    list->oldest = blocks;
    atomic_store_explicit(&list->oldest_tick, tick, memory_order_relaxed);
  }
  for (uint32_t i = 0; i < count; ++i) {
    block_t* block = blocks;
    blocks = block->next;
    block->tick = tick;
    block->next = newest;
    if (newest) newest->newer = block;
    newest = block;
  }
  newest->newer = NULL;
  atomic_store_explicit(&list->newest, newest, memory_order_relaxed);
  leat_spinlock_unlock(&list->lock);
  return tick;
}

// Takes the newest |count| blocks (their bytes may still be in the processor's cache), or as many
// as there are, linked by next; NULL when there are none.
static block_t* shared_pop(unsigned size_class, uint32_t count) {
  shared_list_t* list = &pool.lists[size_class];
  if (!atomic_load_explicit(&list->newest, memory_order_relaxed)) return NULL;
  leat_spinlock_lock(&list->lock);
  block_t* first = atomic_load_explicit(&list->newest, memory_order_relaxed);
  block_t* last = NULL;
  block_t* rest = first;
  uint32_t taken = 0;
  for (; rest && taken < count; ++taken) {
    last = rest;
    rest = rest->next;
  }
  atomic_store_explicit(&list->newest, rest, memory_order_relaxed);
  if (rest) {
    rest->newer = NULL;
  } else {
    list->oldest = NULL;
  }
  leat_spinlock_unlock(&list->lock);
  if (last) last->next = NULL;
  atomic_fetch_sub_explicit(&pool.shared_bytes, taken * leat_buffer_pool_class_bytes(size_class),
                            memory_order_relaxed);
  return first;
}

// Takes the block that lay longest.
static block_t* shared_pop_oldest(unsigned size_class) {
  shared_list_t* list = &pool.lists[size_class];
  leat_spinlock_lock(&list->lock);
  block_t* block = list->oldest;
  if (block) {
    list->oldest = block->newer;
    if (block->newer) {
      block->newer->next = NULL;
      atomic_store_explicit(&list->oldest_tick, block->newer->tick, memory_order_relaxed);
    } else {
      atomic_store_explicit(&list->newest, NULL, memory_order_relaxed);
    }
  }
  leat_spinlock_unlock(&list->lock);
  if (block) {
    atomic_fetch_sub_explicit(&pool.shared_bytes, leat_buffer_pool_class_bytes(size_class),
                              memory_order_relaxed);
  }
  return block;
}

// ---- The limit ----

static size_t used_bytes(void) {
  size_t total = atomic_load_explicit(&pool.total_bytes, memory_order_relaxed);
  size_t shared = atomic_load_explicit(&pool.shared_bytes, memory_order_relaxed);
  return total > shared ? total - shared : 0;
}

static void raise_to(_Atomic size_t* mark, size_t value) {
  size_t seen = atomic_load_explicit(mark, memory_order_relaxed);
  while (seen < value && !atomic_compare_exchange_weak_explicit(
                             mark, &seen, value, memory_order_relaxed, memory_order_relaxed)) {
  }
}

static void raise_peak(void) {
  size_t used = used_bytes();
  raise_to(&pool.peak_bytes, used);
  raise_to(&pool.window_peak_bytes, used);
}

static void forget_peak(void) {
  size_t peak = atomic_load_explicit(&pool.peak_bytes, memory_order_relaxed);
  size_t used = used_bytes();
  size_t recent =
      atomic_exchange_explicit(&pool.window_peak_bytes, used, memory_order_relaxed);
  atomic_store_explicit(&pool.peak_bytes, LEAT_MAX(recent, peak - peak / 8),
                        memory_order_relaxed);
}

// The class whose oldest block lay longest; -1 when nothing is kept.
static int oldest_class(void) {
  uint32_t now = atomic_load_explicit(&pool.tick, memory_order_relaxed);
  uint32_t best_age = 0;
  int best = -1;
  for (int i = 0; i < LEAT_BUFFER_POOL_CLASSES; ++i) {
    shared_list_t* list = &pool.lists[i];
    if (!atomic_load_explicit(&list->newest, memory_order_relaxed)) continue;
    uint32_t age = now - atomic_load_explicit(&list->oldest_tick, memory_order_relaxed);
    if (best < 0 || age > best_age) {
      best = i;
      best_age = age;
    }
  }
  return best;
}

static void give_back_above(size_t limit_bytes) {
  while (atomic_load_explicit(&pool.total_bytes, memory_order_relaxed) > limit_bytes) {
    int size_class = oldest_class();
    if (size_class < 0) return;
    block_t* block = shared_pop_oldest((unsigned)size_class);
    if (block) system_give(block);
  }
}

static size_t limit_bytes(void) {
  size_t peak = atomic_load_explicit(&pool.peak_bytes, memory_order_relaxed);
  return LEAT_MAX(peak, used_bytes()) + LEAT_BUFFER_POOL_SLACK_BYTES;
}

static void keep_limit(void) {
  size_t limit = limit_bytes();
  if (LEAT_UNLIKELY(atomic_load_explicit(&pool.total_bytes, memory_order_relaxed) > limit)) {
    give_back_above(limit);
  }
}

// Takes a kept block of pages that is up to LARGER_CLASSES classes larger than asked for, where a
// new one would push kept memory back to the system; NULL where there is none or room for a new
// one.
static block_t* shared_pop_larger(unsigned size_class) {
  if (!is_of_pages(size_class)) return NULL;
  size_t total = atomic_load_explicit(&pool.total_bytes, memory_order_relaxed);
  if (total + leat_buffer_pool_class_bytes(size_class) <= limit_bytes()) return NULL;
  block_t* block = NULL;
  for (unsigned i = 1; i <= LARGER_CLASSES && !block; ++i) {
    if (size_class + i < LEAT_BUFFER_POOL_CLASSES) block = shared_pop(size_class + i, 1);
  }
  return block;
}

static void shared_give(block_t* blocks, uint32_t count) {
  uint32_t tick = shared_push(blocks, count);
  if (LEAT_UNLIKELY(tick % WINDOW_TICKS == WINDOW_TICKS - 1)) forget_peak();
  keep_limit();
}

static block_t* shared_take(unsigned size_class) {
  block_t* block = shared_pop(size_class, 1);
  if (!block) block = shared_pop_larger(size_class);
  if (block) {
    raise_peak();
    return block;
  }
  block = system_take(size_class);
  if (!block) {  // the system may have what the pool keeps
    leat_buffer_source_host_trim();
    block = system_take(size_class);
    if (!block) return NULL;
  }
  raise_peak();
  keep_limit();
  return block;
}

// ---- Threads' lists ----

static void cache_add_kept(thread_cache_t* cache, size_t size_bytes) {
  size_t kept = atomic_load_explicit(&cache->kept_bytes, memory_order_relaxed);
  atomic_store_explicit(&cache->kept_bytes, kept + size_bytes, memory_order_relaxed);
}

static block_t* cache_pop(thread_cache_t* cache, unsigned size_class) {
  thread_list_t* list = &cache->lists[size_class];
  block_t* block = list->newest;
  if (LEAT_LIKELY(block)) {
    list->newest = block->next;
    --list->count;
    cache_add_kept(cache, -leat_buffer_pool_class_bytes(size_class));
  }
  return block;
}

static void cache_push(thread_cache_t* cache, block_t* block) {
  thread_list_t* list = &cache->lists[block->size_class];
  block->next = list->newest;
  list->newest = block;
  ++list->count;
  cache_add_kept(cache, leat_buffer_pool_class_bytes(block->size_class));
}

// Moves the class's |count| newest blocks to the shared list.
static void cache_flush(thread_cache_t* cache, unsigned size_class, uint32_t count) {
  thread_list_t* list = &cache->lists[size_class];
  if (count == 0) return;
  block_t* first = list->newest;
  block_t* rest = first;
  for (uint32_t i = 0; i < count; ++i) rest = rest->next;
  list->newest = rest;
  list->count -= count;
  cache_add_kept(cache, -(count * leat_buffer_pool_class_bytes(size_class)));
  shared_give(first, count);
}

static void cache_flush_all(thread_cache_t* cache) {
  for (unsigned i = 0; i < THREAD_CLASSES; ++i) cache_flush(cache, i, cache->lists[i].count);
}

// Runs at the thread's end.
static void cache_end(void* data) {
  thread_cache_t* cache = data;
  thread_cache = NULL;
  thread_ended = true;
  cache_flush_all(cache);
  leat_spinlock_lock(&pool.caches_lock);
  if (cache->next) cache->next->previous = cache->previous;
  if (cache->previous) cache->previous->next = cache->next;
  if (pool.caches == cache) pool.caches = cache->next;
  leat_spinlock_unlock(&pool.caches_lock);
  free(cache);
}

// Makes the key once; false when the system has none left.
static bool key_is_made(void) {
  int state = atomic_load_explicit(&pool.key_state, memory_order_acquire);
  if (LEAT_LIKELY(state != 0)) return state > 0;
  leat_spinlock_lock(&pool.caches_lock);
  state = atomic_load_explicit(&pool.key_state, memory_order_relaxed);
  if (state == 0) {
    state = leat_thread_key_create(cache_end, &pool.key) ? 1 : -1;
    atomic_store_explicit(&pool.key_state, state, memory_order_release);
  }
  leat_spinlock_unlock(&pool.caches_lock);
  return state > 0;
}

// Makes the lists of the calling thread. NULL where there is no memory for them, or where the
// thread is at its end; its blocks then go to the shared lists.
static LEAT_COLD thread_cache_t* cache_create(void) {
  if (thread_ended || !key_is_made()) return NULL;
  thread_cache_t* cache = calloc(1, sizeof(*cache));
  if (!cache) return NULL;
  if (!leat_thread_key_set(pool.key, cache)) {
    free(cache);
    return NULL;
  }
  for (unsigned i = 0; i < THREAD_CLASSES; ++i) {
    size_t fitting = THREAD_LIST_BYTES / leat_buffer_pool_class_bytes(i);
    cache->lists[i].limit = (uint32_t)LEAT_MIN(LEAT_MAX(fitting, (size_t)4), (size_t)1024);
  }
  leat_spinlock_lock(&pool.caches_lock);
  cache->next = pool.caches;
  if (pool.caches) pool.caches->previous = cache;
  pool.caches = cache;
  leat_spinlock_unlock(&pool.caches_lock);
  thread_cache = cache;
  return cache;
}

// The thread's list is empty: some blocks come over from the shared list at once.
static LEAT_COLD block_t* cache_refill(unsigned size_class) {
  thread_cache_t* cache = thread_cache ? thread_cache : cache_create();
  if (cache) {
    block_t* next = NULL;
    block_t* blocks = shared_pop(size_class, LEAT_MIN(cache->lists[size_class].limit / 4 + 1, 64));
    for (block_t* block = blocks; block; block = next) {
      next = block->next;
      cache_push(cache, block);
    }
    if (blocks) {
      raise_peak();
      return cache_pop(cache, size_class);
    }
  }
  return shared_take(size_class);
}

// ---- The source ----

static LEAT_COLD leat_status_t refuse(size_t size_bytes) {
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "Buffer allocation failed: the host has no %zu bytes", size_bytes);
}

static LEAT_COLD leat_status_t observe(const leat_observer_t* observer, size_t size_bytes) {
  return observer->on_allocation ? observer->on_allocation(observer->data, size_bytes)
                                 : leat_ok_status();
}

static leat_status_t pool_allocate(leat_buffer_source_t* self, size_t size_bytes,
                                   leat_buffer_t** out_buffer) {
  (void)self;
  *out_buffer = NULL;
  const leat_observer_t* observer = leat_observer_get();
  if (LEAT_UNLIKELY(observer)) LEAT_RETURN_IF_ERROR(observe(observer, size_bytes));
  if (LEAT_UNLIKELY(size_bytes > LEAT_BUFFER_POOL_MAX_BYTES)) return refuse(size_bytes);
  unsigned size_class = leat_buffer_pool_class(size_bytes);
  block_t* block;
  if (LEAT_LIKELY(size_class < THREAD_CLASSES)) {
    thread_cache_t* cache = thread_cache;
    block = LEAT_LIKELY(cache) ? cache_pop(cache, size_class) : NULL;
    if (LEAT_UNLIKELY(!block)) block = cache_refill(size_class);
  } else {
    block = shared_take(size_class);
  }
  if (LEAT_UNLIKELY(!block)) return refuse(size_bytes);
  leat_buffer_t* buffer = &block->buffer;
  buffer->size_bytes = size_bytes;
  atomic_store_explicit(&buffer->references, 1, memory_order_relaxed);
  buffer->object_dtype = 0;
  buffer->read_only = false;
  buffer->planned = false;
  atomic_store_explicit(&buffer->lent, false, memory_order_relaxed);
  *out_buffer = buffer;
  return leat_ok_status();
}

static void pool_destroy(leat_buffer_t* buffer) {
  block_t* block = (block_t*)buffer;
  unsigned size_class = block->size_class;
  thread_cache_t* cache = thread_cache;
  if (size_class >= THREAD_CLASSES || LEAT_UNLIKELY(!cache)) {
    shared_give(block, 1);
    return;
  }
  cache_push(cache, block);
  thread_list_t* list = &cache->lists[size_class];
  if (LEAT_UNLIKELY(list->count > list->limit)) cache_flush(cache, size_class, list->count / 2);
}

void leat_buffer_source_host_usage(size_t* out_used_bytes, size_t* out_kept_bytes) {
  size_t kept = atomic_load_explicit(&pool.shared_bytes, memory_order_relaxed);
  leat_spinlock_lock(&pool.caches_lock);
  for (thread_cache_t* cache = pool.caches; cache; cache = cache->next) {
    kept += atomic_load_explicit(&cache->kept_bytes, memory_order_relaxed);
  }
  leat_spinlock_unlock(&pool.caches_lock);
  size_t total = atomic_load_explicit(&pool.total_bytes, memory_order_relaxed);
  *out_used_bytes = total > kept ? total - kept : 0;
  *out_kept_bytes = kept;
}

void leat_buffer_source_host_trim(void) {
  if (thread_cache) cache_flush_all(thread_cache);
  give_back_above(0);
}
#endif  // !LEAT_ASAN
