// Cancellation is looked at first, since it costs less and is what a person asked for.
#include "kernel/step_check.h"

#include "base/clock.h"
#include "kernel/cancellation.h"

leat_status_t leat_step_check(const leat_step_services_t* services, bool reads_clock) {
  if (services->cancellation && leat_cancellation_is_cancelled(services->cancellation)) {
    return leat_make_status(LEAT_CANCELLED, "Run failed: the step was cancelled");
  }
  if (reads_clock && services->deadline_ns && services->deadline_ns != LEAT_DEADLINE_NEVER &&
      leat_clock_now_ns() > services->deadline_ns) {
    return leat_make_status(LEAT_DEADLINE_EXCEEDED, "Run failed: the step's timeout has passed");
  }
  return leat_ok_status();
}
