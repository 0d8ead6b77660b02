// The random order of files and records (record_order_cpu.h). The files of an epoch are shuffled by
// a generator whose seed is a hash of the epoch's number. The shuffle is that of Fisher and Yates:
// file i changes places with one of the files [0, i]. TensorFlow's library of C++ draws two such
// places from one number of 64 bits, since the product of two bounds still is small beside 2^64;
// that decides the order, so it is done here too. For an even count the second file comes first
// alone, so that the others make pairs.
#include "ops/input/record_order_cpu.h"

#include "base/fingerprint.h"

// ---- The generator ------------------------------------------------------------------------------

void leat_twister_initialize(uint64_t seed, leat_twister_t* out_twister) {
  uint64_t* words = out_twister->words;
  words[0] = seed;
  for (uint64_t i = 1; i < LEAT_TWISTER_WORDS; ++i) {
    words[i] = UINT64_C(6364136223846793005) * (words[i - 1] ^ words[i - 1] >> 62) + i;
  }
  out_twister->next = LEAT_TWISTER_WORDS;
}

static void make_words(leat_twister_t* t) {
  const uint64_t high = UINT64_MAX << 31;
  for (int i = 0; i < LEAT_TWISTER_WORDS; ++i) {
    const uint64_t joined = (t->words[i] & high) |
                            (t->words[(i + 1) % LEAT_TWISTER_WORDS] & ~high);
    const uint64_t twist = joined & 1 ? UINT64_C(0xb5026f5aa96619e9) : 0;
    t->words[i] = t->words[(i + LEAT_TWISTER_WORDS / 2) % LEAT_TWISTER_WORDS] ^ joined >> 1 ^ twist;
  }
  t->next = 0;
}

uint64_t leat_twister_next(leat_twister_t* twister) {
  if (twister->next == LEAT_TWISTER_WORDS) make_words(twister);
  uint64_t word = twister->words[twister->next++];
  word ^= word >> 29 & UINT64_C(0x5555555555555555);
  word ^= word << 17 & UINT64_C(0x71d67fffeda60000);
  word ^= word << 37 & UINT64_C(0xfff7eee000000000);
  return word ^ word >> 43;
}

// A uniform number of [0, count): the upper half of a product (Lemire, "Fast random integer
// generation in an interval", 2019). Lower halves below 2^64 mod |count| would favour some numbers,
// and are drawn again.
static uint64_t draw_below(leat_twister_t* twister, uint64_t count) {
  const uint64_t least = (0 - count) % count;
  for (;;) {
    const unsigned __int128 product = (unsigned __int128)leat_twister_next(twister) * count;
    if ((uint64_t)product >= least) return (uint64_t)(product >> 64);
  }
}

// ---- The shuffle --------------------------------------------------------------------------------

static void swap(uint32_t* order, uint64_t i, uint64_t j) {
  const uint32_t item = order[i];
  order[i] = order[j];
  order[j] = item;
}

void leat_record_order_shuffle(uint64_t seed, int64_t epoch, uint32_t* order, size_t count) {
  leat_twister_t twister;
  uint8_t bytes[8];
  for (int k = 0; k < 8; ++k) bytes[k] = (uint8_t)((uint64_t)epoch >> 8 * k);
  leat_twister_initialize(
      leat_fingerprint_murmur_seeded(seed, leat_string_view_make((const char*)bytes, 8)), &twister);
  size_t i = 1;
  if (count > 0 && count % 2 == 0) swap(order, i++, draw_below(&twister, 2));
  for (; i + 1 < count; i += 2) {
    const uint64_t pair = draw_below(&twister, (uint64_t)(i + 1) * (i + 2));
    swap(order, i, pair / (i + 2));
    swap(order, i + 1, pair % (i + 2));
  }
}
