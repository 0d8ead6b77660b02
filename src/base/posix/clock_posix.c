// The operating system's clocks, and deadlines on the monotonic one.
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "base/checked.h"
#include "base/clock.h"

#define NS_PER_SECOND 1000000000ll

static int64_t read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

int64_t leat_clock_now_ns(void) { return read_clock(CLOCK_MONOTONIC); }

int64_t leat_clock_wall_ns(void) { return read_clock(CLOCK_REALTIME); }

void leat_clock_sleep_ns(int64_t duration_ns) {
  if (duration_ns <= 0) return;
  struct timespec left = {duration_ns / NS_PER_SECOND, duration_ns % NS_PER_SECOND};
  while (nanosleep(&left, &left) && errno == EINTR) {
  }
}

int64_t leat_clock_deadline_after_ms(int64_t timeout_ms) {
  if (timeout_ms <= 0) return LEAT_DEADLINE_NEVER;
  int64_t deadline_ns = 0;
  if (!leat_checked_multiply(timeout_ms, (int64_t)1000000, &deadline_ns) ||
      !leat_checked_add(deadline_ns, leat_clock_now_ns(), &deadline_ns)) {
    return LEAT_DEADLINE_NEVER;
  }
  return deadline_ns;
}
