// Which points of a series are kept, by TensorBoard's rule: all while there are few, and then a
// random sample of fixed size in which the newest point always is the last.
//
// The reservoir decides and does not hold the points: its series does what it says.
//
//   LEAT_RETURN_IF_ERROR(board_reservoir_offer(&series->reservoir, series->count, &removed));
//   if (removed != BOARD_RESERVOIR_NONE) remove the point |removed|;
//   append the new point;
#ifndef LEAT_BOARD_RESERVOIR_H_
#define LEAT_BOARD_RESERVOIR_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define BOARD_RESERVOIR_NONE UINT32_MAX

typedef struct board_reservoir_s {
  uint32_t size;  // the most points that are kept
  uint32_t seen;  // points offered, as TensorBoard counts them: a purge lowers it in proportion
  uint32_t taken;  // random words consumed before those that were drawn ahead
  // What was drawn ahead: the next |left| offers, of |ahead| at first, displace the newest point,
  // and the one after them, where |has_victim|, the point |victim|. Then |ahead_taken| words are
  // consumed. All zero where nothing was drawn ahead.
  uint32_t left, ahead, victim, ahead_taken;
  bool has_victim;
} board_reservoir_t;

// Says which of the |count| points that are there the new one displaces.
LEAT_MUST_USE leat_status_t board_reservoir_offer(board_reservoir_t* reservoir, uint32_t count,
                                                  uint32_t* out_removed);
// The same where it is known already that the new point displaces the newest one; false, and
// nothing was offered, where it is not.
static inline bool board_reservoir_replaces_newest(board_reservoir_t* reservoir) {
  if (!reservoir->left) return false;
  --reservoir->left;
  reservoir->seen += reservoir->seen < UINT32_MAX;
  return true;
}
// A purge left |after| of |before| points.
void board_reservoir_purge(board_reservoir_t* reservoir, uint32_t before, uint32_t after);
// The random words that the offers so far have consumed: with the size and the points seen, all
// that a later reservoir needs to go on.
uint32_t board_reservoir_taken(const board_reservoir_t* reservoir);

#endif  // LEAT_BOARD_RESERVOIR_H_
