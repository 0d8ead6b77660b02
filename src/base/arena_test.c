// The arena: memory that is taken piece by piece and given back all at once. Tested are what
// callers rely on: bytes are zero, aligned and no one else's, blocks come from the allocator only
// when they are needed, and an error leaves the arena usable. Errors come from sizes whose sum or
// product overflows, and from an allocator that is made to fail (base/fault.h). Sizes and addresses
// are compared with what the header promises; that reused memory is poisoned is left to the ASan
// build.
#include "base/arena.h"

#include "base/fault.h"
#include "base/test.h"

static void memory_is_zeroed_aligned_and_distinct(void** state) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 512, &arena);
  unsigned char* pointers[400];
  for (size_t i = 0; i < 400; ++i) {
    void* p = NULL;
    LEAT_EXPECT_OK(leat_arena_allocate(&arena, i * 7 % 900, &p));
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 16, 0);
    pointers[i] = p;
    for (size_t k = 0; k < i * 7 % 900; ++k) assert_int_equal(pointers[i][k], 0);
    memset(p, (int)(i & 255), i * 7 % 900);
  }
  for (size_t i = 0; i < 400; ++i) {
    for (size_t k = 0; k < i * 7 % 900; ++k) assert_int_equal(pointers[i][k], i & 255);
  }
  assert_true(arena.used_bytes > 0);
  leat_arena_deinitialize(&arena);
  leat_arena_deinitialize(&arena);
}

static void an_empty_arena_takes_no_memory(void** state) {
  leat_fault_t fault;
  leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, 1);
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_arena_deinitialize(&arena);
  assert_false(leat_fault_remove(&fault));
}

static void large_pieces_do_not_end_the_block(void** state) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  void *small = NULL, *large = NULL, *next = NULL;
  LEAT_EXPECT_OK(leat_arena_allocate(&arena, 16, &small));
  LEAT_EXPECT_OK(leat_arena_allocate(&arena, 1 << 20, &large));
  LEAT_EXPECT_OK(leat_arena_allocate(&arena, 16, &next));
#if !defined(LEAT_ASAN) && !defined(LEAT_ARENA_MALLOC)
  assert_ptr_equal((char*)small + 16, next);
#endif
  memset(large, 1, 1 << 20);
  leat_arena_deinitialize(&arena);
}

// Pieces by both ways in, and one that does not fit a step's rest.
static void expect_one_block(size_t expected_bytes) {
  enum { PIECES = 4000, PIECE_BYTES = 200 };
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_arena_expect(&arena, expected_bytes);
  char* first = NULL;
  for (int i = 0; i < PIECES; ++i) {
    void* piece = NULL;
    LEAT_EXPECT_OK(i % 2 ? leat_arena_take(&arena, PIECE_BYTES, &piece)
                         : leat_arena_allocate(&arena, PIECE_BYTES, &piece));
    assert_int_equal((uintptr_t)piece % 16, 0);
    for (int k = 0; k < PIECE_BYTES; ++k) assert_int_equal(((char*)piece)[k], 0);
    memset(piece, 1, PIECE_BYTES);
    if (!first) first = piece;
#if !defined(LEAT_ASAN) && !defined(LEAT_ARENA_MALLOC)
    assert_ptr_equal(piece, first + i * 208);
#endif
  }
  void* nothing = NULL;
  LEAT_EXPECT_OK(leat_arena_take(&arena, 0, &nothing));
  assert_non_null(nothing);
  leat_arena_deinitialize(&arena);
}

static void what_is_expected_comes_as_one_block(void** state) {
  (void)state;
  expect_one_block(850 << 10);  // of several steps
  expect_one_block(3 << 20);    // a huge page
}

static void typed_memory_has_its_pointers_item_size(void** state) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  struct { int64_t a, b, c; }* triples = NULL;
  LEAT_EXPECT_OK(LEAT_NEW(&arena, 1 + 2, &triples));
  assert_true(arena.used_bytes >= 3 * sizeof *triples);
  memset(triples, 0xff, 3 * sizeof *triples);  // ASan sees what is too small
  size_t used_bytes = arena.used_bytes, count = SIZE_MAX / sizeof *triples + 2;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, LEAT_NEW(&arena, count, &triples));
  assert_null(triples);
  assert_int_equal(arena.used_bytes, used_bytes);
  leat_arena_deinitialize(&arena);
}

static void strings_are_copied_and_printed(void** state) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_view_t s;
  LEAT_EXPECT_OK(leat_arena_copy_string(&arena, leat_string_view_make("abc\0d", 5), &s));
  assert_int_equal(s.size, 5);
  assert_memory_equal(s.data, "abc\0d", 6);
  LEAT_EXPECT_OK(leat_arena_copy_string(&arena, leat_string_view_make(NULL, 0), &s));
  assert_string_equal(s.data, "");
  LEAT_EXPECT_OK(leat_arena_print(&arena, &s, "%s/%d", "node", 12));
  assert_string_equal(s.data, "node/12");
  assert_int_equal(s.size, 7);
  leat_arena_deinitialize(&arena);
}

static void failure_leaves_it_usable(void** state) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 256, &arena);
  void* p = &p;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, leat_arena_allocate(&arena, SIZE_MAX, &p));
  assert_null(p);
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, leat_arena_allocate(&arena, SIZE_MAX - 8, &p));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_arena_allocate_array(&arena, SIZE_MAX / 2, 3, &p));
  leat_fault_t fault;
  leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, 1);
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, leat_arena_allocate(&arena, 8, &p));
  leat_fault_remove(&fault);
  LEAT_EXPECT_OK(leat_arena_allocate_array(&arena, 4, 8, &p));
  memset(p, 1, 32);
  leat_arena_deinitialize(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_aligned_and_distinct),
      cmocka_unit_test(an_empty_arena_takes_no_memory),
      cmocka_unit_test(large_pieces_do_not_end_the_block),
      cmocka_unit_test(what_is_expected_comes_as_one_block),
      cmocka_unit_test(typed_memory_has_its_pointers_item_size),
      cmocka_unit_test(strings_are_copied_and_printed),
      cmocka_unit_test(failure_leaves_it_usable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
