// Sums go by array/combine_cpu.h, which works in place: |a| comes to the sum's place first.
#include "ops/queue/numbers_cpu.h"

#include "ops/array/combine_cpu.h"

bool leat_numbers_add(int dtype, const void* a, const void* b, void* sum, int64_t count) {
  if (dtype == LEAT_DTYPE_BOOL || dtype <= 0 || dtype >= LEAT_DTYPE_COUNT) return false;
  leat_combine_fn_t add = leat_combine_find(LEAT_COMBINE_ADD, dtype);
  if (add && count) {
    if (sum != a) memcpy(sum, a, (size_t)count * leat_dtype_size(dtype));
    add(sum, b, count);
  }
  return add != NULL;
}
