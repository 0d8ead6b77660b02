// Seeds from the kernel's generator; the clocks and an address stand in where there is none.
#define _GNU_SOURCE
#include <sys/random.h>

#include "base/clock.h"
#include "base/random.h"

uint64_t leat_random_seed(void) {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed)) return seed;
  leat_philox_t philox =
      leat_philox_make((uint64_t)leat_clock_wall_ns(), (uint64_t)(uintptr_t)&seed);
  leat_philox_skip(&philox, (uint64_t)leat_clock_now_ns());
  uint32_t words[4];
  leat_philox_next(&philox, words);
  return (uint64_t)words[0] << 32 | words[1];
}
