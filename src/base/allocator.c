// The system's heap behind the allocator interface, and the functions that work over any allocator:
// zeroed memory, arrays with a checked product of sizes, growing, copies of strings. An
// implementation provides allocate and free; everything else here has a fallback over these two.
//
// Memory is zeroed by default, so that a struct which gains a field needs no change where it is
// allocated. For the system's heap that is nearly free: calloc gets fresh pages from the kernel,
// which are zero already, and does not touch them. A request for 0 bytes gives a pointer that can
// be freed, hence each caller may treat NULL as "not allocated".
//
// Each allocation of the heap first calls the installed observer (base/observer.h), which may make
// it fail. Tests use that to fail the n-th allocation of an operation for n = 1, 2, 3 until it
// succeeds.
#include "base/allocator.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/observer.h"
#include "base/sync.h"

#define MALLOC_ALIGNMENT_BYTES 16

static leat_status_t observe_allocation(size_t size_bytes) {
  const leat_observer_t* observer = leat_observer_get();
  if (LEAT_LIKELY(!observer) || !observer->on_allocation) return leat_ok_status();
  return observer->on_allocation(observer->data, size_bytes);
}

static LEAT_COLD leat_status_t out_of_memory(size_t size_bytes) {
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "Allocation failed: size is %zu bytes, must be what memory has left",
                          size_bytes);
}

static leat_status_t system_allocate(leat_allocator_t* self, size_t alignment, size_t size_bytes,
                                     void** out_pointer) {
  (void)self;
  *out_pointer = NULL;
  LEAT_RETURN_IF_ERROR(observe_allocation(size_bytes));
  if (size_bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX - size_bytes) {
    return out_of_memory(size_bytes);
  }
  void* pointer = alignment <= MALLOC_ALIGNMENT_BYTES
                      ? malloc(size_bytes)
                      : aligned_alloc(alignment, leat_align_up(size_bytes, alignment));
  if (!pointer) return out_of_memory(size_bytes);
  *out_pointer = pointer;
  return leat_ok_status();
}

static leat_status_t system_allocate_zeroed(size_t size_bytes, void** out_pointer) {
  *out_pointer = NULL;
  LEAT_RETURN_IF_ERROR(observe_allocation(size_bytes));
  void* pointer = size_bytes > PTRDIFF_MAX ? NULL : calloc(1, size_bytes);
  if (!pointer) return out_of_memory(size_bytes);
  *out_pointer = pointer;
  return leat_ok_status();
}

static void system_free(leat_allocator_t* self, void* pointer) {
  (void)self;
  free(pointer);
}

static leat_status_t system_reallocate(leat_allocator_t* self, size_t old_size_bytes,
                                       size_t new_size_bytes, void** inout_pointer) {
  (void)self;
  (void)old_size_bytes;
  LEAT_RETURN_IF_ERROR(observe_allocation(new_size_bytes));
  if (new_size_bytes > PTRDIFF_MAX) return out_of_memory(new_size_bytes);
  void* pointer = realloc(*inout_pointer, new_size_bytes);
  if (!pointer) return out_of_memory(new_size_bytes);
  *inout_pointer = pointer;
  return leat_ok_status();
}

static const leat_allocator_vtable_t system_vtable = {system_allocate, system_free,
                                                      system_reallocate};

leat_allocator_t* leat_allocator_system(void) {
  static leat_allocator_t allocator = {&system_vtable};
  return &allocator;
}

leat_status_t leat_allocator_allocate(leat_allocator_t* allocator, size_t size_bytes,
                                      void** out_pointer) {
  return leat_allocator_allocate_aligned(allocator, MALLOC_ALIGNMENT_BYTES, size_bytes,
                                         out_pointer);
}

// The system's heap is tested for by its vtable, because only calloc knows which pages are zero
// already; memset would touch them all.
leat_status_t leat_allocator_allocate_aligned(leat_allocator_t* allocator, size_t alignment,
                                              size_t size_bytes, void** out_pointer) {
  LEAT_DCHECK(!leat_spinlock_is_held());
  if (size_bytes == 0) size_bytes = 1;
  if (allocator->vtable == &system_vtable && alignment <= MALLOC_ALIGNMENT_BYTES) {
    return system_allocate_zeroed(size_bytes, out_pointer);
  }
  LEAT_RETURN_IF_ERROR(
      allocator->vtable->allocate(allocator, alignment, size_bytes, out_pointer));
  memset(*out_pointer, 0, size_bytes);
  return leat_ok_status();
}

