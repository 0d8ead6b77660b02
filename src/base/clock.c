// Deadlines; the clocks themselves are read in posix/.
#include "base/clock.h"

#include "base/checked.h"

int64_t leat_clock_deadline_after_ms(int64_t timeout_ms) {
  if (timeout_ms <= 0) return LEAT_DEADLINE_NEVER;
  int64_t deadline_ns = 0;
  if (!leat_checked_multiply(timeout_ms, (int64_t)1000000, &deadline_ns) ||
      !leat_checked_add(deadline_ns, leat_clock_now_ns(), &deadline_ns)) {
    return LEAT_DEADLINE_NEVER;
  }
  return deadline_ns;
}
