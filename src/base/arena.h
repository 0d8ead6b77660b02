// An arena: memory that is taken piece by piece and freed all at once. Taking a piece moves a
// pointer, and there is no call to free one. Graphs, decoded messages and steps keep their data in
// arenas, because all of it ends at the same time.
//
//   leat_arena_t arena;
//   leat_arena_initialize(leat_allocator_system(), 0, &arena);
//   leat_costs_t* costs;
//   leat_status_t status = LEAT_NEW(&arena, count, &costs);
//   ...
//   leat_arena_deinitialize(&arena);  // |costs| is gone
//
// An arena belongs to one thread at a time. Pieces never move. Under AddressSanitizer, and with
// LEAT_ARENA_MALLOC=1 at compile time, each piece is a heap block of its own, so that a write past
// its end is found.
#ifndef LEAT_BASE_ARENA_H_
#define LEAT_BASE_ARENA_H_

#include "base/allocator.h"
#include "base/string_view.h"

typedef struct leat_arena_block_s leat_arena_block_t;

typedef struct leat_arena_s {
  leat_allocator_t* allocator;
  // All of the arena's memory, the newest block first.
  leat_arena_block_t* blocks;
  // From here to |end| the newest block is free, and zero.
  char* next;
  // End of what may be given out without asking the system for pages.
  char* end;
  // End of the newest block; up to there pages are taken in steps.
  char* limit;
  size_t block_size_bytes;
  // Given out so far, rounded up to 16 for each piece.
  size_t used_bytes;
} leat_arena_t;

// Takes no memory yet. |block_size_bytes| 0 takes 16 KiB. Blocks are taken on first need and grow
// up to 64 times that, with what is in use. |allocator| must outlive the arena.
void leat_arena_initialize(leat_allocator_t* allocator, size_t block_size_bytes,
                           leat_arena_t* out_arena);
// Says that about |size_bytes| more will be needed, so that they come as few blocks; from 1 MiB on
// as a huge page, where the system has one. It is a hint: without memory for it nothing happens
// here, and a later allocation fails.
void leat_arena_expect(leat_arena_t* arena, size_t size_bytes);
// Frees every piece. The arena is empty afterwards and may be used again.
void leat_arena_deinitialize(leat_arena_t* arena);

// Zeroed, 16-byte aligned. RESOURCE_EXHAUSTED without memory, and |*out_pointer| is then NULL. A
// piece larger than a quarter of a block gets a block of its own.
LEAT_MUST_USE leat_status_t leat_arena_allocate(leat_arena_t* arena, size_t size_bytes,
                                                void** out_pointer);
// |count| * |item_bytes| bytes; a product that overflows is RESOURCE_EXHAUSTED.
LEAT_MUST_USE leat_status_t leat_arena_allocate_array(leat_arena_t* arena, size_t count,
                                                      size_t item_bytes, void** out_pointer);
// Allocates |count| items of the type that |out_items| is the address of a pointer to;
// LEAT_ALLOCATE (base/allocator.h) says what it accepts.
#define LEAT_NEW(arena, count, out_items)                                 \
  leat_arena_allocate_array((arena), (count), LEAT_ITEM_BYTES(out_items), \
                            LEAT_ITEMS_ADDRESS(out_items))
// leat_arena_allocate for few bytes in hot code, without a call where the block has room.
LEAT_MUST_USE static inline leat_status_t leat_arena_take(leat_arena_t* arena, size_t size_bytes,
                                                          void** out_pointer) {
  // What is left is a multiple of 16; nothing wraps to more than that.
  if (LEAT_UNLIKELY(size_bytes - 1 >= (size_t)(arena->end - arena->next))) {
    return leat_arena_allocate(arena, size_bytes, out_pointer);
  }
  size_t aligned_bytes = (size_bytes + 15) & ~(size_t)15;
  *out_pointer = arena->next;
  arena->next += aligned_bytes;
  arena->used_bytes += aligned_bytes;
  return leat_ok_status();
}
// A copy of |string| that lives as long as the arena, with a NUL behind it that its size does not
// count.
LEAT_MUST_USE leat_status_t leat_arena_copy_string(leat_arena_t* arena, leat_string_view_t string,
                                                   leat_string_view_t* out_string);
// printf into the arena; NUL-terminated as well. INVALID_ARGUMENT where the format cannot be
// carried out.
LEAT_MUST_USE leat_status_t leat_arena_print(leat_arena_t* arena, leat_string_view_t* out_string,
                                             const char* format, ...) LEAT_PRINTF(3, 4);

#endif  // LEAT_BASE_ARENA_H_
