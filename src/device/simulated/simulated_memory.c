// The memory of a simulated device: a first-fit allocator over a list of free ranges, sorted by
// offset, that orders reuse by the streams as a caching GPU allocator does. Freeing does not wait
// for enqueued work. A freed range goes back to the list at once, together with the events of the
// work that still uses it; whoever gets the range next waits for those events before writing.
//
//   free list: [offset, size | uses] [offset, size | uses] ...     touching ranges are merged
//   two mappings of |limit| bytes: outer (device addresses, forbidden pages), inner (real bytes)
//
// Ranges that still have uses are merged only when nothing else is large enough, for a merged range
// has the uses of both and would make its next owner wait for more. Invariant: the list always has
// room for one more range per block, so that freeing cannot fail. Memory that is free, or fresh and
// without pending uses, is filled with a pattern, so that a read of it gives an absurd number. A
// lock protects the list and the blocks' uses; the streams' progress is atomic.
#include "device/simulated/simulated_memory.h"

#include <string.h>

#include "base/checked.h"
#include "base/pages.h"

#define GRAIN 256  // sizes are multiples of this
#define FREED 0xCB  // the pattern of free memory; as a float -2.7e7

typedef struct range_s {
  size_t offset, size;
  leat_simulated_events_t uses;
} range_t;

typedef struct source_s {
  leat_buffer_source_t source;
  leat_simulated_memory_t* memory;
  char* base;
} source_t;

struct leat_simulated_memory_s {
  source_t outer, inner;
  leat_reference_count_t references;
  leat_allocator_t* allocator;
  size_t limit, used;
  leat_mutex_t mutex;
  range_t* free;
  size_t free_count, free_capacity, block_count;
  _Atomic(uint64_t) ended[LEAT_SIMULATED_STREAMS_MAX];  // how much work of each stream has ended
};

typedef struct block_s {
  leat_buffer_t buffer;
  leat_simulated_memory_t* memory;
  // Under the memory's lock.
  range_t range;
  leat_simulated_writer_t* writer;  // the work that writes the buffer last; NULL: none
  bool lasting;  // see leat_simulated_memory_make_lasting
} block_t;

// ---- Events -------------------------------------------------------------------------------------

void leat_simulated_events_add(leat_simulated_events_t* events, int stream, uint64_t number) {
  events->numbers[stream] = LEAT_MAX(events->numbers[stream], number);
}

// Adds |others| to |events|.
static void unite(leat_simulated_events_t* events, const leat_simulated_events_t* others) {
  for (int i = 0; i < LEAT_SIMULATED_STREAMS_MAX; ++i) {
    leat_simulated_events_add(events, i, others->numbers[i]);
  }
}

static bool has_ended(const leat_simulated_memory_t* m, int stream, uint64_t number) {
  return atomic_load_explicit(&m->ended[stream], memory_order_acquire) >= number;
}

static bool have_ended(const leat_simulated_memory_t* m, const leat_simulated_events_t* events) {
  for (int i = 0; i < LEAT_SIMULATED_STREAMS_MAX; ++i) {
    if (!has_ended(m, i, events->numbers[i])) return false;
  }
  return true;
}

void leat_simulated_memory_advance(leat_simulated_memory_t* memory, int stream, uint64_t number) {
  atomic_store_explicit(&memory->ended[stream], number, memory_order_release);
}

leat_status_t leat_simulated_writer_create(int stream, leat_simulated_writer_t** out_writer) {
  leat_simulated_writer_t* writer;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &writer));
  writer->references = 1;
  writer->stream = stream;
  *out_writer = writer;
  return leat_ok_status();
}

void leat_simulated_writer_release(leat_simulated_writer_t* writer) {
  if (!writer || !leat_reference_count_release(&writer->references)) return;
  leat_status_free(writer->status);
  leat_allocator_free(leat_allocator_system(), writer);
}

// ---- Blocks -------------------------------------------------------------------------------------

void leat_simulated_memory_release(leat_simulated_memory_t* memory) {
  if (!memory || !leat_reference_count_release(&memory->references)) return;
  leat_pages_free(memory->outer.base, memory->limit);
  leat_pages_free(memory->inner.base, memory->limit);
  leat_mutex_deinitialize(&memory->mutex);
  leat_allocator_free(memory->allocator, memory->free);
  leat_allocator_free(memory->allocator, memory);
}

static void remove_free(leat_simulated_memory_t* m, size_t at) {
  --m->free_count;
  memmove(&m->free[at], &m->free[at + 1], (m->free_count - at) * sizeof *m->free);
}

// Merges free ranges that touch. With |unused| only ranges that no work uses any more are merged,
// so that others make nobody wait but their own next owner.
static void grow_together(leat_simulated_memory_t* m, bool unused) {
  size_t kept = 0;
  for (size_t i = 1; i < m->free_count; ++i) {
    range_t *last = &m->free[kept], *next = &m->free[i];
    bool touches = last->offset + last->size == next->offset;
    if (touches && (!unused || (have_ended(m, &last->uses) && have_ended(m, &next->uses)))) {
      last->size += next->size;
      unite(&last->uses, &next->uses);
    } else {
      m->free[++kept] = *next;
    }
  }
  if (m->free_count) m->free_count = kept + 1;
}

