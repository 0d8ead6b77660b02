// Pages are whole, zeroed, aligned as asked, and refused where there are none.
#include "base/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void pages_are_zeroed_and_aligned(void** state) {
  (void)state;
  static const size_t alignments[] = {1, 4096, 65536, (size_t)2 << 20, (size_t)1 << 30};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(alignments); ++i) {
    void* pages = NULL;
    size_t size = 100000 + i;
    assert_null(leat_pages_allocate(size, alignments[i], &pages));
    assert_int_equal((uintptr_t)pages % alignments[i], 0);
    char* bytes = pages;
    assert_int_equal(bytes[0] | bytes[size - 1], 0);
    bytes[0] = bytes[size - 1] = 1;
    leat_pages_advise(pages, size, LEAT_PAGES_HUGE);
    assert_int_equal(bytes[0] & bytes[size - 1], 1);
    leat_pages_advise(pages, size, LEAT_PAGES_UNNEEDED);
    assert_int_equal(bytes[0] | bytes[size - 1], 0);
    leat_pages_free(pages, size);
  }
  leat_pages_free(NULL, 1);
}

static void what_is_made_present_keeps_its_bytes(void** state) {
  (void)state;
  static char memory[5 * 4096];
  memory[1] = memory[sizeof(memory) - 1] = 7;
  leat_pages_advise(memory, sizeof(memory), LEAT_PAGES_PRESENT);
  leat_pages_advise(memory + 1, 10, LEAT_PAGES_PRESENT);
  leat_pages_advise(memory + 1, 0, LEAT_PAGES_PRESENT);
  assert_int_equal(memory[1] + memory[2] + memory[sizeof(memory) - 1], 14);
}

static void sizes_without_end_are_refused(void** state) {
  (void)state;
  static const size_t sizes[] = {0, SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 47};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(sizes); ++i) {
    void* pages = NULL;
    leat_status_t status = leat_pages_allocate(sizes[i], 4096, &pages);
    assert_int_equal(leat_status_code(status), LEAT_RESOURCE_EXHAUSTED);
    assert_null(pages);
    leat_status_free(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pages_are_zeroed_and_aligned),
      cmocka_unit_test(what_is_made_present_keeps_its_bytes),
      cmocka_unit_test(sizes_without_end_are_refused),
  };
  return cmocka_run_group_tests_name("base.pages", tests, NULL, NULL);
}
