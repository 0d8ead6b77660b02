// The alarm's thread sleeps until the next deadline, or until a nearer one is set, and ends when no
// deadline is left. It is detached, since what rings may release the last reference to the resource
// on this very thread, which cannot join itself.
#include "ops/queue/alarm_cpu.h"

#include "base/thread.h"

void leat_alarm_initialize(leat_resource_t* owner, leat_mutex_t* mutex,
                           int64_t (*ring)(leat_resource_t* owner), leat_alarm_t* out_alarm) {
  *out_alarm = (leat_alarm_t){.owner = owner, .mutex = mutex, .ring = ring};
  leat_condition_initialize(&out_alarm->changed);
}

void leat_alarm_deinitialize(leat_alarm_t* alarm) {
  LEAT_DCHECK(!alarm->has_thread);
  leat_condition_deinitialize(&alarm->changed);
}

static void run_alarm(void* data) {
  leat_alarm_t* alarm = data;
  leat_mutex_t* mutex = alarm->mutex;
  leat_mutex_lock(mutex);
  while ((alarm->wakes_ns = alarm->ring(alarm->owner)) != LEAT_DEADLINE_NEVER) {
    leat_condition_wait_until(&alarm->changed, mutex, alarm->wakes_ns);
  }
  alarm->has_thread = false;
  leat_resource_t* owner = alarm->owner;
  leat_mutex_unlock(mutex);
  leat_resource_release(owner);
}

leat_status_t leat_alarm_set(leat_alarm_t* alarm, int64_t deadline_ns) {
  if (alarm->has_thread) {
    if (deadline_ns < alarm->wakes_ns) leat_condition_notify_all(&alarm->changed);
    return leat_ok_status();
  }
  leat_thread_t thread;
  leat_resource_retain(alarm->owner);
  leat_status_t status = leat_thread_start("leat-alarm", run_alarm, alarm, &thread);
  if (status) {
    leat_resource_release(alarm->owner);
    return status;
  }
  alarm->has_thread = true;
  alarm->wakes_ns = deadline_ns;
  leat_thread_detach(thread);
  return leat_ok_status();
}

void leat_alarm_look(leat_alarm_t* alarm) { leat_condition_notify_all(&alarm->changed); }

int64_t leat_alarm_deadline(int64_t timeout_us) {
  const int64_t now_ns = leat_clock_now_ns();
  return timeout_us < (INT64_MAX - now_ns) / 1000 ? now_ns + timeout_us * 1000
                                                  : LEAT_DEADLINE_NEVER - 1;
}
