// SleepDataset gives each element so long after it was asked for. What is measured is a lower
// bound, since a busy machine may take longer. That a step which is cancelled does not sleep on,
// and that Prefetch sleeps ahead, needs a session: tests/capi/dataset_save_test.c.
#include "base/clock.h"
#include "dataset/pipeline.h"

static leat_output_t sleeping(pipeline_t* p, const char* op, int64_t microseconds) {
  return pipeline_counted(p, op, pipeline_range(p, 0, 3), microseconds);
}

// The end is asked for, too, and comes as late as an element.
static void each_element_takes_its_time(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  int64_t begun_ns = leat_clock_now_ns();
  PIPELINE_EXPECT(&p, sleeping(&p, "SleepDataset", 20000), 0, 1, 2);
  assert_true(leat_clock_now_ns() - begun_ns >= 4 * 20 * INT64_C(1000000));
  PIPELINE_EXPECT(&p, sleeping(&p, "ExperimentalSleepDataset", 0), 0, 1, 2);
  assert_int_equal(pipeline_cardinality(&p, sleeping(&p, "SleepDataset", INT64_MAX)), 3);
  pipeline_expect_failure(&p, sleeping(&p, "SleepDataset", -1), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_element_takes_its_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
