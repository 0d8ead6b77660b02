#include "base/sort.h"

#include <string.h>

#include "base/random.h"
#include "base/test.h"

enum { MOST = 70 };

static bool key_is_lower(const void* keys, const void* a, const void* b) {
  const int32_t* key = keys;
  return key[*(const int32_t*)a] < key[*(const int32_t*)b];
}

// All lengths from 0 on, with few different keys, so that many are equal. What comes out is checked
// by its properties: each index once, keys never falling.
static void indices_of_every_length_are_sorted(void** state) {
  leat_philox_t random = leat_philox_make(11, 0);
  for (int32_t count = 0; count <= MOST; ++count) {
    int32_t keys[MOST], items[MOST + 1];
    bool seen[MOST] = {false};
    for (int32_t i = 0; i < count; ++i) {
      uint32_t words[4];
      leat_philox_next(&random, words);
      keys[i] = (int32_t)(words[0] % 20) - 10;
      items[i] = i;
    }
    items[count] = -1;
    leat_sort(items, (size_t)count, sizeof *items, key_is_lower, keys);
    assert_int_equal(items[count], -1);
    for (int32_t i = 0; i < count; ++i) {
      assert_in_range(items[i], 0, count - 1);
      assert_false(seen[items[i]]);
      seen[items[i]] = true;
      if (i > 0) assert_true(keys[items[i - 1]] <= keys[items[i]]);
    }
  }
}

typedef struct pair_s {
  int64_t first, second;
} pair_t;

static bool pair_is_before(const void* context, const void* a, const void* b) {
  const int64_t sign = *(const int64_t*)context;
  const pair_t *x = a, *y = b;
  if (x->first != y->first) return x->first * sign < y->first * sign;
  return x->second < y->second;
}

// Items of the largest size, and a context that turns the order round.
static void pairs_are_sorted_by_the_context(void** state) {
  static const pair_t given[] = {{3, 1}, {-5, 2}, {3, 0}, {INT32_MAX, 7}, {-5, 1}};
  static const pair_t rising[] = {{-5, 1}, {-5, 2}, {3, 0}, {3, 1}, {INT32_MAX, 7}};
  static const pair_t falling[] = {{INT32_MAX, 7}, {3, 0}, {3, 1}, {-5, 1}, {-5, 2}};
  for (int64_t sign = -1; sign <= 1; sign += 2) {
    pair_t items[LEAT_ARRAY_SIZE(given)];
    memcpy(items, given, sizeof given);
    leat_sort(items, LEAT_ARRAY_SIZE(items), sizeof *items, pair_is_before, &sign);
    assert_memory_equal(items, sign < 0 ? falling : rising, sizeof given);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indices_of_every_length_are_sorted),
      cmocka_unit_test(pairs_are_sorted_by_the_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
