// Expected words were printed by TensorFlow 2.21: StatelessRandomUniformFullIntV2 with the Philox
// algorithm (key, counter as given) and RandomUniformInt (seed, seed2).
#include "base/random.h"

#include "base/test.h"

static void expect_words(leat_philox_t* philox, const uint32_t* expected, int count) {
  for (int i = 0; i < count; i += 4) {
    uint32_t words[4];
    leat_philox_next(philox, words);
    for (int k = 0; k < 4; ++k) assert_int_equal(words[k], expected[i + k]);
  }
}

static void words_are_tensorflow_s(void** state) {
  static const uint32_t expected[] = {0xba2a07f2, 0x9e925393, 0x93f5d0a1, 0xf121b22b,
                                      0x8097f210, 0xd8ff6c9f, 0x145f0065, 0x20c319b5,
                                      0x60e5736e, 0xa559e4b4, 0xf03e581a, 0x0c5601a7};
  leat_philox_t philox = leat_philox_make(0x0123456789abcdefull, 0xfedcba9876543210ull);
  leat_philox_skip(&philox, 0x1111);
  expect_words(&philox, expected, 12);
}

static void carries_reach_the_upper_half(void** state) {
  static const uint32_t expected[] = {
      0x75f6d524, 0xac0b6e34, 0xfa8bee85, 0x35c898be, 0x5890e3e5, 0x1a2ac01d, 0x467c6791,
      0x232391f7, 0xd0e1fe69, 0xfee38b5f, 0xe81334ee, 0x6ad4edf0, 0x702f1bd3, 0x7201ad2f,
      0x60aeaf84, 0xcc9aa80a};
  leat_philox_t philox = leat_philox_make(0x0123456789abcdefull, 0xffffffffull);
  leat_philox_skip(&philox, 0xfffffffffffffffeull);
  expect_words(&philox, expected, 16);
}

static void seeds_of_an_op_go_where_tensorflow_puts_them(void** state) {
  // RandomUniformInt(seed=42, seed2=(7<<33)+5, minval=0, maxval=2^30)
  static const uint32_t expected[] = {0x35af57bd, 0x2e36601e, 0x12d93daa, 0x1f77d964,
                                      0x0eea958b, 0x10600180, 0x39cc501c, 0x153fe17f};
  leat_philox_t philox = leat_philox_make(42, (7ull << 33) + 5);
  for (int i = 0; i < 8; i += 4) {
    uint32_t words[4];
    leat_philox_next(&philox, words);
    for (int k = 0; k < 4; ++k) assert_int_equal(words[k] & 0x3fffffff, expected[i + k]);
  }
}

static void skipping_is_drawing(void** state) {
  leat_philox_t drawn = leat_philox_make(5, 6), skipped = drawn;
  uint32_t a[4], b[4];
  for (int i = 0; i < 1000; ++i) leat_philox_next(&drawn, a);
  leat_philox_skip(&skipped, 999);
  leat_philox_next(&skipped, b);
  assert_memory_equal(a, b, sizeof(a));
}

static void true_seeds_differ(void** state) {
  assert_true(leat_random_seed() != leat_random_seed());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_tensorflow_s),
      cmocka_unit_test(carries_reach_the_upper_half),
      cmocka_unit_test(seeds_of_an_op_go_where_tensorflow_puts_them),
      cmocka_unit_test(skipping_is_drawing),
      cmocka_unit_test(true_seeds_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
