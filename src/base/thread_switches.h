// When a thread was off a core, and on which one it was: the switches that the system makes, as the
// tracer shows them (base/span.h). The system writes them into a ring of memory that it shares with
// this process; reading the ring costs no call. On Linux this is perf_event_open, which needs no
// rights for threads of one's own unless the machine forbids it (kernel.perf_event_paranoid above
// 2, or a container's filter). Elsewhere, and where it is forbidden, nothing is told.
#ifndef LEAT_BASE_THREAD_SWITCHES_H_
#define LEAT_BASE_THREAD_SWITCHES_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct leat_thread_switches_s leat_thread_switches_t;

// Begins to watch the calling thread. NULL where that cannot be had.
leat_thread_switches_t* leat_thread_switches_begin(void);
// A time on the core of that number, or, where |core| is below 0, off all cores, in nanoseconds of
// leat_clock_now_ns. |was_preempted|: the thread would have gone on, and another one took the core;
// otherwise it had nothing to do.
typedef struct leat_thread_switch_s {
  int64_t begin_ns, end_ns;
  int32_t core;
  bool was_preempted;
} leat_thread_switch_t;
typedef void (*leat_thread_switches_fn_t)(void* data, const leat_thread_switch_t* told);
// Tells what has come since the last call and up to |until_ns|, which is now or has been, oldest
// first. A time that goes on still is told by a later call, or, where |is_end|, up to |until_ns|.
// Returns how many records the system has lost, since the ring was full; of the time in which it
// was nothing is told. From any thread, but one at a time. NULL is allowed.
uint64_t leat_thread_switches_read(leat_thread_switches_t* switches, int64_t until_ns, bool is_end,
                                   leat_thread_switches_fn_t fn, void* data);
// Ends the watch; from any thread. NULL is allowed.
void leat_thread_switches_end(leat_thread_switches_t* switches);

#endif  // LEAT_BASE_THREAD_SWITCHES_H_
