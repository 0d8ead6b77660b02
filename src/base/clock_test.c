#include "base/clock.h"

#include "base/test.h"

static void time_goes_on(void** state) {
  int64_t before = leat_clock_now_ns();
  leat_clock_sleep_ns(2000000);
  int64_t passed = leat_clock_now_ns() - before;
  assert_true(passed >= 2000000);
  leat_clock_sleep_ns(0);
  leat_clock_sleep_ns(-1);
  assert_true(leat_clock_wall_ns() > 1577836800000000000ll);  // after 2020
}

static void deadlines_saturate(void** state) {
  assert_true(leat_clock_deadline_after_ms(0) == LEAT_DEADLINE_NEVER);
  assert_true(leat_clock_deadline_after_ms(-5) == LEAT_DEADLINE_NEVER);
  assert_true(leat_clock_deadline_after_ms(INT64_MAX) == LEAT_DEADLINE_NEVER);
  assert_true(leat_clock_deadline_after_ms(INT64_MAX / 1000000) == LEAT_DEADLINE_NEVER);
  int64_t before = leat_clock_now_ns();
  int64_t deadline = leat_clock_deadline_after_ms(1000);
  assert_true(deadline - before >= 1000000000 && deadline - before < 60000000000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(time_goes_on),
      cmocka_unit_test(deadlines_saturate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
