// Vectors of Philox groups against one group at a time, and known numbers of TensorFlow.
#include "base/test.h"
#include "ops/random/philox_vectors.h"

#define GROUPS 77

static void check_words(leat_philox_t philox, uint64_t stride) {
  uint32_t got[GROUPS * 4];
  leat_philox_vectors()->words(&philox, stride, GROUPS, got);
  for (int i = 0; i < GROUPS; ++i) {
    uint32_t want[4];
    leat_philox_t one = philox;
    leat_philox_skip(&one, (uint64_t)i * stride);
    leat_philox_next(&one, want);
    assert_memory_equal(got + 4 * i, want, sizeof want);
  }
}

static void words_equal_groups(void** state) {
  (void)state;
  check_words(leat_philox_make(1, 2), 1);
  check_words(leat_philox_make(UINT64_MAX, 3), 256);
  leat_philox_t carrying = {{0xfffffff0u, 0xffffffffu, 0xffffffffu, 9}, {5, 6}};
  check_words(carrying, 1);
  check_words(carrying, 128);
}

// tf.raw_ops.RandomUniform(shape=[4], dtype=tf.float32, seed=3, seed2=5)
static void uniform_is_tensorflows(void** state) {
  (void)state;
  static const float kWant[] = {0.397669196f, 0.842568159f, 0.00451898575f, 0.60220015f};
  uint32_t words[4];
  float got[4];
  leat_philox_t philox = leat_philox_make(3, 5);
  leat_philox_vectors()->words(&philox, 1, 1, words);
  leat_philox_vectors()->uniform_f32(words, got, 4);
  for (int i = 0; i < 4; ++i) assert_float_equal(got[i], kWant[i], 0);
}

static void remainders_are_exact(void** state) {
  (void)state;
  static const uint32_t kWords[] = {0, 1, 6, 7, 8, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  static const uint32_t kRanges[] = {1, 2, 3, 7, 1000003, 0x80000000, 0xffffffff};
  for (size_t k = 0; k < sizeof kRanges / sizeof kRanges[0]; ++k) {
    int32_t got[9];
    leat_philox_vectors()->integer_32(kWords, -5, kRanges[k], got, 9);
    for (int i = 0; i < 9; ++i) {
      assert_int_equal(got[i], (int32_t)(kWords[i] % kRanges[k] - 5u));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_equal_groups),
      cmocka_unit_test(uniform_is_tensorflows),
      cmocka_unit_test(remainders_are_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
