// Host memory behind an interface, so that every allocation can be counted, limited or made to
// fail. Memory is zeroed unless the function says otherwise. All functions are thread-safe.
#ifndef LEAT_BASE_ALLOCATOR_H_
#define LEAT_BASE_ALLOCATOR_H_

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct leat_allocator_s leat_allocator_t;

typedef struct leat_allocator_vtable_s {
  // |out_pointer| receives |size_bytes| (> 0) at |alignment| (a power of two >= 8), not zeroed.
  leat_status_t (*allocate)(leat_allocator_t* self, size_t alignment, size_t size_bytes,
                            void** out_pointer);
  void (*free)(leat_allocator_t* self, void* pointer);
  // Optional (NULL: allocate, copy, free). Resizes |*inout_pointer|, which has an alignment of at
  // most 16, keeping its bytes; on failure nothing has changed.
  leat_status_t (*reallocate)(leat_allocator_t* self, size_t old_size_bytes,
                              size_t new_size_bytes, void** inout_pointer);
} leat_allocator_vtable_t;

struct leat_allocator_s {
  const leat_allocator_vtable_t* vtable;
};

// The process's heap. Honours the allocation observer (base/observer.h).
leat_allocator_t* leat_allocator_system(void);

// Size 0 gives a valid pointer that must be freed. RESOURCE_EXHAUSTED when memory is gone.
LEAT_MUST_USE leat_status_t leat_allocator_allocate(leat_allocator_t* allocator, size_t size_bytes,
                                                    void** out_pointer);
LEAT_MUST_USE leat_status_t leat_allocator_allocate_aligned(leat_allocator_t* allocator,
                                                            size_t alignment, size_t size_bytes,
                                                            void** out_pointer);
// Checked |count| * |item_bytes|.
LEAT_MUST_USE leat_status_t leat_allocator_allocate_array(leat_allocator_t* allocator, size_t count,
                                                          size_t item_bytes, void** out_pointer);
LEAT_MUST_USE leat_status_t leat_allocator_allocate_uninitialized(leat_allocator_t* allocator,
                                                                  size_t alignment,
                                                                  size_t size_bytes,
                                                                  void** out_pointer);
// Grows or shrinks memory of alignment 16 at most, keeping what fits of its bytes; a new part is
// not zeroed. |*inout_pointer| may be NULL with |old_size_bytes| 0; it stays valid on failure.
// Large blocks of the system's heap move without being copied.
LEAT_MUST_USE leat_status_t leat_allocator_reallocate(leat_allocator_t* allocator,
                                                      size_t old_size_bytes,
                                                      size_t new_size_bytes,
                                                      void** inout_pointer);
// A NUL-terminated copy of |size| bytes at |data|.
LEAT_MUST_USE leat_status_t leat_allocator_clone_string(leat_allocator_t* allocator,
                                                        const char* data, size_t size,
                                                        char** out_string);
// Makes room for at least |needed| items of |item_bytes| in a growing array (doubling; the new
// part zeroed). |*inout_items| may be NULL with |*inout_capacity| 0; it stays valid on failure.
LEAT_MUST_USE leat_status_t leat_allocator_grow_array(leat_allocator_t* allocator, size_t needed,
                                                      size_t item_bytes, void** inout_items,
                                                      size_t* inout_capacity);
void leat_allocator_free(leat_allocator_t* allocator, void* pointer);  // NULL is allowed

#endif  // LEAT_BASE_ALLOCATOR_H_
