// Orders of examples for stochastic dual coordinate ascent: a permutation, or draws by chances.
//
// The draws repeat. Each draw of an example divides its chance by 10: one that was drawn k times is
// put back with probability 1 - 10^-k. After as many returns as there are examples, the rest of the
// order are those that were never drawn, the likeliest first. TensorFlow means to do the same, but
// trains its first example in their place.
#include "ops/train/sdca_order_cpu.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

void leat_sdca_shuffle_order(leat_philox_t philox, int64_t* order, int64_t count) {
  uint32_t words[4];
  for (int64_t i = 0; i < count; ++i) order[i] = i;
  for (int64_t i = 0; i + 1 < count; ++i) {
    if (i % 4 == 0) leat_philox_next(&philox, words);
    const int64_t other = i + (int64_t)(words[i % 4] % (uint64_t)(count - i));
    const int64_t example = order[i];
    order[i] = order[other];
    order[other] = example;
  }
}

static bool is_likelier(const void* context, const void* a, const void* b) {
  const float* chances = context;
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return chances[x] != chances[y] ? chances[x] > chances[y] : x < y;
}

// The example whose share of |sums| [count] holds |where|, of [0, 1).
static int64_t find_example(const double* sums, int64_t count, double where) {
  const double target = where * sums[count - 1];
  int64_t low = 0, high = count - 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sums[middle] <= target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

leat_status_t leat_sdca_draw_order(leat_philox_t philox, leat_sdca_draw_t* draw,
                                   leat_step_pace_t* pace, int64_t* order, int64_t count) {
  uint32_t words[4];
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    draw->sums[i] = sum += draw->chances[i];
    draw->taken[i] = 0;
  }
  // Where nothing is to be gained, all are as likely.
  for (int64_t i = 0; sum == 0 && i < count; ++i) draw->sums[i] = (double)(i + 1);
  int64_t done = 0;
  for (int64_t returned = 0; done < count && returned < count;) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(pace, 50));
    leat_philox_next(&philox, words);
    const int64_t example = find_example(draw->sums, count, words[0] * 0x1p-32);
    if (words[1] * 0x1p-32 > pow(.1, draw->taken[example])) {
      ++returned;
      continue;
    }
    ++draw->taken[example];
    order[done++] = example;
  }
  int64_t unseen = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!draw->taken[i]) draw->rest[unseen++] = i;
  }
  LEAT_DCHECK(unseen >= count - done);
  leat_sort(draw->rest, (size_t)unseen, sizeof(int64_t), is_likelier, draw->chances);
  memcpy(order + done, draw->rest, (size_t)(count - done) * sizeof(int64_t));
  return leat_ok_status();
}
