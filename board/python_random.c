// The sequence of words is made by the Mersenne twister (MT19937; Matsumoto and Nishimura, 1998),
// seeded as CPython seeds it from the integer 0: by the array of one zero word. The words are kept
// in blocks that never move, so that readers need no lock: |known| says how many are there, and is
// raised, with release order, after the words were written. Whoever needs a word beyond takes the
// lock and makes a block more. A long series takes about 1.4 words for each of its points, hence
// ten million steps cost 56 MB once, for all series together.
#include "board/python_random.h"

#include <math.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "base/sync.h"

#define TWISTER_WORDS 624
#define TWISTER_SHIFT 397
#define BLOCK_WORDS ((uint32_t)1 << 14)
#define BLOCK_LIMIT ((uint32_t)1 << 16)

static struct {
  leat_mutex_t lock;
  _Atomic uint32_t known;
  uint32_t* blocks[BLOCK_LIMIT];
  uint32_t state[TWISTER_WORDS];
  uint32_t next;  // index in |state|
} g_sequence = {.lock = {PTHREAD_MUTEX_INITIALIZER}};

// init_by_array([0]) of the reference implementation.
static void seed(uint32_t* mt) {
  mt[0] = 19650218u;
  for (uint32_t i = 1; i < TWISTER_WORDS; ++i) {
    mt[i] = 1812433253u * (mt[i - 1] ^ (mt[i - 1] >> 30)) + i;
  }
  uint32_t i = 1;
  for (uint32_t k = TWISTER_WORDS; k; --k) {
    mt[i] = (mt[i] ^ ((mt[i - 1] ^ (mt[i - 1] >> 30)) * 1664525u));
    if (++i >= TWISTER_WORDS) {
      mt[0] = mt[TWISTER_WORDS - 1];
      i = 1;
    }
  }
  for (uint32_t k = TWISTER_WORDS - 1; k; --k) {
    mt[i] = (mt[i] ^ ((mt[i - 1] ^ (mt[i - 1] >> 30)) * 1566083941u)) - i;
    if (++i >= TWISTER_WORDS) {
      mt[0] = mt[TWISTER_WORDS - 1];
      i = 1;
    }
  }
  mt[0] = 0x80000000u;
}

static void twist(uint32_t* mt) {
  for (uint32_t i = 0; i < TWISTER_WORDS; ++i) {
    uint32_t y = (mt[i] & 0x80000000u) | (mt[(i + 1) % TWISTER_WORDS] & 0x7fffffffu);
    mt[i] = mt[(i + TWISTER_SHIFT) % TWISTER_WORDS] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
  }
}

static uint32_t temper(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

// Makes the block that holds the word |index|, and those before it. The lock is held.
static leat_status_t extend_locked(uint32_t index) {
  uint32_t known = atomic_load_explicit(&g_sequence.known, memory_order_relaxed);
  while (known <= index) {
    uint32_t* block = NULL;
    if (known / BLOCK_WORDS >= BLOCK_LIMIT) {
      return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Sampling failed: a series is too long");
    }
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), BLOCK_WORDS, &block));
    if (known == 0) {
      seed(g_sequence.state);
      g_sequence.next = TWISTER_WORDS;
    }
    for (uint32_t i = 0; i < BLOCK_WORDS; ++i) {
      if (g_sequence.next == TWISTER_WORDS) {
        twist(g_sequence.state);
        g_sequence.next = 0;
      }
      block[i] = temper(g_sequence.state[g_sequence.next++]);
    }
    g_sequence.blocks[known / BLOCK_WORDS] = block;
    known += BLOCK_WORDS;
    atomic_store_explicit(&g_sequence.known, known, memory_order_release);
  }
  return leat_ok_status();
}

static leat_status_t word_at(uint32_t index, uint32_t* out_word) {
  if (LEAT_UNLIKELY(index >= atomic_load_explicit(&g_sequence.known, memory_order_acquire))) {
    leat_mutex_lock(&g_sequence.lock);
    leat_status_t status = extend_locked(index);
    leat_mutex_unlock(&g_sequence.lock);
    LEAT_RETURN_IF_ERROR(status);
  }
  *out_word = g_sequence.blocks[index / BLOCK_WORDS][index % BLOCK_WORDS];
  return leat_ok_status();
}

// As _randbelow: words cut to the bits of |bound| until one is below it.
leat_status_t board_python_random_below(uint32_t bound, uint32_t* inout_taken,
                                        uint32_t* out_value) {
  LEAT_DCHECK(bound > 0);
  int bits = 32 - __builtin_clz(bound);
  do {
    uint32_t word = 0;
    LEAT_RETURN_IF_ERROR(word_at(*inout_taken, &word));
    ++*inout_taken;
    *out_value = word >> (32 - bits);
  } while (*out_value >= bound);
  return leat_ok_status();
}

static int compare_indices(const void* a, const void* b) {
  uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return x < y ? -1 : x > y;
}

// sample() draws from a pool that shrinks where the range is small, and draws again what it has
// drawn already where the range is large; the border is CPython's.
leat_status_t board_python_random_sample(uint32_t count, uint32_t chosen, uint32_t* out_indices) {
  uint32_t taken = 0, drawn, *pool = NULL;
  double border = 21;
  if (chosen > 5) border += pow(4, ceil(log((double)chosen * 3) / log(4)));
  bool shrinks = count <= border;
  LEAT_DCHECK(chosen <= count);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count + 1, &pool));
  for (uint32_t i = 0; shrinks && i < count; ++i) pool[i] = i;
  leat_status_t status = leat_ok_status();
  for (uint32_t i = 0; i < chosen && !status; ++i) {
    if (shrinks) {
      status = board_python_random_below(count - i, &taken, &drawn);
      if (status) break;
      out_indices[i] = pool[drawn];
      pool[drawn] = pool[count - i - 1];
    } else {
      do {
        status = board_python_random_below(count, &taken, &drawn);
      } while (!status && pool[drawn]);
      if (status) break;
      pool[drawn] = 1;
      out_indices[i] = drawn;
    }
  }
  leat_allocator_free(leat_allocator_system(), pool);
  if (!status) qsort(out_indices, chosen, sizeof *out_indices, compare_indices);
  return status;
}
