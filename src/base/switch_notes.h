// What the cores have told of one thread (base/cpu_switches.h) until it is known when the thread
// was off its core (base/thread_switches.h): the two come from different rings, at different times.
// Notes of several cores are added in any order and sorted before they are asked for. There is room
// for a fixed number; when it is full all are forgotten, since a gap must not be taken for what was
// there. One thread at a time uses notes.
#ifndef LEAT_BASE_SWITCH_NOTES_H_
#define LEAT_BASE_SWITCH_NOTES_H_

#include "base/cpu_switches.h"
#include "base/span.h"

#define LEAT_SWITCH_NOTES 1024

typedef struct leat_switch_notes_s {
  leat_cpu_event_t items[LEAT_SWITCH_NOTES];
  uint32_t count;
} leat_switch_notes_t;

// Adds an event. False where the notes were full, and have been forgotten.
bool leat_switch_notes_add(leat_switch_notes_t* notes, const leat_cpu_event_t* event);
// Puts them into the order of time.
void leat_switch_notes_sort(leat_switch_notes_t* notes);

// A time off a core, or a part of one, for one reason.
typedef struct leat_off_core_piece_s {
  int64_t begin_ns, end_ns;
  leat_off_core_t why;
  const leat_cpu_event_t* by;  // who had the core, or woke the thread; NULL: nobody is noted
} leat_off_core_piece_t;
typedef void (*leat_off_core_fn_t)(void* data, const leat_off_core_piece_t* piece);
// Tells a time off a core (leat_thread_switches_fn_t) with what sorted notes say of it, piece by
// piece: one for each thread that had the core meanwhile. A sleep ends where the thread was woken;
// from there on it was ready. |notes| may be NULL.
void leat_switch_notes_tell(const leat_switch_notes_t* notes, int64_t begin_ns, int64_t end_ns,
                            bool was_preempted, leat_off_core_fn_t fn, void* data);
// Forgets what was before |time_ns|.
void leat_switch_notes_forget(leat_switch_notes_t* notes, int64_t time_ns);

#endif  // LEAT_BASE_SWITCH_NOTES_H_
