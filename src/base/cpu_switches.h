// Who took a thread's core, and who woke a thread: what base/thread_switches.h cannot tell, because
// the system shows what happened on a core, other programs included, only to a process with rights
// (root, CAP_PERFMON, or kernel.perf_event_paranoid at -1; at 0, only takers). On Linux there is
// one ring of memory for each core, into which the system writes each switch of that core
// (perf_event_open) and each waking (the tracepoint sched:sched_waking, whose fields tracefs
// describes). Without tracefs, and in a container that numbers processes by itself, takers are told
// and wakers are not. Elsewhere, and without rights, nothing is told.
//
// The rings are of fixed size. A thread of the watch's own says when they are to be read; what the
// system writes while a ring is full is lost, and counted.
#ifndef LEAT_BASE_CPU_SWITCHES_H_
#define LEAT_BASE_CPU_SWITCHES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct leat_cpu_switches_s leat_cpu_switches_t;

typedef enum leat_cpu_event_kind_e {
  LEAT_CPU_WAKING,  // |thread|, of any process, slept, and the other one woke it
  LEAT_CPU_TAKEN,   // |thread|, of this process, ran, and the other one took its core
  LEAT_CPU_NEXT,    // the other one has that core now, and |thread| has not come back yet
} leat_cpu_event_kind_t;

// Something that happened to |thread|, by the numbers of the system, at |time_ns| of
// leat_clock_now_ns. The other one is 0 where it is not known: an interrupt woke the thread (a
// timer, a device, the network), the core is idle (a quota), or a container hides who has it.
typedef struct leat_cpu_event_s {
  int64_t time_ns;
  uint32_t kind;  // a leat_cpu_event_kind_t
  uint32_t thread;
  uint32_t other_process, other_thread;
} leat_cpu_event_t;
typedef void (*leat_cpu_event_fn_t)(void* data, const leat_cpu_event_t* event);

// Called by the watch's thread when a ring is partly full: whoever owns the watch reads it then.
typedef void (*leat_cpu_switches_fn_t)(void);

// Begins to watch all cores. NULL where that cannot be had.
leat_cpu_switches_t* leat_cpu_switches_begin(leat_cpu_switches_fn_t fn);
// Tells what has come since the last call and up to |until_ns|, which is now or has been, oldest
// first, and returns how many records were lost since then. What was told of the time since the
// call before may lack something where any was lost. From any thread, but one at a time.
uint64_t leat_cpu_switches_read(leat_cpu_switches_t* switches, int64_t until_ns,
                                 leat_cpu_event_fn_t fn, void* data);
// Ends the watch, when nobody reads. It waits for the watch's thread, so that the caller must hold
// nothing which the function given to it waits for. NULL is allowed.
void leat_cpu_switches_end(leat_cpu_switches_t* switches);
// In a child of fork: closes the files of its parent's watch, whose rings are not mapped there.
// NULL is allowed.
void leat_cpu_switches_forget(leat_cpu_switches_t* switches);

#endif  // LEAT_BASE_CPU_SWITCHES_H_
