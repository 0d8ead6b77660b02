// The allocator interface and the system allocator behind it: memory is aligned, and zeroed where
// that is promised; what is too much is an error and leaves the pointer NULL; arrays grow and keep
// their items; and the observer sees each request and can make it fail. Reallocating is tried with
// an allocator that has no function of its own for it, too. A typed allocation that is too small is
// found by ASan, which these tests also run under. Arenas have a test of their own (arena_test.c).
#include "base/allocator.h"

#include <string.h>

#include "base/fault.h"
#include "base/test.h"

static bool is_zero(const void* data, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (((const char*)data)[i]) return false;
  }
  return true;
}

static void memory_is_zeroed_and_aligned(void** state) {
  leat_allocator_t* allocator = leat_allocator_system();
  for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
    for (size_t size = 0; size < 3000; size = size * 3 + 1) {
      void* p = NULL;
      LEAT_EXPECT_OK(leat_allocator_allocate_aligned(allocator, alignment, size, &p));
      assert_non_null(p);
      assert_int_equal((uintptr_t)p % alignment, 0);
      assert_true(is_zero(p, size));
      memset(p, 0xff, size);
      leat_allocator_free(allocator, p);
      LEAT_EXPECT_OK(leat_allocator_allocate_uninitialized(allocator, alignment, size, &p));
      assert_int_equal((uintptr_t)p % alignment, 0);
      memset(p, 0xff, size);
      leat_allocator_free(allocator, p);
    }
  }
  leat_allocator_free(allocator, NULL);
}

static void too_much_is_an_error(void** state) {
  leat_allocator_t* allocator = leat_allocator_system();
  void* p = &p;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, leat_allocator_allocate(allocator, SIZE_MAX, &p));
  assert_null(p);
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_allocator_allocate_aligned(allocator, 4096, SIZE_MAX - 5, &p));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_allocator_allocate_uninitialized(allocator, 64, PTRDIFF_MAX, &p));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_allocator_allocate_array(allocator, SIZE_MAX / 4, 8, &p));
  assert_null(p);
}

typedef struct triple_s { int64_t a, b, c; } triple_t;

static void typed_memory_has_its_pointers_item_size(void** state) {
  leat_allocator_t* allocator = leat_allocator_system();
  triple_t* triples = NULL;
  LEAT_EXPECT_OK(LEAT_ALLOCATE(allocator, 1 + 2, &triples));  // no precedence is lost
  assert_true(is_zero(triples, 3 * sizeof *triples));
  memset(triples, 0xff, 3 * sizeof *triples);  // ASan sees what is too small
  size_t capacity = 3;
  LEAT_EXPECT_OK(LEAT_GROW(allocator, capacity + 1, &triples, &capacity));
  assert_true(capacity >= 4);
  assert_int_equal(triples[2].c, -1);
  assert_true(is_zero(triples + 3, (capacity - 3) * sizeof *triples));
  leat_allocator_free(allocator, triples);
  // So many of them have 24 bytes modulo 2^64.
  triples = (void*)&capacity;
  size_t count = SIZE_MAX / sizeof *triples + 2;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, LEAT_ALLOCATE(allocator, count, &triples));
  assert_null(triples);
  capacity = 0;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, LEAT_GROW(allocator, count, &triples, &capacity));
  assert_null(triples);
}

static void strings_are_cloned(void** state) {
  char* copy = NULL;
  LEAT_EXPECT_OK(leat_allocator_clone_string(leat_allocator_system(), "abcdef", 3, &copy));
  assert_string_equal(copy, "abc");
  leat_allocator_free(leat_allocator_system(), copy);
  LEAT_EXPECT_OK(leat_allocator_clone_string(leat_allocator_system(), NULL, 0, &copy));
  assert_string_equal(copy, "");
  leat_allocator_free(leat_allocator_system(), copy);
}

