// The life of a buffer, whoever's memory it is. A wrapped buffer is a small block of the host pool
// whose own memory holds the record of how to end the caller's:
//
//   header of the pool's block ── data ──▶ the caller's bytes
//         └─ leat_buffer_pool_memory ───▶ wrap_record_t
#include "tensor/buffer.h"

#include "tensor/buffer_pool.h"
#include "tensor/object.h"

typedef struct wrap_record_s {
  leat_buffer_release_fn_t release;
  void* release_data;
  const leat_buffer_vtable_t* pool_vtable;
} wrap_record_t;

void leat_buffer_destroy(leat_buffer_t* buffer) {
  if (LEAT_UNLIKELY(buffer->object_dtype)) {
    size_t item_bytes = leat_dtype_size(buffer->object_dtype);
    leat_object_destroy(buffer->object_dtype, buffer->data,
                        (int64_t)(buffer->size_bytes / item_bytes));
  }
  buffer->vtable->destroy(buffer);
}

leat_status_t leat_buffer_allocate(leat_buffer_source_t* source, size_t size_bytes,
                                   leat_buffer_t** out_buffer) {
  return source->vtable->allocate(source, size_bytes, out_buffer);
}

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
