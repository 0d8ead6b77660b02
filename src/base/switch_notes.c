// A thread's own ring tells when it was off its core, and the cores' rings who was on it meanwhile;
// here the two are put together. The recording of spans (base/span.c) does that for each thread,
// after it has read all rings up to one moment.
//
//   the thread   [ runs ][------ off its core ------][ runs ]
//   the cores            |taken by A  |next B        |          preempted: a piece for A, one for B
//   or                   |     woken by C|           |          asleep until then, and ready
//
// Both rings have the system's clock, but it is read for each by itself, so that the two times of
// one switch differ a little: the note nearest to the beginning is taken for it. What is found
// covers the whole time off the core in any case; where nothing is noted there is one piece without
// a name. Searches rely on the notes being sorted, which the caller does once for all that it asks.
#include "base/switch_notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

// The system reads its clock once for the ring of a thread and once for that of a core, one right
// after the other. No thread leaves its core, comes back and leaves it again within that.
#define SAME_SWITCH_NS 5000
#define MOST_PIECES 64  // of one time off a core; who had the core in the rest is not told

bool leat_switch_notes_add(leat_switch_notes_t* notes, const leat_cpu_event_t* event) {
  const bool has_room = notes->count < LEAT_SWITCH_NOTES;
  if (!has_room) notes->count = 0;
  notes->items[notes->count++] = *event;
  return has_room;
}

static int compare(const void* a, const void* b) {
  const leat_cpu_event_t *x = a, *y = b;
  return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

void leat_switch_notes_sort(leat_switch_notes_t* notes) {
  if (notes->count) qsort(notes->items, notes->count, sizeof *notes->items, compare);
}

// The first note at |time_ns| or later. The notes are sorted.
static uint32_t find(const leat_switch_notes_t* notes, int64_t time_ns) {
  uint32_t low = 0, high = notes->count;
  LEAT_DCHECK(high < 2 || notes->items[0].time_ns <= notes->items[high - 1].time_ns);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (notes->items[middle].time_ns < time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Who took the core at |time_ns|. Of two switches that lie so near each other it is the nearer one.
static const leat_cpu_event_t* find_taker(const leat_switch_notes_t* notes, int64_t time_ns) {
  const leat_cpu_event_t* nearest = NULL;
  int64_t nearest_ns = SAME_SWITCH_NS + 1;
  for (uint32_t i = find(notes, time_ns - SAME_SWITCH_NS); i < notes->count; ++i) {
    const int64_t apart_ns = llabs(notes->items[i].time_ns - time_ns);
    if (apart_ns > SAME_SWITCH_NS && notes->items[i].time_ns > time_ns) break;
    if (notes->items[i].kind != LEAT_CPU_TAKEN || apart_ns >= nearest_ns) continue;
    nearest = &notes->items[i];
    nearest_ns = apart_ns;
  }
  return nearest;
}

// Who woke the thread. One that was woken does not sleep again before it has been on a core, so
// there is one waking at most.
static const leat_cpu_event_t* find_waker(const leat_switch_notes_t* notes, int64_t begin_ns,
                                           int64_t end_ns) {
  for (uint32_t i = find(notes, begin_ns); i < notes->count; ++i) {
    if (notes->items[i].time_ns > end_ns) break;
    if (notes->items[i].kind == LEAT_CPU_WAKING) return &notes->items[i];
  }
  return NULL;
}

static void tell_preemption(const leat_switch_notes_t* notes, int64_t begin_ns, int64_t end_ns,
                            leat_off_core_fn_t fn, void* data) {
  leat_off_core_piece_t piece = {.begin_ns = begin_ns, .end_ns = end_ns,
                                 .why = LEAT_OFF_CORE_PREEMPTED,
                                 .by = notes ? find_taker(notes, begin_ns) : NULL};
  const leat_cpu_event_t* next = piece.by ? piece.by + 1 : NULL;
  int count = 1;
  for (; next && next < notes->items + notes->count && next->time_ns < end_ns; ++next) {
    if (next->kind != LEAT_CPU_NEXT || next->time_ns <= piece.begin_ns) continue;
    piece.end_ns = next->time_ns;
    fn(data, &piece);
    piece.begin_ns = next->time_ns;
    piece.end_ns = end_ns;
    piece.by = count++ < MOST_PIECES ? next : NULL;
    if (!piece.by) break;
  }
  fn(data, &piece);
}

static void tell_sleep(const leat_switch_notes_t* notes, int64_t begin_ns, int64_t end_ns,
                       leat_off_core_fn_t fn, void* data) {
  const leat_cpu_event_t* waker = notes ? find_waker(notes, begin_ns, end_ns) : NULL;
  leat_off_core_piece_t piece = {.begin_ns = begin_ns, .end_ns = waker ? waker->time_ns : end_ns,
                                 .why = LEAT_OFF_CORE_ASLEEP, .by = waker};
  fn(data, &piece);
  if (!waker) return;
  piece = (leat_off_core_piece_t){.begin_ns = waker->time_ns, .end_ns = end_ns,
                                  .why = LEAT_OFF_CORE_READY};
  fn(data, &piece);
}

void leat_switch_notes_tell(const leat_switch_notes_t* notes, int64_t begin_ns, int64_t end_ns,
                            bool was_preempted, leat_off_core_fn_t fn, void* data) {
  (was_preempted ? tell_preemption : tell_sleep)(notes, begin_ns, end_ns, fn, data);
}

void leat_switch_notes_forget(leat_switch_notes_t* notes, int64_t time_ns) {
  const uint32_t kept = find(notes, time_ns);
  memmove(notes->items, notes->items + kept, (notes->count - kept) * sizeof *notes->items);
  notes->count -= kept;
}