// Inserts |range| into the free list, which has room for it. Called with the lock held.
static void give_back(leat_simulated_memory_t* m, const range_t* range) {
  size_t at = m->free_count;
  while (at > 0 && m->free[at - 1].offset > range->offset) --at;
  memmove(&m->free[at + 1], &m->free[at], (m->free_count - at) * sizeof *range);
  m->free[at] = *range;
  ++m->free_count;
  m->used -= range->size;
  --m->block_count;
}

// Fills a range with the pattern, unless work that uses it has still to end.
static void show_pattern(leat_simulated_memory_t* m, const range_t* range) {
  if (have_ended(m, &range->uses)) memset(m->inner.base + range->offset, FREED, range->size);
}

// Returns a buffer's range. Runs on whatever thread drops the last reference.
static void destroy_block(leat_buffer_t* buffer) {
  block_t* block = (block_t*)buffer;
  leat_simulated_memory_t* m = block->memory;
  show_pattern(m, &block->range);
  leat_simulated_writer_release(block->writer);
  leat_mutex_lock(&m->mutex);
  give_back(m, &block->range);
  leat_mutex_unlock(&m->mutex);
  leat_allocator_free(m->allocator, block);
  leat_simulated_memory_release(m);
}

static const leat_buffer_vtable_t kBlockVtable = {destroy_block};

// Takes |size| bytes of the first range that is large enough; with |unused| only of ranges that no
// work uses any more. false: there is none. Called with the lock held.
static bool take_first(leat_simulated_memory_t* m, size_t size, bool unused, range_t* out_range) {
  for (size_t i = 0; i < m->free_count; ++i) {
    range_t* range = &m->free[i];
    if (range->size < size || (unused && !have_ended(m, &range->uses))) continue;
    *out_range = *range;
    out_range->size = size;
    range->offset += size;
    range->size -= size;
    if (range->size == 0) remove_free(m, i);
    m->used += size;
    ++m->block_count;
    return true;
  }
  return false;
}

// Takes |size| bytes, from unused ranges if possible. RESOURCE_EXHAUSTED when memory is full or,
// with |unused|, in use. Called with the lock held. The list grows here, so that giving back cannot
// fail.
static leat_status_t take(leat_simulated_memory_t* m, size_t size, bool unused,
                          range_t* out_range) {
  grow_together(m, true);
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(m->allocator, m->free_count + m->block_count + 1, &m->free, &m->free_capacity));
  if (take_first(m, size, unused, out_range)) return leat_ok_status();
  if (!unused) grow_together(m, false);
  if (!unused && take_first(m, size, false, out_range)) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "OOM when allocating %zu bytes: the device's memory has %zu of %zu bytes "
                          "in use", size, m->used, m->limit);
}

// The allocation function of both sources; they differ in the address that a buffer shows and in
// whether its memory may have pending uses.
static leat_status_t allocate(leat_buffer_source_t* self, size_t size_bytes,
                              leat_buffer_t** out_buffer) {
  source_t* source = (source_t*)self;
  leat_simulated_memory_t* m = source->memory;
  block_t* block;
  if (size_bytes > m->limit) size_bytes = m->limit + 1;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(m->allocator, 1, &block));
  leat_mutex_lock(&m->mutex);
  block->lasting = source == &m->inner;
  leat_status_t status =
      take(m, leat_align_up(size_bytes, GRAIN), source == &m->inner, &block->range);
  leat_mutex_unlock(&m->mutex);
  if (status) {
    leat_allocator_free(m->allocator, block);
    return status;
  }
  show_pattern(m, &block->range);
  leat_reference_count_retain(&m->references);
  block->memory = m;
  block->buffer = (leat_buffer_t){.vtable = &kBlockVtable,
                                  .data = source->base + block->range.offset,
                                  .size_bytes = size_bytes,
                                  .references = 1};
  *out_buffer = &block->buffer;
  return leat_ok_status();
}

static const leat_buffer_source_vtable_t kSourceVtable = {allocate};

leat_status_t leat_simulated_memory_create(size_t limit_bytes, leat_allocator_t* allocator,
                                           leat_simulated_memory_t** out_memory) {
  leat_simulated_memory_t* m;
  void *outer = NULL, *inner = NULL;
  limit_bytes = leat_align_up(limit_bytes, 4096);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &m));
  leat_status_t status = leat_pages_allocate(limit_bytes, 4096, &outer);
  if (!status) status = leat_pages_allocate(limit_bytes, 4096, &inner);
  if (!status) {
    status = LEAT_GROW(allocator, 64, &m->free, &m->free_capacity);
  }
  if (status) {
    leat_pages_free(outer, limit_bytes);
    leat_pages_free(inner, limit_bytes);
    leat_allocator_free(allocator, m);
    return status;
  }
  leat_pages_advise(outer, limit_bytes, LEAT_PAGES_FORBIDDEN);
  m->outer = (source_t){{&kSourceVtable}, m, outer};
  m->inner = (source_t){{&kSourceVtable}, m, inner};
  m->references = 1;
  m->allocator = allocator;
  m->limit = limit_bytes;
  leat_mutex_initialize(&m->mutex);
  m->free[m->free_count++] = (range_t){.size = limit_bytes};
  *out_memory = m;
  return leat_ok_status();
}

