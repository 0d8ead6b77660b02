// Host memory behind an interface, so that every allocation can be counted, limited or made to
// fail. Whatever takes memory takes an allocator. Memory is zeroed unless the function says
// otherwise, so that a struct which gains a field needs no change where it is allocated.
//
// What one allocator gave is freed with the same one; the allocator must outlive it. Allocating may
// call into the system and takes locks of the heap, hence no spinlock may be held. An allocation
// that fails returns RESOURCE_EXHAUSTED and leaves nothing to free. All functions may be called on
// any thread.
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
  // |pointer| is never NULL here.
  void (*free)(leat_allocator_t* self, void* pointer);
  // Optional (NULL: allocate, copy, free). Resizes |*inout_pointer|, which has an alignment of at
  // most 16, keeping its bytes; on failure nothing has changed.
  leat_status_t (*reallocate)(leat_allocator_t* self, size_t old_size_bytes,
                              size_t new_size_bytes, void** inout_pointer);
} leat_allocator_vtable_t;

// An implementation begins with this struct and keeps its own data behind it.
struct leat_allocator_s {
  const leat_allocator_vtable_t* vtable;
};

// The process's heap. It is static: nobody frees it. Each allocation first asks the observer
// (base/observer.h), which may make it fail.
leat_allocator_t* leat_allocator_system(void);

// Zeroed memory at an alignment of 16. Size 0 gives a valid pointer that must be freed.
LEAT_MUST_USE leat_status_t leat_allocator_allocate(leat_allocator_t* allocator, size_t size_bytes,
                                                    void** out_pointer);
// Allocates zeroed memory at |alignment|, a power of two. Above 16 the whole block is written to
// zero it, while otherwise fresh pages of the system are left untouched.
LEAT_MUST_USE leat_status_t leat_allocator_allocate_aligned(leat_allocator_t* allocator,
                                                            size_t alignment, size_t size_bytes,
                                                            void** out_pointer);
// |count| * |item_bytes| zeroed bytes; a product that overflows is RESOURCE_EXHAUSTED. For items of
// a known type LEAT_ALLOCATE, below, is safer.
LEAT_MUST_USE leat_status_t leat_allocator_allocate_array(leat_allocator_t* allocator, size_t count,
                                                          size_t item_bytes, void** out_pointer);
// Allocates as leat_allocator_allocate_aligned does, but without the zeroing, for bytes that are
// written at once.
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
// A NUL-terminated copy of |size| bytes at |data|, which the caller frees. |data| may be NULL when
// |size| is 0.
LEAT_MUST_USE leat_status_t leat_allocator_clone_string(leat_allocator_t* allocator,
                                                        const char* data, size_t size,
                                                        char** out_string);
// Makes room for at least |needed| items of |item_bytes| in a growing array (doubling; the new
// part zeroed). |*inout_items| may be NULL with |*inout_capacity| 0; it stays valid on failure.
LEAT_MUST_USE leat_status_t leat_allocator_grow_array(leat_allocator_t* allocator, size_t needed,
                                                      size_t item_bytes, void** inout_items,
                                                      size_t* inout_capacity);
void leat_allocator_free(leat_allocator_t* allocator, void* pointer);  // NULL is allowed

// Macros that allocate memory of a known type, which is that of the pointer that receives it:
//
//   leat_costs_t* costs = NULL;
//   LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &costs));
//
// |out_items| is the address of a pointer to what is allocated. The size of an item comes from that
// pointer, so it cannot disagree with it, and an address of anything else (an array, a number, a
// void*, a constant pointer) does not compile, nor does the pointer itself, unless it is one to
// pointers: then it is the address of a pointer too, as an out-parameter is. Each argument is
// evaluated once.
#define LEAT_ALLOCATE(allocator, count, out_items)                                \
  leat_allocator_allocate_array((allocator), (count), LEAT_ITEM_BYTES(out_items), \
                                LEAT_ITEMS_ADDRESS(out_items))
// leat_allocator_grow_array for |*inout_items|, which has room for |*inout_capacity| items.
#define LEAT_GROW(allocator, needed, inout_items, inout_capacity)                \
  leat_allocator_grow_array((allocator), (needed), LEAT_ITEM_BYTES(inout_items), \
                            LEAT_ITEMS_ADDRESS(inout_items), (inout_capacity))

// An array of one item: the compiler refuses it where the item is void or a function, of which
// sizeof would be 1.
#define LEAT_ITEM_BYTES(items_address) sizeof(__typeof__(**(items_address))[1])
// No other type than that of the address of a pointer matches the only association. An array, of
// which ** would also be an item, is not such a pointer.
#define LEAT_ITEMS_ADDRESS(items_address) \
  _Generic((items_address), __typeof__(&**(items_address))*: (void**)(items_address))

#endif  // LEAT_BASE_ALLOCATOR_H_
