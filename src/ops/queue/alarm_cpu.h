// The alarm of a resource in which calls wait for a limited time: it calls the resource back when
// the next of their deadlines has passed. Its thread exists only while there is a deadline, and
// holds a reference to the resource, so that a resource with an alarm needs no care at its end.
#ifndef LEAT_OPS_QUEUE_ALARM_CPU_H_
#define LEAT_OPS_QUEUE_ALARM_CPU_H_

#include "base/clock.h"
#include "kernel/resource.h"

typedef struct leat_alarm_s {
  leat_resource_t* owner;
  leat_mutex_t* mutex;  // the owner's
  // Called with the mutex held, which it may let go meanwhile: ends what is overdue, and returns
  // the next deadline, LEAT_DEADLINE_NEVER where there is none. It must not run long, since nobody
  // else watches the deadlines.
  int64_t (*ring)(leat_resource_t* owner);
  // Of the alarm.
  leat_condition_t changed;
  int64_t wakes_ns;
  bool has_thread;
} leat_alarm_t;

void leat_alarm_initialize(leat_resource_t* owner, leat_mutex_t* mutex,
                           int64_t (*ring)(leat_resource_t* owner), leat_alarm_t* out_alarm);
void leat_alarm_deinitialize(leat_alarm_t* alarm);
// Makes the alarm ring at |deadline_ns| or earlier. To be called with the mutex held.
// RESOURCE_EXHAUSTED when the system has no more threads.
LEAT_MUST_USE leat_status_t leat_alarm_set(leat_alarm_t* alarm, int64_t deadline_ns);
// Lets the alarm look again, because a deadline went. To be called with the mutex held.
void leat_alarm_look(leat_alarm_t* alarm);
// now + |timeout_us|, saturating.
int64_t leat_alarm_deadline(int64_t timeout_us);

#endif  // LEAT_OPS_QUEUE_ALARM_CPU_H_
