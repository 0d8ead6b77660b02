// The two hash maps: names with values in the order of their insertion, and 64-bit words. The map
// of words does 100,000 random insertions, look-ups and removals beside a plain array, which must
// agree after each; its keys differ in their upper half only, so that a hash which drops those bits
// would put all of them into one place. Memory is made to fail at every allocation in turn, after
// which the map of names must hold what it held before. How fast the maps are is not tested here.
#include "base/map.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/random.h"
#include "base/test.h"

static void names_are_found_in_insertion_order(void** state) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_map_t map;
  leat_string_map_initialize(leat_allocator_system(), &map);
  assert_false(leat_string_map_get(&map, LEAT_SV("x"), NULL));
  LEAT_EXPECT_OK(leat_string_map_reserve(&map, 4000));
  for (uint64_t i = 0; i < 5000; ++i) {
    leat_string_view_t name;
    LEAT_EXPECT_OK(leat_arena_print(&arena, &name, "node_%d", (int)i));
    LEAT_EXPECT_OK(leat_string_map_set(&map, name, i));
  }
  assert_int_equal(map.count, 5000);
  for (uint64_t i = 0; i < 5000; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "node_%d", (int)i);
    uint64_t value = 0;
    assert_true(leat_string_map_get(&map, leat_string_view_from(name), &value));
    assert_int_equal(value, i);
    assert_true(leat_string_view_equals(map.entries[i].key, name));
  }
  assert_false(leat_string_map_get(&map, LEAT_SV("node_5000"), NULL));
  leat_string_map_deinitialize(&map);
  leat_arena_deinitialize(&arena);
}

static void insert_keeps_and_set_replaces(void** state) {
  leat_string_map_t map;
  leat_string_map_initialize(leat_allocator_system(), &map);
  uint64_t* place = NULL;
  bool inserted = false;
  LEAT_EXPECT_OK(leat_string_map_insert(&map, LEAT_SV("a"), 1, &place, &inserted));
  assert_true(inserted && *place == 1);
  LEAT_EXPECT_OK(leat_string_map_insert(&map, LEAT_SV("a"), 2, &place, &inserted));
  assert_true(!inserted && *place == 1);
  LEAT_EXPECT_OK(leat_string_map_set(&map, LEAT_SV("a"), 3));
  assert_int_equal(*place, 3);
  LEAT_EXPECT_OK(leat_string_map_set(&map, LEAT_SV(""), 4));
  uint64_t value = 0;
  assert_true(leat_string_map_get(&map, leat_string_view_make(NULL, 0), &value) && value == 4);
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, leat_string_map_reserve(&map, SIZE_MAX));
  leat_string_map_deinitialize(&map);
}

static void a_failed_insertion_changes_nothing(void** state) {
  static const char* const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_string_map_t map;
    leat_string_map_initialize(leat_allocator_system(), &map);
    uint64_t done = 0;
    leat_status_t status = NULL;
    while (done < 10 && !status) {
      status = leat_string_map_set(&map, leat_string_view_from(names[done]), done);
      done += !status;
    }
    bool met = leat_fault_remove(&fault);
    assert_int_equal(map.count, done);
    uint64_t value = 0;
    for (uint64_t i = 0; i < 10; ++i) {
      assert_int_equal(leat_string_map_get(&map, leat_string_view_from(names[i]), &value),
                       i < done);
    }
    leat_string_map_deinitialize(&map);
    if (!met) {
      LEAT_EXPECT_OK(status);
      break;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
  }
}

// Random sets and erasures beside a plain table.
static void words_agree_with_a_table(void** state) {
  enum { KEYS = 700 };
  static uint64_t expected[KEYS];
  leat_word_map_t map;
  leat_word_map_initialize(leat_allocator_system(), &map);
  assert_false(leat_word_map_get(&map, 0, NULL));
  assert_false(leat_word_map_erase(&map, 0));
  leat_philox_t philox = leat_philox_make(1, 2);
  for (int step = 0; step < 100000; ++step) {
    uint32_t words[4];
    leat_philox_next(&philox, words);
    uint64_t index = words[0] % KEYS;
    uint64_t key = index * 0x100000000ull;  // differ in the upper half only
    if (words[1] % 3) {
      expected[index] = words[2] + 1ull;
      LEAT_EXPECT_OK(leat_word_map_set(&map, key, expected[index]));
    } else {
      assert_int_equal(leat_word_map_erase(&map, key), expected[index] != 0);
      expected[index] = 0;
    }
    index = words[3] % KEYS;
    uint64_t value = 0;
    assert_int_equal(leat_word_map_get(&map, index * 0x100000000ull, &value),
                     expected[index] != 0);
    assert_int_equal(value, expected[index]);
  }
  size_t count = 0;
  for (int i = 0; i < KEYS; ++i) count += expected[i] != 0;
  assert_int_equal(map.count, count);
  leat_word_map_clear(&map);
  assert_false(leat_word_map_get(&map, 0, NULL));
  leat_word_map_deinitialize(&map);
  leat_word_map_clear(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_found_in_insertion_order),
      cmocka_unit_test(insert_keeps_and_set_replaces),
      cmocka_unit_test(a_failed_insertion_changes_nothing),
      cmocka_unit_test(words_agree_with_a_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
