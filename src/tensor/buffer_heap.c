// The host's source under AddressSanitizer: header and data of every buffer are heap blocks of
// their own, of exactly the size asked for.
#include "base/attributes.h"

#if defined(LEAT_ASAN)
#include <stdlib.h>

#include "base/observer.h"
#include "base/span.h"
#include "tensor/buffer_pool.h"

// The sanitizer ends the process instead of refusing what its own allocator cannot hold.
#define MAX_HEAP_BYTES ((size_t)1 << 36)

typedef struct heap_buffer_s {
  leat_buffer_t buffer;
  void* memory;
  size_t size_bytes;
} heap_buffer_t;

static _Atomic size_t used_bytes;

static void heap_destroy(leat_buffer_t* buffer) {
  heap_buffer_t* block = (heap_buffer_t*)buffer;
  atomic_fetch_sub_explicit(&used_bytes, block->size_bytes, memory_order_relaxed);
  free(block->memory);
  free(block);
}

static const leat_buffer_vtable_t buffer_vtable = {.destroy = heap_destroy};

static leat_status_t heap_allocate(leat_buffer_source_t* self, size_t size_bytes,
                                   leat_buffer_t** out_buffer) {
  (void)self;
  *out_buffer = NULL;
  const leat_observer_t* observer = leat_observer_get();
  if (observer && observer->on_allocation) {
    LEAT_RETURN_IF_ERROR(observer->on_allocation(observer->data, size_bytes));
  }
  heap_buffer_t* block = NULL;
  void* memory = NULL;
  if (size_bytes <= MAX_HEAP_BYTES) {
    block = calloc(1, sizeof(*block));
    if (posix_memalign(&memory, LEAT_BUFFER_ALIGNMENT, size_bytes ? size_bytes : 1)) memory = NULL;
  }
  if (!block || !memory) {
    free(block);
    free(memory);
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Buffer allocation failed: the host has no %zu bytes", size_bytes);
  }
  *block = (heap_buffer_t){.buffer = {.vtable = &buffer_vtable,
                                      .data = memory,
                                      .size_bytes = size_bytes},
                           .memory = memory,
                           .size_bytes = size_bytes};
  atomic_init(&block->buffer.references, 1);
  atomic_fetch_add_explicit(&used_bytes, size_bytes, memory_order_relaxed);
  *out_buffer = &block->buffer;
  return leat_ok_status();
}

static const leat_buffer_source_vtable_t source_vtable = {.allocate = heap_allocate};
static leat_buffer_source_t source = {.vtable = &source_vtable};

leat_buffer_source_t* leat_buffer_source_host(void) { return &source; }

void* leat_buffer_pool_memory(leat_buffer_t* buffer) { return ((heap_buffer_t*)buffer)->memory; }

void leat_buffer_source_host_usage(size_t* out_used_bytes, size_t* out_kept_bytes) {
  *out_used_bytes = atomic_load_explicit(&used_bytes, memory_order_relaxed);
  *out_kept_bytes = 0;
}

void leat_buffer_source_host_tell(void) {
  leat_span_mark(LEAT_SPAN_HELD, 0,
                 (int64_t)atomic_load_explicit(&used_bytes, memory_order_relaxed));
}

void leat_buffer_source_host_trim(void) {}
#endif  // LEAT_ASAN
