#include "board/reservoir.h"

#include <math.h>

#include "board/python_random.h"

leat_status_t board_reservoir_offer(board_reservoir_t* reservoir, uint32_t count,
                                    uint32_t* out_removed) {
  *out_removed = BOARD_RESERVOIR_NONE;
  if (count >= reservoir->size) {
    uint32_t drawn = 0;
    // randint(0, seen) includes its upper end.
    uint32_t bound = reservoir->seen < UINT32_MAX ? reservoir->seen + 1 : UINT32_MAX;
    LEAT_RETURN_IF_ERROR(board_python_random_below(bound, &reservoir->taken, &drawn));
    *out_removed = drawn < reservoir->size ? drawn : count - 1;
  }
  if (reservoir->seen < UINT32_MAX) ++reservoir->seen;
  return leat_ok_status();
}

void board_reservoir_purge(board_reservoir_t* reservoir, uint32_t before, uint32_t after) {
  double share = before > 0 ? (double)after / before : 0;
  reservoir->seen = (uint32_t)rint(reservoir->seen * share);  // half to even, as Python rounds
}
