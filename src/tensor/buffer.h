// A buffer: reference-counted memory of tensors. Its vtable knows where the bytes come from, which
// may be the heap's pool, a step's arena, a caller's own memory or a device. Elements of string,
// resource and variant tensors are objects, which the buffer destroys with its last reference.
//
//   leat_buffer_t* buffer;
//   LEAT_RETURN_IF_ERROR(leat_buffer_allocate(leat_buffer_source_host(), size_bytes, &buffer));
//   ...
//   leat_buffer_release(buffer);
//
// Any thread may retain and release a buffer. The bytes may be written only by a thread that holds
// the only reference, which leat_buffer_is_exclusive() tells; a kernel that finds its input
// exclusive may write its output over it.
#ifndef LEAT_TENSOR_BUFFER_H_
#define LEAT_TENSOR_BUFFER_H_

#include "base/allocator.h"
#include "base/sync.h"
#include "tensor/dtype.h"

// In bytes: a cache line, and the widest vector.
#define LEAT_BUFFER_ALIGNMENT 64

typedef struct leat_buffer_s leat_buffer_t;

typedef struct leat_buffer_vtable_s {
  // Frees the bytes and the header. The last reference is gone and the elements are destroyed
  // already. It may run on any thread.
  void (*destroy)(leat_buffer_t* buffer);
} leat_buffer_vtable_t;

struct leat_buffer_s {
  const leat_buffer_vtable_t* vtable;
  // The address, which only the device can use if its memory is not the host's. 64-byte aligned
  // unless a caller gave it.
  void* data;
  // The size that was asked for, or more. It covers the elements alone, since all of it is
  // destroyed where they are objects.
  size_t size_bytes;
  union {
    struct {
      leat_reference_count_t references;
      uint8_t object_dtype;  // STRING, RESOURCE, VARIANT, or 0
      bool read_only;        // a caller's memory that must not be written (constants, feeds)
      bool planned;          // lies in a step's arena: must not outlive the step
      // Somebody outside the runtime (a client that fed it, a plug-in that made it an output) has
      // the address, and may write the bytes between two steps without asking for the references.
      _Atomic(bool) lent;
    };
    leat_buffer_t* next_dead;  // instead of the above, while leat_buffer_destroy keeps it waiting
  };
};

// What the last release calls; nobody else does. Values that hold tensors of values, to any depth,
// use no more than a bounded part of the stack.
void leat_buffer_destroy(leat_buffer_t* buffer);
static inline void leat_buffer_retain(leat_buffer_t* buffer) {
  leat_reference_count_retain(&buffer->references);
}
// Drops a reference; NULL is allowed. No spinlock may be held, since the last release frees memory.
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

// Says that the buffer is lent. Any thread may, also while steps read it. A buffer that is fed
// again and again is written once.
static inline void leat_buffer_mark_lent(leat_buffer_t* buffer) {
  if (!buffer || atomic_load_explicit(&buffer->lent, memory_order_relaxed)) return;
  atomic_store_explicit(&buffer->lent, true, memory_order_relaxed);
}
// Whether the bytes stay as they are for as long as the caller keeps a reference that it has now.
// What is computed from them can then be kept beside the reference, for later steps.
static inline bool leat_buffer_is_stable(const leat_buffer_t* buffer) {
  return !buffer->planned && !atomic_load_explicit(&buffer->lent, memory_order_relaxed);
}

// A source of buffers; a device owns one for its memory. Any thread may allocate. A buffer must be
// released before its source goes.
typedef struct leat_buffer_source_s leat_buffer_source_t;
typedef struct leat_buffer_source_vtable_s {
  // At least |size_bytes| (0 is allowed), contents undefined, with one reference, which is the
  // caller's. RESOURCE_EXHAUSTED when there is no such memory; |*out_buffer| is then NULL.
  leat_status_t (*allocate)(leat_buffer_source_t* self, size_t size_bytes,
                            leat_buffer_t** out_buffer);
} leat_buffer_source_vtable_t;
struct leat_buffer_source_s {
  const leat_buffer_source_vtable_t* vtable;
};

// The host's source, which is static: size classes with free lists that keep their pages (huge
// where it pays), so that a steady step neither faults nor calls the system. What is kept above the
// recent peak of use and a slack of 256 MiB goes back to the system.
leat_buffer_source_t* leat_buffer_source_host(void);
// Bytes in use and kept for reuse, for leat doctor, tests and limits. With other threads at work
// the two are of slightly different moments.
void leat_buffer_source_host_usage(size_t* out_used_bytes, size_t* out_kept_bytes);
// Tells the recording under way (base/span.h) how much memory of the system both are. The source
// tells each change itself; this is for whoever begins to record.
void leat_buffer_source_host_tell(void);
// Gives kept memory back to the system.
void leat_buffer_source_host_trim(void);

// Asks |source|; the caller owns the reference.
LEAT_MUST_USE leat_status_t leat_buffer_allocate(leat_buffer_source_t* source, size_t size_bytes,
                                                 leat_buffer_t** out_buffer);
// Ends a caller's memory. It runs once, on the thread that drops the last reference.
typedef void (*leat_buffer_release_fn_t)(void* data, size_t size_bytes, void* release_data);
// Makes a buffer over a caller's memory, which |release|(|data|, |size_bytes|, |release_data|)
// ends; NULL when nothing needs to be done. On failure |release| is not called. The caller sets
// |read_only| where the bytes must not be written.
LEAT_MUST_USE leat_status_t leat_buffer_wrap(void* data, size_t size_bytes,
                                             leat_buffer_release_fn_t release, void* release_data,
                                             leat_buffer_t** out_buffer);

#endif  // LEAT_TENSOR_BUFFER_H_
