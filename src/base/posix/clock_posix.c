// The operating system's clocks.
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

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