leat_status_t leat_allocator_allocate_array(leat_allocator_t* allocator, size_t count,
                                            size_t item_bytes, void** out_pointer) {
  size_t size_bytes = 0;
  if (!leat_checked_multiply(count, item_bytes, &size_bytes)) {
    *out_pointer = NULL;
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Allocation failed: size is %zu items of %zu bytes, must fit 64 bits",
                            count, item_bytes);
  }
  return leat_allocator_allocate(allocator, size_bytes, out_pointer);
}

leat_status_t leat_allocator_allocate_uninitialized(leat_allocator_t* allocator, size_t alignment,
                                                    size_t size_bytes, void** out_pointer) {
  LEAT_DCHECK(!leat_spinlock_is_held());
  if (size_bytes == 0) size_bytes = 1;
  return allocator->vtable->allocate(allocator, alignment, size_bytes, out_pointer);
}

leat_status_t leat_allocator_reallocate(leat_allocator_t* allocator, size_t old_size_bytes,
                                        size_t new_size_bytes, void** inout_pointer) {
  LEAT_DCHECK(!leat_spinlock_is_held());
  if (new_size_bytes == 0) new_size_bytes = 1;
  if (allocator->vtable->reallocate && *inout_pointer) {
    return allocator->vtable->reallocate(allocator, old_size_bytes, new_size_bytes,
                                         inout_pointer);
  }
  void* pointer = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(allocator, MALLOC_ALIGNMENT_BYTES,
                                                             new_size_bytes, &pointer));
  size_t kept_bytes = LEAT_MIN(old_size_bytes, new_size_bytes);
  if (kept_bytes) memcpy(pointer, *inout_pointer, kept_bytes);
  leat_allocator_free(allocator, *inout_pointer);
  *inout_pointer = pointer;
  return leat_ok_status();
}

leat_status_t leat_allocator_clone_string(leat_allocator_t* allocator, const char* data,
                                          size_t size, char** out_string) {
  *out_string = NULL;
  if (size == SIZE_MAX) return out_of_memory(size);
  void* copy = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(allocator, 8, size + 1, &copy));
  if (size) memcpy(copy, data, size);
  ((char*)copy)[size] = 0;
  *out_string = copy;
  return leat_ok_status();
}

// Grows to at least |needed| items and to at least twice the old capacity, so that appending one by
// one costs O(n) in all. The new items are zeroed. When it fails, the items and the capacity are as
// before.
leat_status_t leat_allocator_grow_array(leat_allocator_t* allocator, size_t needed,
                                        size_t item_bytes, void** inout_items,
                                        size_t* inout_capacity) {
  size_t old_capacity = *inout_capacity;
  if (needed <= old_capacity) return leat_ok_status();
  size_t capacity = LEAT_MAX(needed, old_capacity < 4 ? 8 : old_capacity);
  if (capacity < SIZE_MAX - old_capacity) capacity = LEAT_MAX(capacity, 2 * old_capacity);
  size_t size_bytes = 0;
  if (!leat_checked_multiply(capacity, item_bytes, &size_bytes)) return out_of_memory(SIZE_MAX);
  size_t old_bytes = old_capacity * item_bytes;
  if (!old_bytes && !*inout_items) {
    // Large blocks of the system's heap are zero without being touched.
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, size_bytes, inout_items));
  } else {
    LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(allocator, old_bytes, size_bytes, inout_items));
    memset((char*)*inout_items + old_bytes, 0, size_bytes - old_bytes);
  }
  *inout_capacity = capacity;
  return leat_ok_status();
}

void leat_allocator_free(leat_allocator_t* allocator, void* pointer) {
  LEAT_DCHECK(!leat_spinlock_is_held());
  if (pointer) allocator->vtable->free(allocator, pointer);
}
