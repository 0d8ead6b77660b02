// Arenas: a list of blocks, of which the newest is cut up from its front. A request that would
// waste most of a block gets a block of its own, which is put behind the newest one, so that the
// newest goes on being cut up. Blocks come zeroed from the allocator, so pieces need no memset.
//
// The pages of a large block are not there yet when it is allocated. They are requested in steps of
// ARENA_STEP_BYTES just before they are used, since one page fault after the other would cost
// several times that:
//
//   block  | header | given out ... | present, free | not touched yet ... |
//                              next ^           end ^              limit ^
//
// Invariant: next <= end <= limit, the memory from next to end is zero, and |next| is a multiple of
// 16.
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/pages.h"

#define ARENA_ALIGNMENT_BYTES 16
#define ARENA_DEFAULT_BLOCK_BYTES (16 * 1024)
#define ARENA_GROWTH_LIMIT 64
#define ARENA_STEP_BYTES (128 * 1024)  // of pages that are taken at once

#if defined(LEAT_ASAN) && !defined(LEAT_ARENA_MALLOC)
#define LEAT_ARENA_MALLOC 1
#endif

struct leat_arena_block_s {
  leat_arena_block_t* next;
  size_t pages_bytes;  // 0: the allocator's memory, else that much of the system's
};
_Static_assert(sizeof(leat_arena_block_t) == ARENA_ALIGNMENT_BYTES, "keeps blocks aligned");

void leat_arena_initialize(leat_allocator_t* allocator, size_t block_size_bytes,
                           leat_arena_t* out_arena) {
  memset(out_arena, 0, sizeof(*out_arena));
  out_arena->allocator = allocator;
  out_arena->block_size_bytes =
      block_size_bytes ? leat_align_up(block_size_bytes, ARENA_ALIGNMENT_BYTES)
                       : ARENA_DEFAULT_BLOCK_BYTES;
}

void leat_arena_deinitialize(leat_arena_t* arena) {
  leat_arena_block_t* block = arena->blocks;
  while (block) {
    leat_arena_block_t* next = block->next;
    if (block->pages_bytes > 0) {
      leat_pages_free(block, block->pages_bytes);
    } else {
      leat_allocator_free(arena->allocator, block);
    }
    block = next;
  }
  arena->blocks = NULL;
  arena->next = arena->end = arena->limit = NULL;
  arena->used_bytes = 0;
}

static leat_status_t allocate_block(leat_arena_t* arena, size_t size_bytes,
                                    leat_arena_block_t** out_block) {
  size_t total_bytes = 0;
  if (!leat_checked_add(size_bytes, sizeof(leat_arena_block_t), &total_bytes)) {
    total_bytes = SIZE_MAX;  // the allocator refuses it with the right error
  }
  void* block = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(arena->allocator, total_bytes, &block));
  *out_block = block;
  return leat_ok_status();
}

// Allocates a block that holds only this piece.
static leat_status_t allocate_alone(leat_arena_t* arena, size_t size_bytes, void** out_pointer) {
  leat_arena_block_t* block = NULL;
  LEAT_RETURN_IF_ERROR(allocate_block(arena, size_bytes, &block));
  leat_arena_block_t** link = arena->next && arena->blocks ? &arena->blocks->next : &arena->blocks;
  block->next = *link;
  *link = block;
  arena->used_bytes += size_bytes;
  *out_pointer = block + 1;
  return leat_ok_status();
}

#if !defined(LEAT_ARENA_MALLOC)
static void open_block(leat_arena_t* arena, leat_arena_block_t* block, size_t block_bytes) {
  block->next = arena->blocks;
  arena->blocks = block;
  arena->next = (char*)(block + 1);
  arena->limit = arena->next + block_bytes;
  arena->end = block_bytes > ARENA_STEP_BYTES ? arena->next : arena->limit;
}

static leat_status_t begin_block(leat_arena_t* arena, size_t block_bytes) {
  leat_arena_block_t* block = NULL;
  LEAT_RETURN_IF_ERROR(allocate_block(arena, block_bytes, &block));
  open_block(arena, block, block_bytes);
  return leat_ok_status();
}

// Begins a block that is one huge page: it is cheaper to get than its five hundred small pages, and
// addresses in it need only one entry of the TLB.
static leat_status_t begin_huge_page(leat_arena_t* arena) {
  void* pages = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_pages_allocate(LEAT_PAGES_HUGE_BYTES, LEAT_PAGES_HUGE_BYTES, &pages));
  leat_pages_advise(pages, LEAT_PAGES_HUGE_BYTES, LEAT_PAGES_HUGE);
  leat_pages_advise(pages, LEAT_PAGES_HUGE_BYTES, LEAT_PAGES_PRESENT);
  leat_arena_block_t* block = pages;
  block->pages_bytes = LEAT_PAGES_HUGE_BYTES;
  open_block(arena, block, LEAT_PAGES_HUGE_BYTES - sizeof(*block));
  arena->end = arena->limit;
  return leat_ok_status();
}