static void arrays_grow(void** state) {
  leat_allocator_t* allocator = leat_allocator_system();
  void* memory = NULL;
  size_t capacity = 0;
  int growths = 0;
  for (uint32_t i = 0; i < 10000; ++i) {
    void* before = memory;
    LEAT_EXPECT_OK(
        leat_allocator_grow_array(allocator, i + 1, sizeof(uint32_t), &memory, &capacity));
    growths += memory != before;
    uint32_t* items = memory;
    assert_true(capacity > i);
    assert_true(is_zero(items + i, (capacity - i) * sizeof(uint32_t)));
    items[i] = i + 1;
  }
  for (uint32_t i = 0; i < 10000; ++i) assert_int_equal(((uint32_t*)memory)[i], i + 1);
  assert_true(growths < 16);
  void* before = memory;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_allocator_grow_array(allocator, SIZE_MAX / 2, 4, &memory, &capacity));
  assert_ptr_equal(memory, before);
  leat_allocator_free(allocator, memory);
}

static leat_status_t plain_allocate(leat_allocator_t* self, size_t alignment, size_t size_bytes,
                                    void** out_pointer) {
  return leat_allocator_allocate_uninitialized(leat_allocator_system(), alignment, size_bytes,
                                               out_pointer);
}

static void plain_free(leat_allocator_t* self, void* pointer) {
  leat_allocator_free(leat_allocator_system(), pointer);
}

static void expect_reallocation(leat_allocator_t* allocator) {
  void* p = NULL;
  LEAT_EXPECT_OK(leat_allocator_reallocate(allocator, 0, 5, &p));
  memcpy(p, "01234", 5);
  LEAT_EXPECT_OK(leat_allocator_reallocate(allocator, 5, 1 << 20, &p));
  assert_memory_equal(p, "01234", 5);
  memset(p, 'x', 1 << 20);
  LEAT_EXPECT_OK(leat_allocator_reallocate(allocator, 1 << 20, 3, &p));
  assert_memory_equal(p, "xxx", 3);
  void* before = p;
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_allocator_reallocate(allocator, 3, SIZE_MAX - 100, &p));
  leat_fault_t fault;
  leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, 1);
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, leat_allocator_reallocate(allocator, 3, 100, &p));
  leat_fault_remove(&fault);
  assert_ptr_equal(p, before);
  assert_memory_equal(p, "xxx", 3);
  LEAT_EXPECT_OK(leat_allocator_reallocate(allocator, 3, 0, &p));
  assert_non_null(p);
  leat_allocator_free(allocator, p);
}

static void memory_is_resized_by_all_allocators(void** state) {
  static const leat_allocator_vtable_t plain_vtable = {plain_allocate, plain_free, NULL};
  leat_allocator_t plain = {&plain_vtable};
  expect_reallocation(leat_allocator_system());
  expect_reallocation(&plain);
}

static void observer_makes_it_fail(void** state) {
  leat_fault_t fault;
  void* p = NULL;
  leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, 2);
  LEAT_EXPECT_OK(leat_allocator_allocate(leat_allocator_system(), 8, &p));
  leat_allocator_free(leat_allocator_system(), p);
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_allocator_allocate_uninitialized(leat_allocator_system(), 64, 8, &p));
  assert_null(p);
  LEAT_EXPECT_OK(leat_allocator_allocate_aligned(leat_allocator_system(), 64, 8, &p));
  leat_allocator_free(leat_allocator_system(), p);
  assert_true(leat_fault_remove(&fault));
}

static leat_status_t count_bytes(void* data, size_t size_bytes) {
  *(size_t*)data += size_bytes;
  return leat_ok_status();
}

static void observer_sees_sizes(void** state) {
  size_t bytes = 0;
  leat_observer_t observer = {.data = &bytes, .on_allocation = count_bytes};
  leat_observer_install(&observer);
  void *a = NULL, *b = NULL;
  LEAT_EXPECT_OK(leat_allocator_allocate(leat_allocator_system(), 100, &a));
  LEAT_EXPECT_OK(leat_allocator_allocate_aligned(leat_allocator_system(), 64, 1000, &b));
  leat_observer_install(NULL);
  leat_allocator_free(leat_allocator_system(), a);
  leat_allocator_free(leat_allocator_system(), b);
  assert_int_equal(bytes, 1100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_and_aligned), cmocka_unit_test(too_much_is_an_error),
      cmocka_unit_test(typed_memory_has_its_pointers_item_size),
      cmocka_unit_test(strings_are_cloned),           cmocka_unit_test(arrays_grow),
      cmocka_unit_test(memory_is_resized_by_all_allocators),
      cmocka_unit_test(observer_makes_it_fail),       cmocka_unit_test(observer_sees_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
