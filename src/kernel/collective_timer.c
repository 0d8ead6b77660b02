// Timeouts of collectives. One thread for all rounds of a session or task looks for members that
// are late and fails their rounds. It starts with the first deadline, and sleeps until the next.
#include "base/checked.h"
#include "base/clock.h"
#include "kernel/collective_round.h"

void leat_deadline_remove(leat_member_t* m) {
  if (m->deadline_ns == LEAT_DEADLINE_NEVER) return;
  if (m->previous_timed) m->previous_timed->next_timed = m->next_timed;
  if (m->next_timed) m->next_timed->previous_timed = m->previous_timed;
  if (m->all->timed == m) m->all->timed = m->next_timed;
  m->deadline_ns = LEAT_DEADLINE_NEVER;
}

// A member whose deadline has passed; else NULL and the next deadline.
static leat_member_t* find_late(const leat_collectives_t* all, int64_t* out_next_ns) {
  const int64_t now_ns = leat_clock_now_ns();
  *out_next_ns = LEAT_DEADLINE_NEVER;
  for (leat_member_t* m = all->timed; m; m = m->next_timed) {
    if (m->deadline_ns <= now_ns) return m;
    *out_next_ns = LEAT_MIN(*out_next_ns, m->deadline_ns);
  }
  return NULL;
}

// The timer's thread, which starts with the first deadline: fails the rounds of late members.
// What follows for them runs elsewhere, where there is a pool, since it may free the collectives.
static void run_timer(void* data) {
  leat_collectives_t* all = data;
  leat_mutex_lock(&all->mutex);
  while (!all->ends) {
    leat_member_t* late;
    leat_aftermath_t after = {0};
    while ((late = find_late(all, &all->timer_wakes_ns))) {
      leat_deadline_remove(late);
      leat_round_fail(all, late->round,
                      leat_make_status(LEAT_DEADLINE_EXCEEDED, "%s", late->waits
                                           ? "Collective has timed out waiting for other workers."
                                           : "Collective has timed out during execution."),
                      &after);
    }
    if (!after.ended && !after.requests && !after.fetches) {
      leat_condition_wait_until(&all->changed, &all->mutex, all->timer_wakes_ns);
      continue;
    }
    leat_mutex_unlock(&all->mutex);
    leat_aftermath_do_elsewhere(all, &after);
    leat_mutex_lock(&all->mutex);
  }
  leat_mutex_unlock(&all->mutex);
}

leat_status_t leat_deadline_add(leat_member_t* m) {
  leat_collectives_t* all = m->all;
  if (!(m->call.timeout_seconds > 0)) return leat_ok_status();
  if (!all->has_timer) {
    LEAT_RETURN_IF_ERROR(leat_thread_start("leat-collective", run_timer, all, &all->timer));
    all->has_timer = true;
  }
  double milliseconds = LEAT_MIN(m->call.timeout_seconds * 1e3 + 1, 1e15);
  m->deadline_ns = leat_clock_deadline_after_ms((int64_t)milliseconds);
  m->next_timed = all->timed;
  if (all->timed) all->timed->previous_timed = m;
  all->timed = m;
  if (m->deadline_ns < all->timer_wakes_ns) leat_condition_notify_all(&all->changed);
  return leat_ok_status();
}