// Requests the next step of the newest block's pages; false when the block has none left.
static bool take_step(leat_arena_t* arena) {
  size_t left = (size_t)(arena->limit - arena->end);
  if (left == 0) return false;
  size_t step = LEAT_MIN(left, (size_t)ARENA_STEP_BYTES);
  leat_pages_advise(arena->end, step, LEAT_PAGES_PRESENT);
  arena->end += step;
  return true;
}

static leat_status_t allocate_slowly(leat_arena_t* arena, size_t size_bytes, void** out_pointer) {
  size_t block_bytes = arena->block_size_bytes;
  // Blocks grow with what is in use, so that a large arena has few blocks and a small one wastes
  // little.
  size_t limit = block_bytes * ARENA_GROWTH_LIMIT;
  while (block_bytes < limit && block_bytes < arena->used_bytes) block_bytes *= 2;
  if (size_bytes > block_bytes / 4) return allocate_alone(arena, size_bytes, out_pointer);
  while ((size_t)(arena->end - arena->next) < size_bytes) {
    if (!take_step(arena)) LEAT_RETURN_IF_ERROR(begin_block(arena, block_bytes));
  }
  *out_pointer = arena->next;
  arena->next += size_bytes;
  arena->used_bytes += size_bytes;
  return leat_ok_status();
}
#endif

leat_status_t leat_arena_allocate(leat_arena_t* arena, size_t size_bytes, void** out_pointer) {
  *out_pointer = NULL;
#if defined(LEAT_ARENA_MALLOC)
  return allocate_alone(arena, size_bytes, out_pointer);
#else
  if (LEAT_UNLIKELY(size_bytes > PTRDIFF_MAX)) {
    return allocate_alone(arena, size_bytes, out_pointer);
  }
  size_bytes = leat_align_up(size_bytes ? size_bytes : 1, ARENA_ALIGNMENT_BYTES);
  if (LEAT_UNLIKELY((size_t)(arena->end - arena->next) < size_bytes)) {
    return allocate_slowly(arena, size_bytes, out_pointer);
  }
  *out_pointer = arena->next;
  arena->next += size_bytes;
  arena->used_bytes += size_bytes;
  return leat_ok_status();
#endif
}

leat_status_t leat_arena_allocate_array(leat_arena_t* arena, size_t count, size_t item_bytes,
                                        void** out_pointer) {
  size_t size_bytes = 0;
  if (!leat_checked_multiply(count, item_bytes, &size_bytes)) {
    *out_pointer = NULL;
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Allocation failed: size is %zu items of %zu bytes, must fit 64 bits",
                            count, item_bytes);
  }
  return leat_arena_allocate(arena, size_bytes, out_pointer);
}

leat_status_t leat_arena_copy_string(leat_arena_t* arena, leat_string_view_t string,
                                     leat_string_view_t* out_string) {
  void* copy = NULL;
  *out_string = (leat_string_view_t){NULL, 0};
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, string.size + 1, &copy));
  if (string.size) memcpy(copy, string.data, string.size);  // the NUL is there already
  *out_string = leat_string_view_make(copy, string.size);
  return leat_ok_status();
}

void leat_arena_expect(leat_arena_t* arena, size_t size_bytes) {
#if defined(LEAT_ARENA_MALLOC)
  (void)arena;
  (void)size_bytes;
#else
  size_t limit = arena->block_size_bytes * ARENA_GROWTH_LIMIT;
  if (size_bytes <= arena->block_size_bytes) return;
  size_bytes = leat_align_up(LEAT_MIN(size_bytes, limit), ARENA_ALIGNMENT_BYTES);
  if ((size_t)(arena->limit - arena->next) >= size_bytes) return;
  // Another allocator wants to see what is taken.
  bool is_huge = size_bytes >= LEAT_PAGES_HUGE_BYTES / 2 &&
                 arena->allocator == leat_allocator_system();
  // Without memory for it the next allocation fails, or does with less.
  leat_status_free(is_huge ? begin_huge_page(arena) : begin_block(arena, size_bytes));
#endif
}

static leat_status_t print_v(leat_arena_t* arena, leat_string_view_t* out_string,
                             const char* format, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  int size = vsnprintf(NULL, 0, format, copy);
  va_end(copy);
  if (size < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Printing failed: format is '%s', must be one that can be carried out",
                            format);
  }
  void* text = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, (size_t)size + 1, &text));
  vsnprintf(text, (size_t)size + 1, format, arguments);
  *out_string = leat_string_view_make(text, (size_t)size);
  return leat_ok_status();
}

leat_status_t leat_arena_print(leat_arena_t* arena, leat_string_view_t* out_string,
                               const char* format, ...) {
  *out_string = (leat_string_view_t){NULL, 0};
  va_list arguments;
  va_start(arguments, format);
  leat_status_t status = print_v(arena, out_string, format, arguments);
  va_end(arguments);
  return status;
}
