// The greatest delays in a window, as arrows between rows. What each step would gain without each
// of its delays was found with them, so all of these are looked at once, and the greatest kept in
// order; only for them, which are few, the critical path is walked again, to see its rows:
//
//   feeder  ----[ decode ]--.        from: the row of the thread that is to blame, or else the
//                            \             one that the path was on before
//   caller  --[ waits for input ]    to:   the row that waited
//
// The arrow stands where the delay ends.
#include "base/checked.h"
#include "trace/delay_build.h"
#include "trace/delay_rows.h"

// Puts |entry| among the |*inout_count| greatest so far, of which |most| are kept.
static void keep(const leat_delay_entry_t* entry, size_t most, leat_delay_arrow_t* arrows,
                 size_t* inout_count) {
  size_t at = *inout_count;
  const int64_t gain_ns = LEAT_MIN(entry->delay.gain_ns, entry->delay.total_ns);
  if (at == most && gain_ns <= arrows[at - 1].delay.gain_ns) return;
  if (at == most) --at;
  for (; at > 0 && arrows[at - 1].delay.gain_ns < gain_ns; --at) arrows[at] = arrows[at - 1];
  arrows[at] = (leat_delay_arrow_t){.delay = entry->delay, .step = entry->step};
  arrows[at].delay.gain_ns = gain_ns;
  if (*inout_count < most) ++*inout_count;
}

// The rows from which the path came to the delay's row, and to which it went on behind it, on the
// way on which the delay lies; UINT32_MAX: there is none.
static leat_status_t find_ways(const leat_delays_t* delays, const leat_delay_arrow_t* arrow,
                               uint32_t* out_before, uint32_t* out_behind) {
  const leat_delay_t* delay = &arrow->delay;
  leat_arena_t arena;
  leat_path_piece_t* pieces;
  size_t count;
  *out_before = *out_behind = UINT32_MAX;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_delays_path(delays, arrow->step, &arena, &pieces, &count);
  for (size_t i = 0; i < count && !status; ++i) {
    const bool is_here = pieces[i].row == delay->row;
    if (pieces[i].begin_ns >= delay->end_ns) {
      if (is_here) continue;
      *out_behind = pieces[i].row;
      break;
    }
    if (i > 0 && is_here && pieces[i - 1].row != delay->row) *out_before = pieces[i - 1].row;
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// The delay lies on the row that waited, but for an input that was not made and a value that was
// not sent: these lie on the row of who should have.
static leat_status_t find_rows(const leat_delays_t* delays, leat_delay_arrow_t* arrow) {
  const leat_delay_rows_t rows = {.timeline = delays->timeline};
  const leat_delay_t* delay = &arrow->delay;
  const uint32_t blamed =
      delay->by ? leat_rows_of_thread(&rows, delay->row, delay->by) : UINT32_MAX;
  uint32_t before, behind;
  arrow->to = delay->row;
  arrow->from = blamed;
  if (blamed != UINT32_MAX && blamed != delay->row) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_ways(delays, arrow, &before, &behind));
  const bool is_blamed = blamed == delay->row || delay->cause == LEAT_DELAY_SENDER;
  arrow->from = is_blamed && behind != UINT32_MAX ? delay->row : before;
  if (is_blamed && behind != UINT32_MAX) arrow->to = behind;
  return leat_ok_status();
}

leat_status_t leat_delays_arrows(const leat_delays_t* delays, int64_t begin_ns, int64_t end_ns,
                                 size_t most, leat_arena_t* arena,
                                 leat_delay_arrow_t** out_arrows, size_t* out_count) {
  size_t count = 0;
  *out_count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, most + 1, out_arrows));
  for (size_t i = 0; i < delays->entry_count && most > 0; ++i) {
    const leat_delay_entry_t* entry = &delays->entries[i];
    if (leat_cause_is_delay(entry->delay.cause) && entry->delay.begin_ns < end_ns &&
        entry->delay.end_ns > begin_ns && entry->delay.gain_ns > 0) {
      keep(entry, most, *out_arrows, &count);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(find_rows(delays, &(*out_arrows)[i]));
  }
  *out_count = count;
  return leat_ok_status();
}
