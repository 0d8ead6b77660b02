// Time that an iterator lets pass. No thread of a step sleeps: the iterator sets an alarm
// (ops/queue/alarm_cpu.h) and answers PENDING, and the pull stands in a wait queue, from where the
// alarm or the end of its step wakes it:
//
//   next ──▶ leat_sleeper_begin, leat_sleeper_wait ──▶ PENDING ──▶ next again: it is over
//                       │                                  ▲
//                       └─────── the time is over ─────────┘
//
// A sleeper is a resource, which the alarm's thread holds beside the iterator: the iterator may be
// freed while the alarm still runs. A pull whose step was cancelled leaves the time to the next one
// that asks for the same element.
#ifndef LEAT_OPS_DATASET_SLEEPER_CPU_H_
#define LEAT_OPS_DATASET_SLEEPER_CPU_H_

#include "ops/dataset/pull_cpu.h"

typedef struct leat_sleeper_s leat_sleeper_t;

LEAT_MUST_USE leat_status_t leat_sleeper_create(leat_sleeper_t** out_sleeper);
// Gives the sleeper up and lets its alarm end at once; NULL is allowed.
void leat_sleeper_release(leat_sleeper_t* sleeper);
// Begins a time of |microseconds|. RESOURCE_EXHAUSTED when the system has no more threads.
LEAT_MUST_USE leat_status_t leat_sleeper_begin(leat_sleeper_t* sleeper, int64_t microseconds);
bool leat_sleeper_is_over(const leat_sleeper_t* sleeper);
// Wakes |pull|, whose iterator answers PENDING, when the time is over.
void leat_sleeper_wait(leat_sleeper_t* sleeper, leat_pull_t* pull);
// Why the last pull could not wait; OK: it could. To be asked for when a pull is run again.
LEAT_MUST_USE leat_status_t leat_sleeper_take_failure(leat_sleeper_t* sleeper);

#endif  // LEAT_OPS_DATASET_SLEEPER_CPU_H_