leat_buffer_source_t* leat_simulated_memory_outer(leat_simulated_memory_t* memory) {
  return &memory->outer.source;
}

leat_buffer_source_t* leat_simulated_memory_inner(leat_simulated_memory_t* memory) {
  return &memory->inner.source;
}

// ---- Addresses ----------------------------------------------------------------------------------

// Moves a tensor's address from one mapping to the other; an address elsewhere stays as it is.
static void move(const source_t* from, const source_t* to, leat_tensor_t* tensor) {
  uintptr_t offset = (uintptr_t)tensor->data - (uintptr_t)from->base;
  if (offset < from->memory->limit) tensor->data = to->base + offset;
}

void leat_simulated_memory_enter(const leat_simulated_memory_t* memory, leat_tensor_t* tensor) {
  move(&memory->outer, &memory->inner, tensor);
}

void leat_simulated_memory_leave(const leat_simulated_memory_t* memory, leat_tensor_t* tensor) {
  move(&memory->inner, &memory->outer, tensor);
}

size_t leat_simulated_memory_used(leat_simulated_memory_t* memory) {
  leat_mutex_lock(&memory->mutex);
  size_t used = memory->used;
  leat_mutex_unlock(&memory->mutex);
  return used;
}

// ---- Work ---------------------------------------------------------------------------------------

// The block in which |tensor| lies; NULL when it lies in other memory.
static block_t* block_of(const leat_simulated_memory_t* m, const leat_tensor_t* tensor) {
  leat_buffer_t* buffer = tensor->buffer;
  if (!buffer || buffer->vtable != &kBlockVtable) return NULL;
  return ((block_t*)buffer)->memory == m ? (block_t*)buffer : NULL;
}

leat_simulated_writer_t* leat_simulated_memory_await_value(leat_simulated_memory_t* memory,
                                                           const leat_tensor_t* tensor,
                                                           leat_simulated_events_t* events) {
  block_t* block = block_of(memory, tensor);
  if (!block) return NULL;
  leat_mutex_lock(&memory->mutex);
  leat_simulated_writer_t* writer = block->writer;
  if (writer) {
    leat_reference_count_retain(&writer->references);
    leat_simulated_events_add(events, writer->stream, writer->number);
  }
  leat_mutex_unlock(&memory->mutex);
  return writer;
}

void leat_simulated_memory_await_uses(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                      leat_simulated_events_t* events) {
  block_t* block = block_of(memory, tensor);
  if (!block) return;
  leat_mutex_lock(&memory->mutex);
  unite(events, &block->range.uses);
  leat_mutex_unlock(&memory->mutex);
}

void leat_simulated_memory_note_read(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                     int stream, uint64_t number) {
  block_t* block = block_of(memory, tensor);
  if (!block) return;
  leat_mutex_lock(&memory->mutex);
  leat_simulated_events_add(&block->range.uses, stream, number);
  leat_mutex_unlock(&memory->mutex);
}

void leat_simulated_memory_note_write(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                      leat_simulated_writer_t* writer) {
  block_t* block = block_of(memory, tensor);
  if (!block) return;
  leat_reference_count_retain(&writer->references);
  leat_mutex_lock(&memory->mutex);
  leat_simulated_events_add(&block->range.uses, writer->stream, writer->number);
  leat_simulated_writer_t* former = block->writer;
  block->writer = writer;
  leat_mutex_unlock(&memory->mutex);
  leat_simulated_writer_release(former);
}

void leat_simulated_memory_make_lasting(leat_simulated_memory_t* memory,
                                        const leat_tensor_t* tensor, bool is_given) {
  block_t* block = block_of(memory, tensor);
  if (!block) return;
  leat_mutex_lock(&memory->mutex);
  block->lasting = true;
  if (is_given) block->buffer.data = memory->inner.base + block->range.offset;
  leat_mutex_unlock(&memory->mutex);
}

leat_tensor_t leat_simulated_memory_hold(leat_simulated_memory_t* memory,
                                         const leat_tensor_t* tensor) {
  leat_tensor_t held = leat_tensor_share(tensor);
  const block_t* block = block_of(memory, tensor);
  if (!block) return held;
  leat_mutex_lock(&memory->mutex);
  bool lasting = block->lasting;
  leat_mutex_unlock(&memory->mutex);
  // The caller's reference is enough, and the uses noted with the work protect the bytes.
  if (!lasting) {
    leat_buffer_release(held.buffer);
    held.buffer = NULL;
  }
  return held;
}
