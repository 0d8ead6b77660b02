// First fit over a sorted list of free ranges.
#include "device/simulated/simulated_memory.h"

#include <string.h>

#include "base/checked.h"
#include "base/pages.h"

#define GRAIN 256
#define FREED 0xCB  // as floats: -2.7e7

typedef struct range_s {
  size_t offset, size;
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
};

typedef struct block_s {
  leat_buffer_t buffer;
  leat_simulated_memory_t* memory;
  range_t range;
} block_t;

void leat_simulated_memory_release(leat_simulated_memory_t* memory) {
  if (!memory || !leat_reference_count_release(&memory->references)) return;
  leat_pages_free(memory->outer.base, memory->limit);
  leat_pages_free(memory->inner.base, memory->limit);
  leat_mutex_deinitialize(&memory->mutex);
  leat_allocator_free(memory->allocator, memory->free);
  leat_allocator_free(memory->allocator, memory);
}

static void insert_free(leat_simulated_memory_t* m, size_t at, range_t range) {
  memmove(&m->free[at + 1], &m->free[at], (m->free_count - at) * sizeof range);
  m->free[at] = range;
  ++m->free_count;
}

static void remove_free(leat_simulated_memory_t* m, size_t at) {
  --m->free_count;
  memmove(&m->free[at], &m->free[at + 1], (m->free_count - at) * sizeof *m->free);
}

static void give_back(leat_simulated_memory_t* m, range_t range) {
  size_t at = 0;
  while (at < m->free_count && m->free[at].offset < range.offset) ++at;
  insert_free(m, at, range);
  if (at + 1 < m->free_count && range.offset + range.size == m->free[at + 1].offset) {
    m->free[at].size += m->free[at + 1].size;
    remove_free(m, at + 1);
  }
  if (at > 0 && m->free[at - 1].offset + m->free[at - 1].size == m->free[at].offset) {
    m->free[at - 1].size += m->free[at].size;
    remove_free(m, at);
  }
  m->used -= range.size;
  --m->block_count;
}

static void destroy_block(leat_buffer_t* buffer) {
  block_t* block = (block_t*)buffer;
  leat_simulated_memory_t* m = block->memory;
  memset(m->inner.base + block->range.offset, FREED, block->range.size);
  leat_mutex_lock(&m->mutex);
  give_back(m, block->range);
  leat_mutex_unlock(&m->mutex);
  leat_allocator_free(m->allocator, block);
  leat_simulated_memory_release(m);
}

static const leat_buffer_vtable_t kBlockVtable = {destroy_block};

// Called with the lock held. Between |block_count| blocks lie at most one free range more; the list
// keeps room for them, so that giving back cannot fail.
static leat_status_t take(leat_simulated_memory_t* m, size_t size, range_t* out_range) {
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(m->allocator, m->block_count + 3,
                                                 sizeof(range_t), (void**)&m->free,
                                                 &m->free_capacity));
  for (size_t i = 0; i < m->free_count; ++i) {
    if (m->free[i].size < size) continue;
    *out_range = (range_t){m->free[i].offset, size};
    m->free[i].offset += size;
    m->free[i].size -= size;
    if (m->free[i].size == 0) remove_free(m, i);
    m->used += size;
    ++m->block_count;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "OOM when allocating %zu bytes: the device's memory has %zu of %zu bytes "
                          "in use", size, m->used, m->limit);
}

static leat_status_t allocate(leat_buffer_source_t* self, size_t size_bytes,
                              leat_buffer_t** out_buffer) {
  source_t* source = (source_t*)self;
  leat_simulated_memory_t* m = source->memory;
  block_t* block;
  if (size_bytes > m->limit) size_bytes = m->limit + 1;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(m->allocator, sizeof *block, (void**)&block));
  leat_mutex_lock(&m->mutex);
  leat_status_t status = take(m, leat_align_up(size_bytes, GRAIN), &block->range);
  leat_mutex_unlock(&m->mutex);
  if (status) {
    leat_allocator_free(m->allocator, block);
    return status;
  }
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
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof *m, (void**)&m));
  leat_status_t status = leat_pages_allocate(limit_bytes, 4096, &outer);
  if (!status) status = leat_pages_allocate(limit_bytes, 4096, &inner);
  if (!status) {
    status = leat_allocator_grow_array(allocator, 64, sizeof(range_t), (void**)&m->free,
                                       &m->free_capacity);
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
  m->free[m->free_count++] = (range_t){0, limit_bytes};
  *out_memory = m;
  return leat_ok_status();
}

leat_buffer_source_t* leat_simulated_memory_outer(leat_simulated_memory_t* memory) {
  return &memory->outer.source;
}

leat_buffer_source_t* leat_simulated_memory_inner(leat_simulated_memory_t* memory) {
  return &memory->inner.source;
}

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
