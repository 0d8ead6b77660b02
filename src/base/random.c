// The Philox 4x32-10 generator: ten rounds of multiplication over a 128-bit counter with a 64-bit
// key. The constants are those of the paper (random.h). Where the two seeds go, into the key and
// the upper half of the counter, is TensorFlow's choice; graphs with seeds depend on it. Any number
// of the sequence can be computed without those before it, so threads share a sequence by skipping.
#include "base/random.h"

#define PHILOX_MULTIPLIER_A 0xd2511f53u
#define PHILOX_MULTIPLIER_B 0xcd9e8d57u
#define PHILOX_WEYL_A 0x9e3779b9u
#define PHILOX_WEYL_B 0xbb67ae85u
#define PHILOX_ROUNDS 10

leat_philox_t leat_philox_make(uint64_t seed_lo, uint64_t seed_hi) {
  return (leat_philox_t){{0, 0, (uint32_t)seed_hi, (uint32_t)(seed_hi >> 32)},
                         {(uint32_t)seed_lo, (uint32_t)(seed_lo >> 32)}};
}

void leat_philox_next(leat_philox_t* philox, uint32_t out_words[4]) {
  uint32_t c0 = philox->counter[0], c1 = philox->counter[1];
  uint32_t c2 = philox->counter[2], c3 = philox->counter[3];
  uint32_t key_a = philox->key[0], key_b = philox->key[1];
  for (int round = 0; round < PHILOX_ROUNDS; ++round) {
    uint64_t a = (uint64_t)PHILOX_MULTIPLIER_A * c0;
    uint64_t b = (uint64_t)PHILOX_MULTIPLIER_B * c2;
    c0 = (uint32_t)(b >> 32) ^ c1 ^ key_a;
    c1 = (uint32_t)b;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ key_b;
    c3 = (uint32_t)a;
    key_a += PHILOX_WEYL_A;
    key_b += PHILOX_WEYL_B;
  }
  out_words[0] = c0;
  out_words[1] = c1;
  out_words[2] = c2;
  out_words[3] = c3;
  leat_philox_skip(philox, 1);
}

void leat_philox_skip(leat_philox_t* philox, uint64_t count) {
  uint64_t low = (uint64_t)philox->counter[1] << 32 | philox->counter[0];
  uint64_t sum = low + count;
  philox->counter[0] = (uint32_t)sum;
  philox->counter[1] = (uint32_t)(sum >> 32);
  if (sum < low && ++philox->counter[2] == 0) ++philox->counter[3];
}
