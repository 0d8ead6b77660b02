// A long series displaces its newest point at nearly every offer: of a thousand points that are
// kept, the millionth offer takes out another one with a chance of one in a thousand. The draws do
// not depend on the points, so they are made ahead, up to the next offer that takes out another
// point. Until then an offer is a count down, and the series overwrites one slot.
//
// Series of one run mostly have got as many points each, and hence draw the same numbers. A thread
// remembers the last draws that it made ahead, and gives them to the next series that asks for
// them.
#include "board/reservoir.h"

#include <math.h>

#include "board/python_random.h"

#define DRAWS_AHEAD 4096

// randint(0, seen), which includes its upper end.
static leat_status_t draw(uint32_t seen, uint32_t* inout_taken, uint32_t* out_drawn) {
  return board_python_random_below(seen < UINT32_MAX ? seen + 1 : UINT32_MAX, inout_taken,
                                   out_drawn);
}

// Draws until a point other than the newest is hit, DRAWS_AHEAD times at most.
static leat_status_t draw_ahead(board_reservoir_t* reservoir) {
  uint32_t seen = reservoir->seen, drawn = 0;
  while (!reservoir->has_victim && reservoir->ahead < DRAWS_AHEAD &&
         (seen < UINT32_MAX || !reservoir->ahead)) {
    LEAT_RETURN_IF_ERROR(draw(seen, &reservoir->ahead_taken, &drawn));
    reservoir->has_victim = drawn < reservoir->size;
    reservoir->victim = drawn;
    reservoir->ahead += !reservoir->has_victim;
    seen += seen < UINT32_MAX;
  }
  reservoir->left = reservoir->ahead;
  return leat_ok_status();
}

static leat_status_t look_ahead(board_reservoir_t* reservoir) {
  static _Thread_local board_reservoir_t from, to;  // the last time
  if (reservoir->ahead) reservoir->taken = reservoir->ahead_taken;
  reservoir->ahead = 0;
  reservoir->ahead_taken = reservoir->taken;
  if (from.size == reservoir->size && from.seen == reservoir->seen &&
      from.taken == reservoir->taken && (to.left || to.has_victim)) {
    *reservoir = to;
    return leat_ok_status();
  }
  from = to = *reservoir;
  LEAT_RETURN_IF_ERROR(draw_ahead(&to));
  *reservoir = to;
  return leat_ok_status();
}

leat_status_t board_reservoir_offer(board_reservoir_t* reservoir, uint32_t count,
                                    uint32_t* out_removed) {
  *out_removed = BOARD_RESERVOIR_NONE;
  if (count >= reservoir->size) {
    if (!reservoir->left && !reservoir->has_victim) LEAT_RETURN_IF_ERROR(look_ahead(reservoir));
    if (reservoir->left) {
      --reservoir->left;
      *out_removed = count - 1;
    } else {
      *out_removed = reservoir->victim;
      reservoir->taken = reservoir->ahead_taken;
      reservoir->has_victim = false;
      reservoir->ahead = 0;
    }
  }
  if (reservoir->seen < UINT32_MAX) ++reservoir->seen;
  return leat_ok_status();
}

uint32_t board_reservoir_taken(const board_reservoir_t* reservoir) {
  uint32_t done = reservoir->ahead - reservoir->left, taken = reservoir->taken, drawn;
  for (uint32_t seen = reservoir->seen - done; done; --done, ++seen) {
    // This finds the words that were made when the draws were made ahead.
    leat_status_free(draw(seen, &taken, &drawn));
  }
  return taken;
}

void board_reservoir_purge(board_reservoir_t* reservoir, uint32_t before, uint32_t after) {
  double share = before > 0 ? (double)after / before : 0;
  reservoir->taken = board_reservoir_taken(reservoir);
  reservoir->left = reservoir->ahead = 0;
  reservoir->has_victim = false;
  reservoir->seen = (uint32_t)rint(reservoir->seen * share);  // half to even, as Python rounds
}
