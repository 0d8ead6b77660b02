#include "base/heap.h"

#include "base/random.h"
#include "base/test.h"

static void equal_keys_come_out_by_value(void** state) {
  leat_heap_item_t items[6];
  leat_heap_t heap = {.items = items};
  static const leat_heap_item_t given[] = {{5, 3},         {-7, 9}, {5, 1},
                                           {INT64_MIN, 4}, {5, 2},  {-7, 0}};
  static const int32_t expected[] = {4, 0, 9, 1, 2, 3};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(given); ++i) {
    leat_heap_push(&heap, given[i].key, given[i].value);
  }
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(expected); ++i) {
    assert_int_equal(leat_heap_pop(&heap), expected[i]);
  }
  assert_int_equal(heap.count, 0);
}

// The reference is a search of all that was pushed and not yet taken.
static void random_pushes_and_pops_agree_with_a_search(void** state) {
  enum { COUNT = 300 };
  leat_heap_item_t items[COUNT];
  int64_t keys[COUNT];
  bool inside[COUNT] = {false};
  leat_heap_t heap = {.items = items};
  leat_philox_t random = leat_philox_make(7, 0);
  int32_t pushed = 0;
  for (int taken = 0; taken < COUNT;) {
    uint32_t words[4];
    leat_philox_next(&random, words);
    if (pushed < COUNT && (heap.count == 0 || words[0] % 3)) {
      keys[pushed] = words[1] % 40;
      inside[pushed] = true;
      leat_heap_push(&heap, keys[pushed], pushed);
      ++pushed;
      continue;
    }
    int32_t first = -1;
    for (int32_t i = 0; i < pushed; ++i) {
      if (inside[i] && (first < 0 || keys[i] < keys[first])) first = i;
    }
    assert_int_equal(leat_heap_pop(&heap), first);
    inside[first] = false;
    ++taken;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_keys_come_out_by_value),
      cmocka_unit_test(random_pushes_and_pops_agree_with_a_search),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
