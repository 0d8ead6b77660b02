// Time in nanoseconds. Deadlines and durations use the monotonic clock, which no change of the wall
// clock moves; the wall clock serves only for times that are written into files. Reading either
// never fails. A wait takes a deadline and not a duration, so that a loop of waits needs no
// arithmetic:
//
//   int64_t deadline_ns = leat_clock_deadline_after_ms(timeout_ms);
//   while (!done) {
//     if (!leat_condition_wait_until(&condition, &mutex, deadline_ns)) return timed_out();
//   }
#ifndef LEAT_BASE_CLOCK_H_
#define LEAT_BASE_CLOCK_H_

#include <stdint.h>

#define LEAT_DEADLINE_NEVER INT64_MAX

int64_t leat_clock_now_ns(void);   // monotonic
int64_t leat_clock_wall_ns(void);  // since 1970, UTC
void leat_clock_sleep_ns(int64_t duration_ns);
// now + |timeout_ms|, saturating; <= 0 is LEAT_DEADLINE_NEVER.
int64_t leat_clock_deadline_after_ms(int64_t timeout_ms);

#endif  // LEAT_BASE_CLOCK_H_
