// How buffers end, and buffers over a caller's memory. When the last reference is released,
// leat_buffer_destroy() first destroys the elements if they are objects (strings, handles,
// variants), and then gives the memory back through the buffer's vtable, which knows whether the
// memory came from the pool, from a step's arena or from a caller.
//
// A wrapped buffer lets a tensor use memory that a caller owns, such as an array passed to
// TF_NewTensor. It is a small block of the host pool whose header points at the caller's bytes,
// while the block's own memory holds the record of how to give those bytes back. So wrapping needs
// one allocation, which the pool serves without malloc:
//
//   header of the pool's block ── data ──▶ the caller's bytes
//         └─ leat_buffer_pool_memory ───▶ wrap_record_t {release, its argument, the pool's vtable}
#include "tensor/buffer.h"

#include "tensor/buffer_pool.h"
#include "tensor/object.h"

typedef struct wrap_record_s {
  leat_buffer_release_fn_t release;
  void* release_data;
  const leat_buffer_vtable_t* pool_vtable;
} wrap_record_t;

// ---- The last reference -------------------------------------------------------------------------

// A variant may hold a tensor of variants, and so on to any depth that a loop in a graph reaches.
// Destroying 100,000 lists, each an element of the next, must not use 100,000 frames of the stack.
// A buffer that dies while kMostNested others are being destroyed on the same thread is therefore
// only put into a list of that thread, and the outermost destruction empties the list before it
// returns. The list is linked through the buffers themselves, because destruction cannot allocate:
// it has no way to report that memory ran out.
enum { kMostNested = 32, kVariants = 0, kHandles = 1 };

typedef struct deferred_s {
  int nested;
  // One list for each type of element: the link overwrites the field that says the type.
  leat_buffer_t* waiting[2];
} deferred_t;

static _Thread_local deferred_t deferred;

static void destroy_elements(leat_buffer_t* buffer) {
  size_t item_bytes = leat_dtype_size(buffer->object_dtype);
  leat_object_destroy(buffer->object_dtype, buffer->data,
                      (int64_t)(buffer->size_bytes / item_bytes));
}

// Destroys the first buffer of a list; false when the list is empty.
static bool destroy_waiting(int list, int dtype) {
  leat_buffer_t* buffer = deferred.waiting[list];
  if (!buffer) return false;
  deferred.waiting[list] = buffer->next_dead;
  buffer->next_dead = NULL;  // and so neither read-only nor planned: no buffer of objects is
  buffer->object_dtype = (uint8_t)dtype;
  destroy_elements(buffer);
  buffer->vtable->destroy(buffer);
  return true;
}

static void destroy_nested(leat_buffer_t* buffer) {
  if (deferred.nested == kMostNested) {
    int list = buffer->object_dtype == LEAT_DTYPE_VARIANT ? kVariants : kHandles;
    buffer->next_dead = deferred.waiting[list];
    deferred.waiting[list] = buffer;
    return;
  }
  ++deferred.nested;
  destroy_elements(buffer);
  buffer->vtable->destroy(buffer);
  while (deferred.nested == 1 && (destroy_waiting(kVariants, LEAT_DTYPE_VARIANT) ||
                                  destroy_waiting(kHandles, LEAT_DTYPE_RESOURCE))) {
  }
  --deferred.nested;
}

void leat_buffer_destroy(leat_buffer_t* buffer) {
  LEAT_DCHECK(!leat_spinlock_is_held());
  if (LEAT_LIKELY(!buffer->object_dtype)) {
    buffer->vtable->destroy(buffer);
  } else if (buffer->object_dtype == LEAT_DTYPE_STRING) {
    destroy_elements(buffer);
    buffer->vtable->destroy(buffer);
  } else {
    destroy_nested(buffer);
  }
}

// ---- Making -------------------------------------------------------------------------------------

leat_status_t leat_buffer_allocate(leat_buffer_source_t* source, size_t size_bytes,
                                   leat_buffer_t** out_buffer) {
  return source->vtable->allocate(source, size_bytes, out_buffer);
}

// Gives the caller's bytes back, restores the header to what the pool made of it, and returns the
// block to the pool.
static void destroy_wrapped(leat_buffer_t* buffer) {
  wrap_record_t* record = leat_buffer_pool_memory(buffer);
  if (record->release) record->release(buffer->data, buffer->size_bytes, record->release_data);
  buffer->data = record;
  buffer->size_bytes = sizeof(*record);
  buffer->vtable = record->pool_vtable;
  buffer->vtable->destroy(buffer);
}

static const leat_buffer_vtable_t wrapped_vtable = {.destroy = destroy_wrapped};

leat_status_t leat_buffer_wrap(void* data, size_t size_bytes, leat_buffer_release_fn_t release,
                               void* release_data, leat_buffer_t** out_buffer) {
  LEAT_RETURN_IF_ERROR(
      leat_buffer_allocate(leat_buffer_source_host(), sizeof(wrap_record_t), out_buffer));
  leat_buffer_t* buffer = *out_buffer;
  wrap_record_t* record = buffer->data;
  *record = (wrap_record_t){release, release_data, buffer->vtable};
  buffer->vtable = &wrapped_vtable;
  buffer->data = data;
  buffer->size_bytes = size_bytes;
  return leat_ok_status();
}
