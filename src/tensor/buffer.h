// A buffer: reference-counted memory of tensors. Its vtable knows where the bytes come from, which
// may be the heap's pool, a step's arena, a caller's own memory or a device. Elements of string,
// resource and variant tensors are objects, which the buffer destroys with its last reference. Any
// thread may retain and release a buffer; the bytes may be written only by a thread that holds the
// only reference.
#ifndef LEAT_TENSOR_BUFFER_H_
#define LEAT_TENSOR_BUFFER_H_

#include "base/allocator.h"
#include "base/sync.h"
#include "tensor/dtype.h"

#define LEAT_BUFFER_ALIGNMENT 64

typedef struct leat_buffer_s leat_buffer_t;

typedef struct leat_buffer_vtable_s {
  // The last reference is gone and the elements are destroyed.
  void (*destroy)(leat_buffer_t* buffer);
} leat_buffer_vtable_t;

struct leat_buffer_s {
  const leat_buffer_vtable_t* vtable;
  void* data;                // device address; 64-byte aligned unless a caller gave it
  size_t size_bytes;
  union {
    struct {
      leat_reference_count_t references;
      uint8_t object_dtype;  // STRING, RESOURCE, VARIANT, or 0
      bool read_only;        // a caller's memory that must not be written (constants, feeds)
      bool planned;          // lies in a step's arena: must not outlive the step
    };
    leat_buffer_t* next_dead;  // instead of the above, while leat_buffer_destroy keeps it waiting
  };
};

void leat_buffer_destroy(leat_buffer_t* buffer);  // of the last reference; use release
static inline void leat_buffer_retain(leat_buffer_t* buffer) {
  leat_reference_count_retain(&buffer->references);
}
static inline void leat_buffer_release(leat_buffer_t* buffer) {
  if (!buffer) return;
  // The sole owner needs no locked instruction.
  if (atomic_load_explicit(&buffer->references, memory_order_acquire) == 1 ||
      leat_reference_count_release(&buffer->references)) {
    leat_buffer_destroy(buffer);
  }
}
// One owner, writable, may be reused in place.
static inline bool leat_buffer_is_exclusive(const leat_buffer_t* buffer) {
  return atomic_load_explicit(&buffer->references, memory_order_acquire) == 1 &&
         !buffer->read_only;
}

// Source of buffers; a device owns one. Thread-safe.
typedef struct leat_buffer_source_s leat_buffer_source_t;
typedef struct leat_buffer_source_vtable_s {
  // At least |size_bytes|, contents undefined.
  leat_status_t (*allocate)(leat_buffer_source_t* self, size_t size_bytes,
                            leat_buffer_t** out_buffer);
} leat_buffer_source_vtable_t;
struct leat_buffer_source_s {
  const leat_buffer_source_vtable_t* vtable;
};

// The host's source: size classes with free lists that keep their pages (huge where it pays), so
// that a steady step neither faults nor calls the system. Freed memory above |limit| goes back.
leat_buffer_source_t* leat_buffer_source_host(void);
// Bytes in use and kept for reuse, for leat doctor, tests and limits.
void leat_buffer_source_host_usage(size_t* out_used_bytes, size_t* out_kept_bytes);
// Gives kept memory back to the system.
void leat_buffer_source_host_trim(void);

LEAT_MUST_USE leat_status_t leat_buffer_allocate(leat_buffer_source_t* source, size_t size_bytes,
                                                 leat_buffer_t** out_buffer);
// Wraps memory that |release|(|data|, |size_bytes|, |release_data|) ends (may be NULL).
typedef void (*leat_buffer_release_fn_t)(void* data, size_t size_bytes, void* release_data);
LEAT_MUST_USE leat_status_t leat_buffer_wrap(void* data, size_t size_bytes,
                                             leat_buffer_release_fn_t release, void* release_data,
                                             leat_buffer_t** out_buffer);

#endif  // LEAT_TENSOR_BUFFER_H_
